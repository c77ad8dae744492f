package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/echo"
	"dace.local/kernel/internal/jupyter/transport"
	"dace.local/kernel/internal/jupyter/wire"
)

// A rich engine has variables, a debugger, pages and a next input.
type rich struct {
	odd
	event     func(string, any)
	result    engine.Result
	variables []engine.Variable
	info      func(*engine.Info)
	status    engine.Completeness
	evaluate  func() (engine.Bundle, error)
	asked     []string
}

func (e *rich) Execute(_ context.Context, c engine.Cell, _ engine.Outputs) (engine.Result, error) {
	e.asked = append(e.asked, c.ID)
	return e.result, e.err
}
func (e *rich) Evaluate(context.Context, string) (engine.Bundle, error) { return e.evaluate() }
func (e *rich) Variables(context.Context) ([]engine.Variable, error)    { return e.variables, e.err }
func (e *rich) IsComplete(string) engine.Completeness                   { return e.status }
func (e *rich) DebugEvents(send func(string, any))                      { e.event = send }
func (e *rich) Debug(_ context.Context, command string, arguments json.RawMessage) (any, error) {
	e.asked = append(e.asked, command+string(arguments))
	return "body of " + command, e.err
}
func (e *rich) Info() engine.Info {
	i := e.Engine.Info()
	if e.info != nil {
		e.info(&i)
	}
	return i
}

// richServer returns a server that does not run, and what calls a handler.
func richServer(t *testing.T, e *rich) (*server, *memory, func(kind, content string, fields ...string) (any, error)) {
	e.Engine = echo.New()
	m := newMemory()
	s := newServer(e, memorySockets{m}, "kernel", slog.New(slog.DiscardHandler), Options{Started: time.Now().Add(-time.Hour)})
	return s, m, func(kind, content string, fields ...string) (any, error) {
		l := s.shell
		if slices.Contains(fields, "control") {
			l = s.control
		}
		msg := wire.Message{Header: wire.NewHeader("client", "ada", kind), Content: []byte(content)}
		return messageTypes[kind].handle(s, t.Context(), &request{Message: msg, lane: l, number: 1})
	}
}

// published returns the messages on iopub so far.
func published(m *memory) []wire.Message {
	var list []wire.Message
	for len(m.toClient[wire.IOPub]) > 0 {
		list = append(list, <-m.toClient[wire.IOPub])
	}
	return list
}

// A debugger's answers and its events, in their order, go to the clients; whoever has none
// shows variables.
func TestDebugger(t *testing.T) {
	e := &rich{}
	s, m, call := richServer(t, e)
	info, _ := call("kernel_info_request", "{}")
	want(t, "features", info.(kernelInfoReply).SupportedFeatures, []string{"kernel subshells", "debugger"})
	e.event("stopped", 1)
	e.event("continued", nil)
	want(t, "events", describe(published(m)), `debug_event {"body":1,"event":"stopped","seq":1,"type":"event"}|debug_event {"body":null,"event":"continued","seq":2,"type":"event"}`)
	reply, err := call("debug_request", `{"seq": 7, "command": "next", "arguments": {"a": 1}}`, "control")
	want(t, "reply", []any{reply, err}, []any{object{"type": "response", "seq": 0, "request_seq": 7, "success": true, "command": "next", "body": "body of next"}, nil})
	want(t, "asked", e.asked, []string{`next{"a": 1}`})
	e.err = errors.New("boom")
	reply, err = call("debug_request", `{"seq": 8, "command": "next"}`, "control")
	want(t, "reply", []any{reply, err}, []any{object{"type": "response", "seq": 0, "request_seq": 8, "success": false, "command": "next", "message": "boom", "body": object{}}, nil})
	if _, err := call("debug_request", `{}`); err == nil || !strings.Contains(err.Error(), "control channel") {
		t.Errorf("on shell: %v", err)
	}
	for _, kind := range []string{"debug_request", "interrupt_request"} {
		s.routeControl(t.Context(), wire.Message{Header: wire.Header{MsgType: kind}})
	}
	want(t, "lanes", []int{len(s.debugging.queue), len(s.control.queue)}, []int{1, 1})

	e.err = nil
	e.variables = []engine.Variable{
		{Name: "a", Type: "int", Value: "1"},
		{Name: "b", Type: "T", Value: "{}", Shown: engine.Bundle{Data: map[string]any{"text/html": "<b>"}, Metadata: map[string]any{"x": 1}}},
	}
	body, err := s.debugBody(t.Context(), debugRequest{Command: "inspectVariables"})
	want(t, "variables", []any{body, err}, []any{object{"variables": []object{
		{"name": "a", "value": "1", "type": "int", "evaluateName": "a", "variablesReference": 0},
		{"name": "b", "value": "{}", "type": "T", "evaluateName": "b", "variablesReference": 0},
	}}, nil})
	body, err = s.debugBody(t.Context(), debugRequest{Command: "richInspectVariables", Arguments: []byte(`{"variableName": "b"}`)})
	want(t, "a variable", []any{body, err}, []any{object{"data": object{"text/html": "<b>"}, "metadata": object{"x": 1}}, nil})
	if _, err := s.debugBody(t.Context(), debugRequest{Command: "richInspectVariables", Arguments: []byte(`{}`)}); err == nil || !strings.HasSuffix(err.Error(), `no variable ""`) {
		t.Errorf("without a name: %v", err)
	}
	if _, err := s.debugBody(t.Context(), debugRequest{Command: "stepIn"}); err == nil || !strings.Contains(err.Error(), "not stepIn") {
		t.Errorf("no debugger: %v", err)
	}
	body, err = s.debugBody(t.Context(), debugRequest{Command: "debugInfo"})
	none := []any{}
	want(t, "debugInfo", []any{body, err}, []any{object{"isStarted": false, "hashMethod": "Murmur2", "hashSeed": 0, "tmpFilePrefix": "", "tmpFileSuffix": ".go",
		"breakpoints": none, "stoppedThreads": none, "exceptionPaths": none, "richRendering": true, "copyToGlobals": false}, nil})
	list, err := (&server{engine: struct{ engine.Engine }{echo.New()}}).variables(t.Context())
	want(t, "variables of an engine without", []any{list, err}, []any{nil, nil})
}

