"""Evaluations a second of other libraries' searches over bits, in one process.

    pip install nevergrad pymoo ioh; python3 peers.py

The objective is OneMax of 40 bits, as each library's users would write it. What is
not installed is said. Those of this library, on an objective of 100 ns:

    go test ./dacelib/solver -run NONE -bench Families
"""
import time

D = 40


def nevergrad(n):
    """The discrete (1+1) with its default mutation."""
    import nevergrad as ng

    bits = ng.p.TransitionChoice([0, 1], repetitions=D)
    search = ng.optimizers.registry["DiscreteOnePlusOne"](parametrization=bits, budget=n)
    search.minimize(lambda x: -sum(x))


def pymoo(n):
    """The genetic algorithm for bits of its documentation, populations of 100."""
    import numpy as np
    from pymoo.algorithms.soo.nonconvex.ga import GA
    from pymoo.core.problem import Problem
    from pymoo.operators.crossover.pntx import TwoPointCrossover
    from pymoo.operators.mutation.bitflip import BitflipMutation
    from pymoo.operators.sampling.rnd import BinaryRandomSampling
    from pymoo.optimize import minimize

    class OneMax(Problem):
        def __init__(self):
            super().__init__(n_var=D, n_obj=1, xl=0, xu=1, vtype=bool)

        def _evaluate(self, x, out, *args, **kwargs):
            out["F"] = -np.sum(x, axis=1).astype(float)

    search = GA(pop_size=100, sampling=BinaryRandomSampling(), crossover=TwoPointCrossover(), mutation=BitflipMutation(), eliminate_duplicates=True)
    minimize(OneMax(), search, ("n_eval", n), verbose=False, seed=1)


def ioh(n):
    """Randomised local search in Python on IOHexperimenter's OneMax, in C++."""
    import random

    import ioh

    f = ioh.get_problem("OneMax", 1, D, ioh.ProblemClass.PBO)
    x = [random.randrange(2) for _ in range(D)]
    best = f(x)
    for _ in range(n - 1):
        i = random.randrange(D)
        x[i] ^= 1
        value = f(x)
        if value >= best:
            best = value
        else:
            x[i] ^= 1


for search, n in (nevergrad, 5_000), (pymoo, 20_000), (ioh, 50_000):
    try:
        search(200)  # what is loaded and compiled at first
    except ImportError as e:
        print(f"{search.__name__}: not installed ({e})")
        continue
    begun, cpu = time.perf_counter(), time.process_time()
    search(n)
    print(f"{search.__name__}: {n / (time.process_time() - cpu):,.0f} evaluations a second of processor time, {n / (time.perf_counter() - begun):,.0f} by the clock")
