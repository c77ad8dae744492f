def main():
    line = "12,345,6,7890;" * 300
    total = 0
    for _ in range(40):
        for part in line.split(";"):
            for field in part.split(","):
                try:
                    total += int(field)
                except ValueError:
                    pass
    print(total)


main()
