package std

import (
	"go/types"
	"log"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"dace.local/kernel/gocell/internal/vm"
)

// A call through an interface that a cell declares, or of a method that a cell's type
// has from an embedded one, reaches methods of the standard library that have
// stand-ins. Such calls go to Placed of the value.

// Placed returns a value with the methods of x, of which those that have stand-ins are
// these. It returns x itself where it has none.
func (l *Library) Placed(x any) any {
	switch x := x.(type) {
	case *testing.T:
		return placed{x, l}
	case *testing.B:
		return placed{x, l}
	case *testing.F:
		return placed{x, l}
	case *log.Logger:
		return placedLogger{x, l}
	case *runtime.Func:
		return placedFunc{x, l}
	case *runtime.Frames:
		return placedFrames{x, l}
	case *sync.Mutex:
		return placedMutex{x}
	case *sync.RWMutex:
		return placedRWMutex{x}
	case sync.Locker:
		if _, ok := asReader(x); ok {
			return placedLocker{x}
		}
	}
	return x
}

// placed is a test or benchmark.
type placed struct {
	testing.TB
	l *Library
}

func (p placed) Helper()                        { p.l.testHelper(p.TB) }
func (p placed) Log(a ...any)                   { p.l.testLogged("Log", p.TB, a) }
func (p placed) Logf(format string, a ...any)   { p.l.testLoggedf("Log", p.TB, format, a) }
func (p placed) Error(a ...any)                 { p.l.testLogged("Error", p.TB, a) }
func (p placed) Errorf(format string, a ...any) { p.l.testLoggedf("Error", p.TB, format, a) }
func (p placed) Fatal(a ...any)                 { p.l.testLogged("Fatal", p.TB, a) }
func (p placed) Fatalf(format string, a ...any) { p.l.testLoggedf("Fatal", p.TB, format, a) }
func (p placed) Skip(a ...any)                  { p.l.testLogged("Skip", p.TB, a) }
func (p placed) Skipf(format string, a ...any)  { p.l.testLoggedf("Skip", p.TB, format, a) }

// placedLogger is a logger.
type placedLogger struct {
	*log.Logger
	l *Library
}

func (p placedLogger) plain(name string, a []any) {
	p.l.loggers()["(*log.Logger)."+name].(func(*log.Logger, ...any))(p.Logger, a...)
}

func (p placedLogger) format(name, format string, a []any) {
	p.l.loggers()["(*log.Logger)."+name].(func(*log.Logger, string, ...any))(p.Logger, format, a...)
}

func (p placedLogger) Print(a ...any)                 { p.plain("Print", a) }
func (p placedLogger) Println(a ...any)               { p.plain("Println", a) }
func (p placedLogger) Printf(format string, a ...any) { p.format("Printf", format, a) }
func (p placedLogger) Panic(a ...any)                 { p.plain("Panic", a) }
func (p placedLogger) Panicln(a ...any)               { p.plain("Panicln", a) }
func (p placedLogger) Panicf(format string, a ...any) { p.format("Panicf", format, a) }
func (p placedLogger) Fatal(a ...any)                 { p.plain("Fatal", a) }
func (p placedLogger) Fatalln(a ...any)               { p.plain("Fatalln", a) }
func (p placedLogger) Fatalf(format string, a ...any) { p.format("Fatalf", format, a) }
func (p placedLogger) Output(depth int, text string) error {
	return p.l.logged(p.Logger, depth-1, text)
}

// placedFunc and placedFrames are what package runtime says of callers.
type (
	placedFunc struct {
		*runtime.Func
		l *Library
	}
	placedFrames struct {
		*runtime.Frames
		l *Library
	}
)

func (p placedFunc) Name() string {
	return p.l.callerMethods()["(*runtime.Func).Name"].(func(*runtime.Func) string)(p.Func)
}

func (p placedFunc) Entry() uintptr {
	return p.l.callerMethods()["(*runtime.Func).Entry"].(func(*runtime.Func) uintptr)(p.Func)
}

func (p placedFunc) FileLine(pc uintptr) (string, int) {
	return p.l.callerMethods()["(*runtime.Func).FileLine"].(func(*runtime.Func, uintptr) (string, int))(p.Func, pc)
}

func (p placedFrames) Next() (runtime.Frame, bool) {
	return p.l.callerMethods()["(*runtime.Frames).Next"].(func(*runtime.Frames) (runtime.Frame, bool))(p.Frames)
}

// placedMutex, placedRWMutex and placedLocker are locks.
type (
	placedMutex   struct{ *sync.Mutex }
	placedRWMutex struct{ *sync.RWMutex }
	placedLocker  struct{ sync.Locker }
)

