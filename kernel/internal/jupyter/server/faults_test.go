package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/dacelib/files/disk"
	"dace.local/kernel/engine"
	"dace.local/kernel/engine/echo"
	"dace.local/kernel/internal/jupyter/transport"
	"dace.local/kernel/internal/jupyter/wire"
)

// An odd engine does what echo does not: it fails.
type odd struct {
	*echo.Engine
	err   error
	block chan struct{} // Close waits for it
}

func (o *odd) Execute(context.Context, engine.Cell, engine.Outputs) (engine.Result, error) {
	return engine.Result{}, o.err
}

func (o *odd) Comm(_ context.Context, _ engine.CommMessage, out engine.Outputs) error {
	out.Stdout("\xe2\x82") // two bytes of a character of three
	return o.err
}

func (o *odd) Variables(context.Context) ([]engine.Variable, error) { return nil, o.err }

func (o *odd) Close() error {
	if o.block != nil {
		<-o.block
	}
	return nil
}

// oddServer returns a server on an odd engine that does not run, its memory and its
// log.
func oddServer(e *odd, opts Options) (*server, *memory, *bytes.Buffer) {
	e.Engine = echo.New()
	m, log := newMemory(), new(bytes.Buffer)
	return newServer(e, memorySockets{m}, wire.NewSession(), slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})), opts), m, log
}

// Handlers refuse what makes no sense, and report what the engine reports.
func TestHandlersFail(t *testing.T) {
	boom := errors.New("boom")
	e := &odd{err: boom}
	s, _, log := oddServer(e, Options{})
	s.turn = make(chan struct{}, 1)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	call := func(ctx context.Context, h handler, kind, content, metadata string) (any, error) {
		m := wire.Message{Header: wire.NewHeader("client", "ada", kind), Content: []byte(content), Metadata: []byte(metadata)}
		return h(s, ctx, &request{Message: m, lane: s.shell, number: 1})
	}
	comm, debug := (*server).commMessage, (*server).debugBody
	s.comms.note(engine.CommMessage{Type: "comm_open", ID: "c", Target: "t"})
	_, metadata := call(t.Context(), comm, "comm_msg", `{"comm_id": "c"}`, "1")
	s.turn <- struct{}{} // a cell runs
	_, interrupted := call(ended, comm, "comm_msg", `{"comm_id": "c"}`, "")
	reply, _ := call(ended, (*server).execute, "execute_request", `{"code": "x"}`, "")
	<-s.turn
	_, deletes := call(t.Context(), (*server).deleteSubshell, "delete_subshell_request", `{"subshell_id": 1}`, "")
	_, arguments := debug(s, t.Context(), debugRequest{Command: "richInspectVariables", Arguments: []byte("1")})
	_, variables := debug(s, t.Context(), debugRequest{Command: "richInspectVariables", Arguments: []byte(`{"variableName": "x"}`)})
	e.err = nil
	_, variable := debug(s, t.Context(), debugRequest{Command: "richInspectVariables", Arguments: []byte(`{"variableName": "x"}`)})
	_, asks := call(t.Context(), (*server).debug, "debug_request", `{"seq": "one"}`, "")
	out := s.outputs(t.Context(), &request{lane: s.shell})
	for range maxSubshells {
		s.subshells[wire.NewSession()] = s.shell
	}
	_, subshells := call(t.Context(), (*server).createSubshell, "create_subshell_request", "{}", "")
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a comm's metadata":         {metadata, "cannot unmarshal number"},
		"a comm while a cell runs":  {interrupted, "context canceled"},
		"data that are no JSON":     {out.Comm(engine.CommMessage{Type: "comm_msg", ID: "c", Data: map[string]any{"x": make(chan int)}}), "unsupported type"},
		"metadata that are no JSON": {out.Comm(engine.CommMessage{Type: "comm_msg", ID: "c", Metadata: map[string]any{"x": make(chan int)}}), "unsupported type"},
		"a subshell's id":           {deletes, "cannot unmarshal number"},
		"too many subshells":        {subshells, "delete one"},
		"a debugger's request":      {asks, "cannot unmarshal string"},
		"a variable's name":         {arguments, "cannot unmarshal number"},
		"variables":                 {variables, "boom"},
		"no variable":               {variable, "the session has no variable x"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, c.err, c.want)
		}
	}
	if r, ok := reply.(executeError); !ok || r.Name != engine.Interrupted {
		t.Errorf("a cell that waits and is interrupted: %+v", reply)
	}
	e.err = &engine.Error{Name: "E", Message: "in a handler", Traceback: []string{"E: in a handler"}}
	if _, err := call(t.Context(), comm, "comm_msg", `{"comm_id": "c"}`, ""); err != nil {
		t.Errorf("an error of a cell's handler: %v", err)
	}
	if n := len(s.iopub.pending); n < 2 || string(s.iopub.pending[n-2].text) != "E: in a handler\n" || s.iopub.pending[n-2].name != "stderr" || s.iopub.pending[n-1].name != "stdout" {
		t.Errorf("what the handler wrote before its error is not shown, or the error: %v", s.iopub.pending)
	}
	for kind, c := range map[string]struct {
		err  error
		want string
	}{"comm_msg": {boom, "boom"}, "comm_open": {boom, "boom"}, "comm_close": {nil, ""}} {
		e.err = c.err
		if _, err := call(t.Context(), comm, kind, `{"comm_id": "c", "data": {"x": 1}}`, `{}`); (err == nil) != (c.err == nil) || err != nil && err.Error() != c.want {
			t.Errorf("%s: %v, want %q", kind, err, c.want)
		}
		s.comms.note(engine.CommMessage{Type: "comm_open", ID: "c", Target: "t"})
	}
	e.err = engine.ErrUnknownTarget
	if _, err := call(t.Context(), comm, "comm_open", `{"comm_id": "d"}`, ""); err != nil || s.comms.known("d") {
		t.Errorf("a target that nobody serves: %v, known: %v", err, s.comms.known("d"))
	}
	// An engine that says of an interrupt what its context says.
	e.err = context.Canceled
	if _, err := s.runCell(ended, engine.Cell{}, out); err == nil || !strings.Contains(err.Error(), "the cell was interrupted") {
		t.Errorf("an interrupted cell: %v", err)
	}

	// A message that has no reply, and fails, is in the log; a handler that panics fails
	// its request, and no other.
	s.handle(t.Context(), &request{Message: wire.Message{Header: wire.NewHeader("client", "ada", "comm_msg"), Content: []byte(`{"comm_id": "closed"}`)}, lane: s.shell})
	panics := func(*server, context.Context, *request) (any, error) { panic("a bug") }
	if _, err := guard(s, panics, t.Context(), &request{lane: s.shell}); err == nil || !strings.Contains(err.Error(), "a bug") {
		t.Errorf("a handler that panics: %v", err)
	}

	// What cannot be encoded or sent is in the log, and the client is told.
	s.reply(&request{Message: wire.Message{Header: wire.Header{MsgType: "x_request"}}, lane: s.shell}, make(chan int))
	_ = s.sockets.Close()
	s.reply(&request{Message: wire.Message{Header: wire.Header{MsgType: "y_request"}}, lane: s.shell}, ok)
	s.iopub.status(wire.Header{}, "busy")
	s.handle(t.Context(), &request{Message: wire.Message{Header: wire.NewHeader("client", "ada", "z_request")}, lane: s.shell})
	for _, want := range []string{"a request failed", "msg=answered", "a message was refused", "a reply cannot be encoded", "a reply could not be sent", "an output was not published"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log)
		}
	}
}