// A reply has the pages, the text of the next cell and the expressions that the request
// asks for, also where one panics.
func TestExecuteReply(t *testing.T) {
	text := func(s string) engine.Bundle { return engine.Bundle{Data: map[string]any{"text/plain": s}} }
	e := &rich{result: engine.Result{Value: text("v"), Pages: []engine.Bundle{text("p"), text("q")}, Next: &engine.NextInput{Text: "next", Replace: true}}}
	e.evaluate = func() (engine.Bundle, error) { panic("a bug") }
	_, m, call := richServer(t, e)
	reply, err := call("execute_request", `{"code": " \n", "user_expressions": {"x": "1"}}`)
	bug := object{"status": "error", "ename": "InternalError", "evalue": "the kernel itself panicked: a bug (its log has the stack; the session lives on)",
		"traceback": []string{"InternalError: the kernel itself panicked: a bug (its log has the stack; the session lives on)"}}
	want(t, "reply", []any{reply, err}, []any{object{"status": "ok", "execution_count": 1, "user_expressions": object{"x": bug}, "payload": []object{
		{"source": "page", "data": object{"text/plain": "p"}, "start": 0}, {"source": "page", "data": object{"text/plain": "q"}, "start": 0},
		{"source": "set_next_input", "text": "next", "replace": true},
	}}, nil})
	want(t, "outputs", describe(published(m)), `execute_input {"code":" \n","execution_count":1}|execute_result {"data":{"text/plain":"v"},"execution_count":1,"metadata":{}}`)
}

// The history has the cells that are counted and have code, each with the text of its value.
func TestExecuteHistory(t *testing.T) {
	e := &rich{}
	s, _, call := richServer(t, e)
	for _, c := range []struct {
		content string
		value   any
	}{
		{`{"code": "a"}`, "1"}, {`{"code": "b", "silent": true}`, "2"}, {`{"code": "c", "store_history": false}`, "3"},
		{`{"code": "d", "store_history": true}`, 4}, {`{"code": "e"}`, nil},
	} {
		if e.result = (engine.Result{}); c.value != nil {
			e.result.Value.Data = map[string]any{"text/plain": c.value}
		}
		if _, err := call("execute_request", c.content); err != nil {
			t.Fatal(err)
		}
	}
	found, err := call("history_request", `{"hist_access_type": "tail", "output": true}`)
	want(t, "history", []any{found, err}, []any{object{"status": "ok", "history": []any{
		[]any{1, 1, []any{"a", "1"}}, []any{1, 2, []any{"d", nil}}, []any{1, 3, []any{"e", nil}},
	}}, nil})
	if _, err := call("history_request", `{"hist_access_type": "all"}`); err == nil || !strings.Contains(err.Error(), `"all"`) {
		t.Errorf("an unknown access: %v", err)
	}
	if s.count.Load() != 3 {
		t.Errorf("%d cells are counted", s.count.Load())
	}
}

