def sieve(n):
    composite = [False] * (n + 1)
    count = 0
    for i in range(2, n + 1):
        if composite[i]:
            continue
        count += 1
        j = i * i
        while j <= n:
            composite[j] = True
            j += i
    return count

print(sieve(1_000_000), end="")
