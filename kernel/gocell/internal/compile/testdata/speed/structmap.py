def main():
    grid = {}
    for i in range(300000):
        p = (i % 500, i % 300)
        grid[p] = grid.get(p, 0) + i
    total = 0
    for x in range(500):
        for y in range(300):
            v = grid.get((x, y))
            if v is not None:
                total += v & 7
    print(len(grid), total, end="")

main()
