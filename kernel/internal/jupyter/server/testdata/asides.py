"""Ask a kernel that works: completion and the like, subshells, the resource
panel; and be welcomed on iopub.

usage: asides.py KERNEL SAMPLES.json

SAMPLES.json has code as for session.py. Prints how long the answers took. Any
surprise is an AssertionError.
"""

import json
import statistics
import sys
import time

import zmq
from jupyter_client.manager import start_new_kernel

TIMEOUT = 300  # so long that it does not come, however busy the machine is

kernel, samples = sys.argv[1:]
with open(samples) as f:
    code = json.load(f)

km, kc = start_new_kernel(kernel_name=kernel, startup_timeout=TIMEOUT)
statuses = []  # (parent, state) in the order of iopub


def iopub():
    msg = kc.get_iopub_msg(timeout=TIMEOUT)
    if msg["msg_type"] == "status":
        statuses.append((msg["parent_header"].get("msg_id"), msg["content"]["execution_state"]))
    return msg


def until(msg_id, state):
    while (msg_id, state) not in statuses:
        iopub()


def reply(channel, msg_id):
    while True:
        msg = channel(timeout=TIMEOUT)
        if msg["parent_header"].get("msg_id") == msg_id:
            return msg


def control(kind, **content):
    msg = kc.session.msg(kind, content)
    kc.control_channel.send(msg)
    return reply(kc.get_control_msg, msg["header"]["msg_id"])["content"]


def request(kind, content, subshell):
    msg = kc.session.msg(kind, content)
    msg["header"]["subshell_id"] = subshell
    kc.shell_channel.send(msg)
    return msg["header"]["msg_id"]


def cell(source):
    return {"code": source, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": False, "stop_on_error": True}


info = reply(kc.get_shell_msg, kc.kernel_info())["content"]
assert info["protocol_version"] == "5.5", info
assert "kernel subshells" in info["supported_features"], info

rest = []
for _ in range(30):
    start = time.monotonic()
    reply(kc.get_shell_msg, kc.complete("x", 1))
    rest.append(time.monotonic() - start)
    while statuses[-1:] != [] and iopub()["content"].get("execution_state") != "idle":
        pass

loop = kc.execute(code["loop"])
while "running" not in iopub()["content"].get("text", ""):
    pass
took = []
for _ in range(10):
    for ask in (
        lambda: kc.complete("x", 1),
        lambda: kc.inspect("x", 1),
        lambda: kc.is_complete("x"),
        lambda: kc.history(hist_access_type="tail", n=1),
        lambda: kc.comm_info(),
        lambda: kc.kernel_info(),
    ):
        start = time.monotonic()
        msg_id = ask()
        content = reply(kc.get_shell_msg, msg_id)["content"]
        took.append(time.monotonic() - start)
        assert content["status"] in ("ok", "complete", "incomplete", "invalid"), content
        # Front ends take any "idle" for the kernel's.
        until(msg_id, "idle")
        while statuses[-1][1] != "busy":
            iopub()
        assert statuses[-1] == (loop, "busy"), statuses[-3:]
print(f"at rest: median {1000 * statistics.median(rest):.1f} ms; while a cell runs: median {1000 * statistics.median(took):.1f} ms, worst {1000 * max(took):.1f} ms")

for _ in range(2):
    usage = control("usage_request")
    assert usage["kernel_memory"] > 1 << 20 and usage["cpu_count"] > 0 and usage["pid"] > 0, usage

attached = control("debug_request", type="request", seq=8, command="attach", arguments={})
if "debugger" in info["supported_features"]:
    assert attached["success"], attached
    assert control("debug_request", type="request", seq=9, command="debugInfo")["body"]["isStarted"] is True
    assert control("debug_request", type="request", seq=8, command="disconnect", arguments={})["success"]
else:
    assert not attached["success"] and attached["message"], attached
assert control("debug_request", type="request", seq=9, command="debugInfo")["body"]["isStarted"] is False

subshell = control("create_subshell_request")["subshell_id"]
assert control("list_subshell_request")["subshell_id"] == [subshell]
beside = request("execute_request", cell(code["set"]), subshell)
if code.get("concurrent"):
    assert reply(kc.get_shell_msg, beside)["content"]["status"] == "ok"
if code.get("variable"):
    listed = control("debug_request", type="request", seq=7, command="inspectVariables", arguments={})
    assert listed["success"] and listed["request_seq"] == 7, listed
    names = {v["name"]: v for v in listed["body"]["variables"]}
    assert code["variable"] in names, names
completion = reply(kc.get_shell_msg, request("complete_request", {"code": "x", "cursor_pos": 1}, subshell))
assert completion["content"]["status"] == "ok", completion
assert completion["parent_header"]["subshell_id"] == subshell, completion
control("interrupt_request")
assert reply(kc.get_shell_msg, loop)["content"]["ename"] == "Interrupted"
assert control("delete_subshell_request", subshell_id=subshell)["status"] == "ok"
assert control("list_subshell_request")["subshell_id"] == []
lost = reply(kc.get_shell_msg, request("execute_request", cell(code["set"]), subshell))
assert lost["content"]["status"] == "error", lost

# A new subscriber is welcomed, without asking for anything.
sub = zmq.Context.instance().socket(zmq.SUB)
sub.subscribe(b"")
sub.connect("tcp://%s:%d" % (km.ip, km.iopub_port))
assert sub.poll(1000 * TIMEOUT)
_, frames = kc.session.feed_identities(sub.recv_multipart())
welcome = kc.session.deserialize(frames)
assert welcome["msg_type"] == "iopub_welcome" and welcome["content"] == {"subscription": ""}, welcome
assert welcome["parent_header"] == {}, welcome
sub.close()

kc.stop_channels()
km.shutdown_kernel()
print("done")
