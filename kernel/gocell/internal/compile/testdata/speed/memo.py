memo = {}


def steps(n):
    if n == 1:
        return 0
    if n in memo:
        return memo[n]
    following = n // 2
    if n % 2 == 1:
        following = 3 * n + 1
    s = 1 + steps(following)
    memo[n] = s
    return s


def main():
    best, at = 0, 0
    for n in range(1, 60000):
        s = steps(n)
        if s > best:
            best, at = s, n
    print(best, at)


main()
