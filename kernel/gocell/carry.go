package gocell

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/types"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
)

// A function that cells have made can be made again in another process, from a
// text that stands alone and the values of the variables that it reads.

// A Function describes a function of cells to another process.
type Function struct {
	// Text is a cell that declares the function under Name, and its variables.
	Text string `json:"text"`
	Name string `json:"name"`
	// Vars names the variables, Values holds their values.
	Vars   []string `json:"vars,omitempty"`
	Values []byte   `json:"values,omitempty"`
	// Interpret says that it must not be compiled.
	Interpret bool `json:"interpret,omitempty"`
}

// Carry describes a function value that cells have made: a declared function, or
// a function literal that uses no variables of a function or block around it.
// Variables of the notebook that it reads must be plain data, and have the values
// of this moment. The error says what cannot travel, and where it stands.
func (s *Session) Carry(f any) (*Function, error) {
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Func || v.IsNil() {
		return nil, errors.New("it is no function")
	}
	var out *Function
	var needs *check.Needs
	var err error
	if name, at, ok := s.origin(v); ok {
		// Compiled code may round x*y+z once where cells round twice.
		out = &Function{Name: name, Interpret: fuses}
		number, _ := cell.Number(at.Filename)
		s.mu.Lock()
		text := s.texts[number]
		if name != "" {
			needs, err = s.prog.Needs(s.machine.Files(), s.compiled.At, name)
		} else {
			for out.Name = "function"; s.prog.Names[out.Name] != nil; {
				out.Name += "_"
			}
			if from, ok := offsetOf(text, at.Line, at.Column); ok {
				needs, err = s.prog.NeedsOfLiteral(s.machine.Files(), s.compiled.At, number, text, from, out.Name)
			} else {
				err = errors.New("the text of its cell is not there any more")
			}
		}
		s.mu.Unlock()
	} else {
		out, needs, err = s.carryCompiled(v)
	}
	if err != nil {
		return nil, err
	}
	for _, x := range needs.Vars {
		value, ok := s.variable(x)
		if !ok {
			return nil, fmt.Errorf("the variable %s has no value", x.Name())
		}
		out.Vars = append(out.Vars, x.Name())
		if out.Values, err = appendPlain(out.Values, value, 0); err != nil {
			return nil, fmt.Errorf("the value of the variable %s cannot travel: %w", x.Name(), err)
		}
	}
	out.Text = needs.Text()
	if len(out.Vars) > 0 {
		// Functions of other values are other packages when they are built.
		out.Text += fmt.Sprintf("\nconst _ = \"variables: %x\"\n", sha256.Sum256(out.Values))
	}
	return out, nil
}

// offsetOf returns the byte of a text at a line and column.
func offsetOf(text string, line, column int) (int, bool) {
	at := 0
	for ; line > 1; line-- {
		n := strings.IndexByte(text[at:], '\n')
		if n < 0 {
			return 0, false
		}
		at += n + 1
	}
	at += column - 1
	return at, at >= 0 && strings.HasPrefix(text[min(at, len(text)):], "func")
}

