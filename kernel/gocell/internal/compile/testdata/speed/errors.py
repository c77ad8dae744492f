def check(n):
    if n % 10 == 0:
        raise ValueError("no tenth: %d" % n)
    return n


def main():
    total, failed = 0, 0
    for i in range(150000):
        try:
            n = check(i)
        except ValueError as err:
            failed += len(str(err))
            continue
        total += n
    print(total, failed)


main()
