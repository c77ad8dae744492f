def main():
    total = 0

    def add(n):
        nonlocal total
        total += n

    twice = lambda f, n: (f(n), f(n))
    for i in range(150000):
        twice(add, i)
    print(total)


main()
