def cover(n):
    cost = [i * 37 % 19 + 1 for i in range(n)]
    best = [0] * (1 << n)
    for s in range(1, 1 << n):
        best[s] = 1 << 30
        low = 0
        while s >> low & 1 == 0:
            low += 1
        j = low
        while j < n and j < low + 4:
            if s >> j & 1 == 1:
                rest = s & ~(1 << low) & ~(1 << j)
                c = best[rest] + cost[low] * cost[j]
                if c < best[s]:
                    best[s] = c
            j += 1
    return best[(1 << n) - 1]


print(cover(20), end="")
