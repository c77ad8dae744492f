"""Measure kernels beside each other, in turns, with jupyter_client.

usage: floors.py [--runs=N] KERNEL...

KERNEL is a kernelspec's name; "python3" is taken for Python, others for Go.
Prints a table in Markdown: the median of the runs, and the smallest. It ends with
an error if output is missing. What else runs on the machine slows all kernels
down: compare within one run.
"""

import os
import statistics
import sys
import time

from jupyter_client.manager import start_new_kernel

TIMEOUT = 600
GO = {
    "trivial": "1 + 1",
    "declare": "func f(x int) int {{ return x + {0} }}\nv{0} := f({0})",
    "ordinary": 'total := 0\nfor i := range 10 {\n\ttotal += f(i) + v7\n}\nmsg := fmt.Sprintf("%d", total)\nstrings.ToUpper(msg)',
    "lines": "for i := range 100_000 {\n\tfmt.Println(i)\n}",
    "bytes": 'for range 20 {\n\tfmt.Print(strings.Repeat(strings.Repeat("x", 99)+"\\n", 10_000))\n}',
    "loop": 'fmt.Println("running")\nfor {\n}',
}
PYTHON = {
    "trivial": "1 + 1",
    "declare": "def f(x): return x + {0}\nv{0} = f({0})",
    "ordinary": 'total = 0\nfor i in range(10):\n    total += f(i) + v7\nmsg = "%d" % total\nmsg.upper()',
    "lines": "for i in range(100_000):\n    print(i)",
    "bytes": 'for _ in range(20):\n    print(("x" * 99 + "\\n") * 10_000, end="")',
    "loop": 'print("running", flush=True)\nwhile True:\n    pass',
}


def execute(kc, code, until=None):
    """Run a cell; return how many bytes of output came until idle."""
    msg_id, received = kc.execute(code), 0
    while True:
        msg = kc.get_iopub_msg(timeout=TIMEOUT)
        if msg["parent_header"].get("msg_id") != msg_id:
            continue
        text = msg["content"].get("text", "")
        received += len(text)
        if until and until in text:
            return received
        if msg["content"].get("execution_state") == "idle":
            kc.get_shell_msg(timeout=TIMEOUT)
            return received


def timed(f):
    start = time.perf_counter()
    f()
    return 1000 * (time.perf_counter() - start)


def checked(kc, code, least):
    received = execute(kc, code)
    assert received >= least, f"{received} bytes came, want {least}"


def processor_ms(pid):
    with open(f"/proc/{pid}/stat") as f:
        fields = f.read().rsplit(")", 1)[1].split()
    return 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def private_mib(pid):
    """Memory of the process alone: its file's pages are shared and can go."""
    with open(f"/proc/{pid}/status") as f:
        return next(int(l.split()[1]) / 1024 for l in f if l.startswith("RssAnon"))


def measure(kernel):
    code = PYTHON if kernel == "python3" else GO
    start = time.perf_counter()
    km, kc = start_new_kernel(kernel_name=kernel, startup_timeout=TIMEOUT)
    found = {"start to ready, ms": 1000 * (time.perf_counter() - start)}
    try:
        execute(kc, code["trivial"])
        with open(f"/proc/{km.provisioner.pid}/statm") as f:
            found["memory, MiB"] = int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20
        cells = [timed(lambda: execute(kc, code["trivial"])) for _ in range(50)]
        found["trivial cell, ms"] = statistics.median(cells)
        pid = km.provisioner.pid
        for i in range(30):
            execute(kc, code["declare"].format(i))
        before = processor_ms(pid)
        for _ in range(300):
            execute(kc, code["ordinary"])
        found["ordinary cell, ms of processor time"] = (processor_ms(pid) - before) / 300
        found["private memory after these, MiB"] = private_mib(pid)
        found["100,000 lines, ms"] = timed(lambda: checked(kc, code["lines"], 588_890))
        # The kernel of this repository sends the beginning and the end of a megabyte.
        found["20 MB of output, ms"] = timed(lambda: checked(kc, code["bytes"], 1_000_000))
        execute(kc, code["loop"], until="running")
        time.sleep(0.1)
        start = time.perf_counter()
        km.interrupt_kernel()
        kc.get_shell_msg(timeout=TIMEOUT)
        found["interrupt, ms"] = 1000 * (time.perf_counter() - start)
    finally:
        kc.stop_channels()
        km.shutdown_kernel(now=True)
    return found


def main():
    runs, kernels = 5, []
    for a in sys.argv[1:]:
        if a.startswith("--runs="):
            runs = int(a[7:])
        else:
            kernels.append(a)
    if not kernels:
        sys.exit(__doc__)
    found = {k: {} for k in kernels}
    for _ in range(runs):
        for k in kernels:
            for what, value in measure(k).items():
                found[k].setdefault(what, []).append(value)
    print("| |", " | ".join(kernels), "|")
    print("|---|" + "---|" * len(kernels))
    for what in found[kernels[0]]:
        row = [f"{statistics.median(v):.1f} (best {min(v):.1f})" for v in (found[k][what] for k in kernels)]
        print("|", what, "|", " | ".join(row), "|")
    print("\nload:", *os.getloadavg(), "cores:", os.cpu_count(), file=sys.stderr)


if __name__ == "__main__":
    main()
