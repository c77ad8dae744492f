package debug

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// A request answers one kind of request. Its result is the reply's body.
type request func(d *Debugger, ctx context.Context, arguments json.RawMessage) (any, error)

// object is a body, or a part of one.
type object = map[string]any

// with makes a request of a function that takes the arguments as a value of type A.
func with[A any](f func(d *Debugger, ctx context.Context, a A) (any, error)) request {
	return func(d *Debugger, ctx context.Context, arguments json.RawMessage) (any, error) {
		var a A
		if len(arguments) > 0 {
			if err := json.Unmarshal(arguments, &a); err != nil {
				return nil, fmt.Errorf("the arguments of the request: %w", err)
			}
		}
		return f(d, ctx, a)
	}
}

// none is the arguments of requests that have none, or none that matter.
type none struct{}

// requests are those that need a client which debugs; always are those that do
// not.
var requests, always map[string]request

func init() { // a cycle of initialization otherwise
	always = map[string]request{
		"debugInfo":        with((*Debugger).info),
		"initialize":       with((*Debugger).initialize),
		"attach":           with((*Debugger).attachRequest),
		"disconnect":       with((*Debugger).disconnect),
		"dumpCell":         with((*Debugger).dumpCell),
		"source":           with((*Debugger).source),
		"modules":          with((*Debugger).modules),
		"inspectVariables": with((*Debugger).inspect),

		"richInspectVariables": with((*Debugger).richInspect),
	}
	requests = map[string]request{
		"setBreakpoints":          with((*Debugger).setBreakpoints),
		"setExceptionBreakpoints": with((*Debugger).setExceptionBreakpoints),
		"configurationDone":       with(func(*Debugger, context.Context, none) (any, error) { return object{}, nil }),
		"threads":                 with((*Debugger).threadList),
		"stackTrace":              with((*Debugger).stackTrace),
		"scopes":                  with((*Debugger).scopes),
		"variables":               with((*Debugger).variables),
		"setVariable":             with((*Debugger).setVariable),
		"evaluate":                with((*Debugger).evaluate),
		"continue":                resuming(toGoOn),
		"next":                    resuming(stepOver),
		"stepIn":                  resuming(stepIn),
		"stepOut":                 resuming(stepOut),
		"pause":                   with((*Debugger).pause),
		"copyToGlobals":           with((*Debugger).copyToGlobals),
	}
}

// Handle answers a request of the protocol. The error is the message of a reply
// that says no.
func (d *Debugger) Handle(ctx context.Context, command string, arguments json.RawMessage) (any, error) {
	if f := always[command]; f != nil {
		return f(d, ctx, arguments)
	}
	f := requests[command]
	switch {
	case f == nil:
		return nil, fmt.Errorf("the debugger does not serve %q: it serves %s", command, strings.Join(commands(), ", "))
	case !d.Attached():
		return nil, fmt.Errorf("%s: debugging has not begun: send initialize and attach first", command)
	}
	return f(d, ctx, arguments)
}

// commands returns the requests that the debugger serves.
func commands() []string {
	return slices.Sorted(maps.Keys(func() map[string]request {
		all := maps.Clone(always)
		maps.Copy(all, requests)
		return all
	}()))
}

// panicFilter is the one kind of exception that a goroutine may stop at.
const panicFilter = "panic"

func (d *Debugger) info(context.Context, none) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := []object{}
	for _, path := range slices.Sorted(maps.Keys(d.breaks)) {
		if len(d.breaks[path]) == 0 {
			continue
		}
		points := []object{}
		for _, b := range d.breaks[path] {
			points = append(points, d.pointBody(path, b))
		}
		list = append(list, object{"source": path, "breakpoints": points})
	}
	stopped := []int{}
	if d.shown != nil {
		stopped = append(stopped, d.shown.id)
	}
	return object{"isStarted": d.attached, "hashMethod": "Murmur2", "hashSeed": uint32(seed), "tmpFilePrefix": d.prefix, "tmpFileSuffix": suffix,
		"breakpoints": list, "stoppedThreads": stopped, "richRendering": true, "exceptionPaths": []string{}, "copyToGlobals": true}, nil
}

