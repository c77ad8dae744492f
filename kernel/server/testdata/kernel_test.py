"""Run the stock jupyter_kernel_test on a kernel.

usage: kernel_test.py KERNEL SAMPLES.json

KERNEL is the name of an installed kernelspec, SAMPLES.json holds the class
attributes of jupyter_kernel_test.KernelTests. The last line printed is a JSON
object that says what ran.
"""

import json
import sys
import unittest

import jupyter_kernel_test

kernel, samples = sys.argv[1:]
with open(samples) as f:
    attributes = json.load(f)


class KernelTests(jupyter_kernel_test.KernelTests):
    kernel_name = kernel


for name, value in attributes.items():
    if not hasattr(KernelTests, name):
        sys.exit(f"jupyter_kernel_test knows no {name}")
    setattr(KernelTests, name, value)

suite = unittest.defaultTestLoader.loadTestsFromTestCase(KernelTests)
result = unittest.TextTestRunner(verbosity=2, stream=sys.stdout).run(suite)
print(json.dumps({
    "run": result.testsRun,
    "failed": [str(test) for test, _ in result.failures + result.errors],
    "skipped": [f"{test}: {why}" for test, why in result.skipped],
}))
