def count(n):
    m = {}
    for i in range(n):
        k = i * 7919 % 1000
        m[k] = m.get(k, 0) + 1
    return m[5]


print(count(1_000_000), end="")
