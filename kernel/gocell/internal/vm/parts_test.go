package vm

import (
	"context"
	"errors"
	"fmt"
	"go/token"
	"io"
	"math"
	"net/http"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"gonum.org/v1/gonum/graph/simple"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/goroutine"
	"dace.local/kernel/internal/system/limits"
)

// roomy has memory for everything.
func roomy() []limits.Limit {
	return []limits.Limit{{Name: "a machine", Total: 1 << 40, Available: 1 << 39}}
}

// A cell ends by itself, or as it is told to; one that does not is given up, after a moment
// for a user's interrupt and later for the kernel's own reasons.
func TestRun(t *testing.T) {
	boom, own := errors.New("boom"), errors.New("the kernel's reason")
	library := &ForeignPanic{Value: boom}
	for name, c := range map[string]struct {
		f      func(c *Cell)
		after  time.Duration // until it is cancelled; 0: it is not
		cause  error         // nil: the user's
		want   error
		text   string
		took   time.Duration
		behind bool // the cell is left behind
	}{
		"ends":                        {f: func(*Cell) {}},
		"ends later":                  {f: func(*Cell) { time.Sleep(time.Minute) }, took: time.Minute},
		"panics":                      {f: func(*Cell) { panic(boom) }, text: "boom"},
		"Goexit":                      {f: func(*Cell) { runtime.Goexit() }, text: "runtime.Goexit has ended the cell"},
		"interrupted":                 {f: func(c *Cell) { <-c.Stopped() }, after: time.Second, want: context.Canceled, took: time.Second},
		"interrupted, by its context": {f: func(c *Cell) { <-c.Context().Done() }, after: time.Second, want: context.Canceled, took: time.Second},
		"interrupted, in time":        {f: func(c *Cell) { <-c.Stopped(); time.Sleep(grace - 1) }, after: time.Second, want: context.Canceled, took: time.Second + grace - 1},
		"interrupted, too late":       {f: func(c *Cell) { <-c.Stopped(); time.Sleep(grace + 1) }, after: time.Second, want: ErrAbandoned, took: time.Second + grace, behind: true},
		"ended":                       {f: func(c *Cell) { <-c.Stopped() }, after: time.Second, cause: own, want: own, took: time.Second},
		"ended, in time":              {f: func(c *Cell) { <-c.Stopped(); time.Sleep(20*time.Second - 1) }, after: time.Second, cause: own, want: own, took: 21*time.Second - 1},
		"ended, too late":             {f: func(c *Cell) { <-c.Stopped(); time.Sleep(20*time.Second + 1) }, after: time.Second, cause: own, want: ErrAbandoned, took: 21 * time.Second, behind: true},
		"beside another":              {f: func(c *Cell) { <-c.Stopped(); time.Sleep(time.Second) }, after: time.Second, cause: ErrConcurrent, want: ErrAbandoned, took: time.Second + grace, behind: true},
		"a library's panic":           {f: func(c *Cell) { <-c.Stopped(); time.Sleep(time.Second) }, after: time.Second, cause: library, want: library, took: time.Second + grace},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				m := New(Hooks{})
				m.Memory = roomy
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				cell := m.NewCell(ctx, nil, nil)
				told := 0
				cell.OnStop(func() {
					select {
					case <-cell.Stopped():
						t.Error("the cell is stopped before it is told")
					default:
						told++
					}
				})
				if c.after > 0 {
					time.AfterFunc(c.after, func() {
						if c.cause == nil {
							cancel()
						} else {
							cell.Cancel(c.cause)
						}
					})
				}
				var ended atomic.Bool
				begun := time.Now()
				err := m.Run(cell, func() {
					defer ended.Store(true)
					if m.Cell() != cell || cell.main == nil || cell.main.g != currentG() {
						t.Error("the goroutine is not the cell's")
					}
					c.f(cell)
				})
				took := time.Since(begun)
				if c.want != nil && err != c.want || c.text != "" && (err == nil || !strings.Contains(err.Error(), c.text)) || c.want == nil && c.text == "" && err != nil || took != c.took {
					t.Errorf("%v after %v; want %v%s after %v", err, took, c.want, c.text, c.took)
				}
				if v, ok := Panicked(err); ok != (c.text == "boom") || ok && v != any(boom) {
					t.Errorf("panicked: %v, with %v", ok, v)
				}
				if (told > 0) != (c.after > 0) || told > 1 {
					t.Errorf("told to stop %d times", told)
				}
				list := m.LeftBehind()
				if (len(list) == 1) != c.behind || c.behind && !list[0].Equal(time.Now()) {
					t.Errorf("left behind at %v", list)
				}
				time.Sleep(time.Minute)
				if list := m.LeftBehind(); !ended.Load() || !cell.ended.Load() || len(list) > 0 {
					t.Errorf("ended: %v, left behind at %v", ended.Load(), list)
				}
				if m.stopped() || len(m.runs.cells) > 0 {
					t.Error("the machine takes it for running")
				}
			})
		})
	}
	m := New(Hooks{})
	if err := m.run(m.NewCell(t.Context(), nil, nil), func() error { panic("a bug") }); err == nil || err.Error() != "internal: a bug" {
		t.Error(err)
	}
	for _, behind := range [][]time.Duration{{}, {3, 1, 2, 9, 7, 8, 5, 4, 6, 12, 11, 10}} {
		var m Machine
		for _, d := range behind {
			m.left.Store(&Cell{}, time.Unix(int64(d), 0))
		}
		if list := m.LeftBehind(); len(list) != len(behind) || !slices.IsSortedFunc(list, time.Time.Compare) {
			t.Errorf("left behind at %v", list)
		}
	}
}

