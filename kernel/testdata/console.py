"""Type cells into jupyter console, on a terminal, and look for what they show.

usage: console.py KERNEL CELLS.json

CELLS.json is a list of objects with a cell's code and the text that must come
after it was typed, before the next prompt or a little later. The last line printed is "ok".
"""

import json
import os
import pty
import re
import select
import sys
import time

kernel, file = sys.argv[1:]
with open(file) as f:
    cells = json.load(f)
LIMIT = 300  # seconds for each prompt, and for what a cell shows
escapes = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07]*\x07|\x1b[=>()][0-9A-B]?|\r")

pid, terminal = pty.fork()
if pid == 0:
    os.environ.update(TERM="xterm", COLUMNS="200", LINES="50", PROMPT_TOOLKIT_NO_CPR="1")
    os.execv(sys.executable, [sys.executable, "-m", "jupyter_console", "--kernel", kernel])

seen = ""


def read():
    global seen
    ready, _, _ = select.select([terminal], [], [], 1)
    if ready:
        seen += escapes.sub("", os.read(terminal, 65536).decode(errors="replace"))


def wait(what, found):
    end = time.monotonic() + LIMIT
    while not found():
        assert time.monotonic() < end, f"{what} does not come; on the terminal stands\n{seen}"
        read()


wait("the first prompt", lambda: "In [1]:" in seen)
prompt = 1
for cell in cells:
    code, text = cell["code"], cell["text"]
    # As a person pastes it. The first line of a cell magic wants an empty line at
    # the end.
    if code.startswith("%%"):
        code += "\n"
    seen = ""
    os.write(terminal, b"\x1b[200~" + code.encode() + b"\x1b[201~\r")
    prompt += 1
    wait(f"the prompt {prompt} after {code!r}", lambda: f"In [{prompt}]:" in seen)
    wait(f"{text!r} after {code!r}", lambda: text in seen)
    if code.startswith("%fmt"):  # the formatted cell stands at the prompt: clear it
        os.write(terminal, b"\x03")
os.write(terminal, b"\x04")
print("ok")