func (d *Debugger) initialize(_ context.Context, a struct{ ClientID string }) (any, error) {
	d.lab.Store(a.ClientID == "jupyterlab")
	return object{"supportsConfigurationDoneRequest": true, "supportsConditionalBreakpoints": true, "supportsSetVariable": true,
		"supportsEvaluateForHovers": true, "supportsModulesRequest": true, "supportsExceptionInfoRequest": false,
		"exceptionBreakpointFilters": []object{{"filter": panicFilter, "label": "Panics", "default": false}}}, nil
}

func (d *Debugger) attachRequest(context.Context, none) (any, error) {
	d.attach()
	d.send("initialized", object{})
	return object{}, nil
}

func (d *Debugger) disconnect(context.Context, none) (any, error) {
	d.Detach()
	return object{}, nil
}

func (d *Debugger) dumpCell(_ context.Context, a struct{ Code string }) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return object{"sourcePath": d.know(a.Code)}, nil
}

// A source is a text as the protocol names it.
type source struct{ Path string }

func (d *Debugger) source(_ context.Context, a struct{ Source source }) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	text, ok := d.texts[onDisk(a.Source.Path)]
	if !ok {
		if text, ok = d.host.File(onDisk(a.Source.Path)); !ok {
			return nil, fmt.Errorf("there is no cell with the path %q (dumpCell makes one known), and no file of a module that the session uses", a.Source.Path)
		}
	}
	return object{"content": text, "mimeType": "text/x-go"}, nil
}

// onDisk returns the path of a file as the session knows it, without symbolic links;
// that of a cell, which is on no disk, stays as it is.
func onDisk(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}

// modules lists the cells, and the files of packages on disk, that have run, as the sources that a client may show.
func (d *Debugger) modules(context.Context, none) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := []object{}
	for _, path := range slices.Sorted(maps.Keys(d.names)) {
		list = append(list, object{"id": path, "name": d.names[path], "path": path})
	}
	return object{"modules": list, "totalModules": len(list)}, nil
}

type breakpointsArguments struct {
	Source      source
	Breakpoints []struct {
		Line      int
		Condition string
	}
}

func (d *Debugger) setBreakpoints(_ context.Context, a breakpointsArguments) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	path := onDisk(a.Source.Path)
	if text, ok := d.host.File(path); ok {
		d.knowFile(path, text)
	}
	var list []breakpoint
	points := []object{}
	for _, p := range a.Breakpoints {
		b := breakpoint{line: d.lineFor(path, p.Line), condition: strings.TrimSpace(p.Condition), compiled: map[int]func([]value) bool{}}
		list = append(list, b)
		points = append(points, d.pointBody(path, b))
	}
	d.breaks[path] = list
	d.raise()
	return object{"breakpoints": points}, nil
}

// lineFor returns the line at which a breakpoint for a line stops: that of the next
// statement, or of the last.
func (d *Debugger) lineFor(path string, line int) int {
	last := line
	for _, p := range d.places[path] {
		if last = p.Line; last >= line {
			break
		}
	}
	return last
}

func (d *Debugger) pointBody(path string, b breakpoint) object {
	return object{"verified": slices.ContainsFunc(d.places[path], func(p Place) bool { return p.Line == b.line }),
		"line": b.line, "source": object{"path": path}}
}

func (d *Debugger) setExceptionBreakpoints(_ context.Context, a struct{ Filters []string }) (any, error) {
	d.panics.Store(slices.Contains(a.Filters, panicFilter))
	return object{}, nil
}

func (d *Debugger) threadList(context.Context, none) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := []object{}
	for _, t := range d.threads {
		if t.stopped {
			list = append(list, object{"id": t.id, "name": fmt.Sprintf("goroutine %d", t.id)})
		}
	}
	return object{"threads": list}, nil
}

