package debug

import (
	"cmp"
	"context"
	"fmt"
	"go/token"
	"go/types"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dace.local/kernel/display"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/vm"
)

type value = reflect.Value

func valueOf(v any) value { return reflect.ValueOf(v) }

// handles are what clients ask for by a number while a thread has stopped: its
// frames, and values with children.
type handles struct {
	mu     sync.Mutex // guards the fields below
	last   int
	frames map[int]*frame
	kids   map[int]children
}

// clear forgets the handles; their numbers are not used again.
func (h *handles) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.frames)
	clear(h.kids)
}

func (h *handles) frame(id int) (*frame, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if f := h.frames[id]; f != nil {
		return f, nil
	}
	return nil, fmt.Errorf("there is no frame %d: the goroutine has gone on", id)
}

func (h *handles) addFrame(f *frame) (id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.frames[h.last] = f
	return h.last
}

func (h *handles) children(id int) (children, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, ok := h.kids[id]
	if !ok {
		return c, fmt.Errorf("there is no value %d: the goroutine has gone on", id)
	}
	return c, nil
}

func (h *handles) add(c children) (id int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last++
	h.kids[h.last] = c
	return h.last
}

// A frame is a function under way in a thread that has stopped.
type frame struct {
	thread *thread
	call   int   // the index in the thread's calls, or their number for the innermost
	stop   *stop // whose variables are in scope; nil where there is none
	number int   // of the stop
	pos    token.Position
	name   string
}

// children are what a client sees when it opens a value or a scope.
type children struct {
	list  func() []variable
	frame int // the number of the frame in whose scope the paths are
}

// A variable is a value as clients show it. A VariablesReference of 0 says that it
// has no children to ask for.
type variable struct {
	Name               string `json:"name"`
	Value              string `json:"value"`
	Type               string `json:"type,omitempty"`
	EvaluateName       string `json:"evaluateName"`
	VariablesReference int    `json:"variablesReference"`
}

// framesOf returns the frames of a thread, the innermost first.
func (d *Debugger) framesOf(t *thread) (list []*frame) {
	n := len(t.stack.Calls)
	if t.at >= 0 {
		s := d.stops[t.at]
		list = append(list, &frame{thread: t, call: n, stop: s, number: t.at, pos: s.At, name: t.stack.Function})
	}
	for i := n - 1; i >= 0; i-- {
		c := t.stack.Calls[i]
		number, s := d.stopAround(c.Pos)
		if s == nil {
			continue // the kernel's, or compiled before a client debugged
		}
		pos := s.At
		if p := t.stack.Position(c.Pos); p.IsValid() && p.Filename == pos.Filename {
			pos = p
		}
		list = append(list, &frame{thread: t, call: i, stop: s, number: number, pos: pos, name: c.Function})
	}
	return list
}

// stopAround returns the innermost stop whose statement a position is in.
func (d *Debugger) stopAround(p token.Pos) (number int, found *stop) {
	for i, s := range d.stops {
		if s.Pos <= p && p < s.End && (found == nil || s.Pos >= found.Pos) {
			number, found = i, s
		}
	}
	return number, found
}

func (d *Debugger) stackTrace(_ context.Context, a struct {
	ThreadID, StartFrame, Levels int
}) (any, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	t, err := d.thread(a.ThreadID)
	if err != nil {
		return object{"stackFrames": []object{}, "totalFrames": 0}, nil // it has gone on meanwhile
	}
	all := d.framesOf(t)
	list := all[min(a.StartFrame, len(all)):]
	if a.Levels > 0 {
		list = list[:min(a.Levels, len(list))]
	}
	frames := []object{}
	for _, f := range list {
		id := d.handles.addFrame(f)
		frames = append(frames, object{"id": id, "name": f.name, "line": f.pos.Line, "column": f.pos.Column,
			"source": object{"path": f.stop.path, "name": filepath.Base(f.stop.path)}})
	}
	return object{"stackFrames": frames, "totalFrames": len(all)}, nil
}

// scope returns the variables that a frame sees. Of several with one name the
// innermost counts.
func (f *frame) scope() (in Scope) {
	values := f.thread.stack.Variables(f.call, f.number)
	for i, v := range f.stop.Vars {
		if i >= len(values) || !values[i].IsValid() ||
			slices.ContainsFunc(f.stop.Vars[i+1:], func(w *types.Var) bool { return w.Name() == v.Name() }) {
			continue
		}
		in.Vars, in.Values = append(in.Vars, v), append(in.Values, values[i])
	}
	return in
}

