"""Drives a kernel through Jupyter's own client, on libzmq.

Usage: client.py CONNECTION_FILE. Prints "ok" when everything was as it should
be.
"""
import os
import sys
import time

import zmq
from jupyter_client import BlockingKernelClient

TIMEOUT = 300  # long enough even for a busy machine

client = BlockingKernelClient(connection_file=sys.argv[1])
client.load_connection_file()
client.start_channels()
client.wait_for_ready(timeout=TIMEOUT)


def answer_to(message, receive):
    """The next message that answers this one; a busy machine may still be
    answering what was asked before."""
    while True:
        reply = receive(timeout=TIMEOUT)
        if reply["parent_header"]["msg_id"] == message["header"]["msg_id"]:
            return reply


# Requests and outputs, on shell and control, with words outside ASCII.
for channel, receive in (
    (client.shell_channel, client.get_shell_msg),
    (client.control_channel, client.get_control_msg),
):
    for i in range(100):
        message = client.session.msg("execute_request", {"code": "grüße %d 🎉" % i})
        channel.send(message)
        reply = answer_to(message, receive)
        assert reply["content"]["code"] == message["content"]["code"], reply
        assert reply["header"]["version"] == "5.5", reply
        states = []
        while "idle" not in states:
            output = answer_to(message, client.get_iopub_msg)
            if output["msg_type"] == "status":
                states.append(output["content"]["execution_state"])
        assert states == ["busy", "idle"], states

# A large message with buffers, there and back.
buffer = os.urandom(1 << 20) * 20
message = client.session.send(
    client.shell_channel.socket, "comm_msg", {"comm_id": "c"}, buffers=[buffer, b"", b"end"]
)
reply = answer_to(message, client.get_shell_msg)
assert [bytes(b) for b in reply["buffers"]] == [buffer, b"", b"end"], len(reply["buffers"])

# Input: the kernel sends an input request to the client that it replies to.
message = client.session.msg("ask", {})
client.shell_channel.send(message)
asked = client.get_stdin_msg(timeout=TIMEOUT)
assert asked["msg_type"] == "input_request", asked
assert asked["parent_header"]["msg_id"] == message["header"]["msg_id"], asked
client.input("an answer")
reply = client.get_shell_msg(timeout=TIMEOUT)
assert reply["content"]["value"] == "an answer", reply

# The heartbeat, sent from a REQ socket.
context = zmq.Context()
heart = context.socket(zmq.REQ)
heart.setsockopt(zmq.LINGER, 0)
heart.setsockopt(zmq.HEARTBEAT_IVL, 50)  # PING
heart.setsockopt(zmq.HEARTBEAT_TIMEOUT, TIMEOUT * 1000)
heart.connect(client._make_url("hb"))
for i in range(20):
    heart.send(b"ping %d" % i)
    assert heart.poll(TIMEOUT * 1000), "no heartbeat"
    assert heart.recv() == b"ping %d" % i
    time.sleep(0.05)  # time for some PINGs
heart.close()

# A second client with a wrong key gets no answer and does not affect the first.
other = BlockingKernelClient(connection_file=sys.argv[1])
other.load_connection_file()
other.session.key = b"another key"
other.start_channels()
for i in range(50):
    other.kernel_info()
try:
    other.get_shell_msg(timeout=0.3)
    sys.exit("a message with a wrong signature was answered")
except Exception as e:
    assert "Empty" in type(e).__name__, repr(e)
client.kernel_info()
client.get_shell_msg(timeout=TIMEOUT)
other.stop_channels()

client.stop_channels()
context.term()
print("ok")
