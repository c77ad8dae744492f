package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/internal/jupyter/transport"
	"dace.local/kernel/internal/jupyter/wire"
)

// A debugging is a kernel process and a client that debugs its cells as
// JupyterLab does.
type debugging struct {
	t      *testing.T
	client *transport.Client
	seq    int
}

type object = map[string]any

// startDebugging starts the kernel.
func startDebugging(t *testing.T) *debugging {
	t.Helper()
	conn := wire.Connection{Transport: "ipc", IP: filepath.Join(t.TempDir(), "k"), Key: "k", SignatureScheme: "hmac-sha256",
		ShellPort: 1, IOPubPort: 2, StdinPort: 3, ControlPort: 4, HBPort: 5}
	file := filepath.Join(t.TempDir(), "connection.json")
	if err := conn.Write(file); err != nil {
		t.Fatal(err)
	}
	_, client := startKernel(t, file, conn)
	return &debugging{t: t, client: client}
}

func (d *debugging) send(ch wire.Channel, kind string, content any) string {
	d.t.Helper()
	h, err := d.client.Request(ch, kind, content)
	if err != nil {
		d.t.Fatal(err)
	}
	return h.MsgID
}

func (d *debugging) receive(ch wire.Channel) wire.Message {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	m, err := d.client.Receive(ctx, ch)
	if err != nil {
		d.t.Fatalf("nothing comes on %s: %v", ch, err)
	}
	return m
}

func (d *debugging) reply(ch wire.Channel, id string) object {
	d.t.Helper()
	for {
		if m := d.receive(ch); m.Parent.MsgID == id {
			return contentOf(d.t, m)
		}
	}
}

func contentOf(t *testing.T, m wire.Message) object {
	t.Helper()
	var o object
	if err := json.Unmarshal(m.Content, &o); err != nil {
		t.Fatal(err)
	}
	return o
}

// ask makes a debug request and returns the body of the reply.
func (d *debugging) ask(command string, arguments object) object {
	d.t.Helper()
	d.seq++
	r := d.reply(wire.Control, d.send(wire.Control, "debug_request", object{"type": "request", "seq": d.seq, "command": command, "arguments": arguments}))
	if r["success"] != true || r["type"] != "response" || r["command"] != command || r["request_seq"] != float64(d.seq) {
		d.t.Fatalf("%s: %v", command, r)
	}
	return r["body"].(object)
}

// event waits for an event of the debugger.
func (d *debugging) event(name string) object {
	d.t.Helper()
	for {
		m := d.receive(wire.IOPub)
		if m.Header.MsgType == "debug_event" {
			if c := contentOf(d.t, m); c["event"] == name && c["type"] == "event" {
				return c["body"].(object)
			}
		}
	}
}

// TestDebugger makes each request that JupyterLab's debugger makes.
func TestDebugger(t *testing.T) {
	d := startDebugging(t)
	const code = "func f(n int) (sum int) {\n\tfor i := range n {\n\t\tsum += i\n\t}\n\treturn\n}\ntotal := f(5)\ntotal"
	info := d.ask("debugInfo", nil)
	if info["isStarted"] != false || info["hashMethod"] != "Murmur2" || info["copyToGlobals"] != true {
		t.Fatalf("debugInfo: %v", info)
	}
	filters := d.ask("initialize", object{"clientID": "test"})["exceptionBreakpointFilters"].([]any)
	d.ask("attach", nil)
	d.ask("setExceptionBreakpoints", object{"filters": []any{filters[0].(object)["filter"]}})
	path := d.ask("dumpCell", object{"code": code})["sourcePath"].(string)
	// JupyterLab computes the hash itself.
	if want := fmt.Sprint(info["tmpFilePrefix"], "2190888921", info["tmpFileSuffix"]); path != want {
		t.Errorf("the cell is %s, want %s", path, want)
	}
	d.ask("setBreakpoints", object{"source": object{"path": path}, "breakpoints": []object{{"line": 3}}, "sourceModified": false})
	d.ask("configurationDone", nil)
	run := d.send(wire.Shell, "execute_request", object{"code": code, "silent": false, "store_history": true, "allow_stdin": false})
	thread := d.event("stopped")["threadId"]
	frame := func() any {
		t.Helper()
		list := d.ask("stackTrace", object{"threadId": thread})["stackFrames"].([]any)
		if s := list[0].(object)["source"].(object)["path"]; s != path {
			t.Errorf("the source is %v", s)
		}
		return list[0].(object)["id"]
	}
	f := frame()
	scopes := d.ask("scopes", object{"frameId": f})["scopes"].([]any)
	locals := scopes[0].(object)["variablesReference"]
	var names []string
	for _, v := range d.ask("variables", object{"variablesReference": locals})["variables"].([]any) {
		names = append(names, fmt.Sprint(v.(object)["name"], "=", v.(object)["value"]))
	}
	if got := strings.Join(names, " "); got != "n=5 sum=0 i=0" {
		t.Errorf("locals: %s", got)
	}
	if got := d.ask("evaluate", object{"expression": "i + n", "frameId": f, "context": "repl"})["result"]; got != "5" {
		t.Errorf("i + n: %v", got)
	}
	d.ask("setVariable", object{"variablesReference": locals, "name": "sum", "value": "100"})
	d.ask("copyToGlobals", object{"srcVariableName": "n", "dstVariableName": "copied", "srcFrameId": f})
	if got := d.ask("richInspectVariables", object{"variableName": "sum", "frameId": f})["data"].(object)["text/plain"]; got != "100" {
		t.Errorf("sum: %v", got)
	}
	if got := d.ask("source", object{"source": object{"path": path}})["content"]; got != code {
		t.Errorf("source: %v", got)
	}
	if list := d.ask("modules", nil)["modules"].([]any); len(list) != 1 {
		t.Errorf("modules: %v", list)
	}
	for _, command := range []string{"next", "stepIn"} {
		d.ask(command, object{"threadId": thread})
		d.event("stopped")
	}
	d.ask("setBreakpoints", object{"source": object{"path": path}, "breakpoints": []object{}})
	d.ask("stepOut", object{"threadId": thread})
	d.event("stopped")
	if started := d.ask("debugInfo", nil); len(started["stoppedThreads"].([]any)) != 1 {
		t.Errorf("debugInfo: %v", started)
	}
	d.ask("continue", object{"threadId": thread})
	d.event("continued")
	if r := d.reply(wire.Shell, run); r["status"] != "ok" {
		t.Errorf("the cell: %v", r)
	}
	d.ask("pause", object{"threadId": 1})
	variables := d.ask("inspectVariables", nil)["variables"].([]any)
	if !slices.ContainsFunc(variables, func(v any) bool { return v.(object)["name"] == "total" && v.(object)["value"] == "110" }) {
		t.Errorf("variables: %v", variables)
	}

	// A cell that has stopped ends by an interrupt.
	d.ask("setBreakpoints", object{"source": object{"path": path}, "breakpoints": []object{{"line": 5}}})
	run = d.send(wire.Shell, "execute_request", object{"code": code, "silent": false})
	d.event("stopped")
	d.reply(wire.Control, d.send(wire.Control, "interrupt_request", object{}))
	if r := d.reply(wire.Shell, run); r["ename"] != "Interrupted" {
		t.Errorf("the interrupted cell: %v", r)
	}
	d.ask("disconnect", object{"restart": false})
}