// A cell that is stopped stops those that run beside it, also one that has just ended.
func TestRunBeside(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Hooks{})
		m.Memory = roomy
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		errs := make([]error, 2)
		var runs sync.WaitGroup
		runs.Go(func() { c := m.NewCell(ctx, nil, nil); errs[0] = m.Run(c, func() { <-c.Stopped() }) })
		runs.Go(func() {
			c := m.NewCell(t.Context(), nil, nil)
			errs[1] = m.Run(c, func() { <-c.Context().Done() })
		})
		synctest.Wait()
		cancel()
		runs.Wait()
		if errs[0] != context.Canceled || errs[1] != ErrConcurrent {
			t.Errorf("%v", errs)
		}
		time.Sleep(time.Minute)
	})
}

// A program's end in a cell with deferred calls of compiled functions under way ends the
// cell alone, unless it holds locks.
func TestEnding(t *testing.T) {
	m := New(Hooks{CompiledDefers: func() bool { return true }})
	m.Memory = roomy
	e := Exit{Code: 3}
	if got := Ending(e); got != e {
		t.Errorf("outside of a cell: %v", got)
	}
	err := m.Run(m.NewCell(t.Context(), nil, nil), func() {
		var others sync.WaitGroup
		others.Go(func() {
			goroutine.With(m.Cell(), func() {
				if got := Ending(e); got != e {
					t.Errorf("in another goroutine: %v", got)
				}
			})
		})
		others.Wait()
		WithMaps(true, func() {
			if got := Ending(e); got != e {
				t.Errorf("with locks: %v", got)
			}
		}, map[string]int{})
		Ending(e)
		t.Error("the goroutine goes on")
	})
	if v, _ := Panicked(err); v != any(e) || err.Error() != "os.Exit(3)" || (Exit{Signal: 9}).Error() != "signal: killed" {
		t.Errorf("the cell ends with %v", err)
	}
	m.hooks.CompiledDefers = func() bool { return false }
	if err := m.Run(m.NewCell(t.Context(), nil, nil), func() { Ending(e) }); err != nil {
		t.Errorf("without deferred calls: %v", err)
	}
}

// written records what a cell shows.
type written struct {
	engine.Outputs
	list *[]string
}

func (w written) Stdout(s string) { *w.list = append(*w.list, "out "+s) }
func (w written) Stderr(s string) { *w.list = append(*w.list, "err "+s) }

