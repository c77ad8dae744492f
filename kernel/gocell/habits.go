package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/magic"
)

// Functions of cells become a part of the kernel by their names: magic_NAME is a magic,
// before_cell and after_cell are called around each cell. The file that runs before the
// first cell is the place for those that are always wanted.

// What the names of these functions begin with.
const (
	ofMagic = "magic_"
	before  = "before_cell"
	after   = "after_cell"
)

// runStartFile runs the file that the options name. An error of it is shown, and does
// not stop the first cell.
func (s *Session) runStartFile(ctx context.Context, out engine.Outputs) {
	if s.opts.StartFile == "" {
		return
	}
	text, err := os.ReadFile(s.opts.StartFile)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	if err == nil {
		_, err = host{s}.RunFile(ctx, s.opts.StartFile, string(text), out)
	}
	if err != nil {
		out.Stderr(s.opts.StartFile + ", which runs before the first cell, has failed:\n" + errorText(err) + "\n")
	}
}

// errorText returns an error as a cell shows it.
func errorText(err error) string {
	if e := (*engine.Error)(nil); errors.As(err, &e) {
		return e.Text()
	}
	return err.Error()
}

// functionsOf returns the session's functions whose names begin with a prefix, sorted.
func (k *known) functionsOf(prefix string) []*types.Func {
	k.mu.Lock()
	defer k.mu.Unlock()
	var list []*types.Func
	for name, e := range k.prog.Names {
		if !strings.HasPrefix(name, prefix) {
			continue
		}
		if f, ok := e.Object.(*types.Func); ok {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b *types.Func) int { return strings.Compare(a.Name(), b.Name()) })
	return list
}

// ownMagics returns the magics that functions of cells are: magic_NAME(line string) is
// %NAME, magic_NAME(line, text string) is %%NAME.
func (s *Session) ownMagics() (list []magic.Magic) {
	for _, f := range s.functionsOf(ofMagic) {
		name := strings.TrimPrefix(f.Name(), ofMagic)
		params := f.Signature().Params()
		for v := range params.Variables() {
			if b, ok := v.Type().Underlying().(*types.Basic); !ok || b.Kind() != types.String || f.Signature().Variadic() {
				name = ""
			}
		}
		if name == "" || params.Len() == 0 || params.Len() > 2 {
			name = "%" + strings.TrimPrefix(f.Name(), ofMagic)
			list = append(list, magic.Magic{Name: name, Usage: name, Short: "cannot call " + f.Name(), Run: func(*magic.Call) (engine.Result, error) {
				return engine.Result{}, fmt.Errorf("%s has another form than a magic: magic_NAME(line string) is %%NAME, magic_NAME(line, text string) is %%%%NAME", f.Name())
			}})
			continue
		}
		m := magic.Magic{Name: "%" + name, Usage: "%" + name + " [" + strings.ToUpper(params.At(0).Name()) + "]", Short: "calls " + f.Name() + ", which a cell declares"}
		if params.Len() == 2 {
			m.Name, m.Usage = "%"+m.Name, "%"+m.Usage
		}
		s.mu.Lock()
		if doc := (&editor{known: s.known}).ownDoc(f); doc != "" {
			m.Doc = doc
		}
		s.mu.Unlock()
		m.Run = func(c *magic.Call) (engine.Result, error) { return s.runOwnMagic(c, f.Name(), params.Len()) }
		list = append(list, m)
	}
	return list
}

// runOwnMagic calls the function that a magic is, at the magic's place.
func (s *Session) runOwnMagic(c *magic.Call, name string, params int) (engine.Result, error) {
	args := strconv.Quote(c.Args)
	if params == 2 {
		args += ", " + strconv.Quote(c.Text())
	}
	call := c.Cell
	call.Code = strings.Repeat("\n", strings.Count(c.Cell.Code[:c.Start], "\n")) + name + "(" + args + ")"
	return c.Run(c.Ctx, call, c.Out)
}

// hooks calls the functions of cells that want to run before each cell. What it returns
// calls those that want to run after it, with the cell's error.
func (s *Session) hooks(ctx context.Context, input engine.Cell, out engine.Outputs) (end func(failed *error)) {
	began := time.Now()
	s.callHooks(ctx, before, input, out, nil, 0)
	return func(failed *error) {
		s.callHooks(context.WithoutCancel(ctx), after, input, out, *failed, time.Since(began))
	}
}

