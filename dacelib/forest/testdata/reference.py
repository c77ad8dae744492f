#!/usr/bin/env python3
"""Writes reference.json: what scikit-learn's trees make of two small data sets.

Run once, with Debian's python3-sklearn: python3 reference.py > reference.json

- "tree": one DecisionTreeRegressor without randomness; its predictions are
  unique up to ties, so another implementation must reproduce them.
- "forests": errors and calibration of forests over many seeds, as mean and
  standard deviation. "smac" draws bootstrap samples as repeated rows, so that
  the least leaf counts repetitions; "default" is RandomForestRegressor with
  100 trees and all its defaults.
"""
import json
import numpy as np
import sklearn
from sklearn.ensemble import RandomForestRegressor
from sklearn.tree import DecisionTreeRegressor

rng = np.random.default_rng(20240607)


def friedman(n):  # Friedman (1991), first function, d = 6, the last feature of no effect
    x = rng.random((n, 6)).astype(np.float32)
    x[:, 3] = np.round(x[:, 3] * 9) / 9  # few distinct values
    y = (10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
         + 10 * x[:, 3] + 5 * x[:, 4] + rng.normal(0, 0.5, n))
    return x, np.round(y.astype(np.float64), 6)


def binary(n):  # 20 bits, with pairwise terms
    x = rng.integers(0, 2, (n, 20)).astype(np.float32)
    w = np.linspace(-1, 1, 20)
    y = x @ w + 2 * x[:, 0] * x[:, 5] - 1.5 * x[:, 7] * x[:, 19] + rng.normal(0, 0.1, n)
    return x, np.round(y.astype(np.float64), 6)


def scores(trees, xt, yt):
    p = np.array([t.predict(xt) for t in trees])
    mean, sd = p.mean(0), p.std(0)
    err = yt - mean
    return [float(np.sqrt((err ** 2).mean())), float(sd.mean()),
            float((np.abs(err) <= 2 * sd).mean())]


def summary(rows):
    rows = np.array(rows)
    names = ["rmse", "spread", "within2"]
    return {n: {"mean": float(rows[:, i].mean()), "sd": float(rows[:, i].std(ddof=1))}
            for i, n in enumerate(names)}


def smac_forest(x, y, seed, d):
    r = np.random.RandomState(seed)
    trees = []
    for _ in range(10):
        i = r.randint(0, len(y), len(y))
        t = DecisionTreeRegressor(max_depth=20, min_samples_split=3, min_samples_leaf=3,
                                  max_features=max(1, int(5 / 6 * d)), random_state=r.randint(1 << 30))
        trees.append(t.fit(x[i], y[i]))
    return trees


def case(make, seeds):
    x, y = make(250)
    xt, yt = make(200)
    tree = DecisionTreeRegressor(max_depth=20, min_samples_split=3, min_samples_leaf=3, random_state=0).fit(x, y)
    shallow = DecisionTreeRegressor(max_depth=3, min_samples_split=2, min_samples_leaf=1, random_state=0).fit(x, y)
    d = x.shape[1]
    smac, default = [], []
    for s in range(seeds):
        smac.append(scores(smac_forest(x, y, s, d), xt, yt))
        f = RandomForestRegressor(n_estimators=100, random_state=s).fit(x, y)
        default.append(scores(f.estimators_, xt, yt))
    flat = lambda a: [float(v) for v in np.asarray(a, dtype=np.float64).ravel()]
    return {
        "d": d, "x": flat(x), "y": flat(y), "x_test": flat(xt), "y_test": flat(yt),
        "tree": flat(tree.predict(xt)), "tree_depth3": flat(shallow.predict(xt)),
        "tree_importance": flat(tree.feature_importances_),
        "forests": {"smac": summary(smac), "default": summary(default)}, "seeds": seeds,
    }


print(json.dumps({
    "source": "scikit-learn %s, numpy %s, testdata/reference.py" % (sklearn.__version__, np.__version__),
    "friedman": case(friedman, 100), "binary": case(binary, 100),
}))
