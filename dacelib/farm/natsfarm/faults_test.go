package natsfarm_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
	"dace.local/dacelib/farm/natsfarm"
	"dace.local/dacelib/farm/natsfarm/internal/joinfile"
)

// address returns the address and the token in a join file.
func address(t testing.TB, join string) (addr, token string) {
	t.Helper()
	b, err := os.ReadFile(join)
	if err != nil {
		t.Fatal(err)
	}
	var j struct {
		Addresses []string
		Token     string
	}
	if err := json.Unmarshal(b, &j); err != nil {
		t.Fatal(err)
	}
	return j.Addresses[0], j.Token
}

// Bytes that are no protocol, claims of huge messages, and damaged messages of
// somebody who holds the token hurt nobody else.
func TestGarbage(t *testing.T) {
	join := start(t, "", 1)
	p := pool(t, join)
	ctx := context.Background()
	if err := farmtest.Doubles(ctx, t, p, 1, 10); err != nil {
		t.Fatal(err)
	}
	addr, token := address(t, join)
	connect := fmt.Sprintf("CONNECT {\"user\":\"worker\",\"pass\":%q,\"verbose\":false}\r\n", token)
	for name, text := range map[string]string{
		"noise":             "\x00\xff\x16\x03\x01GET / HTTP/1.1\r\n\r\n",
		"long line":         strings.Repeat("A", 1<<20) + "\r\n",
		"2^31 bytes":        "PUB r.x 2147483648\r\nabc",
		"2^31 with a token": connect + "PUB r.x 2147483648\r\nabc",
		"negative":          connect + "PUB r.x -1\r\nabc",
		"headers":           connect + "HPUB r.x 2147483647 2147483648\r\n",
	} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_, _ = c.Write([]byte(text))
		// The server ends the connection.
		_ = c.SetReadDeadline(time.Now().Add(time.Minute))
		for b := make([]byte, 4096); ; {
			if _, err := c.Read(b); err != nil {
				if e, ok := err.(net.Error); ok && e.Timeout() {
					t.Errorf("%s: the server keeps the connection", name)
				}
				break
			}
		}
		_ = c.Close()
	}
	nc, err := nats.Connect(addr, nats.UserInfo("worker", token), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	for _, subject := range []string{"r.0123", "w.nobody", "c.nobody", "b.x.y", "b." + strings.Repeat("0", 64) + ".0"} {
		for _, data := range []string{"", "{", "null", `{"key":"","cores":-5}`, "\n\n", `{"name":"nobody","cores":2147483648}`, "\xff\xfe"} {
			if err := nc.Publish(subject, []byte(data)); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A blob that claims to have 2^31 bytes, and one that claims more than all.
	for i, size := range []string{"2147483648", "9223372036854775807", "-1"} {
		key := strings.Repeat(fmt.Sprint(i), 64)
		if _, err := nc.Request("b."+key+".head", []byte(`{"size":`+size+`}`), 10*time.Second); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Get(ctx, key); err == nil || !strings.Contains(err.Error(), "blob "+key[:12]) {
			t.Errorf("a blob of %s bytes: %v", size, err)
		}
	}
	// Messages that are no messages, from a caller.
	callers, err := nats.Connect(addr, nats.UserInfo("caller", token))
	if err != nil {
		t.Fatal(err)
	}
	defer callers.Close()
	class := farm.Class(nil)
	for i, data := range []string{"", "{", `{"id":"a b","units":[{}]}`, `{"id":"x-1","units":[]}`, `{"id":"x-2","units":[{"kind":"nothing","data":7}]}`} {
		if _, err := callers.Request(fmt.Sprintf("t.%s.x.%d", class, i), []byte(data), 10*time.Second); err != nil {
			t.Fatal(err)
		}
	}
	// A worker may not manage streams.
	if _, err := nc.Request("$JS.API.STREAM.DELETE.RESULTS", nil, time.Second); err == nil {
		t.Error("a worker can delete the results")
	}
	if err := farmtest.Doubles(ctx, t, p, 5000, 30); err != nil {
		t.Error(err)
	}
}

// A server that listens beyond this machine has TLS 1.3 alone.
func TestTLS(t *testing.T) {
	join := start(t, "0.0.0.0:0", 0)
	addr, _ := address(t, join)
	nc, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Read(make([]byte, 4096)); err != nil { // the greeting
		t.Fatal(err)
	}
	c := tls.Client(nc, &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS12})
	if err := c.Handshake(); err == nil {
		t.Error("TLS 1.2 is accepted")
	}
}

// A worker of another build gets no work, and the caller says why.
func TestForeign(t *testing.T) {
	join := start(t, "", 0)
	p := pool(t, join)
	notes := make(chan string, 10)
	p.OnNote(func(n string) { notes <- n })
	addr, token := address(t, join)
	nc, err := nats.Connect(addr, nats.UserInfo("worker", token), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	w := farm.Worker{Name: "old", Host: "museum", Cores: 4, Identity: farm.Self()}
	w.Identity.Version = "0.0.7"
	b, _ := json.Marshal(w)
	if err := nc.Publish("w.old", b); err != nil {
		t.Fatal(err)
	}
	select {
	case n := <-notes:
		if !strings.Contains(n, "worker old on museum gets no unit: it is version 0.0.7") || !strings.Contains(n, "install the same version") {
			t.Error(n)
		}
	case <-time.After(time.Minute):
		t.Fatal("nothing was said")
	}
	if s := p.Slots(); s != 1 {
		t.Errorf("%d slots with a worker that gets nothing", s)
	}
	if s, err := natsfarm.Status(context.Background(), join); err != nil {
		t.Errorf("%v, %v", s, err)
	}
}

// A worker that the server gives no work cannot join: it says so, and leaves no connection.
func TestNoWork(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if _, err := nc.Subscribe("$JS.API.CONSUMER.>", func(m *nats.Msg) {
		cancel() // so that it does not ask again
		_ = m.Respond([]byte(`{"error":{"description":"there are too many consumers"}}`))
	}); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), natsfarm.JoinName)
	if err := joinfile.Write(path, joinfile.File{Version: 1, Addresses: []string{s.Addr().String()}, Token: "t"}); err != nil {
		t.Fatal(err)
	}
	w, err := natsfarm.NewSource(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	state := func() farm.Worker { return farm.Worker{Name: "w", Host: "here", Cores: 1, Identity: farm.Self()} }
	if err := w.Join(ctx, state); err == nil || !strings.HasPrefix(err.Error(), "farm: the server gives no work: ") {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); s.NumClients() > 1; time.Sleep(time.Millisecond) {
		if time.Now().After(until) {
			t.Fatal("the worker is still connected")
		}
	}
}

// A caller that is interrupted while it asks for workers is not connected.
func TestAskInterrupted(t *testing.T) {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	defer s.Shutdown()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect(s.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Subscribe("$JS.API.STREAM.INFO.RESULTS", func(m *nats.Msg) { _ = m.Respond([]byte("{}")) }); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	// Between the caller and the server the question is lost, with all after it.
	between, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer between.Close()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		caller, err := between.Accept()
		if err != nil {
			return
		}
		to, err := net.Dial("tcp", s.Addr().String())
		if err != nil {
			return
		}
		defer to.Close()
		go func() { _, _ = io.Copy(caller, to) }()
		lines := bufio.NewReader(caller)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			if strings.HasPrefix(line, "PUB hello ") {
				cancel()
				_, _ = io.Copy(io.Discard, lines) // until the caller ends the connection
				return
			}
			if _, err := io.WriteString(to, line); err != nil {
				return
			}
		}
	}()
	path := filepath.Join(t.TempDir(), natsfarm.JoinName)
	if err := joinfile.Write(path, joinfile.File{Version: 1, Addresses: []string{between.Addr().String()}, Token: "t"}); err != nil {
		t.Fatal(err)
	}
	if p, err := natsfarm.NewPool(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("connected: %v, %v", p != nil, err)
	}
}

