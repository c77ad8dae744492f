package server

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"dace.local/kernel/engine/echo"
	"dace.local/kernel/internal/jupyter/transport"
	"dace.local/kernel/internal/jupyter/wire"
)

// startSockets starts a kernel on tcp or ipc and connects a client.
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

// A lateClient is a client whose connection is made after the kernel's start.
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
	if _, err := k.client.(*lateClient).Ping(ctx); err != nil {
		t.Errorf("no heartbeat while a cell runs: %v", err)
	}
}

// TestClients checks that several clients can work at the same time: each gets
// its own replies, in order, and all see all outputs.
func TestClients(t *testing.T) {
	k := startSockets(t, "tcp")
	const clients, cells = 4, 25
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var wait sync.WaitGroup
	for n := range clients {
		c, err := transport.Dial(ctx, k.server.sockets.Connection())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Ready(ctx); err != nil {
			t.Fatal(err)
		}
		wait.Go(func() {
			var sent []string
			for i := range cells {
				h, err := c.Request(wire.Shell, "execute_request", executeObject(fmt.Sprintf("%%print %d %d", n, i)))
				if err != nil {
					t.Error(err)
					return
				}
				sent = append(sent, h.MsgID)
			}
			for _, id := range sent {
				m, err := c.Receive(ctx, wire.Shell)
				if err != nil || m.Parent.MsgID != id {
					t.Errorf("client %d gets a reply to %s, %v, want to %s", n, m.Parent.MsgID, err, id)
					return
				}
			}
			for own := 0; own < cells; {
				m, err := c.Receive(ctx, wire.IOPub)
				if err != nil {
					t.Error(err)
					return
				}
				if m.Header.MsgType == "stream" && slices.Contains(sent, m.Parent.MsgID) {
					if got, want := content(m)["text"], fmt.Sprintf("%d %d\n", n, own); got != want {
						t.Errorf("client %d sees %q, want %q", n, got, want)
					}
					own++
				}
			}
		})
	}
	wait.Wait()
	want(t, "count", k.server.count.Load(), clients*cells)
}

// BenchmarkCell measures the round trip of a trivial cell for a client: from
// sending the request to receiving both the reply and "idle".
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

// BenchmarkPrint measures printing over tcp: 100,000 lines, and 20 MB at once.
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

// opened returns a server that a connection file has opened, and the connection.
func opened(t *testing.T) (*server, wire.Connection) {
	t.Helper()
	// Sockets in a folder of its own: a free port can be taken before the kernel has it.
	conn := wire.Connection{Transport: "ipc", IP: filepath.Join(t.TempDir(), "k"), Key: "a key", SignatureScheme: "hmac-sha256",
		ShellPort: 1, IOPubPort: 2, StdinPort: 3, ControlPort: 4, HBPort: 5}
	file := filepath.Join(t.TempDir(), "connection.json")
	if err := conn.Write(file); err != nil {
		t.Fatal(err)
	}
	s, err := open(file, echo.New(), Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return s, conn
}

// What is published before the first client has subscribed reaches it, once.
func TestLateSubscriber(t *testing.T) {
	s, conn := opened(t)
	defer s.sockets.(*transport.Sockets).Close()
	cell := wire.NewHeader("client", "ada", "execute_request")
	s.iopub.status(cell, "busy")
	s.iopub.write(&outputs{server: s, parent: cell}, "stdout", "early")
	s.iopub.status(cell, "idle")
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	client, err := transport.Dial(ctx, conn)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	var got []string
	for range 4 {
		m, err := client.Receive(ctx, wire.IOPub)
		if err != nil {
			t.Fatal(err, got)
		}
		got = append(got, m.Header.MsgType+" of "+m.Parent.MsgType)
		if len(got) == 4 {
			s.iopub.status(cell, "starting")
		}
	}
	if want := []string{"iopub_welcome of ", "status of execute_request", "stream of execute_request", "status of execute_request"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	m, err := client.Receive(ctx, wire.IOPub)
	if err != nil || string(m.Content) != `{"execution_state":"starting"}` {
		t.Errorf("then %s, %v", m.Content, err)
	}
}

// TestWelcome checks that a subscriber receives iopub_welcome, on the topic of
// its subscription, when the subscription is in force.
func TestWelcome(t *testing.T) {
	s, conn := opened(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}()
	client, err := transport.Dial(ctx, conn)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	soon, stop := context.WithTimeout(ctx, patience)
	defer stop()
	for {
		m, err := client.Receive(soon, wire.IOPub)
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.MsgType != "iopub_welcome" {
			continue
		}
		want(t, "welcome", content(m), object{"subscription": ""})
		if !m.Parent.IsZero() || len(m.Identities) > 1 || len(m.Identities) == 1 && len(m.Identities[0]) > 0 {
			t.Errorf("parent %+v, topic %q", m.Parent, m.Identities)
		}
		return
	}
}
