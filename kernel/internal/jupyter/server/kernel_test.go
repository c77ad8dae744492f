package server

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/echo"
	"dace.local/kernel/internal/jupyter/wire"
)

// patience is how long a test waits before it fails because the kernel hangs.
const patience = 3 * time.Minute

// A client is the peer of the kernel's sockets.
type client interface {
	Request(ch wire.Channel, kind string, content any) (wire.Header, error)
	Send(ch wire.Channel, m wire.Message) error
	Receive(ctx context.Context, ch wire.Channel) (wire.Message, error)
	Close() error
}

// A kernel is a server on the echo engine, with a client. It is used by one
// goroutine.
type kernel struct {
	client
	t      testing.TB
	server *server
	done   chan error // the result of run
	cancel context.CancelFunc
	iopub  map[string][]wire.Message // received messages, by the parent's id
}

type object = map[string]any

// start starts a server on sockets. The server is stopped at the end of the
// test.
func start(t testing.TB, c client, so sockets) *kernel {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	k := &kernel{
		client: c,
		t:      t,
		server: newServer(echo.New(), so, wire.NewSession(), log, Options{}),
		done:   make(chan error, 1),
		iopub:  map[string][]wire.Message{},
	}
	ctx, cancel := context.WithCancel(context.Background())
	k.cancel = cancel
	go func() { k.done <- k.server.run(ctx) }()
	t.Cleanup(func() {
		cancel()
		k.ended()
		c.Close()
	})
	return k
}

// ended waits for the server to end.
func (k *kernel) ended() {
	k.t.Helper()
	select {
	case err := <-k.done:
		if err != nil {
			k.t.Errorf("the server ends with %v", err)
		}
		k.done <- nil // for the next call
	case <-time.After(patience):
		k.t.Fatal("the server does not end")
	}
}

// receive returns the next message on a channel.
func (k *kernel) receive(ch wire.Channel) wire.Message {
	k.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	m, err := k.Receive(ctx, ch)
	if err != nil {
		k.t.Fatalf("nothing comes on %s: %v", ch, err)
	}
	k.checkHeader(m)
	return m
}

func (k *kernel) checkHeader(m wire.Message) {
	k.t.Helper()
	h := m.Header
	if h.MsgID == "" || h.MsgType == "" || h.Session != k.server.session || h.Version != "5.5" || h.Date.IsZero() || h.Username == "" {
		k.t.Errorf("header is incomplete: %+v", h)
	}
}

// send sends a request and returns its id.
func (k *kernel) send(ch wire.Channel, kind string, content any) string {
	k.t.Helper()
	h, err := k.Request(ch, kind, content)
	if err != nil {
		k.t.Fatal(err)
	}
	return h.MsgID
}

// nextOutput waits for one message on iopub and stores it in k.iopub.
func (k *kernel) nextOutput() {
	k.t.Helper()
	m := k.receive(wire.IOPub)
	parent := m.Parent.MsgID
	k.iopub[parent] = append(k.iopub[parent], m)
}

// outputs waits until the status of a request is "idle" and returns its iopub
// messages. It checks that the first is "busy" and the last "idle", and leaves
// these out.
func (k *kernel) outputs(id string) []wire.Message {
	k.t.Helper()
	for {
		if ms := k.iopub[id]; len(ms) > 0 && state(ms[len(ms)-1]) == "idle" {
			if state(ms[0]) != "busy" {
				k.t.Errorf("the first message of %s is %s, want busy", id, describe(ms[:1]))
			}
			delete(k.iopub, id)
			return ms[1 : len(ms)-1]
		}
		k.nextOutput()
	}
}

// state returns the execution state of a status message.
func state(m wire.Message) string {
	if m.Header.MsgType != "status" {
		return ""
	}
	s, _ := content(m)["execution_state"].(string)
	return s
}

// content returns a message's content.
func content(m wire.Message) object {
	var o object
	if err := json.Unmarshal(m.Content, &o); err != nil {
		panic(err)
	}
	return o
}

// reply returns the reply to a request, which must be the next message on the
// channel.
func (k *kernel) reply(ch wire.Channel, id, kind string) wire.Message {
	k.t.Helper()
	m := k.receive(ch)
	if m.Parent.MsgID != id || m.Header.MsgType != kind {
		k.t.Fatalf("got %s to %s, want %s to %s", m.Header.MsgType, m.Parent.MsgID, kind, id)
	}
	if content(m)["status"] == nil && kind != "debug_reply" { // which is one of the Debug Adapter Protocol
		k.t.Errorf("%s has no status: %s", kind, m.Content)
	}
	return m
}

// ask sends a request and returns the reply's content and the outputs.
func (k *kernel) ask(ch wire.Channel, kind string, q any) (object, []wire.Message) {
	k.t.Helper()
	id := k.send(ch, kind, q)
	m := k.reply(ch, id, strings.TrimSuffix(kind, "_request")+"_reply")
	return content(m), k.outputs(id)
}

// execute runs a cell with the fields that front ends send, and returns the
// reply's content and the outputs without execute_input.
func (k *kernel) execute(code string, also ...object) (object, []wire.Message) {
	k.t.Helper()
	reply, outs := k.ask(wire.Shell, "execute_request", executeObject(code, also...))
	outs = slices.DeleteFunc(outs, func(m wire.Message) bool { return m.Header.MsgType == "execute_input" })
	return reply, outs
}

func executeObject(code string, also ...object) object {
	q := object{"code": code, "silent": false, "store_history": true, "user_expressions": object{}, "allow_stdin": false, "stop_on_error": true}
	for _, o := range also {
		for name, v := range o {
			q[name] = v
		}
	}
	return q
}

// describe formats messages as text, each with its type and the relevant part of
// its content. Consecutive pieces of the same stream are joined.
func describe(ms []wire.Message) string {
	var parts []string
	for _, m := range ms {
		c := content(m)
		kind := m.Header.MsgType
		switch kind {
		case "stream":
			text := c["text"].(string)
			prefix := c["name"].(string) + " "
			if n := len(parts); n > 0 && strings.HasPrefix(parts[n-1], prefix) {
				parts[n-1] += text
				continue
			}
			parts = append(parts, prefix+text)
		case "status":
			parts = append(parts, c["execution_state"].(string))
		default:
			raw, _ := wire.Marshal(c)
			parts = append(parts, kind+" "+string(raw))
		}
	}
	return strings.Join(parts, "|")
}

func executeCell(code string) engine.Cell { return engine.Cell{Number: 1, Code: code} }