// The engine is told the notebook's id of the cell.
func TestCellID(t *testing.T) {
	e := &rich{}
	s, _, _ := richServer(t, e)
	for _, metadata := range []string{`{"cellId": "an id"}`, `{"cellId": 1}`, `x`, ``} {
		m := wire.Message{Header: wire.NewHeader("client", "ada", "execute_request"), Content: []byte("{}"), Metadata: []byte(metadata)}
		if _, err := s.execute(t.Context(), &request{Message: m, lane: s.shell, number: 1}); err != nil {
			t.Error(err)
		}
	}
	want(t, "ids", e.asked, []string{"an id", "", "", ""})
}

func TestIsCompleteStatus(t *testing.T) {
	e := &rich{}
	_, _, call := richServer(t, e)
	for status, reply := range map[string]object{
		"complete": {"status": "complete"}, "invalid": {"status": "invalid"}, "incomplete": {"status": "incomplete", "indent": "\t"}, "odd": {"status": "unknown"},
	} {
		e.status = engine.Completeness{Status: status, Indent: "\t"}
		got, err := call("is_complete_request", `{"code": "x"}`)
		want(t, status, []any{got, err}, []any{reply, nil})
	}
}

func TestTypeBeside(t *testing.T) {
	for _, c := range []struct{ kind, signature, want string }{
		{"function", "", "function"},
		{"function", "func(a,\n\tb  int)", "function func(a, b int)"},
		{"é", strings.Repeat("x", 70), "é " + strings.Repeat("x", 70)},
		{"é", strings.Repeat("x", 71), "é " + strings.Repeat("x", 69) + "…"},
		{"é", strings.Repeat("x", 99), "é " + strings.Repeat("x", 69) + "…"},
	} {
		if got := typeBeside(engine.Completion{Type: c.kind, Signature: c.signature}); got != c.want {
			t.Errorf("%s %s: %s, want %s", c.kind, c.signature, got, c.want)
		}
	}
}

func TestOffsets(t *testing.T) {
	const s = "a日𝒳b" // of 1, 3, 4 and 1 bytes
	for n, want := range map[int]int{-1: 0, 0: 0, 1: 1, 2: 4, 3: 8, 4: 9, 5: 9, 99: 9} {
		if got := byteOffset(s, n); got != want {
			t.Errorf("code point %d begins at %d, want %d", n, got, want)
		}
		if got := (codeRequest{Code: s, CursorPos: &n}).cursor(); got != want {
			t.Errorf("the cursor at %d is at byte %d, want %d", n, got, want)
		}
	}
	for i, want := range map[int]int{-1: 0, 0: 0, 1: 1, 4: 2, 8: 3, 9: 4, 99: 4} {
		if got := runeOffset(s, i); got != want {
			t.Errorf("byte %d is code point %d, want %d", i, got, want)
		}
	}
	if got := (codeRequest{Code: s}).cursor(); got != len(s) {
		t.Errorf("without a cursor: %d", got)
	}
}

func TestIncomplete(t *testing.T) {
	for s, want := range map[string]int{
		"": 0, "a": 0, "é": 0, "é\xc3": 1, "\xc3": 1, "\xe6\x97": 2, "\xf0\x9d\x92": 3, "x\xf0\x9d\x92": 3, "𝒳": 0,
		"\xf0": 1, "\x80": 0, "\x80\x80\x80": 0, "\x80\x80\x80\x80\x80": 0, "\xff": 0,
	} {
		if got := incomplete(s); got != want {
			t.Errorf("%q: %d, want %d", s, got, want)
		}
	}
}

func TestPublisherCut(t *testing.T) {
	for _, c := range []struct {
		text    string
		n, want int
	}{
		{"abc", 0, 0}, {"abc", 1, 1}, {"abc", 3, 3}, {"abc", 4, 3}, {"a日b", 1, 1}, {"a日b", 2, 1}, {"a日b", 3, 1}, {"a日b", 4, 4}, {"𝒳b", 3, 0},
		{"𝒳b", 4, 4}, {"\x80\x80\x80\x80\x80", 4, 4}, {"a\x80\x80\x80\x80", 4, 4}, {"\x80\x80", 1, 1}, {"ab\x80\x80\x80", 4, 1},
	} {
		if got := cut(c.text, c.n); got != c.want {
			t.Errorf("%q, %d: %d, want %d", c.text, c.n, got, c.want)
		}
	}
}

