#!/usr/bin/env python3
"""Writes reference.json: means of SMARTEST's best value over seeds, with
scikit-learn's random forest and NumPy's random numbers.

Run once, with Debian's python3-sklearn: python3 reference.py > reference.json
"""
import json
import sys
import numpy as np
import sklearn
from sklearn.ensemble import RandomForestRegressor

D, EVALUATIONS, TREES, SEEDS = 25, 400, 30, 100
W = np.tril(np.sin(1 + np.arange(D * D, dtype=float)).reshape(D, D))
PROBLEMS = {"onemax": lambda x: float(x.sum()), "sines": lambda x: float(x @ W @ x)}


def climb(forest, x):
    x = x.copy()
    active = np.arange(len(x))
    while len(active):
        near = np.repeat(x[active][:, None, :], D + 1, axis=1)
        near[:, np.arange(D), np.arange(D)] ^= 1
        p = forest.predict(near.reshape(-1, D)).reshape(len(active), D + 1)
        best = p.argmax(1)
        up = p[np.arange(len(active)), best] > p[:, D] + 1e-12 * np.abs(p).max()
        x[active[up], best[up]] ^= 1
        active = active[up]
    return x


def smartest(f, population, crossover, elite_rate, seed):
    rng = np.random.default_rng(seed)
    known, spent = {}, 0

    def value(x):
        nonlocal spent
        spent += 1
        k = x.tobytes()
        if k not in known:
            known[k] = f(x)
        return known[k]

    pop = []
    while len(pop) < population:
        x = rng.integers(0, 2, D, dtype=np.int64)
        if x.tobytes() not in {p.tobytes() for p in pop}:
            pop.append(x)
    val = [value(x) for x in pop]
    while spent < EVALUATIONS:
        order = np.argsort(-np.array(val), kind="stable")
        pop, val = [pop[i] for i in order], np.array(val)[order]
        elite = int(elite_rate * population)
        weight = val - val.min() + (val.max() - val.min()) / len(val) + (val.max() == val.min())
        children = []
        while len(children) < population - elite:
            a, b = rng.choice(population, 2, replace=False, p=weight / weight.sum())
            cut = rng.integers(0, D) if rng.random() < crossover else D
            children.append(np.concatenate([pop[a][:cut], pop[b][cut:]]))
            children.append(np.concatenate([pop[b][:cut], pop[a][cut:]]))
        children = np.array(children[:population - elite])
        x = np.array([np.frombuffer(k, dtype=np.int64) for k in known])
        forest = RandomForestRegressor(n_estimators=TREES, random_state=int(rng.integers(1 << 30)))
        forest.fit(x, np.array(list(known.values())))
        taken = {p.tobytes() for p in pop[:elite]}
        fresh = []
        for c in [*climb(forest, children), *children, *pop[elite:]]:
            if c.tobytes() not in taken and len(fresh) < min(population - elite, EVALUATIONS - spent):
                taken.add(c.tobytes())
                fresh.append(np.array(c))
        pop = pop[:elite] + fresh
        val = list(val[:elite]) + [value(c) for c in fresh]
    return max(known.values()), len(known)


cases = []
for name, f in PROBLEMS.items():
    for config in ([50, 0.8, 0.1], [40, 0.5, 0.2]):
        r = np.array([smartest(f, *config, seed) for seed in range(SEEDS)], dtype=float)
        cases.append({"problem": name, "config": config,
                      "best": {"mean": r[:, 0].mean(), "sd": r[:, 0].std(ddof=1)},
                      "distinct": {"mean": r[:, 1].mean(), "sd": r[:, 1].std(ddof=1)}})
        print(cases[-1], file=sys.stderr)
json.dump({"source": "scikit-learn %s, numpy %s, testdata/reference.py" % (sklearn.__version__, np.__version__),
           "d": D, "evaluations": EVALUATIONS, "trees": TREES, "seeds": SEEDS, "cases": cases}, sys.stdout, indent=1)
