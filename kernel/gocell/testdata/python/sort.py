from functools import cmp_to_key


def ordered(n):
    x = []
    v = 12345
    for i in range(n):
        v = (v * 1103515245 + 12345) % 2147483648
        x.append(v)
    x.sort(key=cmp_to_key(lambda a, b: a - b))
    return x[n // 2]


print(ordered(1_000_000), end="")