// Text waits a moment for more, longer where some has just been sent, and not at all where
// it is much.
func TestPublisherWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, sent := recordingPublisher()
		cell := &outputs{server: &server{iopub: p}}
		n := 0
		after := func(d time.Duration, messages int) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			if got := len(sent()) - n; got != messages {
				t.Errorf("after %v %d messages, want %d", d, got, messages)
			}
			n = len(sent())
		}
		time.Sleep(time.Hour)
		cell.Stdout("a")
		after(firstDelay-1, 0)
		cell.Stdout("b")
		after(1, 1)
		cell.Stdout("c")
		after(laterDelay-1, 0)
		after(1, 1)
		time.Sleep(30 * time.Millisecond)
		cell.Stdout("d")
		after(20*time.Millisecond-1, 0)
		after(1, 1)
		cell.Stdout(strings.Repeat("x", pendingSize-1))
		after(0, 0)
		cell.Stdout("y")
		after(0, 1)
		cell.Stdout(strings.Repeat("x", 2*pendingSize+1))
		after(0, 2)
		cell.Stderr("z")
		after(laterDelay, 2)
		cell.Stdout("e")
		p.post("x", wire.Header{}, object{})
		after(0, 2)
		cell.Stdout("f")
		p.close()
		after(0, 1)
		cell.Stdout("g")
		p.post("x", wire.Header{}, object{})
		after(time.Hour, 0)
		last := sent()[len(sent())-2]
		want(t, "topic", string(last.Identities[0]), "kernel.s.x")
		want(t, "user", []string{last.Header.Username, last.Header.Session}, []string{"kernel", "s"})
	})
	p, sent := recordingPublisher()
	p.welcome("a topic")
	want(t, "welcome", []string{string(sent()[0].Identities[0]), describe(sent())}, []string{"a topic", `iopub_welcome {"subscription":"a topic"}`})
}

// Outputs that come after a cell's end go to its display, for a client that drops others.
func TestLateOutputs(t *testing.T) {
	p, sent := recordingPublisher()
	s := &server{iopub: p}
	ctx, end := context.WithCancel(t.Context())
	o := &outputs{server: s, parent: wire.Header{MsgID: "m", Session: "client"}, running: ctx}
	for _, other := range []*outputs{{server: s, running: ctx, allowStdin: true}, {server: s, running: ctx, silent: true}} {
		if other.Lasts(); other.late != nil {
			t.Error("a display for late outputs that nobody needs")
		}
	}
	o.Lasts()
	o.Lasts()
	want(t, "display", describe(sent()), `display_data {"data":{"text/plain":""},"metadata":{},"transient":{"display_id":"dace-late-m"}}`)
	if len(s.lasting.cells) != 1 || o.Client() != "client" {
		t.Errorf("%d cells last, of %s", len(s.lasting.cells), o.Client())
	}
	o.Stdout("\xe2\x82")
	o.Stdout("\xac ")
	o.Stdout("in time")
	o.Clear(true)
	end()
	show := func(mime, value, id string) {
		o.Display(engine.Bundle{Data: map[string]any{mime: value}}, id)
	}
	o.Stdout("lost")
	o.late.lost = true
	o.Clear(false)
	o.Stdout("<late>\xe2\x82")
	o.Stdout("\xac")
	show("image/png", "QUJD", "")
	show("image/svg+xml", "<svg/>", "")
	show("text/html", "<b>", "id")
	show("text/plain", "p<", "")
	o.Update(engine.Bundle{Data: map[string]any{"text/html": "<i>"}}, "id")
	n := len(sent())
	o.Update(engine.Bundle{Data: map[string]any{"text/plain": "other"}}, "another")
	p.close()
	want(t, "in time", describe(sent()[1:n]), `stdout € in time|clear_output {"wait":true}`)
	want(t, "another display", describe(sent()[n:]), `update_display_data {"data":{"text/plain":"other"},"metadata":{},"transient":{"display_id":"another"}}`)
	want(t, "late", o.late.bundle(), object{
		"text/plain": "<late>€p<\n",
		"text/html":  `<pre>&lt;late&gt;€</pre><img src="data:image/png;base64,QUJD"><svg/><i><pre>p&lt;` + "\n</pre>",
	})
}

