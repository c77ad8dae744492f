"""Move a slider as a front end without any throttle of its own would, ask for
all widgets as a page does that is loaded anew, and run the cell under nbclient,
which keeps the widgets in the notebook.

usage: widgets.py KERNEL CODE.json

CODE.json has "interact", a cell that shows a slider from 0 to 1000 and a figure
with the title "k = VALUE", and spins at 1000. Any surprise is an AssertionError.
The last line printed is a JSON object of what was measured.
"""

import json
import re
import sys
import time

import nbformat
from jupyter_client.manager import start_new_kernel
from nbclient import NotebookClient

TIMEOUT = 300  # so long that it does not come, however busy the machine is

kernel, file = sys.argv[1:]
with open(file) as f:
    code = json.load(f)

models = {}  # states by comm id
echoes = []  # values that came back
drawn = []  # (time, value) of each figure, or the name of an error


def take(msg):
    """Do with a message what a page does."""
    content = msg["content"]
    if msg["msg_type"] == "comm_open":
        assert content["target_name"] == "jupyter.widget", content
        assert msg["metadata"] == {"version": "2.1.0"}, msg["metadata"]
        assert content["data"]["buffer_paths"] == []
        models[content["comm_id"]] = content["data"]["state"]
    elif msg["msg_type"] == "comm_msg":
        data = content["data"]
        if data["method"] == "echo_update":
            models[content["comm_id"]].update(data["state"])
            echoes.append(data["state"]["value"])
        elif data["method"] == "update":
            models[content["comm_id"]].update(data["state"])
            for out in data["state"].get("outputs", []):
                if out["output_type"] == "error":
                    drawn.append((time.monotonic(), out["ename"]))
                elif "image/png" in out.get("data", {}):
                    title = out["data"]["text/plain"]
                    drawn.append((time.monotonic(), int(re.search(r"k = (\d+)", title)[1])))


def until(kc, done):
    while not done():
        take(kc.get_iopub_msg(timeout=TIMEOUT))


def idle(kc, msg_id):
    """Take messages up to the end of what a message asked for."""
    while True:
        msg = kc.get_iopub_msg(timeout=TIMEOUT)
        take(msg)
        if msg["parent_header"].get("msg_id") == msg_id and msg["content"].get("execution_state") == "idle":
            return


def send(kc, kind, content):
    msg = kc.session.msg(kind, content)
    kc.shell_channel.send(msg)
    return msg["header"]["msg_id"]


def set_value(kc, comm, value):
    data = {"method": "update", "state": {"value": value}, "buffer_paths": []}
    return send(kc, "comm_msg", {"comm_id": comm, "data": data})


def find(name):
    found = [i for i, state in models.items() if state["_model_name"] == name]
    assert len(found) == 1, (name, found)
    return found[0]


km, kc = start_new_kernel(kernel_name=kernel, startup_timeout=TIMEOUT)
measured = {}
try:
    idle(kc, kc.execute(code["interact"]))
    slider, area = find("IntSliderModel"), find("OutputModel")
    box = models[find("VBoxModel")]
    assert box["children"] == ["IPY_MODEL_" + slider, "IPY_MODEL_" + area], box
    assert models[slider]["style"].removeprefix("IPY_MODEL_") in models

    drawn.clear()
    times = []
    for value in range(10, 20):
        start = time.monotonic()
        set_value(kc, slider, value)
        until(kc, lambda: drawn and drawn[-1][1] == value)
        times.append(drawn[-1][0] - start)
    measured["moved_ms"] = round(1000 * sorted(times)[len(times) // 2], 1)

    # 60 values in a second.
    drawn.clear()
    echoes.clear()
    start = time.monotonic()
    for i in range(60):
        time.sleep(max(0, start + i / 60 - time.monotonic()))
        last = set_value(kc, slider, 100 + i)
        sent = time.monotonic()
    idle(kc, last)
    values = [v for _, v in drawn]
    assert values[-1] == 159, values
    assert values == sorted(set(values)), f"stale figures are drawn: {values}"
    assert echoes == list(range(100, 160)), echoes
    measured["figures"] = len(values)
    measured["after_last_ms"] = round(1000 * (drawn[-1][0] - sent), 1)

    # A function that does not end is interrupted; the next one runs.
    drawn.clear()
    spinning = set_value(kc, slider, 1000)
    until(kc, lambda: models[area]["outputs"] and "spinning" in models[area]["outputs"][0].get("text", ""))
    km.interrupt_kernel()
    idle(kc, spinning)
    assert drawn[-1][1] == "Interrupted", drawn
    idle(kc, set_value(kc, slider, 42))
    assert drawn[-1][1] == 42, drawn

    # A page that is loaded anew.
    control = "a-page"
    send(kc, "comm_open", {"comm_id": control, "target_name": "jupyter.widget.control", "data": {}})
    send(kc, "comm_msg", {"comm_id": control, "data": {"method": "request_states"}})
    while True:
        msg = kc.get_iopub_msg(timeout=TIMEOUT)
        if msg["msg_type"] == "comm_msg" and msg["content"]["comm_id"] == control:
            break
    data = msg["content"]["data"]
    assert data["method"] == "update_states" and data["buffer_paths"] == []
    assert {i: m["state"] for i, m in data["states"].items()} == models
    assert data["states"][slider]["state"]["value"] == 42
    kc.comm_info("jupyter.widget")
    while True:
        reply = kc.get_shell_msg(timeout=TIMEOUT)
        if reply["msg_type"] == "comm_info_reply":
            break
    assert set(reply["content"]["comms"]) == set(models), reply["content"]
finally:
    kc.stop_channels()
    km.shutdown_kernel(now=True)
del kc

notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code["interact"])])
NotebookClient(notebook, kernel_name=kernel, timeout=TIMEOUT).execute()
nbformat.validate(notebook)
view = notebook.cells[0].outputs[0]["data"]["application/vnd.jupyter.widget-view+json"]
kept = notebook.metadata.widgets["application/vnd.jupyter.widget-state+json"]["state"]
names = sorted(m["model_name"] for m in kept.values())
assert kept[view["model_id"]]["model_name"] == "VBoxModel", names
assert names == ["IntSliderModel", "LayoutModel", "LayoutModel", "LayoutModel", "OutputModel", "SliderStyleModel", "VBoxModel"], names
shown = [m["state"]["outputs"] for m in kept.values() if m["model_name"] == "OutputModel"][0]
assert "image/png" in shown[-1]["data"], shown
print(json.dumps(measured))