// scopeOf returns what code in a frame sees, and where its outputs go. Frame 0 is
// the session.
func (d *Debugger) scopeOf(id int) (in Scope, out engine.Outputs, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shown != nil {
		out = d.shown.stack.Cell.Outputs()
	}
	if id == 0 {
		return in, out, nil
	}
	f, err := d.handles.frame(id)
	if err != nil {
		return in, out, err
	}
	return f.scope(), out, nil
}

func (d *Debugger) scopes(_ context.Context, a struct{ FrameID int }) (any, error) {
	f, err := d.handles.frame(a.FrameID)
	switch {
	case err != nil && d.lab.Load(): // it takes the body of a failure for lists
		return object{"scopes": []object{}}, nil
	case err != nil:
		return nil, err
	}
	locals := d.handles.add(children{frame: a.FrameID, list: func() (list []variable) {
		in := f.scope()
		for i, v := range in.Vars {
			b := d.shownAs(in.Values[i], d.host.TypeName(v.Type()), child{v.Name(), v.Name(), a.FrameID})
			list = append(list, b)
		}
		return list
	}})
	globals := d.handles.add(children{list: func() []variable { return d.globals(context.Background()) }})
	return object{"scopes": []object{
		{"name": "Locals", "presentationHint": "locals", "variablesReference": locals, "expensive": false},
		{"name": "Globals", "variablesReference": globals, "expensive": false}}}, nil
}

// stopped reports whether clients know of a goroutine that has stopped.
func (d *Debugger) stopped() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.shown != nil
}

// globals returns the variables of the session.
func (d *Debugger) globals(ctx context.Context) []variable {
	list := []variable{}
	for _, g := range d.host.Globals(ctx, d.stopped()) {
		if !g.Value.IsValid() {
			list = append(list, variable{Name: g.Name, Value: g.Why, Type: g.Type, EvaluateName: g.Name})
			continue
		}
		list = append(list, d.shownAs(g.Value, g.Type, child{g.Name, g.Name, 0}))
	}
	return list
}

func (d *Debugger) variables(_ context.Context, a struct{ VariablesReference, Start, Count int }) (any, error) {
	c, err := d.handles.children(a.VariablesReference)
	switch {
	case err != nil && d.lab.Load():
		return object{"variables": []variable{}}, nil
	case err != nil:
		return nil, err
	}
	list := c.list()
	list = list[min(a.Start, len(list)):]
	if a.Count > 0 {
		list = list[:min(a.Count, len(list))]
	}
	if list == nil {
		list = []variable{}
	}
	return object{"variables": list}, nil
}

// pathOfChild returns the expression for a child, and the frame that it is for.
func (d *Debugger) pathOfChild(id int, name string) (path string, frame int, err error) {
	c, err := d.handles.children(id)
	if err != nil {
		return "", 0, err
	}
	for _, v := range c.list() {
		if v.Name == name && v.EvaluateName != "" {
			return v.EvaluateName, c.frame, nil
		}
	}
	return "", 0, fmt.Errorf("%s is nothing that can be set", name)
}

// bundle returns a variable of a frame, or of the session, as a cell shows it.
func (d *Debugger) bundle(ctx context.Context, a richArguments) (b engine.Bundle, err error) {
	defer func() {
		if v := recover(); v != nil { // a method of the value
			b, err = engine.Bundle{}, fmt.Errorf("%s cannot be shown: %v", a.VariableName, v)
		}
	}()
	scope, _, err := d.scopeOf(a.FrameID)
	if err != nil {
		return b, err
	}
	show := func(v value) engine.Bundle {
		if !v.IsValid() || !v.CanInterface() {
			return engine.Text("nil")
		}
		var shown engine.Bundle
		d.look(v, func() { shown = display.Value(v.Interface()) })
		return shown
	}
	for i, v := range scope.Vars {
		if v.Name() == a.VariableName {
			return show(scope.Values[i]), nil
		}
	}
	for _, g := range d.host.Globals(ctx, d.stopped()) {
		if g.Name == a.VariableName && g.Value.IsValid() {
			return show(g.Value), nil
		}
	}
	return b, fmt.Errorf("there is no variable %s here", cmp.Or(a.VariableName, `""`))
}

// A child is a value's place: its name in what it is part of, the expression for
// it, and the frame that the expression is for.
type child struct {
	name, path string
	frame      int
}

// lineWidth is how many characters of a value are shown.
const lineWidth = 200