// Of a late text the end is kept, in whole characters, and of items as many as there may be.
func TestLateLimits(t *testing.T) {
	l := &late{}
	l.add(lateItem{text: "é"})
	l.add(lateItem{text: strings.Repeat("x", 2*mostLate-2)})
	if n := len(l.items[0].text); n != 2*mostLate {
		t.Errorf("%d bytes, want %d", n, 2*mostLate)
	}
	l.add(lateItem{text: "y"})
	if got := l.items[0].text; len(got) != len("…")+mostLate || !strings.HasPrefix(got, "…xx") || !strings.HasSuffix(got, "xxy") {
		t.Errorf("%d bytes, %.8q", len(got), got)
	}
	l = &late{}
	l.add(lateItem{text: "x"})
	l.add(lateItem{text: strings.Repeat("é", mostLate)})
	if got := l.items[0].text; len(got) != len("…")+mostLate || !strings.HasPrefix(got, "…é") {
		t.Errorf("%d bytes, %.8q", len(got), got)
	}
	l.add(lateItem{text: "z"})
	if got := l.items[0].text; len(got) != len("…")+mostLate+1 {
		t.Errorf("%d bytes, %.8q", len(got), got)
	}
	html := func(n int) lateItem {
		return lateItem{bundle: engine.Bundle{Data: map[string]any{"text/html": strings.Repeat("x", n), "odd": 1}}}
	}
	l = &late{}
	for range mostLateItems {
		l.add(html(1))
	}
	if len(l.items) != mostLateItems || l.lost || !l.fresh {
		t.Errorf("%d items, lost: %v", len(l.items), l.lost)
	}
	if l.add(html(1)); len(l.items) != mostLateItems || !l.lost {
		t.Errorf("%d items, lost: %v", len(l.items), l.lost)
	}
	l = &late{items: []lateItem{html(5), html(mostLateBytes / 2)}}
	if l.add(html(mostLateBytes / 2)); len(l.items) != 2 || !l.lost {
		t.Errorf("%d items, lost: %v", len(l.items), l.lost)
	}
	l = &late{items: []lateItem{html(mostLateBytes / 2)}}
	if l.add(html(mostLateBytes / 2)); len(l.items) != 2 || l.lost {
		t.Errorf("as much as is kept: %d items, lost: %v", len(l.items), l.lost)
	}
}

// A question waits for the one before, and takes the answer that is its own.
func TestAsk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var questions []wire.Message
		a := newAsker("kernel", func(m wire.Message) error { questions = append(questions, m); return nil })
		answer := func(kind, parent, parentType, text string) {
			content, _ := json.Marshal(inputReply{text})
			a.answer(t.Context(), wire.Message{Header: wire.Header{MsgType: kind}, Parent: wire.Header{MsgID: parent, MsgType: parentType}, Content: content})
			synctest.Wait()
		}
		type result struct {
			text string
			err  error
		}
		results := make(chan result, 2)
		ask := func(ctx context.Context, prompt string) {
			go func() {
				text, err := a.ask(ctx, wire.Header{MsgID: "cell"}, [][]byte{[]byte("client")}, inputRequest{prompt, true})
				results <- result{text, err}
			}()
			synctest.Wait()
		}
		answer("input_reply", "", "", "early")
		answer("input_reply", "", "", "another")
		ask(t.Context(), "one?")
		ended, cancel := context.WithCancel(t.Context())
		ask(ended, "two?")
		cancel()
		if r := <-results; r.err != context.Canceled || len(questions) != 1 {
			t.Errorf("a question that waits for another: %v, %d were asked", r, len(questions))
		}
		answer("x", "", "", "no answer")
		answer("input_reply", "another", "input_request", "late")
		if synctest.Wait(); len(results) > 0 {
			t.Fatal(<-results)
		}
		answer("input_reply", questions[0].Header.MsgID, "input_request", "mine")
		if r := <-results; r.err != nil || r.text != "mine" {
			t.Errorf("%+v", r)
		}
		for _, parent := range [][2]string{{"", "input_request"}, {"other", "execute_request"}} {
			ask(t.Context(), "three?")
			answer("input_reply", parent[0], parent[1], "of no question")
			if r := <-results; r.err != nil || r.text != "of no question" {
				t.Errorf("%+v", r)
			}
		}
		q := questions[0]
		want(t, "question", []any{q.Header.MsgType, q.Header.Username, q.Parent.MsgID, string(q.Identities[0]), content(q)},
			[]any{"input_request", "kernel", "cell", "client", object{"prompt": "one?", "password": true}})

		// A client has two seconds to open its channel.
		for opens, ok := range map[time.Duration]bool{0: true, 1990 * time.Millisecond: true, 3 * time.Second: false} {
			begun := time.Now()
			a.send = func(wire.Message) error {
				if time.Since(begun) < opens {
					return transport.ErrNoPeer
				}
				answer("input_reply", "", "", "yes")
				return nil
			}
			text, err := a.ask(t.Context(), wire.Header{}, nil, inputRequest{})
			if took := time.Since(begun); (err == nil) != ok || (text == "yes") != ok || took < min(opens, 2*time.Second) || took > min(opens, 2*time.Second)+10*time.Millisecond {
				t.Errorf("a channel that opens after %v: %q, %v after %v", opens, text, err, took)
			}
		}
		a.send = func(wire.Message) error { return nil }
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.ask(over, wire.Header{}, nil, inputRequest{}); err != context.Canceled {
			t.Errorf("after the end: %v", err)
		}
	})
}

