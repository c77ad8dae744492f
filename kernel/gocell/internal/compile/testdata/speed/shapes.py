class Rect:
    def __init__(self, w, h):
        self.w, self.h = w, h

    def area(self):
        return self.w * self.h

class Circle:
    def __init__(self, r):
        self.r = r

    def area(self):
        return 3 * self.r * self.r

def main():
    shapes = [Rect(float(i), 2.0) if i % 2 == 0 else Circle(float(i)) for i in range(1000)]
    total = 0.0
    for _ in range(500):
        for s in shapes:
            total += s.area()
    print("%.1f" % total, end="")

main()
