import math


def anneal(n, steps):
    seed = 42

    def random():
        nonlocal seed
        seed = (seed * 1103515245 + 12345) % 2147483648
        return seed / 2147483648

    x, y = [], []
    for i in range(n):
        x.append(random())
        y.append(random())
    tour = list(range(n))

    def distance(i, j):
        a, b = tour[i % n], tour[j % n]
        return math.sqrt((x[a] - x[b]) * (x[a] - x[b]) + (y[a] - y[b]) * (y[a] - y[b]))

    length = 0.0
    for i in range(n):
        length += distance(i, i + 1)
    temperature = 1.0
    for _ in range(steps):
        i, j = int(random() * n), int(random() * n)
        if i > j:
            i, j = j, i
        if j - i < 1 or j - i > n - 2:
            continue
        change = distance(i + n - 1, j) + distance(i, j + 1) - distance(i + n - 1, i) - distance(j, j + 1)
        if change < 0 or random() < math.exp(-change / temperature):
            a, b = i, j
            while a < b:
                tour[a], tour[b] = tour[b], tour[a]
                a, b = a + 1, b - 1
            length += change
        temperature *= 0.9999
    return length


print("%.6f" % anneal(50, 100_000), end="")