// An interrupt spares what the same client has sent after it.
func TestCancelCurrent(t *testing.T) {
	now := time.Now()
	current := wire.Header{Session: "a", Date: now}
	for name, c := range map[string]struct {
		by   wire.Header
		want bool
	}{
		"a signal":         {wire.Header{}, true},
		"earlier":          {wire.Header{Session: "a", Date: now.Add(-1)}, false},
		"at the same time": {wire.Header{Session: "a", Date: now}, true},
		"later":            {wire.Header{Session: "a", Date: now.Add(1)}, true},
		"without a date":   {wire.Header{Session: "a"}, true},
		"another client":   {wire.Header{Session: "b", Date: now.Add(-1)}, true},
	} {
		cancelled := false
		l := &lane{current: current, cancel: func() { cancelled = true }}
		if got := l.cancelCurrent(c.by); got != c.want || cancelled != c.want {
			t.Errorf("%s: %v, cancelled: %v", name, got, cancelled)
		}
	}
	if (&lane{current: current}).cancelCurrent(wire.Header{}) {
		t.Error("nothing runs")
	}
}

// Cells that come soon after a failed one are aborted, for fifty milliseconds at most.
func TestAbortQueued(t *testing.T) {
	for _, c := range []struct {
		cells, aborted int64
		took           time.Duration
	}{{0, 7, 5 * time.Millisecond}, {1, 8, 10 * time.Millisecond}, {3, 10, 20 * time.Millisecond}, {20, 16, 50 * time.Millisecond}} {
		synctest.Test(t, func(t *testing.T) {
			l := &lane{}
			l.received.Store(7)
			done := make(chan struct{})
			go func() {
				defer close(done)
				time.Sleep(time.Millisecond)
				for range c.cells {
					l.received.Add(1)
					time.Sleep(abortPause)
				}
			}()
			begun := time.Now()
			l.abortQueued()
			if took := time.Since(begun); l.aborted != c.aborted || took != c.took {
				t.Errorf("%d cells: up to %d are aborted after %v, want %d after %v", c.cells, l.aborted, took, c.aborted, c.took)
			}
			<-done
		})
	}
	s, _, _ := richServer(t, &rich{})
	s.shell.aborted = 5
	for number, isAborted := range map[int64]bool{4: true, 5: true, 6: false} {
		m := wire.Message{Header: wire.NewHeader("client", "ada", "execute_request"), Content: []byte("{}")}
		reply, err := s.execute(t.Context(), &request{Message: m, lane: s.shell, number: number})
		if err != nil || (reply == any(aborted)) != isAborted {
			t.Errorf("cell %d: %v, %v", number, reply, err)
		}
	}
}

// A lane counts what waits in it, also where its end comes first, and ends when its
// subshell is deleted and all is answered.
func TestLane(t *testing.T) {
	s, m, _ := richServer(t, &rich{})
	l := newLane(s, wire.Shell)
	over, cancel := context.WithCancel(t.Context())
	cell := wire.Message{Header: wire.NewHeader("client", "ada", "execute_request"), Content: []byte("{}")}
	question := wire.Message{Header: wire.NewHeader("client", "ada", "kernel_info_request")}
	for range queueLength / 2 {
		l.push(t.Context(), cell)
		l.push(t.Context(), question)
	}
	cancel()
	l.push(over, cell)
	want(t, "counts", []int64{l.pending.Load(), l.cells.Load(), l.received.Load()}, []int64{queueLength + 1, queueLength/2 + 1, queueLength + 1})
	close(l.gone)
	l.serve(t.Context())
	newLane(s, wire.Shell).serve(over)
	want(t, "counts", []int64{l.pending.Load(), l.cells.Load(), int64(len(m.toClient[wire.Shell]))}, []int64{1, 1, queueLength})
	if l.cancelCurrent(wire.Header{}) {
		t.Error("nothing is answered any more")
	}
}

// A message from before the start is refused, unless it is a question for the kernel's name.
func TestRefuse(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	s := &server{started: start}
	for _, c := range []struct {
		date time.Time
		kind string
		want string
	}{
		{time.Time{}, "execute_request", ""}, {start, "execute_request", ""}, {start.Add(1), "execute_request", ""},
		{start.Add(-1500 * time.Millisecond), "execute_request", "made 1.5s before the kernel was started"}, {start.Add(-time.Hour), "kernel_info_request", ""},
	} {
		err := s.refuse(wire.Header{Date: c.date, MsgType: c.kind})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s at %v: %v", c.kind, c.date, err)
		}
	}
	if got := newServer(echo.New(), memorySockets{newMemory()}, "", slog.New(slog.DiscardHandler), Options{Started: start.Add(999_999)}); got.started != start || got.grace != time.Second {
		t.Errorf("started at %v, grace of %v", got.started, got.grace)
	}
}

