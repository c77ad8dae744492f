#!/usr/bin/env python3
"""Writes reference.json: what another implementation of PGPE makes of known
functions: class PEPG of es.py in github.com/hardmaru/estool at commit
b0954523e906 (David Ha, MIT licence), the family of the authors' optimiser. It
is not part of this repository; have es.py beside this file, with numpy:

    python3 reference.py > reference.json

PEPG maximises: it is given -f. With rank_fitness it divides sigma's step by 2N
only, our Ranks also by the standard deviation of the 2N+1 ranks; sigma_alpha
makes up for that. Weight decay and the decay of the learning rate are off. PEPG only
stops the decay of sigma at its limit; here, as in the paper, sigma stays above
it (else Rosenbrock in ten dimensions takes twice the evaluations).

- "replay": the perturbations that PEPG drew, over 60 iterations on the
  Rosenbrock function, and the mean and sigma that came of them.
- "cases": evaluations until the value of the mean is at most the target: mean
  and standard deviation of their logarithms over 30 seeds.
- "published": fitness of the best so far in the notebook that comes with
  es.py, simple_es_example.ipynb, cell 12: a run on the Rastrigin function of
  100 dimensions, its minimum at 10, from 0. "here": the same settings over ten
  seeds.
"""
import json
import numpy as np
from es import PEPG


def sphere(x):
    return float(np.sum(x * x))


def ellipsoid(x):  # of condition number 100
    return float(np.sum(100.0 ** (np.arange(len(x)) / (len(x) - 1)) * x * x))


def rosenbrock(x):
    return float(np.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2))


def rastrigin(x):
    z = x - 10
    return float(10 * len(x) + np.sum(z * z - 10 * np.cos(2 * np.pi * z)))


def solver(d, start, pairs, rate, sigma, sigma_rate, limit):
    m = 2 * pairs + 1
    sd = np.std(np.arange(m) / (m - 1))
    es = PEPG(d, sigma_init=sigma, sigma_alpha=sigma_rate / sd, sigma_decay=0.999, sigma_limit=limit,
              sigma_max_change=0.2, learning_rate=rate, learning_rate_decay=1.0, popsize=m,
              average_baseline=False, weight_decay=0.0, rank_fitness=True)
    es.set_mu(np.full(d, float(start)))
    return es


def tell(es, values):
    es.tell([-v for v in values])
    es.sigma = np.maximum(es.sigma, es.sigma_limit)


def replay():
    np.random.seed(1)
    d, pairs, start, iterations = 3, 5, -0.5, 60
    es = solver(d, start, pairs, 0.05, 0.5, 0.1, 0.01)
    eps, mean, sigma = [], [], []
    for _ in range(iterations):
        x = es.ask()
        tell(es, [rosenbrock(v) for v in x])
        eps.append([round(float(v), 12) for v in es.epsilon.ravel()])
        mean.append([float(v) for v in es.mu])
        sigma.append([float(v) for v in es.sigma])
    return {"dim": d, "pairs": pairs, "start": start, "eps": eps, "mean": mean, "sigma": sigma}


def evaluations(f, d, start, target, seed, pairs=10, limit=10000):
    np.random.seed(seed)
    es = solver(d, start, pairs, 0.05, 0.5, 0.1, 0.01)
    for i in range(limit):
        values = [f(v) for v in es.ask()]
        tell(es, values)
        if values[0] <= target:  # the value of the mean
            return (i + 1) * len(values)
    return None


def cases(seeds=30):
    out = []
    for f, d, start, target in [
        (sphere, 2, 2, 1e-2), (sphere, 10, 2, 1e-2), (sphere, 30, 2, 1e-2),
        (ellipsoid, 2, 2, 0.1), (ellipsoid, 10, 2, 0.1), (ellipsoid, 30, 2, 1),
        (rosenbrock, 2, -1, 0.1), (rosenbrock, 10, 0, 0.1), (rosenbrock, 30, 0, 20),
    ]:
        n = [evaluations(f, d, start, target, s) for s in range(seeds)]
        logs = np.log([v for v in n if v is not None])
        out.append({"function": f.__name__, "dim": d, "start": start, "target": target, "seeds": seeds,
                    "reached": len(logs), "log_mean": float(logs.mean()), "log_sd": float(logs.std(ddof=1))})
    return out


def published(seeds=10, iterations=1000):
    runs = []
    for s in range(seeds):
        np.random.seed(s)
        es = PEPG(100, sigma_init=0.5, learning_rate=0.1, learning_rate_decay=1.0, popsize=101,
                  average_baseline=False, weight_decay=0.0, rank_fitness=False, forget_best=False)
        line = []
        for i in range(iterations):
            es.tell([-rastrigin(v) for v in es.ask()])
            if (i + 1) % 100 == 0:
                line.append(-float(es.result()[1]))
        runs.append(line)
    runs = np.array(runs)
    return {"iterations": list(range(100, iterations + 1, 100)),
            "published": [3482.30049548, 1215.62711801, 1014.35553247, 840.840116567, 582.386649983,
                          509.385694731, 404.468334299, 313.573588111, 244.920559452, 235.935310401],
            "here_mean": [float(v) for v in runs.mean(0)], "here_sd": [float(v) for v in runs.std(0, ddof=1)]}


if __name__ == "__main__":
    print(json.dumps({"source": "estool es.py b0954523e906, numpy %s, testdata/reference.py" % np.__version__,
                      "replay": replay(), "cases": cases(), "rastrigin": published()}))
