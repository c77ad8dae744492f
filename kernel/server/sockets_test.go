package server

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"dace.local/kernel/transport"
	"dace.local/kernel/wire"
)

// startSockets starts a kernel on tcp or ipc, with a client that is connected.
func startSockets(t testing.TB, over string) *kernel {
	t.Helper()
	conn := wire.Connection{Transport: over, IP: "127.0.0.1", Key: "a key", SignatureScheme: "hmac-sha256"}
	if over == "ipc" {
		conn.IP = filepath.Join(t.TempDir(), "kernel")
	}
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	so, err := transport.Listen(conn, transport.Options{Log: log})
	if err != nil {
		t.Fatal(err)
	}
	c := &lateClient{}
	k := start(t, c, so)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if c.Client, err = transport.Dial(ctx, so.Connection()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return k
}

// A lateClient connects when the kernel is there.
type lateClient struct {
	*transport.Client
}

func (c *lateClient) Close() error {
	if c.Client == nil {
		return nil
	}
	return c.Client.Close()
}

func TestSockets(t *testing.T) {
	for _, over := range []string{"tcp", "ipc"} {
		t.Run(over, func(t *testing.T) {
			for name, test := range kernelTests {
				t.Run(name, func(t *testing.T) { test(t, startSockets(t, over)) })
			}
		})
	}
}

func TestHeartbeat(t *testing.T) {
	k := startSockets(t, "tcp")
	k.running("%loop")
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d, err := k.client.(*lateClient).Ping(ctx)
	if err != nil || d > time.Second {
		t.Errorf("the heart beats after %v, %v while a cell runs", d, err)
	}
}

// BenchmarkCell is the round trip of a trivial cell as a client sees it: from
// sending the request to having both the reply and the idle.
func BenchmarkCell(b *testing.B) {
	for _, over := range []string{"memory", "tcp", "ipc"} {
		b.Run(over, func(b *testing.B) {
			var k *kernel
			if over == "memory" {
				k = startMemory(b)
			} else {
				k = startSockets(b, over)
			}
			var took []time.Duration
			for b.Loop() {
				start := time.Now()
				id := k.send(wire.Shell, "execute_request", executeObject("as is"))
				k.reply(wire.Shell, id, "execute_reply")
				k.outputs(id)
				took = append(took, time.Since(start))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "median-us")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
		})
	}
}

// BenchmarkPrint is what printing costs through tcp: 100,000 lines, and 20 MB
// at once.
func BenchmarkPrint(b *testing.B) {
	for name, code := range map[string]string{"lines": "%repeat 100000 a line of text", "bytes": "%bytes 20000000"} {
		b.Run(name, func(b *testing.B) {
			k := startSockets(b, "tcp")
			for b.Loop() {
				k.execute(code)
			}
		})
	}
}