func TestWithin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for took, want := range map[time.Duration]bool{time.Second - 1: true, time.Second + 1: false} {
			if got := within(time.Second, func() { time.Sleep(took) }); got != want {
				t.Errorf("%v: %v", took, got)
			}
			time.Sleep(time.Second)
		}
	})
}

// Clients ask for the comms of one target, or of all.
func TestCommInfo(t *testing.T) {
	s, _, call := richServer(t, &rich{})
	for id, target := range map[string]string{"1": "a", "2": "b", "3": "a", "4": ""} {
		s.comms.note(engine.CommMessage{Type: "comm_open", ID: id, Target: target})
	}
	s.comms.note(engine.CommMessage{Type: "comm_msg", ID: "5", Target: "a"})
	for target, ids := range map[string][]string{"a": {"1", "3"}, "b": {"2"}, "c": {}, "": {"1", "2", "3", "4"}} {
		reply, err := call("comm_info_request", fmt.Sprintf(`{"target_name": %q}`, target))
		if err != nil {
			t.Fatal(err)
		}
		got := []string{}
		for id := range reply.(commInfoReply).Comms {
			got = append(got, id)
		}
		slices.Sort(got)
		want(t, "comms of "+target, got, ids)
	}
	if s.comms.known("5") || !s.comms.known("4") {
		t.Error("a message opens a comm")
	}
}

// A comm message has the fields that it was given, and empty data where there are none.
func TestOutputsComm(t *testing.T) {
	p, sent := recordingPublisher()
	o := &outputs{server: &server{iopub: p}}
	buffer := []byte("buffer")
	for _, m := range []engine.CommMessage{
		{Type: "comm_open", ID: "1", Target: "t", Data: map[string]any{"x": 1}, Metadata: map[string]any{"v": "2"}, Buffers: [][]byte{buffer, {}}},
		{Type: "comm_msg", ID: "1", Target: "t"},
	} {
		if err := o.Comm(m); err != nil {
			t.Fatal(err)
		}
	}
	buffer[0] = 'B'
	want(t, "messages", describe(sent()), `comm_open {"comm_id":"1","data":{"x":1},"target_name":"t"}|comm_msg {"comm_id":"1","data":{}}`)
	want(t, "metadata", []string{string(sent()[0].Metadata), string(sent()[1].Metadata)}, []string{`{"v":"2"}`, ""})
	if b := sent()[0].Buffers; len(b) != 2 || string(b[0]) != "buffer" || len(sent()[1].Buffers) != 0 || !o.server.comms.known("1") {
		t.Errorf("buffers %q", b)
	}
}

