"""Starts the installed kernel as Jupyter does and works with it a little.

usage: client.py SCRATCH_DIR

Prints what it saw as one JSON object. JUPYTER_PATH says where the kernelspec
is; the PATH that the kernel gets has no go.
"""
import json
import os
import sys

from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager

seen = {"spec": KernelSpecManager().get_kernel_spec("dace").resource_dir}
env = dict(os.environ, PATH=sys.argv[1])
km = KernelManager(kernel_name="dace")
km.start_kernel(env=env, cwd=sys.argv[1])
kc = km.client()
kc.start_channels()
try:
    kc.wait_for_ready(timeout=60)

    def show(msg):
        c = msg["content"]
        outputs.append(c.get("text") or c.get("data", {}).get("text/plain") or c.get("ename") or "")

    outputs = []
    reply = kc.execute_interactive("x := 20\nfmt.Println(x)\nx + 1", timeout=60, output_hook=show)
    seen["first"], seen["status"] = outputs, reply["content"]["status"]

    # An interrupt ends the cell, and the session keeps what it had.
    msg_id = kc.execute('fmt.Println("spinning")\nfor {\n}')
    while kc.get_iopub_msg(timeout=60)["content"].get("text") != "spinning\n":
        pass
    km.interrupt_kernel()
    reply = kc.get_shell_msg(timeout=60)
    assert reply["parent_header"]["msg_id"] == msg_id, reply
    seen["interrupt"] = reply["content"]["status"]

    outputs = []
    kc.execute_interactive("x * 2", timeout=60, output_hook=show)
    seen["after"] = outputs
finally:
    kc.stop_channels()
    km.shutdown_kernel()
seen["gone"] = not km.is_alive()
print(json.dumps(seen))
