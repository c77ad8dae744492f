def join(n):
    b = []
    for i in range(n):
        b.append(str(i))
        b.append(",")
    return "".join(b)

print(len(join(500000)), end="")
