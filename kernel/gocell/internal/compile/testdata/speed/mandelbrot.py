def mandelbrot(n):
    inside = 0
    for py in range(n):
        for px in range(n):
            x0 = px / n * 3.5 - 2.5
            y0 = py / n * 2 - 1
            x, y = 0.0, 0.0
            i = 0
            while x * x + y * y <= 4 and i < 50:
                x, y = x * x - y * y + x0, 2 * x * y + y0
                i += 1
            if i == 50:
                inside += 1
    return inside


print(mandelbrot(400), end="")
