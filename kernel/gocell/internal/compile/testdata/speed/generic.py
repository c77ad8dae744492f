class Stack:
    def __init__(self):
        self.items = []

    def push(self, x):
        self.items.append(x)

    def pop(self):
        return self.items.pop()


def main():
    s = Stack()
    total = 0
    for i in range(200000):
        s.push(i)
        if i % 3 == 2:
            total += s.pop() - s.pop()
    print(total, len(s.items))


main()