// A question to a client fails with what is wrong with the client or its answer.
func TestAskFails(t *testing.T) {
	cut := errors.New("the cable is cut")
	for name, c := range map[string]struct {
		send   error
		answer string
		ends   bool // the cell is interrupted
		want   string
	}{
		"a connection that fails": {send: cut, want: "asking for input: the cable is cut"},
		"no stdin channel":        {send: transport.ErrNoPeer, want: "it has no stdin channel open"},
		"an answer of no text":    {answer: `{"value": 1}`, want: "the client's answer cannot be read"},
		"the end of the input":    {answer: `{"value": "\u0004"}`, want: io.EOF.Error()},
		"an interrupt":            {ends: true, want: context.Canceled.Error()},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var a *asker
			a = newAsker("s", func(wire.Message) error {
				if c.answer != "" {
					a.answer(ctx, wire.Message{Header: wire.Header{MsgType: "input_reply"}, Content: []byte(c.answer)})
				}
				if c.ends {
					time.AfterFunc(time.Second, cancel)
				}
				return c.send
			})
			if text, err := a.ask(ctx, wire.Header{}, nil, inputRequest{}); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %q, %v, want %q", name, text, err, c.want)
			}
		})
	}
}

// Whichever call of the disk fails, a session has its own cells, and the next session
// has those that were stored.
func TestHistoryFaults(t *testing.T) {
	// failing has the n-th call of the disk fail while f runs, and reports whether there
	// was one.
	failing := func(n int, f func()) bool {
		calls := 0
		defer disk.Fail(func(op, path string) error {
			if calls++; calls == n {
				return syscall.EIO
			}
			return nil
		})()
		f()
		return calls >= n
	}
	for n, more := 1, true; more; n++ {
		file := filepath.Join(t.TempDir(), "cells.jsonl")
		quietHistory(file).add(1, "old")
		var got []string
		more = failing(n, func() {
			h := quietHistory(file)
			h.add(1, "mine")
			got = lines(h.all())
		})
		if i := len(got) - 1; i < 0 || !strings.HasSuffix(got[i], ":1 mine") {
			t.Errorf("call %d fails: the session knows %q", n, got)
		}
		if next := lines(quietHistory(file).all()); !slices.Contains(next, "1:1 old") {
			t.Errorf("call %d fails: the next session knows %q", n, next)
		}
	}
	// The same while a file that has become too large is cut.
	line := `{"session":1,"line":1,"input":"` + strings.Repeat("x", 30_000) + `"}` + "\n"
	for n, more := 1, true; more; n++ {
		store := &historyStore{file: filepath.Join(t.TempDir(), "cells.jsonl")}
		if err := os.WriteFile(store.file, []byte(strings.Repeat(line, historyMax/len(line)+2)), 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		more = failing(n, func() { err = store.add(historyEntry{session: 2, line: 1, input: "mine"}) })
		b, readErr := os.ReadFile(store.file)
		if readErr != nil || !bytes.HasPrefix(b, []byte(line)) || err == nil && !bytes.HasSuffix(b, []byte("mine\"}\n")) {
			t.Errorf("call %d fails: %v; the file of %d bytes: %v", n, err, len(b), readErr)
		}
	}
}

// A kernel that cannot begin says why, and one whose engine does not close ends.
func TestServeFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "connection.json")
	taken := wire.Connection{Transport: "ipc", IP: filepath.Join(dir, strings.Repeat("x", 200)), Key: "k", SignatureScheme: "hmac-sha256"}
	if err := taken.Write(file); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DACE_LOG", "loud")
	if err := Serve(t.Context(), file, echo.New(), Options{}); err == nil || !strings.Contains(err.Error(), `DACE_LOG is "loud"`) {
		t.Error(err)
	}
	quiet := Options{Log: slog.New(slog.DiscardHandler)}
	if err := Serve(t.Context(), file, echo.New(), quiet); err == nil || !strings.Contains(err.Error(), "the kernel cannot open its sockets") {
		t.Error(err)
	}
	synctest.Test(t, func(t *testing.T) {
		e := &odd{block: make(chan struct{})}
		s, m, log := oddServer(e, Options{Started: time.Now()})
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- s.run(ctx) }()
		stale := wire.NewHeader("client", "ada", "input_reply")
		stale.Date = time.Now().Add(-time.Hour)
		m.toKernel[wire.Stdin] <- wire.Message{Header: stale}
		synctest.Wait()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		close(e.block)
		for _, want := range []string{"a message was refused", "the engine does not close"} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("the log does not say %q:\n%s", want, log)
			}
		}
	})
}

