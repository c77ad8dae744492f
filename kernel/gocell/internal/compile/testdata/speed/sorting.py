class City:
    def __init__(self, name, size):
        self.name, self.size = name, size


def main():
    cities = []
    x = 12345
    for i in range(20000):
        x = (x * 1103515245 + 12345) % 2147483648
        cities.append(City("c" + str(x % 1000), x))
    cities.sort(key=lambda c: c.size)
    print(cities[0].size, cities[9999].name, cities[19999].size)


main()
