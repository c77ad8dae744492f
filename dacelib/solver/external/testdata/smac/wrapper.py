import random
import sys

instance, specifics, cutoff, length, seed = sys.argv[1:6]
values = dict(zip((a[1:] for a in sys.argv[6::2]), sys.argv[7::2]))
random.seed(int(seed))
flips = {"one": 1, "two": 2, "three": 3}[values.get("flips", "one")]
goal = [c == "1" for c in instance]


def cost(x):
    return sum(a != b for a, b in zip(x, goal))


x = [random.random() < 0.5 for _ in goal]
best = cost(x)
for _ in range(int(values["sp-steps"])):
    y = list(x)
    for i in random.sample(range(len(x)), flips):
        y[i] = not y[i]
    go = cost(y) <= cost(x)
    if values["walk"] == "down":
        go = not go
    elif values["walk"] == "random":
        go = go or random.random() < float(values.get("chance", 0))
    if go:
        x = y
    best = min(best, cost(x))
print("some other output")
print(f"Result for SMAC: SUCCESS, 0.1, 0, {best}, {seed}")