func TestSubshellLimit(t *testing.T) {
	s, _, call := richServer(t, &rich{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s.serving = ctx
	var ids []string
	for range maxSubshells {
		reply, err := call("create_subshell_request", "{}", "control")
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, reply.(subshellReply).ID)
	}
	if _, err := call("create_subshell_request", "{}", "control"); err == nil {
		t.Error("one more than allowed was created")
	}
	slices.Sort(ids)
	list, err := call("list_subshell_request", "{}", "control")
	want(t, "subshells", []any{list, err}, []any{object{"status": "ok", "subshell_id": ids}, nil})
	if reply, err := call("delete_subshell_request", fmt.Sprintf(`{"subshell_id": %q}`, ids[0]), "control"); err != nil || reply != any(ok) || s.subshell(ids[0]) != nil {
		t.Errorf("deleted: %v, %v", reply, err)
	}
	if _, err := call("create_subshell_request", "{}", "control"); err != nil {
		t.Error(err)
	}
	for _, kind := range []string{"create_subshell_request", "delete_subshell_request", "list_subshell_request"} {
		if _, err := call(kind, "{}"); err == nil || !strings.Contains(err.Error(), "control channel, not on shell") {
			t.Errorf("%s on shell: %v", kind, err)
		}
	}
	for _, kind := range []string{"execute_request", "comm_open", "comm_msg", "comm_close"} {
		if _, err := call(kind, "{}", "control"); err == nil || !strings.Contains(err.Error(), "shell channel, not on control") {
			t.Errorf("%s on control: %v", kind, err)
		}
	}
}

// A file is cut when it is larger than it may be, and keeps its newest whole lines; the
// largest cell is kept.
func TestHistoryLimits(t *testing.T) {
	store := &historyStore{file: filepath.Join(t.TempDir(), "cells.jsonl")}
	line := func(n int) string {
		return fmt.Sprintf(`{"session":1,"line":%d,"input":"%s"}`, n, strings.Repeat("x", 1000)) + "\n"
	}
	var b bytes.Buffer
	for n := 1; b.Len() < historyMax; n++ {
		b.WriteString(line(n))
	}
	b.Truncate(historyMax - 1)
	text := b.String() + "\n"
	add := func(before string) string {
		t.Helper()
		if err := os.WriteFile(store.file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := store.add(historyEntry{session: 2, line: 3, input: "new"}); err != nil {
			t.Fatal(err)
		}
		after, err := os.ReadFile(store.file)
		if err != nil {
			t.Fatal(err)
		}
		return string(after)
	}
	const added = `{"session":2,"line":3,"input":"new"}` + "\n"
	if got := add(text); got != text+added {
		t.Errorf("a file of the largest size is cut to %d bytes", len(got))
	}
	kept := text[len(text)-historyKept+1:]
	kept = kept[strings.Index(kept, "\n")+1:]
	if got := add(text + "\n"); got != kept+added {
		t.Errorf("a larger file is cut to %d bytes, want %d", len(got), len(kept+added))
	}
	if got := add("x"); got != "x\n"+added {
		t.Errorf("after half a line: %q", got)
	}
	if got := add("\n"); got != "\n"+added {
		t.Errorf("after an empty line: %q", got)
	}
	if got := add(""); got != added {
		t.Errorf("of nothing: %q", got)
	}
	for n, kept := range map[int]bool{historyCell: true, historyCell + 1: false} {
		if err := store.add(historyEntry{session: 2, line: 4, input: strings.Repeat("x", n)}); (err == nil) != kept {
			t.Errorf("a cell of %d bytes: %v", n, err)
		}
	}
	if err := os.WriteFile(store.file, []byte(`{"session":0,"line":1}`+"\n"+`{"session":1,"line":0,"input":"x"}`+"\n"+`{"session":1,"line":1,"input":"y"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := store.entries()
	want(t, "cells", []any{lines(all), err}, []any{[]string{"1:1 y"}, nil})
	if n, err := store.begin(); n != 2 || err != nil {
		t.Errorf("session %d, %v", n, err)
	}
	if all, err := (&historyStore{file: t.TempDir()}).entries(); err == nil {
		t.Errorf("of a folder: %v", all)
	}
	if n, err := (&historyStore{file: filepath.Join(store.file, "below")}).begin(); n != 0 || err == nil {
		t.Errorf("below a file: session %d, %v", n, err)
	}
}

func TestLast(t *testing.T) {
	all := []historyEntry{{line: 1}, {line: 2}, {line: 3}}
	for n, want := range map[int]int{-1: 0, 0: 0, 1: 1, 3: 3, 4: 3} {
		got := last(all, &n)
		if len(got) != want || want > 0 && got[want-1].line != 3 {
			t.Errorf("the last %d: %v", n, got)
		}
	}
	if got := last(all, nil); len(got) != 3 {
		t.Errorf("all: %v", got)
	}
}

// Input is asked for while a cell runs that allows it.
func TestInputRefused(t *testing.T) {
	p, _ := recordingPublisher()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	s := &server{iopub: p, stdin: newAsker("s", func(wire.Message) error { return io.ErrClosedPipe })}
	for _, c := range []struct {
		allow   bool
		running context.Context
		want    error
	}{{false, t.Context(), engine.ErrNoInput}, {true, over, engine.ErrNoInput}, {true, t.Context(), io.ErrClosedPipe}} {
		o := &outputs{server: s, allowStdin: c.allow, running: c.running}
		if _, err := o.Input(t.Context(), "", false); !errors.Is(err, c.want) {
			t.Errorf("allowed: %v: %v, want %v", c.allow, err, c.want)
		}
	}
}

// An error without a traceback has its own, one that is not the engine's a name.
func TestAsError(t *testing.T) {
	for _, c := range []struct {
		err  error
		want object
	}{
		{errors.New("x"), object{"status": "error", "ename": "KernelError", "evalue": "x", "traceback": []string{"KernelError: x"}}},
		{&engine.Error{Name: "E", Message: "m"}, object{"status": "error", "ename": "E", "evalue": "m", "traceback": []string{"E: m"}}},
		{fmt.Errorf("in: %w", &engine.Error{Name: "E", Message: "m", Traceback: []string{"at 1"}}), object{"status": "error", "ename": "E", "evalue": "m", "traceback": []string{"at 1"}}},
	} {
		want(t, c.err.Error(), errorReply(c.err), c.want)
	}
}
