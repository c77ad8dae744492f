package prelisten

import (
	"net"
	"os"
	"path/filepath"
	"testing"

	"dace.local/kernel/internal/jupyter/wire"
)

// free returns a connection whose ports are free.
func free(t *testing.T) wire.Connection {
	t.Helper()
	c := wire.Connection{Transport: "tcp", IP: "127.0.0.1", Key: "k", SignatureScheme: "hmac-sha256"}
	for _, ch := range wire.Channels {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		c.SetPort(ch, l.Addr().(*net.TCPAddr).Port)
	}
	return c
}

func TestOpen(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		args   func(file string) []string
		change func(*wire.Connection)
		want   int
	}{
		"as registered":   {func(f string) []string { return []string{"jupyter", "-f", f} }, nil, 5},
		"one argument":    {func(f string) []string { return []string{"jupyter", f} }, nil, 5},
		"joined":          {func(f string) []string { return []string{"jupyter", "-f=" + f} }, nil, 5},
		"another verb":    {func(f string) []string { return []string{"run", "-f", f} }, nil, 0},
		"no argument":     {func(f string) []string { return []string{"jupyter"} }, nil, 0},
		"no file":         {func(f string) []string { return []string{"jupyter", "-f", f + "x"} }, nil, 0},
		"no connection":   {func(f string) []string { return []string{"jupyter", "-f", bad} }, nil, 0},
		"ports to find":   {func(f string) []string { return []string{"jupyter", "-f", f} }, func(c *wire.Connection) { c.HBPort = 0 }, 4},
		"not over TCP":    {func(f string) []string { return []string{"jupyter", "-f", f} }, func(c *wire.Connection) { c.Transport = "ipc" }, 0},
		"foreign address": {func(f string) []string { return []string{"jupyter", "-f", f} }, func(c *wire.Connection) { c.IP = "192.0.2.1" }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := free(t)
			if tc.change != nil {
				tc.change(&c)
			}
			file := filepath.Join(t.TempDir(), "c.json")
			if err := c.Write(file); err != nil {
				t.Fatal(err)
			}
			listeners = open(tc.args(file))
			if len(listeners) != tc.want {
				t.Fatalf("%d ports are open, want %d", len(listeners), tc.want)
			}
			for _, ch := range wire.Channels {
				network, address := c.Address(ch)
				l := Listener(network, address)
				if l == nil {
					continue
				}
				defer l.Close()
				if Listener(network, address) != nil {
					t.Error("a listener is handed over twice")
				}
				conn, err := net.Dial(network, address)
				if err != nil {
					t.Fatal(err)
				}
				conn.Close()
			}
		})
	}
}

// A port that another process holds is left to the kernel, which says so.
func TestHeldPort(t *testing.T) {
	c := free(t)
	l, err := net.Listen(c.Address(wire.Shell))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	file := filepath.Join(t.TempDir(), "c.json")
	if err := c.Write(file); err != nil {
		t.Fatal(err)
	}
	all := open([]string{"jupyter", "-f", file})
	for _, l := range all {
		defer l.Close()
	}
	if len(all) != 4 {
		t.Errorf("%d ports are open, want the 4 that are free", len(all))
	}
}
