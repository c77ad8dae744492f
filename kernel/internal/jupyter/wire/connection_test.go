package wire

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// connectionFile is a file as jupyter_client 7.4.9 writes it.
const connectionFile = `{
  "shell_port": 35779,
  "iopub_port": 47185,
  "stdin_port": 36063,
  "control_port": 44341,
  "hb_port": 33563,
  "ip": "127.0.0.1",
  "key": "84b2bd1c-5cf0f4b2fa3f5a6f8d8b42f1",
  "transport": "tcp",
  "signature_scheme": "hmac-sha256",
  "kernel_name": "dace",
  "jupyter_session": "a field that we do not know"
}`

func TestParseConnection(t *testing.T) {
	c, err := ParseConnection([]byte(connectionFile))
	if err != nil {
		t.Fatal(err)
	}
	want := Connection{Transport: "tcp", IP: "127.0.0.1", ShellPort: 35779, IOPubPort: 47185, StdinPort: 36063, ControlPort: 44341, HBPort: 33563,
		Key: "84b2bd1c-5cf0f4b2fa3f5a6f8d8b42f1", SignatureScheme: "hmac-sha256", KernelName: "dace"}
	if c != want {
		t.Errorf("got %+v, want %+v", c, want)
	}
	if network, address := c.Address(Control); network != "tcp" || address != "127.0.0.1:44341" {
		t.Errorf("control is at %s %s", network, address)
	}
	c.Transport, c.IP = "ipc", "/run/user/0/kernel-ipc"
	if network, address := c.Address(HB); network != "unix" || address != "/run/user/0/kernel-ipc-33563" {
		t.Errorf("with ipc, hb is at %s %s", network, address)
	}
	c.SetPort(HB, 5)
	c.Transport, c.IP = "tcp", "*"
	if network, address := c.Address(HB); network != "tcp" || address != "0.0.0.0:5" {
		t.Errorf("on all interfaces, hb is at %s %s", network, address)
	}
	c, err = ParseConnection([]byte(`{}`))
	if err != nil || c.Transport != "tcp" || c.IP != "127.0.0.1" {
		t.Errorf("an empty connection is %+v, %v", c, err)
	}
}

func TestConnectionErrors(t *testing.T) {
	if _, err := ParseConnection([]byte(`{"control_port": 65535}`)); err != nil {
		t.Errorf("the largest port: %v", err)
	}
	for _, tc := range []struct{ text, want string }{
		{``, `not JSON`},
		{`{"ip": "127.0.0.1",}`, `not JSON: invalid character '}'`},
		{`[]`, `not a connection`},
		{`{"shell_port": "12"}`, `field "shell_port": got a string, want a whole number`},
		{`{"hb_port": 1.5}`, `field "hb_port": got a number 1.5, want a whole number`},
		{`{"key": 1}`, `field "key": got a number, want a string`},
		{`{"transport": "udp"}`, `field "transport": "udp" is not supported, use "tcp" or "ipc"`},
		{`{"transport": "ipc"}`, `field "ip"`},
		{`{"transport": "ipc", "ip": "a\u0000b"}`, `field "ip"`},
		{`{"ip": "not an address"}`, `field "ip": "not an address" is not an IP address`},
		{`{"key": "k"}`, `field "signature_scheme": missing`},
		{`{"key": "k", "signature_scheme": "hmac-md5"}`, `field "signature_scheme": "hmac-md5" is not supported, use "hmac-sha256"`},
		{`{"control_port": -1}`, `field "control_port": -1 is not a port`},
		{`{"control_port": 65536}`, `field "control_port": 65536 is not a port`},
		{`{"shell_port": 9, "stdin_port": 9}`, `field "stdin_port": port 9 is "shell_port" already`},
	} {
		if _, err := ParseConnection([]byte(tc.text)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s\n got %v\nwant %s", tc.text, err, tc.want)
		}
	}
	name := filepath.Join(t.TempDir(), "kernel.json")
	if _, err := ReadConnection(name); err == nil || !strings.Contains(err.Error(), name) {
		t.Errorf("a missing file: %v does not name it", err)
	}
	if err := os.WriteFile(name, []byte(`{"ip": 1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadConnection(name); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), `"ip"`) {
		t.Errorf("a wrong field: %v does not name file and field", err)
	}
}

func TestWriteConnection(t *testing.T) {
	c, err := ParseConnection([]byte(connectionFile))
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "kernel.json")
	for range 2 { // the second time it replaces the file
		if err := c.Write(name); err != nil {
			t.Fatal(err)
		}
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if got, err := ReadConnection(name); err != nil || got != c {
		t.Errorf("read back %+v, %v; want %+v", got, err, c)
	}
	nowhere := filepath.Join(filepath.Dir(name), "none", "kernel.json")
	if err := c.Write(nowhere); err == nil || !strings.Contains(err.Error(), nowhere) {
		t.Errorf("a folder that is not there: %v", err)
	}
	c.Transport = "udp"
	if err := c.Write(name); err == nil {
		t.Error("an invalid connection was written")
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(name), ".*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

// FuzzParseConnection checks that an accepted connection survives a round
// trip.
func FuzzParseConnection(f *testing.F) {
	f.Add([]byte(connectionFile))
	f.Add([]byte(`{"transport": "ipc", "ip": "/tmp/kernel", "hb_port": 5}`))
	f.Add([]byte(`{"shell_port": 1e9}`))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := ParseConnection(data)
		if err != nil {
			return
		}
		name := filepath.Join(dir, "c.json")
		if err := c.Write(name); err != nil {
			t.Fatal(err)
		}
		if got, err := ReadConnection(name); err != nil || got != c {
			t.Fatalf("got %+v, %v; want %+v", got, err, c)
		}
	})
}
