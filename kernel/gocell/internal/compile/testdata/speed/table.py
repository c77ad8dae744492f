def distance(a, b):
    d = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a) + 1):
        d[i][0] = i
    for j in range(len(b) + 1):
        d[0][j] = j
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            cost = 1
            if a[i - 1] == b[j - 1]:
                cost = 0
            d[i][j] = min(d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + cost)
    return d[len(a)][len(b)]


a = "".join(chr(97 + i * 7 % 26) for i in range(400))
b = "".join(chr(97 + i * 11 % 26) for i in range(400))
print(distance(a, b))
