words = ["alpha", "beta", "gamma"]
n = 0
for i in range(20000):
    s = f"{i}: {words[i % 3]} {i / 7:.2f}"
    key, found, value = s.partition(": ")
    if found:
        n += len("; ".join([value, key])) + len(s.replace("a", "--")) + len(key * 2)
print(n)