// carryCompiled is Carry for a function of a compiled cell, without its text.
func (s *Session) carryCompiled(v reflect.Value) (*Function, *check.Needs, error) {
	full := runtime.FuncForPC(v.Pointer()).Name()
	rest, ok := strings.CutPrefix(full, check.NativePath)
	path, name, _ := strings.Cut(rest, ".")
	if !ok {
		return nil, nil, fmt.Errorf("it is no function that a cell declares (%s): declare one in a cell that calls it", full)
	}
	if strings.Contains(name, ".") {
		return nil, nil, fmt.Errorf("it was made inside of %s: declare it as a function", name[:strings.IndexByte(name, '.')])
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.prog.Names[name]
	if e == nil || !check.OfNative(e.Object) || s.compiled.At(check.PathOf(e.Object.Pkg())).Path != check.NativePath+path {
		return nil, nil, fmt.Errorf("%s was declared again since: make the problem again", name)
	}
	needs, err := s.prog.Needs(s.machine.Files(), s.compiled.At, name)
	return &Function{Name: name}, needs, err
}

// variable returns a variable of the session.
func (s *Session) variable(v *types.Var) (reflect.Value, bool) {
	if n := s.compiled.At(check.PathOf(v.Pkg())); n != nil {
		p := reflect.ValueOf(n.Table[v.Name()])
		if p.Kind() != reflect.Pointer {
			return p, false
		}
		return p.Elem(), true
	}
	return s.global(v.Name())
}

// multiplyAdd is a sum of a product, which some processors' compilers round once.
//
//go:noinline
func multiplyAdd(x, y, z float64) float64 { return x*y + z }

// fuses says that compiled code rounds such a sum once. Cells that are not
// compiled round twice.
var fuses = multiplyAdd(1+math.Exp2(-30), 1-math.Exp2(-30), -1) != 0

// A Made is what a function has become in another process.
type Made struct {
	// Value is that of the expression.
	Value any
	// Path is the import path under which the function was built; "" if it is
	// interpreted, and Why then says why.
	Path, Why string
}

// Make makes the function in a session of its own and returns the value of an
// expression that uses its name. With a compiler in opts it is compiled.
func (f *Function) Make(ctx context.Context, opts Options, expression string) (*Made, error) {
	opts.KeepStdio, opts.KeepStdin = true, true
	var out remarks
	switch {
	case f.Interpret:
		out.text = "compiled code rounds otherwise here, or there are too many compiled functions"
	case opts.Compiler == nil:
		out.text = "there is no compiler"
	default:
		m, err := f.make(ctx, opts, "%%compile\n", expression, &out)
		if err == nil || ctx.Err() != nil {
			return m, err
		}
		out.text = err.Error()
	}
	opts.Compiler = nil
	return f.make(ctx, opts, "", expression, &out)
}

// remarks keeps what a session says of its cells.
type remarks struct {
	discard
	text string
}

func (o *remarks) Stderr(text string) { o.text += text }

func (f *Function) make(ctx context.Context, opts Options, magic, expression string, out *remarks) (*Made, error) {
	s, err := New(opts)
	if err != nil {
		return nil, err
	}
	if _, err := s.Execute(ctx, engine.Cell{Number: 1, Code: magic + f.Text}, out); err != nil {
		return nil, plainError(err)
	}
	if err := s.setVariables(f.Vars, f.Values); err != nil {
		return nil, err
	}
	src, err := check.ParseCell(s.machine.Files(), 2, "", expression)
	if err != nil {
		return nil, err
	}
	m := &Made{Why: out.text}
	if err := s.runWith(ctx, src, false, out, func(values []any) {
		if len(values) > 0 {
			m.Value = values[0]
		}
	}); err != nil {
		return nil, plainError(err)
	}
	if e := s.prog.Names[f.Name]; e != nil && check.OfNative(e.Object) {
		m.Path, m.Why = s.compiled.At(check.PathOf(e.Object.Pkg())).Path, ""
	}
	return m, nil
}

// plainError returns an error without the traceback that a notebook shows.
func plainError(err error) error {
	var e *engine.Error
	if errors.As(err, &e) {
		return errors.New(e.Message)
	}
	return err
}

// setVariables gives variables the values that Carry has found.
func (s *Session) setVariables(names []string, values []byte) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("the variables of a function: %v", r)
		}
	}()
	r := plainReader{values}
	for _, name := range names {
		e := s.prog.Names[name]
		if e == nil {
			return errPlain
		}
		x, ok := e.Object.(*types.Var)
		if !ok {
			return errPlain
		}
		v, ok := s.variable(x)
		if !ok || !v.CanAddr() {
			return fmt.Errorf("the variable %s of a function cannot be set", name)
		}
		r.read(v)
	}
	return nil
}

// Encode returns the function as bytes, equal for equal functions and values.
func (f *Function) Encode() ([]byte, error) { return json.Marshal(f) }

// DecodeFunction returns the function that Encode has encoded.
func DecodeFunction(b []byte) (*Function, error) {
	f := new(Function)
	if err := json.Unmarshal(b, f); err != nil {
		return nil, err
	}
	if f.Name == "" || slices.Contains(f.Vars, "") {
		return nil, errors.New("it has no name")
	}
	return f, nil
}
