def product(a, b):
    n = len(a)
    c = []
    for i in range(n):
        row = [0.0] * n
        for j in range(n):
            s = 0.0
            for k in range(n):
                s += a[i][k] * b[k][j]
            row[j] = s
        c.append(row)
    return c

a, b = [], []
for i in range(200):
    a.append([float(i + j) for j in range(200)])
    b.append([float(i - j) for j in range(200)])
print("%.0f" % product(a, b)[100][50], end="")
