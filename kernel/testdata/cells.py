"""Run cases of cells with jupyter_client, each in a kernel of its own,
which starts in an empty folder.

usage: cells.py KERNEL CASES.json

CASES.json is a list of cases, which are lists of cells' sources. The last line
printed is a JSON list of lists with what each cell shows: its output, "stderr:
" and what it wrote there, "= " and its value, the name and text of its error.
"""

import json
import os
import re
import sys
import tempfile

from jupyter_client.manager import start_new_kernel

kernel, file = sys.argv[1:]
with open(file) as f:
    cases = json.load(f)

colour = re.compile("\x1b\\[[0-9;]*m")


def run(kc, code):
    out, err, value, error = "", "", None, None

    def hook(msg):
        nonlocal out, err, value, error
        kind, content = msg["msg_type"], msg["content"]
        if kind == "stream":
            if content["name"] == "stdout":
                out += content["text"]
            else:
                err += content["text"]
        elif kind == "display_data":
            out += "[" + content["data"].get("text/plain", "") + "]\n"
        elif kind == "execute_result":
            value = content["data"].get("text/plain")
        elif kind == "error":
            error = content

    reply = kc.execute_interactive(code, timeout=600, output_hook=hook, stdin_hook=lambda m: kc.input("42 apples"))["content"]
    assert (reply["status"] == "error") == (error is not None), (reply, error)
    lines = [out] if out else []

    def line(s):
        if lines and not lines[-1].endswith("\n"):
            lines.append("\n")
        lines.append(s)

    if err:
        line("stderr: " + err)
    if value is not None:
        line("= " + value)
    if error is not None:
        text = "\n".join(error["traceback"])
        assert "\x1b[" in text or "\n" not in text, "no colours in " + text
        assert "\x1b" not in error["evalue"], error["evalue"]
        assert error["evalue"] and reply["ename"] == error["ename"] and reply["evalue"] == error["evalue"], (reply, error)
        line(error["ename"] + "\n" + text)
    return colour.sub("", "".join(lines))




def start():
    """Start a kernel; the ports chosen for it may be taken by another client's."""
    for last in False, False, True:
        try:
            return start_new_kernel(kernel_name=kernel, startup_timeout=300, cwd=tempfile.mkdtemp(dir=os.path.dirname(file)))
        except RuntimeError:
            if last:
                raise


results = []
for case in cases:
    km, kc = start()
    try:
        results.append([run(kc, code) for code in case])
    finally:
        kc.stop_channels()
        km.shutdown_kernel(now=True)
print(json.dumps(results))