// On a full file system the caller is told the size and a remedy, and after room
// is made everything goes on.
func TestFullDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := filepath.Join(t.TempDir(), "small")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", dir).CombinedOutput(); err != nil {
		t.Skipf("a file system of 3 MB cannot be mounted here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", dir).Run() })
	// A server that would start without room says so.
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 5<<19), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := natsfarm.Start(filepath.Join(dir, "farm"), "", serveCommand()); err == nil || !strings.Contains(err.Error(), dir+"/farm is full") || !strings.Contains(err.Error(), "make room") {
		t.Errorf("a server that starts on a full file system: %v", err)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	join, err := natsfarm.Start(filepath.Join(dir, "farm"), "", serveCommand())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killServer(filepath.Join(dir, "farm")) })
	startProcess(t, "worker", join, "1")
	ctx := context.Background()
	p := pool(t, join)
	if err := farmtest.Doubles(ctx, t, p, 1, 10); err != nil {
		t.Fatal(err)
	}
	begun := time.Now()
	_, err = p.Put(ctx, make([]byte, 5<<20))
	if err == nil || !strings.Contains(err.Error(), "cannot store") || !strings.Contains(err.Error(), "make room") {
		t.Fatalf("after %v: %v", time.Since(begun), err)
	}
	t.Logf("told after %v: %v", time.Since(begun), err)
	if out, err := exec.Command("mount", "-o", "remount,size=64m", dir).CombinedOutput(); err != nil {
		t.Skipf("no room can be made: %s", out)
	}
	// A server whose disk was full may have to be started again.
	killServer(filepath.Join(dir, "farm"))
	if err := farmtest.Doubles(ctx, t, p, 1, 40); err != nil {
		t.Error(err)
	}
}