// shownAs returns a value as clients show it.
func (d *Debugger) shownAs(v value, typ string, at child) (out variable) {
	out = variable{Name: at.name, Type: typ, EvaluateName: at.path, Value: "nil"}
	defer func() {
		if recover() != nil { // a method of the value
			out.Value = "(cannot be shown)"
		}
	}()
	if !v.IsValid() {
		return out
	}
	if out.Type == "" {
		out.Type = typeName(v.Type())
	}
	d.look(v, func() { out.Value = display.Line(v, lineWidth) })
	if hasChildren(v) {
		out.VariablesReference = d.handles.add(children{frame: at.frame, list: func() []variable {
			var list []variable
			d.look(v, func() { list = d.childrenOf(v, at) })
			return list
		}})
	} else if d.lab.Load() && out.Type != "int" && out.Type != "bool" {
		out.Type = "" // JupyterLab would show it instead of the value
	}
	return out
}

// look calls f, which looks at a value, while no cell changes the maps in it and
// without stops in its methods.
func (d *Debugger) look(v value, f func()) {
	d.quietly(func() {
		if !v.CanInterface() {
			f()
			return
		}
		vm.WithMaps(false, f, v.Interface())
	})
}

func typeName(t reflect.Type) string {
	return strings.ReplaceAll(cell.Clean(strings.ReplaceAll(t.String(), "interface {}", "any")), "main.", "")
}

// hasChildren reports whether there is something in a value to look at.
func hasChildren(v value) bool {
	switch v.Kind() {
	case reflect.Struct:
		return v.NumField() > 0
	case reflect.Slice, reflect.Array, reflect.Map:
		return v.Len() > 0
	case reflect.Pointer:
		return !v.IsNil()
	case reflect.Interface:
		return !v.IsNil() && hasChildren(v.Elem())
	}
	return false
}

// mostChildren is how many elements of a value are shown; code shows others.
const mostChildren = 1000

// childrenOf returns the parts of a value.
func (d *Debugger) childrenOf(v value, of child) (list []variable) {
	add := func(name, path string, v value) {
		list = append(list, d.shownAs(v, typeName(v.Type()), child{name, path, of.frame}))
	}
	switch v.Kind() {
	case reflect.Interface:
		return d.childrenOf(v.Elem(), child{of.name, of.path + ".(" + typeName(v.Elem().Type()) + ")", of.frame})
	case reflect.Pointer:
		if e := v.Elem(); e.Kind() == reflect.Struct {
			return d.childrenOf(e, of)
		}
		add("*"+of.name, "*"+of.path, v.Elem())
	case reflect.Struct:
		for i := range v.NumField() {
			name := cell.Clean(v.Type().Field(i).Name)
			add(name, of.path+"."+name, v.Field(i))
		}
	case reflect.Slice, reflect.Array:
		for i := range min(v.Len(), mostChildren) {
			index := "[" + strconv.Itoa(i) + "]"
			add(index, of.path+index, v.Index(i))
		}
	case reflect.Map:
		keys := v.MapKeys()
		slices.SortFunc(keys, compare)
		for _, k := range keys[:min(len(keys), mostChildren)] {
			name, path := keyText(k)
			if path != "" {
				path = of.path + "[" + path + "]"
			}
			add(name, path, v.MapIndex(k))
		}
	}
	if n := lenOf(v); n > mostChildren {
		list = append(list, variable{Name: "…", Value: fmt.Sprintf("%d more", n-mostChildren)})
	}
	return list
}

func lenOf(v value) int {
	switch v.Kind() {
	case reflect.Slice, reflect.Array, reflect.Map:
		return v.Len()
	}
	return 0
}

// compare orders the keys of a map.
func compare(a, b value) int {
	switch {
	case a.CanInt() && b.CanInt():
		return cmp.Compare(a.Int(), b.Int())
	case a.CanUint() && b.CanUint():
		return cmp.Compare(a.Uint(), b.Uint())
	case a.CanFloat() && b.CanFloat():
		return cmp.Compare(a.Float(), b.Float())
	}
	return strings.Compare(display.Line(a, lineWidth), display.Line(b, lineWidth))
}

// keyText returns how a key of a map is shown, and the expression for it; "" where
// it has none.
func keyText(k value) (shown, expression string) {
	shown = display.Line(k, lineWidth)
	switch k.Kind() {
	case reflect.String:
		return shown, strconv.Quote(k.String())
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return shown, fmt.Sprint(k)
	}
	return shown, ""
}
