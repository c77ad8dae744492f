"""Evaluations a second of other libraries' searches over bits, and of this one's.

    pip install nevergrad pymoo
    python3 peers.py                              # in a clone of this repository
    python3 peers.py IOHexperimenter/include      # with IOHexperimenter, its headers and fmt's

The objective is OneMax of 40 bits, as each library's users would write it; for
IOHexperimenter and this library it is the library's own, and the search is randomised
local search (rls.cpp, BenchmarkRLS). The searches run one after
the other. What is not installed is said. All families of this library, on an objective
of 100 ns:

    go test ./dacelib/solver -run NONE -bench Families
"""
import os
import re
import subprocess
import sys
import tempfile
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


def report(name, cpu, clock):
    print(f"{name}: {cpu:,.0f} evaluations a second of processor time, {clock:,.0f} by the clock", flush=True)


def python(search, n):
    try:
        search(200)  # what is loaded and compiled at first
    except ImportError as e:
        print(f"{search.__name__}: not installed ({e})", flush=True)
        return
    begun, cpu = time.perf_counter(), time.process_time()
    search(n)
    report(search.__name__, n / (time.process_time() - cpu), n / (time.perf_counter() - begun))


def ioh(include):
    """Randomised local search in C++ on IOHexperimenter's OneMax."""
    here = os.path.dirname(os.path.abspath(__file__))
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "rls")
        subprocess.run(["g++", "-std=c++17", "-O3", "-w", "-DFMT_HEADER_ONLY", "-I", include, os.path.join(here, "rls.cpp"), "-o", program], check=True)
        cpu, clock = subprocess.run([program], check=True, capture_output=True, text=True).stdout.split()
    report("IOHexperimenter's OneMax, RLS", float(cpu), float(clock))


def own():
    """The same search of this library, on its OneMax."""
    here = os.path.dirname(os.path.abspath(__file__))
    out = subprocess.run(["go", "test", "./solver/ea", "-run", "NONE", "-bench", "RLS"], check=True, capture_output=True, text=True, cwd=os.path.join(here, "../../..")).stdout
    value = lambda unit: float(re.search(r"(\S+) " + unit + r"\b", out).group(1))
    report("this library's OneMax, RLS", value("evaluations/cpu-s"), value("evaluations/s"))


if len(sys.argv) > 1:
    ioh(sys.argv[1])
else:
    print("IOHexperimenter: name the folder of its headers to have it compiled")
own()
python(nevergrad, 5_000)
python(pymoo, 20_000)
