"""A portfolio for the class of your-problem.ipynb with SMAC3 and pymoo.

Written after the documentation of smac 2 and pymoo 0.6, and not run. It does
what construct.PARHYDRA and experiment.Test do; NIRs and DACE have no package.
"""
import csv

import numpy as np
from ConfigSpace import Boolean, ConfigurationSpace, Float, Integer
from pymoo.algorithms.soo.nonconvex.brkga import BRKGA
from pymoo.core.problem import ElementwiseProblem
from pymoo.optimize import minimize
from scipy.stats import ranksums
from smac import AlgorithmConfigurationFacade, Scenario

DATA = np.log1p(np.array([r[1:] for r in list(csv.reader(open("functions.csv")))[1:]], float))


class Regression(ElementwiseProblem):
    def __init__(self, rows):
        super().__init__(n_var=40, n_obj=1, xl=0, xu=1)
        t = np.column_stack([np.ones(len(rows)), DATA[rows]])
        self.n, self.products = len(rows), t.T @ t / len(rows) + 1e-9 * np.eye(42)
        sample = [self.value(np.random.default_rng(k).random(40) < 0.5) for k in range(5000)]
        self.low, self.high = min(sample), max(sample)

    def value(self, bits):
        of = [0] + [1 + j for j in range(40) if bits[j]]
        det = lambda s: np.linalg.slogdet(self.products[np.ix_(s, s)])[1]
        return self.n * (det(of) - det(of + [41])) - np.log(self.n) * len(of)

    def _evaluate(self, x, out, *args, **kwargs):
        out["F"] = -self.value(x > 0.5)


def quality(config, instance, seed):
    solver = BRKGA(n_elites=config["elites"], n_offsprings=config["offspring"], n_mutants=config["mutants"],
                   bias=config["bias"], eliminate_duplicates=config["duplicates"])
    found = -minimize(instance, solver, ("n_eval", 800), seed=seed).F[0]
    return (found - instance.low) / (instance.high - instance.low)


def parhydra(training, members, trials):
    space = ConfigurationSpace()
    space.add(Integer("elites", (1, 400)), Integer("offspring", (1, 1000)), Integer("mutants", (1, 200)),
              Float("bias", (0.0, 1.0)), Boolean("duplicates"))
    portfolio = []
    best = {name: -np.inf for name in training}
    for k in range(members):
        def cost(config, instance, seed):
            return -max(best[instance], quality(config, training[instance], seed))

        scenario = Scenario(space, name=f"member-{k}", n_trials=trials, instances=list(training),
                            instance_features={name: [i] for i, name in enumerate(training)}, seed=k)
        found = AlgorithmConfigurationFacade(scenario, cost, overwrite=True).optimize()
        portfolio.append(found)
        for name in training:
            best[name] = max(best[name], quality(found, training[name], 0))
    return portfolio


def test(portfolio, instance, repeats=5):
    return [max(quality(c, instance, k) for c in portfolio) for k in range(repeats)]


def half(i):
    return Regression(np.random.default_rng(i).permutation(500)[:250])


if __name__ == "__main__":
    built = parhydra({f"half {i}": half(i) for i in range(5)}, members=4, trials=12)
    manual = [dict(elites=e, offspring=90 - e, mutants=10, bias=0.7, duplicates=d)
              for e in (20, 15) for d in (False, True)]
    for i in range(100, 106):
        instance = half(i)
        a, b = test(built, instance), test(manual, instance)
        print(i, np.mean(a), np.mean(b), ranksums(a, b).pvalue)
