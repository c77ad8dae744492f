"""Run the stock jupyter_kernel_test on a kernel.

usage: kernel_test.py KERNEL SAMPLES.json

KERNEL is the name of an installed kernelspec, SAMPLES.json holds the class
attributes of jupyter_kernel_test.KernelTests. The last line printed is a JSON
object that says what ran.
"""

import inspect
import json
import sys
import unittest

import jupyter_kernel_test

TIMEOUT = 300

kernel, samples = sys.argv[1:]
with open(samples) as f:
    attributes = json.load(f)


class KernelTests(jupyter_kernel_test.KernelTests):
    """The suite, which gives outputs a tenth of a second, with patience for
    busy machines."""

    kernel_name = kernel

    def flush_channels(self):
        # What was asked before is answered before this is.
        msg_id = self.kc.kernel_info()
        for get_msg in (self.kc.get_shell_msg, self.kc.get_iopub_msg):
            while True:
                msg = get_msg(timeout=TIMEOUT)
                jupyter_kernel_test.validate_message(msg)
                if msg["parent_header"].get("msg_id") == msg_id and msg["content"].get("execution_state", "idle") == "idle":
                    break

    def execute_helper(self, *args, **kwargs):
        channel = self.kc.iopub_channel
        patient = channel.get_msg

        async def get_msg(timeout):
            msg = patient(timeout=TIMEOUT)
            return await msg if inspect.isawaitable(msg) else msg

        channel.get_msg = get_msg
        try:
            return super().execute_helper(*args, **kwargs)
        finally:
            del channel.get_msg


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