func TestCellParts(t *testing.T) {
	if m := new(Machine); m.Cell() != nil || m.Context() != context.Background() || m.Done() != nil {
		t.Error("there is a cell before the first")
	}
	var list []string
	m := New(Hooks{Flush: func() { list = append(list, "flush") }})
	type key struct{}
	ctx := context.WithValue(t.Context(), key{}, 1)
	var shown []any
	c := m.NewCell(ctx, written{list: &list}, func(values []any, failed error) { shown = append(shown, len(values), failed) })
	if m.Cell() != c || m.Context().Value(key{}) != 1 || m.Done() != c.Stopped() || m.Context() != c.Context() {
		t.Error("the machine has another cell")
	}
	fmt.Fprint(m.Stdout(), "a")
	fmt.Fprint(m.Stderr(), "b")
	if n, err := m.Stdout().Write([]byte("cd")); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if n, err := m.Stderr().Write([]byte("ef")); n != 2 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	if want := []string{"flush", "out a", "flush", "err b", "flush", "out cd", "flush", "err ef"}; !slices.Equal(list, want) {
		t.Errorf("%q, want %q", list, want)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	m.hooks.Redirected = func() *os.File { return nil }
	fmt.Fprint(m.Stdout(), "g")
	m.hooks.Redirected = func() *os.File { return w }
	n, err := m.Stdout().Write([]byte("hij"))
	stdout, stderr := os.Stdout, os.Stderr
	os.Stdout, os.Stderr = w, w
	fmt.Fprint(new(Machine).Stdout(), "k")
	fmt.Fprint(new(Machine).Stderr(), "l")
	os.Stdout, os.Stderr = stdout, stderr
	w.Close()
	if b, _ := io.ReadAll(r); string(b) != "hijkl" || n != 3 || err != nil || list[len(list)-1] != "out g" {
		t.Errorf("%q, %d, %v, %q", b, n, err, list)
	}

	boom := errors.New("boom")
	m.Show([]any{1, 2}, false, false)
	m.Show([]any{1, 2}, false, true)
	m.Show([]any{1, 2, nil}, true, false)
	m.Show([]any{1, 2, nil}, true, true)
	m.Show([]any{1, boom}, true, false)
	m.Show([]any{1, boom}, false, false)
	if want := []any{2, nil, 0, nil, 2, nil, 0, nil, 0, boom, 2, nil}; !reflect.DeepEqual(shown, want) {
		t.Errorf("shown are %v, want %v", shown, want)
	}
	m.NewCell(ctx, nil, nil).last([]any{1}, nil) // nobody is told

	if m.last.Store(c); c.Kept() != nil {
		t.Error("kept is what nobody gave")
	}
	c.Keep(7)
	c.Redirect(nil, func() {
		if own := m.Cell(); own == c || own.Kept() != 7 || own.Stopped() != c.Stopped() || own.Context() != c.Context() {
			t.Error("a part of the cell is another's")
		}
	})
	m.NewCell(ctx, nil, nil).Redirect(nil, func() {
		if m.Cell().Kept() != nil {
			t.Error("kept is what nobody gave")
		}
	})
	m.last.Store(c)
	c.StoppedHere(token.Position{})
	c.StoppedHere(token.Position{Line: 3})
	c.StoppedHere(token.Position{Line: 4})
	if c.StoppedAt().Line != 3 {
		t.Errorf("stopped at %v", c.StoppedAt())
	}
	c.NoteFrames([]Frame{{Name: "f"}})
	if a, b := c.TakeFrames(), c.TakeFrames(); len(a) != 1 || b != nil {
		t.Errorf("frames %v, then %v", a, b)
	}
	release, done := make(chan struct{}), make(chan struct{})
	m.Go(func() { <-release })
	if m.CompiledGoroutine(2); c.others.Load() != 3 || !c.Lasts() {
		t.Errorf("%d goroutines", c.others.Load())
	}
	m.CompiledGoroutine(-2)
	m.Go(func() { close(done) })
	<-done
	close(release)
	for c.Lasts() {
		runtime.Gosched()
	}
	new(Machine).CompiledGoroutine(1)
	c.Reading(func() {
		if lock := &stripes[stripeOf(reflect.ValueOf(shared))]; lock.TryLock() {
			lock.Unlock()
			t.Error("the map can be written")
		}
	}, shared)
}

var shared = map[string]int{}

// A panic in a goroutine of a library ends the cell that runs, and no later one.
func TestContain(t *testing.T) {
	var reported []any
	m := New(Hooks{
		GoroutinePanicked: func(c *Cell, frames []Frame, value any) { reported = append(reported, len(frames), value) },
		Traceback:         func(frames []Frame, value any) string { return fmt.Sprint(len(frames), value) },
	})
	c := m.NewCell(t.Context(), nil, nil)
	contain := func(value any) (ok bool) {
		var library sync.WaitGroup
		library.Go(func() { ok = m.Contain([]Frame{{Name: "f"}}, value) })
		library.Wait()
		return ok
	}
	own := make(chan bool)
	go func() { own <- m.Contain(nil, 1) }()
	if <-own {
		t.Error("a panic of a goroutine of a cell is a library's")
	}
	if !contain(nil) || c.ctx.Err() != nil {
		t.Error("no panic ends the cell")
	}
	m.begin(c)
	if !contain(7) || !m.stopped() || reported != nil {
		t.Error("a panic does not end the cell")
	}
	var p *ForeignPanic
	if err := context.Cause(c.ctx); !errors.As(err, &p) || p.Value != 7 || len(p.Frames) != 1 || !strings.HasPrefix(p.Library, "sync.(*WaitGroup).Go") || err.Error() != "7" {
		t.Errorf("the cell ends with %#v", err)
	}
	if !contain(8) || !reflect.DeepEqual(reported, []any{1, 8}) {
		t.Errorf("a panic after the cell's end: %v", reported)
	}
	c.NoteFrames(make([]Frame, 2))
	m.Guarded(func() { panic("x") })()
	m.Guarded(func() {})()
	m.Report(make([]Frame, 3), "y")
	if !reflect.DeepEqual(reported, []any{1, 8, 2, "x", 3, "y"}) {
		t.Errorf("reported are %v", reported)
	}
	c.NoteFrames(make([]Frame, 4))
	if got := m.Traceback("z"); got != "4z" && got != "4 z" {
		t.Errorf("%q", got)
	}
	if text := (&ForeignPanic{Value: []int{1}}).Error(); text != "([]int) [1]" {
		t.Error(text)
	}
}

func TestCallers(t *testing.T) {
	m := New(Hooks{Callers: func() []Caller { return []Caller{{Function: "b"}} }})
	if got := m.AllCallers(); len(got) != 1 || got[0].Function != "b" {
		t.Errorf("%v", got)
	}
	m.hooks.CompiledCallers = func() (inner, outer []Caller) { return []Caller{{Function: "a"}}, []Caller{{Function: "c"}} }
	if got := m.AllCallers(); len(got) != 3 || got[0].Function+got[1].Function+got[2].Function != "abc" {
		t.Errorf("%v", got)
	}
	f := reflect.ValueOf(func() {})
	if _, ok := m.FunctionOf(f); ok {
		t.Error("a function is known to nobody")
	}
	m.hooks.FunctionOf = func(reflect.Value) (Caller, bool) { return Caller{Function: "f"}, true }
	hidden := reflect.ValueOf(struct{ f func() }{func() {}}).Field(0)
	for _, x := range []struct {
		v    reflect.Value
		want bool
	}{{f, true}, {reflect.ValueOf(1), false}, {reflect.ValueOf((func())(nil)), false}, {hidden, false}} {
		if c, ok := m.FunctionOf(x.v); ok != x.want || ok && c.Function != "f" {
			t.Errorf("%v: %v, %v", x.v.Type(), c, ok)
		}
	}
	s := m.NewStack([]StackCall{{Pos: 1, Function: "f"}}, "g", func(i, stop int) []reflect.Value { return make([]reflect.Value, 10*i+stop) })
	m.Files().AddFile("x", 1, 10)
	if s.Depth() != 1 || s.Function != "g" || s.Goroutine != Goroutine() || s.Cell != nil || len(s.Variables(3, 4)) != 34 || s.Position(3).Filename != "x" {
		t.Errorf("%+v", s)
	}
	if used, id := GoroutineStack(); id != Goroutine() || used == 0 {
		t.Errorf("%d bytes of the stack of %#x", used, id)
	}
	if !IsCode(CalledByLibrary) || IsCode("fmt.Println") || functionName((func())(nil)) != "" {
		t.Error("functions have other names")
	}
	if got := Elements[int](reflect.ValueOf([]int{3, 4})); !slices.Equal(got, []int{3, 4}) {
		t.Errorf("%v", got)
	}
}

// A goroutine whose stack is larger than it may be ends its cell.
func TestCheckStack(t *testing.T) {
	m := New(Hooks{})
	c := m.NewCell(t.Context(), nil, nil)
	var grow func(n int) byte
	grow = func(n int) byte {
		var frame [100 << 10]byte
		if n > 0 {
			frame[n] = grow(n - 1)
		} else {
			m.CheckStack()
		}
		return frame[n%7]
	}
	check := func(n int) (v any) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			defer func() { v = recover() }()
			grow(n)
		}()
		<-done
		return v
	}
	if v := check(900); v != nil || c.ctx.Err() != nil {
		t.Errorf("90 MB: %v", v)
	}
	if v := check(1100); v != any(ErrStackOverflow) || context.Cause(c.ctx) != ErrStackOverflow {
		t.Errorf("110 MB: %v, the cell ends with %v", v, context.Cause(c.ctx))
	}
	debug.FreeOSMemory()
}

