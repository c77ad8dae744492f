package server

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/internal/jupyter/wire"
)

// kernelTests are the tests that run three times: in memory, over tcp and over
// ipc.
var kernelTests = map[string]func(*testing.T, *kernel){
	"KernelInfo":        testKernelInfo,
	"Connect":           testConnect,
	"Execute":           testExecute,
	"Errors":            testErrors,
	"Counting":          testCounting,
	"Silent":            testSilent,
	"UserExpressions":   testUserExpressions,
	"Pager":             testPager,
	"AbortQueue":        testAbortQueue,
	"NoAbort":           testNoAbort,
	"IsComplete":        testIsComplete,
	"Complete":          testComplete,
	"Inspect":           testInspect,
	"History":           testHistory,
	"Displays":          testDisplays,
	"Order":             testOrder,
	"LateOutput":        testLateOutput,
	"LateUnwatched":     testLateOutputUnwatched,
	"Beside":            testBeside,
	"Coalescing":        testCoalescing,
	"OutputWhileRuns":   testOutputWhileRuns,
	"BigOutput":         testBigOutput,
	"Comms":             testComms,
	"EngineComms":       testEngineComms,
	"Unknown":           testUnknown,
	"Malformed":         testMalformed,
	"Crash":             testCrash,
	"InterruptMessage":  testInterruptMessage,
	"InterruptIdle":     testInterruptIdle,
	"ControlWhileRuns":  testControlWhileRuns,
	"ShellQueues":       testShellQueues,
	"Stdin":             testStdin,
	"StdinRefused":      testStdinRefused,
	"StdinInterrupted":  testStdinInterrupted,
	"ParentHeader":      testParentHeader,
	"Stale":             testStale,
	"Questions":         testQuestionsWhileRuns,
	"Subshells":         testSubshells,
	"Usage":             testUsage,
	"Debug":             testDebug,
	"Shutdown":          testShutdown,
	"ShutdownShell":     testShutdownShell,
	"ShutdownWhileRuns": testShutdownWhileRuns,
}

func TestMemory(t *testing.T) {
	for name, test := range kernelTests {
		t.Run(name, func(t *testing.T) { test(t, startMemory(t)) })
	}
}

