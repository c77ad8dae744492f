class Point:
    __slots__ = ("x", "y", "z")

    def __init__(self, x, y, z):
        self.x, self.y, self.z = x, y, z


def add(a, b):
    return Point(a.x + b.x, a.y + b.y, a.z + b.z)


def main():
    points = [Point(i, 2 * i, 1) for i in range(2000)]
    total = Point(0, 0, 0)
    for _ in range(50):
        for p in points:
            p.z += p.x % 3
            total = add(total, p)
    print(total.x, total.y, total.z)


main()