func (m placedMutex) Unlock()    { unlockMutex(m.Mutex) }
func (m placedRWMutex) Unlock()  { unlockRWMutex(m.RWMutex) }
func (m placedRWMutex) RUnlock() { unlockReader(m.RWMutex) }
func (m placedLocker) Unlock()   { unlock(m.Locker) }

// placedMethods are the methods that Placed replaces, by their names: how to call one
// of any value.
func (l *Library) placedMethods() map[string]any {
	to := func(x any) any {
		if x == nil {
			panic(vm.NilDereference)
		}
		return l.Placed(x)
	}
	return map[string]any{
		"Helper":  func(x any) { to(x).(interface{ Helper() }).Helper() },
		"Log":     func(x any, a ...any) { to(x).(interface{ Log(...any) }).Log(a...) },
		"Logf":    func(x any, f string, a ...any) { to(x).(interface{ Logf(string, ...any) }).Logf(f, a...) },
		"Error":   func(x any, a ...any) { to(x).(interface{ Error(...any) }).Error(a...) },
		"Errorf":  func(x any, f string, a ...any) { to(x).(interface{ Errorf(string, ...any) }).Errorf(f, a...) },
		"Fatal":   func(x any, a ...any) { to(x).(interface{ Fatal(...any) }).Fatal(a...) },
		"Fatalf":  func(x any, f string, a ...any) { to(x).(interface{ Fatalf(string, ...any) }).Fatalf(f, a...) },
		"Fatalln": func(x any, a ...any) { to(x).(interface{ Fatalln(...any) }).Fatalln(a...) },
		"Skip":    func(x any, a ...any) { to(x).(interface{ Skip(...any) }).Skip(a...) },
		"Skipf":   func(x any, f string, a ...any) { to(x).(interface{ Skipf(string, ...any) }).Skipf(f, a...) },
		"Print":   func(x any, a ...any) { to(x).(interface{ Print(...any) }).Print(a...) },
		"Println": func(x any, a ...any) { to(x).(interface{ Println(...any) }).Println(a...) },
		"Printf":  func(x any, f string, a ...any) { to(x).(interface{ Printf(string, ...any) }).Printf(f, a...) },
		"Panic":   func(x any, a ...any) { to(x).(interface{ Panic(...any) }).Panic(a...) },
		"Panicln": func(x any, a ...any) { to(x).(interface{ Panicln(...any) }).Panicln(a...) },
		"Panicf":  func(x any, f string, a ...any) { to(x).(interface{ Panicf(string, ...any) }).Panicf(f, a...) },
		"Output":  func(x any, n int, s string) error { return to(x).(interface{ Output(int, string) error }).Output(n, s) },
		"Unlock":  func(x any) { to(x).(interface{ Unlock() }).Unlock() },
		"RUnlock": func(x any) { to(x).(interface{ RUnlock() }).RUnlock() },
	}
}

// placedSignatures are the signatures of those methods, without a receiver.
var placedSignatures = sync.OnceValue(func() map[string]string {
	m := map[string]string{}
	for name, f := range (*Library)(nil).placedMethods() {
		t := reflect.TypeOf(f)
		var in, out []reflect.Type
		for i := 1; i < t.NumIn(); i++ {
			in = append(in, t.In(i))
		}
		for r := range t.Outs() {
			out = append(out, r)
		}
		m[name] = reflect.FuncOf(in, out, t.IsVariadic()).String()
	}
	return m
})

// IsPlaced reports whether a method has the name and the signature of one that Placed
// replaces.
func IsPlaced(f *types.Func) bool {
	want, ok := placedSignatures()[f.Name()]
	if !ok {
		return false
	}
	sig := f.Signature()
	unnamed := func(list *types.Tuple) *types.Tuple {
		var vars []*types.Var
		for v := range list.Variables() {
			vars = append(vars, types.NewParam(0, nil, "", v.Type()))
		}
		return types.NewTuple(vars...)
	}
	sig = types.NewSignatureType(nil, nil, nil, unnamed(sig.Params()), unnamed(sig.Results()), sig.Variadic())
	return strings.ReplaceAll(types.TypeString(sig, nil), "any", "interface {}") == want
}

// PlacedIn returns the name by which rewritten code calls such a method of an
// interface, or "".
func PlacedIn(f *types.Func) string {
	if recv := f.Signature().Recv(); recv == nil || !types.IsInterface(recv.Type()) || !IsPlaced(f) {
		return ""
	}
	return placedName(f.Name())
}

func placedName(method string) string { return "Placed_" + method }
