"""Live through a session with jupyter_client: start, work, interrupt by signal,
answer questions, restart, shut down.

usage: session.py KERNEL SAMPLES.json

SAMPLES.json has code: "set" sets a state, "get" prints "state 1\n", "loop"
prints "running\n" and works until it is interrupted, "ask" asks with "prompt" and
prints "got NAME\n", "lines" (where there is one) reads all that it is answered
and prints "line LINE\n" for each, "known" (where history outlives a
restart) is a word of "loop" alone, "unset" fails once the state is lost. Any surprise is an
AssertionError.
"""

import json
import queue
import sys
import time

from jupyter_client.manager import start_new_kernel

TIMEOUT = 300  # so long that it does not come, however busy the machine is

kernel, samples = sys.argv[1:]
with open(samples) as f:
    code = json.load(f)


def outputs(kc, msg_id, until=None):
    """Collect a cell's iopub messages up to idle, or to an output."""
    found = []
    while True:
        msg = kc.get_iopub_msg(timeout=TIMEOUT)
        if msg["parent_header"].get("msg_id") != msg_id:
            continue
        found.append(msg)
        content = msg["content"]
        if content.get("execution_state") == "idle":
            return found
        if until and until in content.get("text", ""):
            return found


def text(msgs):
    return "".join(m["content"]["text"] for m in msgs if m["msg_type"] == "stream")


def reply(kc, msg_id):
    while True:
        msg = kc.get_shell_msg(timeout=TIMEOUT)
        if msg["parent_header"].get("msg_id") == msg_id:
            return msg["content"]


def question(kc, msg_id):
    """Wait for a question; tell what came instead where none comes."""
    try:
        return kc.get_stdin_msg(timeout=TIMEOUT)
    except queue.Empty:
        raise AssertionError(f"no question, but {reply(kc, msg_id)}") from None


def run(kc, source):
    msg_id = kc.execute(source)
    return reply(kc, msg_id), text(outputs(kc, msg_id))


start = time.monotonic()
km, kc = start_new_kernel(kernel_name=kernel, startup_timeout=TIMEOUT)
print(f"ready after {time.monotonic() - start:.3f} s")
try:
    assert run(kc, code["set"])[0]["status"] == "ok"

    for _ in range(3):
        msg_id = kc.execute(code["loop"])
        outputs(kc, msg_id, until="running")
        start = time.monotonic()
        km.interrupt_kernel()
        answer = reply(kc, msg_id)
        print(f"interrupted after {time.monotonic() - start:.3f} s")
        assert answer["status"] == "error" and answer["ename"] == "Interrupted", answer
        errors = [m for m in outputs(kc, msg_id) if m["msg_type"] == "error"]
        assert len(errors) == 1, errors
        answer, shown = run(kc, code["get"])
        assert answer["status"] == "ok" and shown == "state 1\n", (answer, shown)

    km.interrupt_kernel()  # while idle: nothing
    time.sleep(1)  # a busy machine delivers a signal late, here to the next cell
    assert run(kc, code["get"])[1] == "state 1\n"
    assert km.is_alive()

    msg_id = kc.execute(code["ask"], allow_stdin=True)
    asked = question(kc, msg_id)
    assert asked["msg_type"] == "input_request", asked
    assert asked["content"]["prompt"] == code["prompt"], asked
    kc.input("Ada")
    assert reply(kc, msg_id)["status"] == "ok"
    assert text(outputs(kc, msg_id)).endswith("got Ada\n")

    msg_id = kc.execute(code["ask"], allow_stdin=True)
    question(kc, msg_id)
    km.interrupt_kernel()
    assert reply(kc, msg_id)["ename"] == "Interrupted"
    outputs(kc, msg_id)
    assert run(kc, code["get"])[1] == "state 1\n"

    msg_id = kc.execute(code["ask"], allow_stdin=False)
    answer = reply(kc, msg_id)
    assert answer["status"] == "error" and "cannot be asked" in answer["evalue"], answer
    outputs(kc, msg_id)

    if "lines" in code:
        msg_id = kc.execute(code["lines"], allow_stdin=True)
        for line in ["Grüße 🎉", "", "\x04"]:  # Ctrl-D, as Jupyter's console sends it
            question(kc, msg_id)
            kc.input(line)
        assert reply(kc, msg_id)["status"] == "ok"
        assert text(outputs(kc, msg_id)) == "line Grüße 🎉\nline \n"

    km.restart_kernel()
    kc.wait_for_ready(timeout=TIMEOUT)
    if "known" in code:
        def history(**query):
            return reply(kc, kc.history(raw=True, output=False, **query))["history"]

        kept = history(hist_access_type="search", pattern="*%s*" % code["known"], unique=True)
        assert [line[2] for line in kept] == [code["loop"]], kept
        before = history(hist_access_type="range", session=-1, start=1, stop=2)
        assert before == [[kept[0][0], 1, code["set"]]], before
        assert history(hist_access_type="range", session=0, start=1) == []
    assert run(kc, code["unset"])[0]["status"] == "error", "the state outlives a restart"
    assert run(kc, code["set"])[0]["status"] == "ok"

    start = time.monotonic()
    kc.shutdown()
    while km.is_alive():
        time.sleep(0.02)
        assert time.monotonic() - start < TIMEOUT, "the kernel does not end when it is told to"
    print(f"ended after {time.monotonic() - start:.3f} s")
finally:
    kc.stop_channels()
    km.shutdown_kernel(now=True)
del kc  # before the interpreter ends: its destructor logs
print("done")