// want compares two values by their JSON.
func want(t testing.TB, what string, got, want any) {
	t.Helper()
	var g, w any
	for from, to := range map[any]*any{&got: &g, &want: &w} {
		raw, err := json.Marshal(from)
		if err == nil {
			err = json.Unmarshal(raw, to)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(g, w) {
		t.Errorf("%s is\n%v, want\n%v", what, g, w)
	}
}

func testKernelInfo(t *testing.T, k *kernel) {
	for _, ch := range []wire.Channel{wire.Shell, wire.Control} {
		reply, _ := k.ask(ch, "kernel_info_request", object{})
		want(t, "kernel_info_reply", reply, object{
			"status": "ok", "protocol_version": "5.5", "implementation": "echo", "implementation_version": "1",
			"language_info": object{"name": "echo", "version": "1", "mimetype": "text/plain", "file_extension": ".txt",
				"pygments_lexer": "text", "codemirror_mode": "text", "echo": "1"},
			"banner":             "echo: repeats what it is told",
			"help_links":         []object{{"text": "Jupyter", "url": "https://jupyter.org"}},
			"supported_features": []string{"kernel subshells"},
		})
	}
}

func testConnect(t *testing.T, k *kernel) {
	reply, _ := k.ask(wire.Shell, "connect_request", object{})
	c := k.server.sockets.Connection()
	want(t, "connect_reply", reply, object{"status": "ok", "shell_port": c.ShellPort, "iopub_port": c.IOPubPort,
		"stdin_port": c.StdinPort, "control_port": c.ControlPort, "hb_port": c.HBPort})
}

func testExecute(t *testing.T, k *kernel) {
	id := k.send(wire.Shell, "execute_request", executeObject("%print hello\n%eprint oops\nas is"))
	m := k.reply(wire.Shell, id, "execute_reply")
	want(t, "reply", content(m), object{"status": "ok", "execution_count": 1, "user_expressions": object{}, "payload": []any{}})
	var metadata struct{ Started time.Time }
	if err := json.Unmarshal(m.Metadata, &metadata); err != nil || time.Since(metadata.Started) > time.Minute {
		t.Errorf("the reply's metadata %s do not say when the cell started (%v)", m.Metadata, err)
	}
	got := describe(k.outputs(id))
	if want := `execute_input {"code":"%print hello\n%eprint oops\nas is","execution_count":1}` +
		"|stdout hello\n|stderr oops\n|" +
		`execute_result {"data":{"text/plain":"as is"},"execution_count":1,"metadata":{}}`; got != want {
		t.Errorf("outputs are\n%s, want\n%s", got, want)
	}
}

func testErrors(t *testing.T, k *kernel) {
	for code, e := range map[string]object{
		"%fail on purpose": {"ename": "Failure", "evalue": "on purpose", "traceback": []string{"Failure: on purpose"}},
		"%panic boom":      {"ename": "panic", "evalue": "boom", "traceback": []string{"panic: boom"}},
		"{":                {"ename": "CompileError", "evalue": "line 1: unbalanced braces", "traceback": []string{"CompileError: line 1: unbalanced braces"}},
	} {
		reply, outs := k.execute(code)
		if len(outs) != 1 || outs[0].Header.MsgType != "error" {
			t.Fatalf("outputs are %s, want one error", describe(outs))
		}
		want(t, "error", content(outs[0]), e)
		e["status"], e["execution_count"], e["payload"], e["user_expressions"] = "error", k.server.count.Load(), []any{}, object{}
		want(t, "reply", reply, e)
	}
	if reply, _ := k.execute("as is"); reply["status"] != "ok" {
		t.Errorf("after errors a cell gives %v", reply)
	}
}

// testCounting checks that execution counts are those of ipykernel 6.17: a cell
// that is not stored has the next number and does not change the count; the
// reply has the count.
func testCounting(t *testing.T, k *kernel) {
	for i, step := range []struct {
		silent, store bool
		shown, count  int
	}{
		{false, true, 1, 1},
		{true, true, 0, 1},
		{false, false, 2, 1},
		{false, true, 2, 2},
		{true, false, 0, 2},
		{false, true, 3, 3},
	} {
		reply, outs := k.ask(wire.Shell, "execute_request", executeObject("as is", object{"silent": step.silent, "store_history": step.store}))
		want(t, fmt.Sprintf("step %d: count", i), reply["execution_count"], step.count)
		for _, m := range outs {
			want(t, fmt.Sprintf("step %d: number in %s", i, m.Header.MsgType), content(m)["execution_count"], step.shown)
		}
		if want := map[bool]int{false: 2, true: 0}[step.silent]; len(outs) != want {
			t.Errorf("step %d: outputs are %s, want %d", i, describe(outs), want)
		}
	}
	reply, _ := k.ask(wire.Shell, "history_request", object{"hist_access_type": "tail", "n": 10, "output": false, "raw": true})
	want(t, "history", reply["history"], [][]any{{1, 1, "as is"}, {1, 2, "as is"}, {1, 3, "as is"}})
}

func testSilent(t *testing.T, k *kernel) {
	for code, status := range map[string]string{
		"x = 1\n%print a\n%eprint b\n%display text/html c\n%clear\nas is": "ok",
		"%fail x": "error",
		"?print":  "ok",
	} {
		reply, outs := k.ask(wire.Shell, "execute_request", executeObject(code, object{"silent": true, "user_expressions": object{"x": "x"}}))
		if reply["status"] != status || len(outs) > 0 {
			t.Errorf("%s: reply is %v, outputs are %s, want %s and none", code, reply, describe(outs), status)
		}
	}
	reply, _ := k.execute("", object{"silent": true, "user_expressions": object{"y": "x"}})
	want(t, "user_expressions", reply["user_expressions"], object{"y": object{"status": "ok", "data": object{"text/plain": "1"}, "metadata": object{}}})
}

func testUserExpressions(t *testing.T, k *kernel) {
	reply, outs := k.execute("x = 7", object{"user_expressions": object{"good": "x", "bad": "%print y"}})
	want(t, "user_expressions", reply["user_expressions"], object{
		"good": object{"status": "ok", "data": object{"text/plain": "7"}, "metadata": object{}},
		"bad": object{"status": "error", "ename": "CompileError", "evalue": `"%print y" is not an expression`,
			"traceback": []string{`CompileError: "%print y" is not an expression`}},
	})
	if len(outs) > 0 || reply["status"] != "ok" {
		t.Errorf("reply is %v, outputs are %s", reply, describe(outs))
	}
}

func testPager(t *testing.T, k *kernel) {
	reply, outs := k.execute("?print")
	want(t, "payload", reply["payload"], []object{{"source": "page", "data": object{"text/plain": "%print: a command"}, "start": 0}})
	if len(outs) > 0 {
		t.Errorf("outputs are %s, want none", describe(outs))
	}
}

// sendAll sends cells without waiting for replies, and returns their ids.
func (k *kernel) sendAll(cells ...object) []string {
	var ids []string
	for _, q := range cells {
		ids = append(ids, k.send(wire.Shell, "execute_request", q))
	}
	return ids
}

// queued returns when the server has the cells that were sent while one runs: it answers
// a question that comes behind them, which does not wait for them.
func (k *kernel) queued() {
	k.t.Helper()
	k.ask(wire.Shell, "kernel_info_request", object{})
}

func testAbortQueue(t *testing.T, k *kernel) {
	for range 5 {
		ids := k.sendAll(executeObject("%input go on? \n%fail x", object{"allow_stdin": true}), executeObject("%print a"), executeObject("%print b"))
		k.queued()
		k.answer(ids[0], "yes")
		statuses := []string{"error", "aborted", "aborted"}
		for i, id := range ids {
			m := k.reply(wire.Shell, id, "execute_reply")
			if got := content(m)["status"]; got != statuses[i] {
				t.Fatalf("cell %d is %v, want %s", i, got, statuses[i])
			}
			if outs := k.outputs(id); i > 0 && len(outs) > 0 {
				t.Errorf("an aborted cell shows %s", describe(outs))
			}
		}
		// The next cell runs at once.
		if reply, outs := k.execute("%print c"); reply["status"] != "ok" || describe(outs) != "stdout c\n" {
			t.Errorf("after an abort: %v, %s", reply, describe(outs))
		}
	}
	want(t, "count", k.server.count.Load(), 10)
}

func testNoAbort(t *testing.T, k *kernel) {
	ids := k.sendAll(executeObject("%fail x", object{"stop_on_error": false}), executeObject("%print a"))
	for i, status := range []string{"error", "ok"} {
		m := k.reply(wire.Shell, ids[i], "execute_reply")
		want(t, "status", content(m)["status"], status)
	}
}

func testIsComplete(t *testing.T, k *kernel) {
	for code, answer := range map[string]object{
		"a": {"status": "complete"},
		"{": {"status": "incomplete", "indent": "  "},
		"}": {"status": "invalid"},
	} {
		reply, _ := k.ask(wire.Shell, "is_complete_request", object{"code": code})
		want(t, code, reply, answer)
	}
}

func testComplete(t *testing.T, k *kernel) {
	k.execute("größe = 1\ngrün = 2\nx = 3")
	item := func(start, end int, text string) object {
		return object{"start": start, "end": end, "text": text, "type": "variable", "signature": ""}
	}
	// 𝒳 is one code point, four bytes and two UTF-16 units.
	for _, test := range []struct {
		code       string
		cursor     any
		start, end int
		matches    []string
	}{
		{"gr", 2, 0, 2, []string{"größe", "grün"}},
		{"𝒳日 grü + 1", 6, 3, 6, []string{"grün"}},
		{"𝒳日 grö", nil, 3, 6, []string{"größe"}},
		{"日本 x", 1000, 3, 4, []string{"x"}},
		{"日本 x", -5, 0, 0, []string{"größe", "grün", "x"}},
		{"nothing", 7, 0, 7, []string{}},
	} {
		q := object{"code": test.code}
		if test.cursor != nil {
			q["cursor_pos"] = test.cursor
		}
		reply, _ := k.ask(wire.Shell, "complete_request", q)
		items := []object{}
		for _, m := range test.matches {
			items = append(items, item(test.start, test.end, m))
		}
		want(t, test.code, reply, object{"status": "ok", "matches": test.matches, "cursor_start": test.start, "cursor_end": test.end,
			"metadata": object{"_jupyter_types_experimental": items}})
	}
}

func testInspect(t *testing.T, k *kernel) {
	k.execute("größe = 1")
	for _, test := range []struct {
		q     object
		found bool
		data  object
	}{
		{object{"code": "𝒳 größe", "cursor_pos": 3, "detail_level": 0}, true, object{"text/plain": "größe: 1"}},
		{object{"code": "größe", "cursor_pos": 5, "detail_level": 1}, true, object{"text/plain": "größe: 1\n(there is no source)"}},
		{object{"code": "𝒳 größe", "cursor_pos": 1, "detail_level": 0}, false, object{}},
		{object{"code": ""}, false, object{}},
	} {
		reply, _ := k.ask(wire.Shell, "inspect_request", test.q)
		want(t, fmt.Sprint(test.q), reply, object{"status": "ok", "found": test.found, "data": test.data, "metadata": object{}})
	}
}

func testHistory(t *testing.T, k *kernel) {
	for _, code := range []string{"a", "x = 2", "x", "a", "abc[1]", " \n"} {
		k.execute(code)
	}
	for _, test := range []struct {
		q object
		h [][]any
	}{
		{object{"hist_access_type": "tail", "n": 2}, [][]any{{1, 4, "a"}, {1, 5, "abc[1]"}}},
		{object{"hist_access_type": "tail", "n": 0}, [][]any{}},
		{object{"hist_access_type": "tail", "n": 2, "output": true}, [][]any{{1, 4, []any{"a", "a"}}, {1, 5, []any{"abc[1]", "abc[1]"}}}},
		{object{"hist_access_type": "range", "session": 0, "start": 2, "stop": 4, "output": true},
			[][]any{{1, 2, []any{"x = 2", nil}}, {1, 3, []any{"x", "2"}}}},
		{object{"hist_access_type": "range", "session": 1, "start": 5}, [][]any{{1, 5, "abc[1]"}}},
		{object{"hist_access_type": "range", "session": 9, "start": 1, "stop": 3}, [][]any{}},
		{object{"hist_access_type": "search", "pattern": "a*"}, [][]any{{1, 1, "a"}, {1, 4, "a"}, {1, 5, "abc[1]"}}},
		{object{"hist_access_type": "search", "pattern": "a*", "unique": true}, [][]any{{1, 4, "a"}, {1, 5, "abc[1]"}}},
		{object{"hist_access_type": "search", "pattern": "a*", "n": 1}, [][]any{{1, 5, "abc[1]"}}},
		{object{"hist_access_type": "search"}, [][]any{{1, 1, "a"}, {1, 2, "x = 2"}, {1, 3, "x"}, {1, 4, "a"}, {1, 5, "abc[1]"}}},
	} {
		reply, _ := k.ask(wire.Shell, "history_request", test.q)
		want(t, fmt.Sprint(test.q), reply, object{"status": "ok", "history": test.h})
	}
	reply, _ := k.ask(wire.Shell, "history_request", object{"hist_access_type": "sideways"})
	want(t, "status", reply["status"], "error")
}

func testDisplays(t *testing.T, k *kernel) {
	_, outs := k.execute("%show d1 text/html <b>&</b>\n%clear wait\n%clear\n%update d1 text/html <i>y</i>\n%display image/png QUJD")
	got := describe(outs)
	if want := `display_data {"data":{"text/html":"<b>&</b>","text/plain":"<text/html>"},"metadata":{},"transient":{"display_id":"d1"}}` +
		`|clear_output {"wait":true}|clear_output {"wait":false}` +
		`|update_display_data {"data":{"text/html":"<i>y</i>","text/plain":"<text/html>"},"metadata":{},"transient":{"display_id":"d1"}}` +
		`|display_data {"data":{"image/png":"QUJD","text/plain":"<image/png>"},"metadata":{},"transient":{}}`; got != want {
		t.Errorf("outputs are\n%s, want\n%s", got, want)
	}
}

func testOrder(t *testing.T, k *kernel) {
	var code, shown strings.Builder
	for i := range 50 {
		fmt.Fprintf(&code, "%%print %d\n%%print %d\n%%eprint e%d\n%%clear\n", i, i, i)
		fmt.Fprintf(&shown, "stdout %d\n%d\n|stderr e%d\n|clear_output {\"wait\":false}|", i, i, i)
	}
	_, outs := k.execute(code.String())
	if got := describe(outs) + "|"; got != shown.String() {
		t.Errorf("outputs are out of order:\n%s", got)
	}
}

func testLateOutput(t *testing.T, k *kernel) {
	first := k.send(wire.Shell, "execute_request", executeObject("%go 50ms late", object{"allow_stdin": true}))
	k.reply(wire.Shell, first, "execute_reply")
	k.outputs(first)
	reply, outs := k.execute("%print now\n%sleep 150ms\n%print then")
	if got := describe(outs); reply["status"] != "ok" || got != "stdout now\nthen\n" {
		t.Errorf("the second cell shows %s", got)
	}
	for len(k.iopub[first]) == 0 {
		k.nextOutput()
	}
	if got := describe(k.iopub[first]); got != "stdout late\n" {
		t.Errorf("the first cell's late output is %s", got)
	}
}

// testLateOutputUnwatched checks that for a client that allows no input, as
// nbclient, late output is the running cell's.
func testLateOutputUnwatched(t *testing.T, k *kernel) {
	deadline := time.Now().Add(time.Minute)
	for all := ""; !strings.Contains(all, "late"); { // it may come between two cells
		if time.Now().After(deadline) {
			t.Fatal("no cell shows the late output")
		}
		k.execute("%go 50ms late")
		_, outs := k.execute("%sleep 150ms")
		all += describe(outs)
	}
}

// testBeside checks that a cell which shows what another one shows does not wait for it.
func testBeside(t *testing.T, k *kernel) {
	id := k.send(wire.Shell, "execute_request", executeObject("%print 1\n%loop"))
	for len(k.iopub[id]) == 0 {
		k.nextOutput()
	}
	if reply, outs := k.execute("%print beside"); reply["status"] != "ok" || describe(outs) != "stdout beside\n" {
		t.Errorf("%v, shows %s", reply, describe(outs))
	}
	k.server.interrupt(wire.Header{})
	k.reply(wire.Shell, id, "execute_reply")
}

func testCoalescing(t *testing.T, k *kernel) {
	start := time.Now()
	_, outs := k.execute("%repeat 100000 line of text")
	if most := 4 + int(time.Since(start)/laterDelay); len(outs) > most {
		t.Errorf("100000 lines make %d messages, want at most %d", len(outs), most)
	}
	if got := describe(outs); got != "stdout "+strings.Repeat("line of text\n", 100000) {
		t.Errorf("text is lost: %d bytes arrive", len(got))
	}
}

// testOutputWhileRuns checks that clients receive the output of a cell while it
// runs, both the first piece and later ones.
func testOutputWhileRuns(t *testing.T, k *kernel) {
	id := k.send(wire.Shell, "execute_request", executeObject("%print 1\n%sleep 20ms\n%print 2\n%print 3\n%loop"))
	for !strings.HasSuffix(describe(k.iopub[id]), "|stdout 1\n2\n3\n") {
		k.nextOutput()
	}
	k.server.interrupt(wire.Header{})
	k.reply(wire.Shell, id, "execute_reply")
}

func testBigOutput(t *testing.T, k *kernel) {
	start := time.Now()
	_, outs := k.execute("%bytes 20000000")
	if got := len(describe(outs)); got != 20000000+len("stdout ") {
		t.Errorf("%d bytes arrive", got)
	}
	t.Logf("20 MB in %v", time.Since(start))
}

func testComms(t *testing.T, k *kernel) {
	// An unknown target is closed.
	id := k.send(wire.Shell, "comm_open", object{"comm_id": "c0", "target_name": "jupyter.widget.control", "data": object{}})
	if got := describe(k.outputs(id)); got != `comm_close {"comm_id":"c0","data":{}}` {
		t.Errorf("an unknown target gives %s", got)
	}
	// A known one talks.
	id = k.send(wire.Shell, "comm_open", object{"comm_id": "c1", "target_name": "echo", "data": object{}})
	if got := describe(k.outputs(id)); got != "" {
		t.Errorf("a known target gives %s", got)
	}
	reply, _ := k.ask(wire.Shell, "comm_info_request", object{})
	want(t, "comm_info_reply", reply, object{"status": "ok", "comms": object{"c1": object{"target_name": "echo"}}})
	reply, _ = k.ask(wire.Shell, "comm_info_request", object{"target_name": "other"})
	want(t, "comm_info_reply", reply, object{"status": "ok", "comms": object{}})

	msg, err := wire.New(wire.NewHeader("client", "ada", "comm_msg"), wire.Header{}, object{"comm_id": "c1", "data": object{"value": 3}})
	if err != nil {
		t.Fatal(err)
	}
	msg.Metadata = json.RawMessage(`{"version":"2.1.0"}`)
	msg.Buffers = [][]byte{{0, 1, 2}, {}}
	if err := k.Send(wire.Shell, msg); err != nil {
		t.Fatal(err)
	}
	outs := k.outputs(msg.Header.MsgID)
	if got := describe(outs); got != `comm_msg {"comm_id":"c1","data":{"value":3}}` {
		t.Fatalf("the echo is %s", got)
	}
	want(t, "metadata", outs[0].Metadata, object{"version": "2.1.0"})
	want(t, "buffers", outs[0].Buffers, [][]byte{{0, 1, 2}, {}})

	id = k.send(wire.Shell, "comm_close", object{"comm_id": "c1", "data": object{}})
	k.outputs(id)
	reply, _ = k.ask(wire.Shell, "comm_info_request", object{})
	want(t, "comms", reply["comms"], object{})
	// A message to a closed comm has no effect.
	id = k.send(wire.Shell, "comm_msg", object{"comm_id": "c1", "data": object{}})
	if got := describe(k.outputs(id)); got != "" {
		t.Errorf("a closed comm gives %s", got)
	}
}

func testEngineComms(t *testing.T, k *kernel) {
	_, outs := k.execute(`%comm comm_open w1 jupyter.widget {"state":{}}`)
	if got := describe(outs); got != `comm_open {"comm_id":"w1","data":{"state":{}},"target_name":"jupyter.widget"}` {
		t.Errorf("outputs are %s", got)
	}
	reply, _ := k.ask(wire.Control, "comm_info_request", object{"target_name": "jupyter.widget"})
	want(t, "comms", reply["comms"], object{"w1": object{"target_name": "jupyter.widget"}})
	id := k.send(wire.Shell, "comm_msg", object{"comm_id": "w1", "data": object{"value": 4}})
	if got := describe(k.outputs(id)); got != `comm_msg {"comm_id":"w1","data":{"value":4}}` {
		t.Errorf("outputs are %s", got)
	}
	k.execute(`%comm comm_close w1 - {}`)
	reply, _ = k.ask(wire.Shell, "comm_info_request", object{})
	want(t, "comms", reply["comms"], object{})
}

func testUnknown(t *testing.T, k *kernel) {
	for _, ch := range []wire.Channel{wire.Shell, wire.Control} {
		for _, kind := range []string{"apply_request", "nonsense"} {
			reply, _ := k.ask(ch, kind, object{})
			if reply["status"] != "error" || reply["ename"] != "UnknownRequest" || reply["traceback"] == nil {
				t.Errorf("%s on %s: %v", kind, ch, reply)
			}
		}
	}
	reply, _ := k.ask(wire.Control, "execute_request", executeObject("a"))
	want(t, "status of a cell on control", reply["status"], "error")
}

func testMalformed(t *testing.T, k *kernel) {
	for kind, q := range map[string]object{
		"execute_request":     {"code": 3},
		"complete_request":    {"code": "x", "cursor_pos": "end"},
		"inspect_request":     {"code": []int{}},
		"is_complete_request": {"code": object{}},
		"history_request":     {"hist_access_type": "tail", "n": "all"},
		"comm_info_request":   {"target_name": 1},
		"shutdown_request":    {"restart": "maybe"},
	} {
		reply, _ := k.ask(wire.Shell, kind, q)
		if reply["status"] != "error" || reply["evalue"] == "" {
			t.Errorf("%s: %v", kind, reply)
		}
	}
	id := k.send(wire.Shell, "comm_open", object{"comm_id": 5})
	k.outputs(id)
	want(t, "count", k.server.count.Load(), 0)
}

// testCrash checks that a panic that the engine does not recover only fails the
// cell.
func testCrash(t *testing.T, k *kernel) {
	k.execute("x = 1")
	reply, outs := k.execute("%crash boom")
	if reply["ename"] != "InternalError" || !strings.Contains(reply["evalue"].(string), "boom") || len(outs) != 1 {
		t.Errorf("reply is %v, outputs are %s", reply, describe(outs))
	}
	if reply, outs := k.execute("%goexit"); reply["ename"] != "Goexit" || len(outs) != 1 {
		t.Errorf("reply is %v, outputs are %s", reply, describe(outs))
	}
	if _, outs := k.execute("x"); !strings.Contains(describe(outs), `"text/plain":"1"`) {
		t.Errorf("afterwards x is %s", describe(outs))
	}
}

// running sends a cell and waits for its first output.
func (k *kernel) running(code string, also ...object) string {
	k.t.Helper()
	id := k.send(wire.Shell, "execute_request", executeObject("%print running\n"+code, also...))
	for !strings.Contains(describe(k.iopub[id]), "stdout running") {
		k.nextOutput()
	}
	return id
}

func testInterruptMessage(t *testing.T, k *kernel) {
	k.execute("x = 1")
	id := k.running("%loop")
	next := k.send(wire.Shell, "execute_request", executeObject("%print no"))
	k.queued()
	reply, _ := k.ask(wire.Control, "interrupt_request", object{})
	want(t, "interrupt_reply", reply, object{"status": "ok"})
	m := k.reply(wire.Shell, id, "execute_reply")
	want(t, "ename", content(m)["ename"], "Interrupted")
	m = k.reply(wire.Shell, next, "execute_reply")
	want(t, "the next cell", content(m), object{"status": "aborted"})
	if _, outs := k.execute("x"); !strings.Contains(describe(outs), `"text/plain":"1"`) {
		t.Errorf("afterwards x is %s", describe(outs))
	}
}

func testInterruptIdle(t *testing.T, k *kernel) {
	for range 3 {
		k.ask(wire.Control, "interrupt_request", object{})
		k.server.interrupt(wire.Header{})
	}
	if reply, _ := k.execute("%sleep 20ms"); reply["status"] != "ok" {
		t.Errorf("after an interrupt while idle a cell gives %v", reply)
	}
}

func testControlWhileRuns(t *testing.T, k *kernel) {
	id := k.running("%loop")
	for _, kind := range []string{"kernel_info_request", "complete_request", "comm_info_request", "is_complete_request"} {
		k.ask(wire.Control, kind, object{"code": "x"})
	}
	k.ask(wire.Control, "interrupt_request", object{})
	k.reply(wire.Shell, id, "execute_reply")
}

// testShellQueues checks that a cell waits until the one before it has ended.
func testShellQueues(t *testing.T, k *kernel) {
	cell := k.send(wire.Shell, "execute_request", executeObject("%sleep 100ms"))
	next := k.send(wire.Shell, "execute_request", executeObject("as is"))
	k.reply(wire.Shell, cell, "execute_reply")
	k.reply(wire.Shell, next, "execute_reply")
}

// testQuestionsWhileRuns checks that questions are answered while a cell runs,
// and that each "idle" is followed by a "busy" for the cell, because front ends
// take any "idle" for the status of the whole kernel.
func testQuestionsWhileRuns(t *testing.T, k *kernel) {
	k.execute("x = 1")
	id := k.running("%loop")
	examples := map[string]object{
		"kernel_info_request": {}, "connect_request": {}, "comm_info_request": {}, "usage_request": {},
		"complete_request":    {"code": "%pri", "cursor_pos": 4},
		"inspect_request":     {"code": "x", "cursor_pos": 1, "detail_level": 0},
		"is_complete_request": {"code": "{"},
		"history_request":     {"hist_access_type": "tail", "n": 1, "output": false, "raw": true},
	}
	for kind, typ := range messageTypes {
		q, ok := examples[kind]
		if ok != typ.question {
			t.Errorf("%s: question is %v in messageTypes: examples of testQuestionsWhileRuns must have it if and only if it is", kind, typ.question)
		}
		if !ok {
			continue
		}
		before := len(k.iopub[id])
		reply, outs := k.ask(wire.Shell, kind, q)
		if reply["status"] == "error" || len(outs) > 0 {
			t.Errorf("%s: %v, outputs %s", kind, reply, describe(outs))
		}
		for len(k.iopub[id]) == before {
			k.nextOutput()
		}
		if last := k.iopub[id][len(k.iopub[id])-1]; state(last) != "busy" {
			t.Errorf("after %s the running cell's message is %s, want busy", kind, describe([]wire.Message{last}))
		}
	}
	k.ask(wire.Control, "interrupt_request", object{})
	k.reply(wire.Shell, id, "execute_reply")
	k.outputs(id)
	// When no cell runs, no "busy" follows an "idle".
	k.ask(wire.Shell, "kernel_info_request", object{})
	k.ask(wire.Shell, "kernel_info_request", object{})
	for parent, ms := range k.iopub {
		if len(ms) > 0 && state(ms[len(ms)-1]) == "busy" {
			t.Errorf("%s is left busy", parent)
		}
	}
}

// testDebug checks what the panel of variables gets of an engine without a debugger.
func testDebug(t *testing.T, k *kernel) {
	debug := func(command string) object { // whose reply has no status
		id := k.send(wire.Control, "debug_request", object{"seq": 1, "type": "request", "command": command})
		defer k.outputs(id)
		return content(k.reply(wire.Control, id, "debug_reply"))
	}
	reply := debug("debugInfo")
	body, _ := reply["body"].(object)
	if reply["success"] != true || body["isStarted"] != false {
		t.Errorf("debugInfo: %v", reply)
	}
	reply = debug("attach")
	if reply["success"] != false || reply["message"] != "this engine has no debugger: it serves inspectVariables, not attach" {
		t.Errorf("attach: %v", reply)
	}
	if reply, _ := k.ask(wire.Shell, "debug_request", object{}); reply["status"] != "error" {
		t.Errorf("on the shell channel: %v", reply)
	}
}

// TestMessageTypes checks that no message is without a test.
func TestMessageTypes(t *testing.T) {
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for kind := range messageTypes {
		if !strings.Contains(all.String(), `"`+kind+`"`) {
			t.Errorf("no test sends a %s: add one to kernelTests in server_test.go", kind)
		}
	}
}

// inSubshell sends a message to a subshell and returns its id.
func (k *kernel) inSubshell(subshell, kind string, q any) string {
	k.t.Helper()
	h := wire.NewHeader("client", "ada", kind)
	raw, err := json.Marshal(h)
	if err != nil {
		k.t.Fatal(err)
	}
	var fields object
	if err := json.Unmarshal(raw, &fields); err != nil {
		k.t.Fatal(err)
	}
	fields["subshell_id"] = subshell
	if raw, err = json.Marshal(fields); err == nil {
		err = json.Unmarshal(raw, &h)
	}
	if err != nil || h.Subshell != subshell {
		k.t.Fatalf("%v, subshell %q", err, h.Subshell)
	}
	m, err := wire.New(h, wire.Header{}, q)
	if err == nil {
		err = k.Send(wire.Shell, m)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return h.MsgID
}

func testSubshells(t *testing.T, k *kernel) {
	list := func(ids ...any) {
		t.Helper()
		reply, _ := k.ask(wire.Control, "list_subshell_request", object{})
		want(t, "list_subshell_reply", reply, object{"status": "ok", "subshell_id": append([]any{}, ids...)})
	}
	list()
	reply, _ := k.ask(wire.Control, "create_subshell_request", object{})
	sub, _ := reply["subshell_id"].(string)
	if reply["status"] != "ok" || sub == "" {
		t.Fatalf("create_subshell_reply is %v", reply)
	}
	list(sub)
	if reply, _ := k.ask(wire.Shell, "create_subshell_request", object{}); reply["status"] != "error" {
		t.Errorf("on shell: %v", reply)
	}
	// The subshell runs a cell and handles comms while the main shell runs a cell.
	main := k.running("%loop")
	cell := k.inSubshell(sub, "execute_request", executeObject("%print beside\n6 by 7"))
	m := k.reply(wire.Shell, cell, "execute_reply")
	want(t, "reply", content(m), object{"status": "ok", "execution_count": 2, "user_expressions": object{}, "payload": []any{}})
	if !strings.Contains(string(m.Parent.Raw), sub) {
		t.Errorf("the reply's parent %s does not name the subshell", m.Parent.Raw)
	}
	if got := describe(k.outputs(cell)); !strings.HasSuffix(got, `|stdout beside
|execute_result {"data":{"text/plain":"6 by 7"},"execution_count":2,"metadata":{}}`) {
		t.Errorf("beside the cell: %s", got)
	}
	open := k.inSubshell(sub, "comm_open", object{"comm_id": "s1", "target_name": "echo", "data": object{}})
	k.outputs(open)
	msg := k.inSubshell(sub, "comm_msg", object{"comm_id": "s1", "data": object{"value": 5}})
	if got := describe(k.outputs(msg)); got != `comm_msg {"comm_id":"s1","data":{"value":5}}` {
		t.Errorf("a comm beside the cell gives %s", got)
	}
	// An interrupt stops the cells of all shells.
	long := k.inSubshell(sub, "execute_request", executeObject("%print long\n%loop"))
	for !strings.Contains(describe(k.iopub[long]), "stdout long") {
		k.nextOutput()
	}
	k.ask(wire.Control, "interrupt_request", object{})
	for range 2 {
		m := k.receive(wire.Shell)
		if c := content(m); c["ename"] != "Interrupted" || m.Parent.MsgID != main && m.Parent.MsgID != long {
			t.Errorf("an interrupt gives %v to %s", c, m.Parent.MsgID)
		}
	}
	k.outputs(main)
	k.outputs(long)
	reply, _ = k.ask(wire.Control, "delete_subshell_request", object{"subshell_id": sub})
	want(t, "delete_subshell_reply", reply, object{"status": "ok"})
	list()
	if reply, _ = k.ask(wire.Control, "delete_subshell_request", object{"subshell_id": sub}); reply["status"] != "error" {
		t.Errorf("deleted twice: %v", reply)
	}
	lost := k.inSubshell(sub, "execute_request", executeObject("%print lost"))
	if c := content(k.reply(wire.Shell, lost, "execute_reply")); c["status"] != "error" || !strings.Contains(c["evalue"].(string), "there is no subshell") {
		t.Errorf("a cell in a deleted subshell gives %v", c)
	}
	k.outputs(lost)
	if reply, _ := k.execute("as is"); reply["status"] != "ok" {
		t.Errorf("afterwards the main shell gives %v", reply)
	}
}

// TestOneAtATime checks that the cells of subshells wait if the engine runs one
// cell at a time.
func TestOneAtATime(t *testing.T) {
	k := startMemory(t)
	k.server.turn = make(chan struct{}, 1)
	reply, _ := k.ask(wire.Control, "create_subshell_request", object{})
	sub := reply["subshell_id"].(string)
	main := k.running("%loop")
	cell := k.inSubshell(sub, "execute_request", executeObject("%print after"))
	if reply, _ := k.ask(wire.Shell, "complete_request", object{"code": "%pri"}); reply["status"] != "ok" {
		t.Errorf("completion: %v", reply)
	}
	if got := describe(k.iopub[cell]); strings.Contains(got, "stdout after") {
		t.Errorf("two cells at once: %s", got)
	}
	k.server.shell.cancelCurrent(wire.Header{})
	first, second := k.receive(wire.Shell), k.receive(wire.Shell) // in any order
	if ids := first.Parent.MsgID + second.Parent.MsgID; ids != main+cell && ids != cell+main {
		t.Errorf("the replies are to %s", ids)
	}
	// The end of the main cell publishes a further "busy" of this one, before or
	// after its output.
	outputs := slices.DeleteFunc(k.outputs(cell), func(m wire.Message) bool { return state(m) == "busy" })
	if got := describe(outputs); !strings.HasSuffix(got, "stdout after\n") {
		t.Errorf("the cell shows %s", got)
	}
}

func testUsage(t *testing.T, k *kernel) {
	for range 2 {
		reply, _ := k.ask(wire.Control, "usage_request", object{})
		memory, _ := reply["kernel_memory"].(float64)
		cpu, _ := reply["kernel_cpu"].(float64)
		if memory < 1<<20 || cpu < 0 || reply["pid"] != float64(os.Getpid()) || reply["cpu_count"] != float64(runtime.NumCPU()) {
			t.Errorf("usage_reply is %v", reply)
		}
		if _, err := os.Stat("/proc/meminfo"); err == nil {
			if m, _ := reply["host_virtual_memory"].(object); m == nil || m["percent"].(float64) > 100 || m["total"].(float64) <= 0 {
				t.Errorf("the memory is %v", m)
			}
		}
	}
}

// answer answers the next question on stdin and returns the question.
func (k *kernel) answer(cell, value string) wire.Message {
	k.t.Helper()
	m := k.receive(wire.Stdin)
	if m.Header.MsgType != "input_request" || m.Parent.MsgID != cell {
		k.t.Fatalf("got %s of %s on stdin", m.Header.MsgType, m.Parent.MsgID)
	}
	reply, err := wire.New(wire.NewHeader("client", "ada", "input_reply"), m.Header, object{"value": value})
	if err == nil {
		err = k.Send(wire.Stdin, reply)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return m
}

func testStdin(t *testing.T, k *kernel) {
	allow := object{"allow_stdin": true}
	id := k.send(wire.Shell, "execute_request", executeObject("%print first\n%input name? \n%password word? ", allow))
	m := k.answer(id, "Ada ✓")
	want(t, "question", content(m), object{"prompt": "name? ", "password": false})
	m = k.answer(id, "secret")
	want(t, "question", content(m), object{"prompt": "word? ", "password": true})
	k.reply(wire.Shell, id, "execute_reply")
	outs := k.outputs(id)[1:]
	if got := describe(outs); got != "stdout first\ngot Ada ✓\ngot secret\n" {
		t.Errorf("outputs are %s", got)
	}
	if got := describe(outs[:1]); got != "stdout first\n" {
		t.Errorf("before the question the cell shows %s", got)
	}
}

func testStdinRefused(t *testing.T, k *kernel) {
	reply, _ := k.execute("%input name? ")
	if reply["ename"] != "InputError" || !strings.Contains(reply["evalue"].(string), "did not allow") {
		t.Errorf("reply is %v", reply)
	}
}

func testStdinInterrupted(t *testing.T, k *kernel) {
	allow := object{"allow_stdin": true}
	id := k.send(wire.Shell, "execute_request", executeObject("%input name? ", allow))
	question := k.receive(wire.Stdin)
	k.ask(wire.Control, "interrupt_request", object{})
	m := k.reply(wire.Shell, id, "execute_reply")
	want(t, "ename", content(m)["ename"], "Interrupted")
	// A late answer is not taken for the answer to the next question.
	late, err := wire.New(wire.NewHeader("client", "ada", "input_reply"), question.Header, object{"value": "late"})
	if err == nil {
		err = k.Send(wire.Stdin, late)
	}
	if err != nil {
		t.Fatal(err)
	}
	id = k.send(wire.Shell, "execute_request", executeObject("%input again? ", allow))
	k.answer(id, "right")
	k.reply(wire.Shell, id, "execute_reply")
	if got := describe(k.outputs(id)[1:]); got != "stdout got right\n" {
		t.Errorf("outputs are %s", got)
	}
}

// testParentHeader checks that parent headers are the request's header, unknown
// fields included.
func testParentHeader(t *testing.T, k *kernel) {
	raw := `{"msg_id":"m1","session":"s","username":"ada","date":"2999-11-21T04:00:00Z","msg_type":"execute_request","version":"5.3","subshell_id":null,"more":{"a":[1]}}`
	var h wire.Header
	if err := json.Unmarshal([]byte(raw), &h); err != nil {
		t.Fatal(err)
	}
	m, err := wire.New(h, wire.Header{}, executeObject("%print a\nas is"))
	if err == nil {
		err = k.Send(wire.Shell, m)
	}
	if err != nil {
		t.Fatal(err)
	}
	var all []wire.Message
	for len(all) == 0 || state(all[len(all)-1]) != "idle" {
		if m := k.receive(wire.IOPub); m.Parent.MsgID == "m1" {
			all = append(all, m)
		}
	}
	for _, m := range append(all, k.receive(wire.Shell)) {
		want(t, m.Header.MsgType, m.Parent.Raw, json.RawMessage(raw))
	}
	if len(all) != 5 {
		t.Errorf("%d messages: %s", len(all), describe(all))
	}
}

func testShutdown(t *testing.T, k *kernel) {
	k.shutdown(wire.Control, true)
}

func testShutdownShell(t *testing.T, k *kernel) {
	k.shutdown(wire.Shell, false)
}

// shutdown shuts the kernel down and checks the reply and the iopub message.
func (k *kernel) shutdown(ch wire.Channel, restart bool) {
	k.t.Helper()
	reply, outs := k.ask(ch, "shutdown_request", object{"restart": restart})
	want(k.t, "reply", reply, object{"status": "ok", "restart": restart})
	if got := describe(outs); got != fmt.Sprintf(`shutdown_reply {"restart":%v,"status":"ok"}`, restart) {
		k.t.Errorf("iopub is told %s", got)
	}
	k.ended()
}

func testShutdownWhileRuns(t *testing.T, k *kernel) {
	k.running("%loop")
	k.shutdown(wire.Control, false)
	if _, err := k.server.engine.Execute(context.Background(), executeCell("a"), nil); err == nil {
		t.Error("the engine is not closed")
	}
}

// testStale checks that requests made before the kernel began are refused: they
// may be replays of requests to an earlier kernel with the same key.
func testStale(t *testing.T, k *kernel) {
	old := func(ch wire.Channel, kind string, content any, date time.Time) string {
		t.Helper()
		h := wire.NewHeader("client", "test", kind)
		h.Date = date
		m, err := wire.New(h, wire.Header{}, content)
		if err == nil {
			err = k.Send(ch, m)
		}
		if err != nil {
			t.Fatal(err)
		}
		return h.MsgID
	}
	before := k.server.started.Add(-time.Millisecond)
	for _, kind := range []string{"execute_request", "complete_request", "history_request"} {
		id := old(wire.Shell, kind, executeObject("%set x 1"), before)
		m := k.reply(wire.Shell, id, strings.TrimSuffix(kind, "_request")+"_reply")
		if c := content(m); c["status"] != "error" || c["ename"] != "StaleRequest" || !strings.Contains(c["evalue"].(string), "before the kernel was started") {
			t.Errorf("an old %s gives %v", kind, c)
		}
		if outs := describe(k.outputs(id)); outs != "" {
			t.Errorf("an old %s shows %s", kind, outs)
		}
	}
	id := old(wire.Control, "shutdown_request", object{"restart": false}, before)
	if c := content(k.reply(wire.Control, id, "shutdown_reply")); c["ename"] != "StaleRequest" {
		t.Errorf("an old shutdown_request gives %v", c)
	}
	id = old(wire.Shell, "kernel_info_request", object{}, before)
	if c := content(k.reply(wire.Shell, id, "kernel_info_reply")); c["status"] != "ok" {
		t.Errorf("an old kernel_info_request gives %v", c)
	}
	id = old(wire.Shell, "execute_request", executeObject("as is"), k.server.started)
	if c := content(k.reply(wire.Shell, id, "execute_reply")); c["status"] != "ok" || c["execution_count"] != 1.0 {
		t.Errorf("a request of the first moment gives %v", c)
	}
}

// TestLateInterrupt checks that a late interrupt does not stop a cell that its
// client sent after it.
func TestLateInterrupt(t *testing.T) {
	k := startMemory(t)
	before := time.Now()
	time.Sleep(2 * time.Millisecond) // more than the resolution of dates
	main := k.running("%loop")
	session := k.server.shell.current.Session
	for _, c := range []struct {
		what string
		by   wire.Header
		want bool
	}{
		{"its client's, late", wire.Header{Session: session, Date: before}, false},
		{"its client's, without a date", wire.Header{Session: session}, true},
		{"another client's, whose clock may be behind", wire.Header{Session: "other", Date: before}, true},
		{"a signal", wire.Header{}, true},
		{"its client's, in time", wire.Header{Session: session, Date: time.Now()}, true},
	} {
		if got := k.server.shell.cancelCurrent(c.by); got != c.want {
			t.Errorf("%s: cancels: %v, want %v", c.what, got, c.want)
		}
	}
	if c := content(k.reply(wire.Shell, main, "execute_reply")); c["ename"] != "Interrupted" {
		t.Errorf("interrupted: %v", c)
	}
}
