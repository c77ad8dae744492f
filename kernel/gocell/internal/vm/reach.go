package vm

import (
	_ "database/sql" // has convertAssign
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"sync"
	"unsafe"

	"dace.local/kernel/buildinfo"
)

// The tables here list all that this package uses of the run time and the standard
// library although it is not exported: fields and functions. All of it is checked as the
// process starts: a Go that lacks one of them is refused.

// A field is a field that is not exported.
type field struct {
	of, name string
	typ      string   // as package reflect writes it
	at       *uintptr // where its offset is to be kept; may be nil
}

// structs are those that the tables start at. A field makes its type known, and
// that of its elements.
var structs = []reflect.Type{
	reflect.TypeFor[sync.Mutex](), reflect.TypeFor[sync.RWMutex](), reflect.TypeFor[os.File](),
}

// layout holds the offsets of fields.
var layout struct {
	mutex   struct{ mu, state uintptr }
	rwMutex struct{ readerCount uintptr }
	file    struct{ file, pfd, fdmu, state uintptr }
}

// fields is the table of fields.
var fields = []field{
	{"sync.Mutex", "mu", "sync.Mutex", &layout.mutex.mu},
	{"internal/sync.Mutex", "state", "int32", &layout.mutex.state},
	{"sync.RWMutex", "readerCount", "atomic.Int32", &layout.rwMutex.readerCount},
	{"os.File", "file", "*os.file", &layout.file.file},
	{"os.file", "pfd", "poll.FD", &layout.file.pfd},
	{"poll.FD", "fdmu", "poll.fdMutex", &layout.file.fdmu},
	{"poll.fdMutex", "state", "uint64", &layout.file.state},
}

// A linked function is one that is not exported. The linker wants it to be
// there; that its signature is the one declared here a test sees.
type linked struct {
	f    any
	name string
}

// functions is the table of functions.
var functions = []linked{
	{ConvertAssign, "database/sql.convertAssign"},
	{findObject, "runtime.findObject"},
}

// ConvertAssign is what sql.Rows scans with.
//
//go:linkname ConvertAssign database/sql.convertAssign
func ConvertAssign(dest, src any) error

// findObject returns the block that an address is in.
//
//go:linkname findObject runtime.findObject
func findObject(p, refBase, refOff uintptr) (base uintptr, span unsafe.Pointer, index uintptr)

func init() {
	if err := errors.Join(reach(structs, fields, functions), checkStack(stack)); err != nil {
		buildinfo.Refuse(err)
	}
}

// checkStack compares what stack returns with what it is taken for.
func checkStack(stack func() (used, id uintptr)) error {
	outer, id := stack()
	inner, same := deeper(stack)
	if outer == 0 || inner < outer+deep || inner > outer+2*deep {
		return errors.New("a goroutine does not begin with the bounds of its stack")
	}
	other := make(chan uintptr)
	go func() {
		_, id := stack()
		other <- id
	}()
	if id == 0 || id != same || id != currentG() || id == <-other {
		return errors.New("a goroutine is not known by its address")
	}
	return nil
}

// deep is the size of deeper's frame, in bytes.
const deep = 4 << 10

// deeper calls stack below a large frame.
//
//go:noinline
func deeper(stack func() (used, id uintptr)) (used, id uintptr) {
	var frame [deep]byte
	used, id = stack()
	runtime.KeepAlive(&frame)
	return used, id
}

// reach checks the tables, and keeps the offsets of the fields.
func reach(structs []reflect.Type, fields []field, functions []linked) error {
	known := map[string]reflect.Type{}
	learn := func(t reflect.Type) {
		for k := t.Kind(); k == reflect.Pointer || k == reflect.Slice || k == reflect.Map; k = t.Kind() {
			t = t.Elem()
		}
		known[typeName(t)] = t
	}
	for _, t := range structs {
		learn(t)
	}
	var errs []error
	for _, f := range fields {
		of, ok := known[f.of]
		if !ok || of.Kind() != reflect.Struct {
			errs = append(errs, fmt.Errorf("\tthere is no struct %s", f.of))
			continue
		}
		sf, ok := of.FieldByName(f.name)
		switch {
		case !ok || len(sf.Index) > 1:
			errs = append(errs, fmt.Errorf("\t%s has no field %s", f.of, f.name))
			continue
		case sf.Type.String() != f.typ:
			errs = append(errs, fmt.Errorf("\tfield %s of %s is a %s, not a %s", f.name, f.of, sf.Type, f.typ))
			continue
		}
		if f.at != nil {
			*f.at = sf.Offset
		}
		learn(sf.Type)
	}
	for _, f := range functions {
		if name := functionName(f.f); name != f.name {
			errs = append(errs, fmt.Errorf("\tthere is no function %s", f.name))
		}
	}
	return errors.Join(errs...)
}

// typeName is the name of a type in the table: as package reflect writes it,
// but with the whole path of a package that is internal/sync beside sync.
func typeName(t reflect.Type) string {
	if t.PkgPath() == "internal/sync" {
		return "internal/" + t.String()
	}
	return t.String()
}

// functionName returns the name under which the run time knows a function.
func functionName(f any) string {
	if fn := runtime.FuncForPC(codeOf(f)); fn != nil {
		return fn.Name()
	}
	return ""
}

// codeOf returns the address of a function's code.
func codeOf(f any) uintptr { return reflect.ValueOf(f).Pointer() }

// at returns a pointer to a field at an offset.
func at[T any](p unsafe.Pointer, offset uintptr) *T { return (*T)(unsafe.Add(p, offset)) }
