package transport

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dace.local/kernel/internal/jupyter/wire"
)

// jupyterClient returns the path of a Python that has jupyter_client. Without
// one it skips the test, or fails it if DACE_REQUIRE_CLIENTS=1 is set.
func jupyterClient(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"/usr/bin/python3", "python3"} {
		if exec.Command(python, "-c", "import jupyter_client, zmq").Run() == nil {
			return python
		}
	}
	const text = "no Python with jupyter_client: install the Debian package python3-jupyter-client"
	if os.Getenv("DACE_REQUIRE_CLIENTS") == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
	return ""
}

// TestLibzmq drives the sockets through jupyter_client and libzmq.
func TestLibzmq(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	python := jupyterClient(t)
	for name, conn := range connections(t) {
		t.Run(name, func(t *testing.T) {
			k := start(t, conn, Options{})
			file := filepath.Join(t.TempDir(), "kernel.json")
			if err := k.Connection().Write(file); err != nil {
				t.Fatal(err)
			}
			out, err := exec.CommandContext(ctx(t), python, "testdata/client.py", file).CombinedOutput()
			if err != nil || !strings.HasSuffix(string(out), "ok\n") {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// ask sends an input request to the client that sent m, and returns the
// answer.
func (k *kernel) ask(t testing.TB, m wire.Message) wire.Message {
	request := k.message(t, "input_request", m.Header, map[string]any{"prompt": "? ", "password": false})
	request.Identities = m.Identities
	k.awaitStdin(t, string(m.Identities[0]))
	if err := k.Send(wire.Stdin, request); err != nil {
		t.Error(err)
	}
	answer, err := k.Receive(ctx(t), wire.Stdin)
	if err != nil {
		t.Error(err)
	}
	return answer
}