type threadArguments struct{ ThreadID int }

// thread returns the thread that a client means: JupyterLab names the first one
// where it has forgotten the number. The lock is held.
func (d *Debugger) thread(id int) (*thread, error) {
	for _, t := range d.threads {
		if t.id == id && t.stopped {
			return t, nil
		}
	}
	if d.shown == nil {
		return nil, fmt.Errorf("no goroutine has stopped")
	}
	return d.shown, nil
}

// resuming answers a request by which a goroutine goes on.
func resuming(w wanted) request {
	return with(func(d *Debugger, _ context.Context, a threadArguments) (any, error) {
		d.mu.Lock()
		defer d.mu.Unlock()
		t, err := d.thread(a.ThreadID)
		if err != nil {
			return nil, err
		}
		d.goOn(t, w)
		if w == toGoOn {
			return object{"allThreadsContinued": false}, nil
		}
		return object{}, nil
	})
}

func (d *Debugger) pause(context.Context, threadArguments) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shown == nil {
		d.pausing = true
		d.raise()
	}
	return object{}, nil
}

type evaluateArguments struct {
	Expression string
	FrameID    int
}

func (d *Debugger) evaluate(ctx context.Context, a evaluateArguments) (any, error) {
	scope, out, err := d.scopeOf(a.FrameID)
	if err != nil {
		return nil, err
	}
	v, typ, err := d.host.Run(ctx, a.Expression, scope, out)
	switch {
	case err != nil && d.lab.Load(): // which would say "an error", and not which
		return object{"result": err.Error(), "variablesReference": 0}, nil
	case err != nil:
		return nil, err
	case v == nil && typ == "": // a statement
		return object{"result": "", "variablesReference": 0}, nil
	}
	body := d.shownAs(valueOf(v), typ, child{path: a.Expression, frame: a.FrameID})
	return object{"result": body.Value, "type": body.Type, "variablesReference": body.VariablesReference}, nil
}

type setVariableArguments struct {
	VariablesReference int
	Name, Value        string
}

// setVariable sets a variable, or an element of one, to the value of an expression.
func (d *Debugger) setVariable(ctx context.Context, a setVariableArguments) (any, error) {
	path, frame, err := d.pathOfChild(a.VariablesReference, a.Name)
	if err != nil {
		return nil, err
	}
	scope, out, err := d.scopeOf(frame)
	if err != nil {
		return nil, err
	}
	v, typ, err := d.host.Run(ctx, path+" = "+a.Value+"\n"+path, scope, out)
	if err != nil {
		return nil, err
	}
	body := d.shownAs(valueOf(v), typ, child{path: path, frame: frame})
	return object{"value": body.Value, "type": body.Type, "variablesReference": body.VariablesReference}, nil
}

type copyArguments struct {
	SrcVariableName, DstVariableName string
	SrcFrameID                       int
}

func (d *Debugger) copyToGlobals(ctx context.Context, a copyArguments) (any, error) {
	scope, _, err := d.scopeOf(a.SrcFrameID)
	if err != nil {
		return nil, err
	}
	if err := d.host.Define(ctx, a.SrcVariableName, a.DstVariableName, scope); err != nil {
		return nil, err
	}
	return object{"value": a.DstVariableName}, nil
}

func (d *Debugger) inspect(ctx context.Context, _ none) (any, error) {
	return object{"variables": d.globals(ctx)}, nil
}

type richArguments struct {
	VariableName string
	FrameID      int
}

func (d *Debugger) richInspect(ctx context.Context, a richArguments) (any, error) {
	b, err := d.bundle(ctx, a)
	if err != nil {
		return nil, err
	}
	if b.Metadata == nil {
		b.Metadata = map[string]any{}
	}
	return object{"data": b.Data, "metadata": b.Metadata}, nil
}