// The start of the process is read from /proc, where there is one.
func TestProcessStart(t *testing.T) {
	stat := "1 (a ) b) S" + strings.Repeat(" 0", 18) + " 5000 0"
	for name, c := range map[string]struct {
		stat, uptime string
		age          time.Duration // 0: it is not told
	}{
		"Linux":            {stat, "80.50 1", 30*time.Second + 520*time.Millisecond},
		"no /proc":         {"", "", 0},
		"half a line":      {"1 (a) S 0", "80.50 1", 0},
		"no time":          {stat, "x", 0},
		"no time of start": {strings.Replace(stat, "5000", "x", 1), "80.50 1", 0},
	} {
		before := time.Now()
		got := processStart(func(name string) ([]byte, error) {
			return []byte(map[string]string{"/proc/self/stat": c.stat, "/proc/uptime": c.uptime}[name]), nil
		})
		if c.age == 0 && got != initialised {
			t.Errorf("%s: %v", name, got)
		}
		if age := before.Sub(got); c.age != 0 && (age > c.age || age < c.age-time.Minute/6) {
			t.Errorf("%s: %v ago, want %v", name, age, c.age)
		}
	}
	defer disk.Fail(func(string, string) error { return syscall.EACCES })()
	if _, _, ok := hostTime(); ok {
		t.Error("the time of the processors is known without /proc")
	}
}