func TestNeed(t *testing.T) {
	m := New(Hooks{})
	l := limits.Limit{Name: "a limit", Total: 1 << 32, Available: 1 << 30}
	m.Memory = func() []limits.Limit { return []limits.Limit{l} }
	need := func(f func()) (text string) {
		defer func() {
			if v := recover(); v != nil {
				var _ runtime.Error = v.(*SizeError)
				text = v.(*SizeError).Error()
			}
		}()
		f()
		return ""
	}
	lacks := "out of memory: %s would take %s; of the memory of a limit, " + limits.Bytes(1<<30) + " of " + limits.Bytes(1<<32) + " are available"
	for _, c := range []struct{ got, want string }{
		{need(func() { m.Need("x", 1<<29) }), ""},
		{need(func() { m.Need("x", math.NaN()) }), ""},
		{need(func() { m.Need("x", 1<<35) }), fmt.Sprintf(lacks, "x", limits.Bytes(1<<35))},
		{need(func() { m.NeedMake("[]T", 4, 1<<33) }), fmt.Sprintf(lacks, "make([]T, 4)", limits.Bytes(1<<35))},
		{need(func() { m.NeedMake("[]T", 1, maxAlloc) }), fmt.Sprintf(lacks, "make([]T, 1)", limits.Bytes(maxAlloc))},
		{need(func() { m.NeedMake("[]T", 1, maxAlloc+1<<10) }), ""},
	} {
		if c.got != c.want {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
	if got, want := m.Left(), int64(1<<30-1<<28); got != want {
		t.Errorf("%d bytes are left, want %d", got, want)
	}
	if l.Available = 1 << 28; m.Left() != 0 {
		t.Errorf("%d bytes are left, want none", m.Left())
	}
	l.Available = 0
	if m.Left() != 0 {
		t.Errorf("%d bytes are left, want none", m.Left())
	}
	for bytes, lacks := range map[float64]bool{smallSize - 1: false, smallSize: false, largeSize - 1: false, largeSize: true, math.NaN(): false} {
		if err := m.Lacks("x", bytes); (err != nil) != lacks {
			t.Errorf("%v bytes: %v", bytes, err)
		}
	}
	looks := 0
	m.Memory = func() []limits.Limit {
		if looks++; looks > 1 {
			return roomy()
		}
		return []limits.Limit{l}
	}
	if err := m.Lacks("x", largeSize); err != nil || looks != 2 {
		t.Errorf("after a collection: %v, %d looks", err, looks)
	}
	looks = 0
	if err := m.Lacks("x", float64(l.Total)); err != nil || looks != 2 {
		t.Errorf("all of it after a collection: %v, %d looks", err, looks)
	}
	looks = 0
	if err := m.Lacks("x", float64(l.Total)+1<<20); err == nil || looks != 1 {
		t.Errorf("more than all of it: %v, %d looks", err, looks)
	}

	// A cell that allocates when there is no memory ends.
	m.Memory = func() []limits.Limit { return []limits.Limit{{Name: "small", Total: 1 << 10}} }
	m.spend(8 << 20) // outside of cells nothing ends
	c := m.NewCell(t.Context(), nil, nil)
	m.begin(c)
	other := m.NewCell(t.Context(), nil, nil)
	m.begin(other)
	m.last.Store(c)
	if m.spend(8<<20 - 1); c.ctx.Err() != nil {
		t.Error("the memory is looked at too early")
	}
	m.spend(1)
	if err := context.Cause(c.ctx); !errors.Is(err, ErrMemory) || !strings.Contains(err.Error(), "the memory of small") || context.Cause(other.ctx) != ErrConcurrent {
		t.Errorf("the cell ends with %v, the one beside it with %v", err, context.Cause(other.ctx))
	}
}

func TestLimits(t *testing.T) {
	for total, want := range map[int64]int64{16: 1, 16 * memoryReserve: memoryReserve, 16*memoryReserve - 16: memoryReserve - 1, 1 << 40: memoryReserve} {
		if got := reserve(limits.Limit{Total: total}); got != want {
			t.Errorf("of %d bytes %d are to be left, want %d", total, got, want)
		}
	}
	a, b := limits.Limit{Name: "a", Total: 1 << 40, Available: 5 << 30}, limits.Limit{Name: "b", Total: 1 << 30, Available: 4 << 30}
	for _, c := range []struct {
		all           []limits.Limit
		scarce, least string
	}{{nil, "", "the machine"}, {[]limits.Limit{a}, "a", "a"}, {[]limits.Limit{a, b}, "b", "b"}, {[]limits.Limit{b, a}, "b", "b"}, {[]limits.Limit{b, {Name: "d", Total: b.Total, Available: b.Available}}, "b", "b"}, {[]limits.Limit{a, {Name: "c", Total: 1 << 30, Available: a.Available - memoryReserve + 1<<26}}, "a", "c"}} {
		if s, _ := scarce(c.all); s.Name != c.scarce || least(c.all).Name != c.least {
			t.Errorf("%v: %s is scarce, %s least", c.all, s.Name, least(c.all).Name)
		}
	}
	if l := least(nil); l.Total != maxAlloc || l.Available != maxAlloc {
		t.Errorf("without limits: %+v", l)
	}
	if err := outOfThreads(limits.Limit{Name: "the user", Total: 100, Available: 30}); !errors.Is(err, ErrThreads) || !strings.Contains(err.Error(), "70 of the 100 threads that the user allows") {
		t.Error(err)
	}
	for err, want := range map[error]time.Duration{ErrConcurrent: grace, &ForeignPanic{}: grace, ErrMemory: 20 * time.Second, nil: 20 * time.Second} {
		if got := patience(err); got != want {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// The collector may use what is there, less twice the reserve, and half of what is held at
// least.
func TestPaceCollector(t *testing.T) {
	own := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(own)
	m := New(Hooks{})
	var l limits.Limit
	m.Memory = func() []limits.Limit { return []limits.Limit{l} }
	held := func() int64 {
		return heap("/memory/classes/total:bytes") - heap("/memory/classes/heap/released:bytes") - heap("/memory/classes/heap/free:bytes")
	}
	const about = 100 << 20 // what the collector does meanwhile
	for _, c := range []struct {
		available int64
		want      func() int64
	}{
		{1 << 39, func() int64 { return held() + 1<<39 - 1<<30 }},
		{0, func() int64 { return held() / 2 }},
	} {
		l = limits.Limit{Total: 1 << 40, Available: c.available}
		m.paceCollector()
		if got, want := debug.SetMemoryLimit(-1), c.want(); got < want-about || got > want+about {
			t.Errorf("%d bytes are available: a limit of %d, want %d", c.available, got, want)
		}
	}
	before := debug.SetMemoryLimit(1 << 50)
	l = limits.Limit{Total: maxAlloc, Available: maxAlloc}
	if m.paceCollector(); debug.SetMemoryLimit(before) != 1<<50 {
		t.Error("without limits the collector has one")
	}
	debug.SetMemoryLimit(own)
	m = New(Hooks{})
	debug.SetMemoryLimit(1 << 30)
	m.Memory = roomy
	if m.paceCollector(); debug.SetMemoryLimit(-1) != 1<<30 {
		t.Errorf("the process's own limit is replaced by %d", debug.SetMemoryLimit(-1))
	}
}

// What uses up the memory ends soon after.
func TestWatchEnds(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	synctest.Test(t, func(t *testing.T) {
		m := New(Hooks{})
		looks := 0
		m.Memory = func() []limits.Limit { looks++; return []limits.Limit{{Name: "small", Total: 1 << 10}} }
		c := m.NewCell(t.Context(), nil, nil)
		done := make(chan struct{})
		defer close(done)
		begun := time.Now()
		m.watchMemory(c, done)
		if took := time.Since(begun); !errors.Is(context.Cause(c.ctx), ErrMemory) || took != memoryInterval/16 {
			t.Errorf("%v after %v", context.Cause(c.ctx), took)
		}
	})
}

// A statement during which the clock moves has the time since; what runs in goroutines of
// libraries stands below the line that called them.
func TestSampler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := New(Hooks{})
		s, ok := m.StartSampling()
		if _, again := m.StartSampling(); !ok || again || m.Clock() != s.tick {
			t.Error("two profiles at once")
		}
		time.Sleep(35 * time.Millisecond)
		if synctest.Wait(); m.Clock().Load() != 3 {
			t.Errorf("the clock is at %d after 35 ms", m.Clock().Load())
		}
		at := func(line int) []Place { return []Place{{Line: line}} }
		x := s.Begin(true, at(1))
		if len(x.Parent) != 1 || x.by != s || x.span == nil {
			t.Errorf("%+v", x)
		}
		s.Take(x, at(2))
		s.Take(x, at(3))
		last := x.span
		s.Take(&Sampled{}, at(4))                // a library's goroutine, with the label
		s.Take(s.Begin(false, at(1)), at(5))     // a cell's, too short for a span of its own
		goroutine.SetLabel(SpanLabel, "another") // of no span
		s.Take(&Sampled{}, at(6))
		spans := s.Stop()
		var got []string
		for id, span := range spans {
			text := id
			for _, list := range append([][]Place{span.At}, append(span.Inner, span.Whole...)...) {
				for _, p := range list {
					text += fmt.Sprint(" ", p.Line)
				}
			}
			got = append(got, fmt.Sprintf("%s; %d inner, %d whole", text, len(span.Inner), len(span.Whole)))
		}
		slices.Sort(got)
		if want := []string{"0 2; 0 inner, 0 whole", "1 3; 0 inner, 0 whole", "2 3 4 5; 1 inner, 1 whole", "3 5; 0 inner, 0 whole"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
		if last != spans["2"] {
			t.Error("the span of the goroutine is another")
		}
		s.Take(x, at(7)) // after the end
		again, ok := m.StartSampling()
		if !ok || len(again.Stop()) != 0 {
			t.Error("the profile goes on")
		}
		goroutine.SetLabel(SpanLabel, "")
	})
}

// The locks of the maps that values consist of are found wherever they are, all where that
// would take long.
func TestMapWalk(t *testing.T) {
	type pair struct {
		N int
		m map[int]string
	}
	type node struct {
		next *node
		m    map[int]int
	}
	a, b := map[int]string{}, map[int]map[int]int{1: {}}
	loop := &node{m: map[int]int{}}
	loop.next = loop
	many := make([]map[int]int, mostWalked-1)
	for i := range many {
		many[i] = map[int]int{}
	}
	stripe := func(list ...any) []int {
		var l []int
		for _, m := range list {
			l = append(l, stripeOf(reflect.ValueOf(m)))
		}
		slices.Sort(l)
		return slices.Compact(l)
	}
	all := make([]int, len(stripes))
	for i := range all {
		all[i] = i
	}
	var nothing map[int]int
	maps := func(list []map[int]int) (l []any) {
		for _, m := range list {
			l = append(l, m)
		}
		return l
	}
	for name, c := range map[string]struct {
		value any
		want  []int
	}{
		"a map":               {a, stripe(a)},
		"of maps":             {b, stripe(b, b[1])},
		"in a struct":         {pair{m: a}, stripe(a)},
		"below":               {&pair{m: a}, stripe(a)},
		"in a list":           {[]any{a, 1, nil, b}, stripe(a, b, b[1])},
		"in an array":         {[2]*pair{nil, {m: a}}, stripe(a)},
		"no map":              {nothing, nil},
		"none":                {[]int{1}, nil},
		"in itself":           {loop, all},
		"in one that is read": {map[string]any{"x": a}, nil},
		"many":                {many, stripe(maps(many)...)},
		"too many":            {append(many, map[int]int{}), all},
		"too many, in a map": {func() map[int]map[int]int {
			m := map[int]map[int]int{}
			for i := range mostWalked {
				m[i] = map[int]int{}
			}
			return m
		}(), all},
	} {
		if name == "in one that is read" {
			c.want = stripe(c.value, a)
		}
		var set stripeSet
		w := mapWalk{set: &set, left: mostWalked}
		if MayHoldMaps(reflect.TypeOf(c.value)) {
			w.visit(reflect.ValueOf(c.value))
		}
		var got []int
		set.each(func(i int) { got = append(got, i) })
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if stripeOf(reflect.ValueOf(1)) >= 0 {
		t.Error("a number has a lock")
	}
	type tree struct {
		Left, Right *tree
		N           []int
	}
	type holder struct {
		T *tree
		M [1][]map[int]int
	}
	for _, c := range []struct {
		t    reflect.Type
		want bool
	}{
		{reflect.TypeFor[tree](), false}, {reflect.TypeFor[holder](), true}, {reflect.TypeFor[*[]any](), true}, {reflect.TypeFor[chan map[int]int](), false},
		{reflect.TypeFor[struct{ a, b int }](), false}, {reflect.TypeFor[map[int]int](), true}, {reflect.TypeFor[func(map[int]int)](), false},
	} {
		for range 2 { // the second time it is known
			if got := MayHoldMaps(c.t); got != c.want {
				t.Errorf("%v may hold maps: %v", c.t, got)
			}
		}
	}
}

// A goroutine does not wait for locks that it holds, nor locks more of them within.
func TestNestedLocks(t *testing.T) {
	x, y := map[string]int{}, map[string]int{}
	i := stripeOf(reflect.ValueOf(x))
	for stripeOf(reflect.ValueOf(y)) == i {
		y = map[string]int{}
	}
	p := func(m map[string]int) unsafe.Pointer { return reflect.ValueOf(m).UnsafePointer() }
	free := func(m map[string]int, want bool) {
		t.Helper()
		lock := &stripes[stripeOf(reflect.ValueOf(m))]
		got := lock.TryLock()
		if got {
			lock.Unlock()
		}
		if got != want {
			t.Errorf("the lock is free: %v, want %v", got, want)
		}
	}
	for _, write := range []bool{false, true} {
		n := LockMap(p(x), write)
		if n != i {
			t.Errorf("the lock is %d, want %d", n, i)
		}
		free(x, false)
		if lock := &stripes[i]; lock.TryRLock() == write {
			t.Errorf("locked for writing: %v", !write)
		} else if !write {
			lock.RUnlock()
		}
		UnlockMap(n, write)
		free(x, true)
	}
	WithMaps(true, func() {
		for _, write := range []bool{false, true} {
			if n := LockMap(p(x), write); n != -1 {
				t.Errorf("a lock that the goroutine holds: %d", n)
			}
			UnlockMap(-1, write)
			n := LockMap(p(y), write)
			free(y, false)
			UnlockMap(n, write)
		}
		WithMaps(true, func() { free(y, true) }, y)
		free(x, false)
		func() {
			defer func() { _ = recover() }()
			WithoutMaps(func() { free(x, true); panic("x") })
		}()
		free(x, false)
	}, x, nil, 3)
	free(x, true)
	ran := 0
	WithoutMaps(func() { ran++ })
	WithMaps(false, func() { ran++ }, 1)
	if ran != 2 || held(i) {
		t.Errorf("%d of 2 functions ran; the lock is held: %v", ran, held(i))
	}
}

// An object's lock is held during a call, for reading where the call only reads.
func TestLockObjects(t *testing.T) {
	g, h := simple.NewUndirectedGraph(), simple.NewUndirectedGraph()
	values := func(list ...any) (v []reflect.Value) {
		for _, x := range list {
			v = append(v, reflect.ValueOf(x))
		}
		return v
	}
	i := lockOf(nil, values(g)[0])[0]
	for lockOf(nil, values(h)[0])[0] == i {
		h = simple.NewUndirectedGraph()
	}
	j := lockOf(nil, values(h)[0])[0]
	for _, write := range []bool{false, true} {
		unlock := LockObjects(values(g, 1, h, g), write)
		for _, k := range []int{i, j} {
			if objects[k].TryLock() {
				t.Errorf("write is %v: the object can be written", write)
				objects[k].Unlock()
			}
			if objects[k].TryRLock() == write {
				t.Errorf("write is %v: the object can be read: %v", write, write)
			} else if !write {
				objects[k].RUnlock()
			}
		}
		LockObjects(values(g), write)() // within another call it has no effect
		if objects[i].TryLock() {
			t.Errorf("write is %v: the object can be written after an inner call", write)
			objects[i].Unlock()
		}
		unlock()
		for _, k := range []int{i, j} {
			if !objects[k].TryLock() {
				t.Fatalf("write is %v: the object stays locked", write)
			}
			objects[k].Unlock()
		}
	}
	LockObjects(values(1, "a"), true)()
	if unlock := LockObjects(values(g), true); objects[i].TryLock() {
		t.Error("after a call without objects others have no lock")
	} else {
		unlock()
	}
	if got := lockOf(nil, reflect.ValueOf([]any{g, g, g, g, g})); len(got) != 4 {
		t.Errorf("of a list of 5 objects %d are locked", len(got))
	}
	for f, want := range map[string]bool{
		"gonum.org/v1/gonum/graph/path.DijkstraFrom": false, "gonum.org/v1/gonum/graph/graphs/gen.Gnp": true, "gonum.org/v1/gonum/graph/x.Copy": true, "flag.Parse": true,
	} {
		if got := MayWrite(f, true); got != want {
			t.Errorf("%s may write: %v", f, got)
		}
	}
	for f, want := range map[string]bool{"From": false, "HasEdgeBetween": false, "Weight": false, "SetEdge": true, "AddNode": true, "NewNode": true, "Lines": false} {
		if got := MayWrite(f, false); got != want {
			t.Errorf("the method %s may write: %v", f, got)
		}
	}
	if name, ok := SharingFunction(reflect.ValueOf(simple.NewUndirectedGraph)); !ok || name != "gonum.org/v1/gonum/graph/simple.NewUndirectedGraph" {
		t.Errorf("%q, %v", name, ok)
	}
	if name, ok := SharingFunction(reflect.ValueOf(http.Get)); ok || name != "" {
		t.Errorf("%q, %v", name, ok)
	}
	for typ, want := range map[reflect.Type]bool{nil: false, reflect.TypeOf(g): true, reflect.TypeOf([]*simple.UndirectedGraph{}): true, reflect.TypeFor[simple.UndirectedGraph](): false,
		reflect.TypeFor[error](): false, reflect.TypeFor[*int](): false, reflect.TypeFor[[]int](): false} {
		if got := MayShare(typ); got != want {
			t.Errorf("%v may be shared: %v", typ, got)
		}
	}
}

// The state of locks and blocks of memory is that which they have.
func TestStates(t *testing.T) {
	var m sync.Mutex
	var rw sync.RWMutex
	if Locked(&m) || Readers(&rw) != 0 {
		t.Error("locked by nobody")
	}
	m.Lock()
	rw.RLock()
	rw.RLock()
	if !Locked(&m) || Readers(&rw) != 2 {
		t.Errorf("locked: %v, %d readers", Locked(&m), Readers(&rw))
	}
	m.Unlock()
	rw.RUnlock()
	rw.RUnlock()
	block := make([]int, 1000+len(shared)) // of the heap
	base := uintptr(unsafe.Pointer(&block[0]))
	if got := BlockOf(base + 500); got != base {
		t.Errorf("the block of %#x begins at %#x", base, got)
	}
	runtime.KeepAlive(block)
	boom := errors.New("boom")
	func() {
		defer func() {
			f, ok := recover().(Failure)
			if !ok || !errors.Is(f, boom) || f.Error() != "boom" {
				t.Errorf("%v", f)
			}
		}()
		Must(nil)
		Must(boom)
		t.Error("an error is none")
	}()
	if RuntimeError("x").Error() != "runtime error: x" || PlainError("x").Error() != "x" {
		t.Error("errors have other texts")
	}
}