// callHooks calls the functions whose names begin with a prefix. They take nothing, or
// some of these: the cell's text, what it took, its error.
func (s *Session) callHooks(ctx context.Context, prefix string, input engine.Cell, out engine.Outputs, failed error, took time.Duration) {
	for _, f := range s.functionsOf(prefix) {
		err := s.callHook(ctx, f, input, out, failed, took)
		if err != nil {
			out.Stderr(f.Name() + " has failed:\n" + errorText(err) + "\n")
		}
	}
}

// A hook is the value of a function that is called around cells. One that is declared
// anew, or whose parts are, is another *types.Func.
type hook struct {
	of    *types.Func
	value reflect.Value
}

// hookOf returns the function as a value. To evaluate its name takes longer than most
// such functions do.
func (s *Session) hookOf(ctx context.Context, f *types.Func, input engine.Cell, out engine.Outputs) (reflect.Value, error) {
	if known, ok := s.hooked.Load(f.Name()); ok && known.(hook).of == f {
		return known.(hook).value, nil
	}
	input.Code, input.ID = f.Name(), ""
	values, err := host{s}.Values(ctx, input, out)
	if err != nil {
		return reflect.Value{}, err
	}
	v := reflect.ValueOf(values[0])
	s.hooked.Store(f.Name(), hook{f, v})
	return v, nil
}

func (s *Session) callHook(ctx context.Context, of *types.Func, input engine.Cell, out engine.Outputs, failed error, took time.Duration) error {
	f, err := s.hookOf(ctx, of, input, out)
	if err != nil {
		return err
	}
	var args []reflect.Value
	for i := range f.Type().NumIn() {
		switch t := f.Type().In(i); {
		case t.Kind() == reflect.String:
			args = append(args, reflect.ValueOf(s.inputs()[input.Number]).Convert(t))
		case t == reflect.TypeFor[time.Duration]():
			args = append(args, reflect.ValueOf(took))
		case t == reflect.TypeFor[error]():
			v := reflect.New(t).Elem()
			if failed != nil {
				v.Set(reflect.ValueOf(failed))
			}
			args = append(args, v)
		default:
			return fmt.Errorf("it takes a %s; such a function takes the cell's text (a string), what it took (a time.Duration) and its error, or some of these", t)
		}
	}
	return host{s}.Call(ctx, out, func() { f.Call(args) })
}

// cellID returns the notebook's id of a cell, "" where it is not known.
func (k *known) cellID(number int) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ids[number]
}

// rerunning is the key of the cells that are being run again in a context: a []int.
type rerunning struct{}

// rerun implements the magic %rerun.
func (s *Session) rerun(c *magic.Call) (engine.Result, error) {
	args, err := c.Words()
	if err != nil {
		return engine.Result{}, err
	}
	var numbers []int
	if len(args) == 1 && args[0] == "stale" {
		if numbers = s.stale.numbers(); len(numbers) == 0 {
			c.Out.Stdout(nothingStale)
			return engine.Result{}, nil
		}
	} else if numbers, err = c.Cells(args); err != nil {
		return engine.Result{}, err
	}
	if len(args) == 0 && len(numbers) > 1 {
		numbers = numbers[len(numbers)-1:]
	}
	if len(numbers) == 0 {
		return engine.Result{}, errors.New("there are no such cells: " + "%rerun [stale|RANGE...]")
	}
	running, _ := c.Ctx.Value(rerunning{}).([]int)
	running = append(slices.Clip(running), c.Cell.Number)
	for _, n := range numbers {
		if slices.Contains(running, n) {
			return engine.Result{}, fmt.Errorf("cell %d runs itself", n)
		}
	}
	var res engine.Result
	for i, n := range numbers {
		if i > 0 && !res.Value.Empty() {
			c.Out.Display(res.Value, "")
		}
		text := c.Texts()[n]
		if len(numbers) > 1 {
			first, _, more := strings.Cut(strings.TrimSpace(text), "\n")
			if more {
				first += " ..."
			}
			c.Out.Stdout(fmt.Sprintf("In[%d]: %s\n", n, first))
		}
		if res, err = s.watchedSteps(context.WithValue(c.Ctx, rerunning{}, running), engine.Cell{Number: n, Code: text, ID: s.cellID(n)}, c.Out, true); err != nil {
			return res, err
		}
	}
	return res, nil
}
