package vm

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/traefik/yaegi/interp"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell/rtype"
)

// The tables here list all that this package uses of others although it is not
// exported: fields, functions, and bits of a reflect.Value. All of it is checked as the process starts: a Go that lacks one
// of them is refused, and another version of yaegi is named by a panic.

const yaegi = "github.com/traefik/yaegi"

// A field is a field that is not exported.
type field struct {
	of, name string
	typ      string   // as package reflect writes it
	at       *uintptr // where its offset is to be kept; may be nil
}

// structs are those that the tables start at. A field makes its type known, and
// that of its elements.
var structs = []reflect.Type{
	reflect.TypeFor[interp.Interpreter](), reflect.TypeFor[interp.Program](), valueInterfaceType,
	reflect.TypeFor[sync.Mutex](), reflect.TypeFor[sync.RWMutex](), reflect.TypeFor[os.File](),
}

// layout holds the offsets of fields.
var layout struct {
	interpreter struct{ id, cancelChan, binPkg, mutex, frame, universe, scopes, done, roots uintptr }
	program     struct{ root uintptr }
	node        struct {
		child, anc, start, tnext, fnext, findex, level, kind, pos, typ, recv, types, action, exec, gen, val, rval, ident, redeclared, meta, scope, sym, nright uintptr
	}
	itype          struct{ cat, val, rtype, arg, ret, field, method, untyped uintptr }
	scope          struct{ sym, child, types uintptr }
	symbol         struct{ index, global uintptr }
	valueInterface struct{ value uintptr }
	mutex          struct{ mu, state uintptr }
	rwMutex        struct{ readerCount uintptr }
	file           struct{ file, pfd, fdmu, state uintptr }
}

// fields is the table of fields.
var fields = []field{
	{"interp.Interpreter", "id", "uint64", &layout.interpreter.id},
	{"interp.Interpreter", "cancelChan", "bool", &layout.interpreter.cancelChan},
	{"interp.Interpreter", "binPkg", "interp.Exports", &layout.interpreter.binPkg},
	{"interp.Interpreter", "mutex", "sync.RWMutex", &layout.interpreter.mutex},
	{"interp.Interpreter", "frame", "*interp.frame", &layout.interpreter.frame},
	{"interp.Interpreter", "universe", "*interp.scope", &layout.interpreter.universe},
	{"interp.Interpreter", "scopes", "map[string]*interp.scope", &layout.interpreter.scopes},
	{"interp.Interpreter", "done", "chan struct {}", &layout.interpreter.done},
	{"interp.Interpreter", "roots", "[]*interp.node", &layout.interpreter.roots},
	{"interp.Program", "root", "*interp.node", &layout.program.root},

	{"interp.node", "child", "[]*interp.node", &layout.node.child},
	{"interp.node", "anc", "*interp.node", &layout.node.anc},
	{"interp.node", "start", "*interp.node", &layout.node.start},
	{"interp.node", "tnext", "*interp.node", &layout.node.tnext},
	{"interp.node", "fnext", "*interp.node", &layout.node.fnext},
	{"interp.node", "findex", "int", &layout.node.findex},
	{"interp.node", "level", "int", &layout.node.level},
	{"interp.node", "kind", "interp.nkind", &layout.node.kind},
	{"interp.node", "pos", "token.Pos", &layout.node.pos},
	{"interp.node", "typ", "*interp.itype", &layout.node.typ},
	{"interp.node", "recv", "*interp.receiver", &layout.node.recv},
	{"interp.node", "types", "[]reflect.Type", &layout.node.types},
	{"interp.node", "action", "interp.action", &layout.node.action},
	{"interp.node", "exec", "interp.bltn", &layout.node.exec},
	{"interp.node", "gen", "interp.bltnGenerator", &layout.node.gen},
	{"interp.node", "val", "interface {}", &layout.node.val},
	{"interp.node", "rval", "reflect.Value", &layout.node.rval},
	{"interp.node", "ident", "string", &layout.node.ident},
	{"interp.node", "redeclared", "bool", &layout.node.redeclared},
	{"interp.node", "meta", "interface {}", &layout.node.meta},
	{"interp.node", "scope", "*interp.scope", &layout.node.scope},
	{"interp.node", "sym", "*interp.symbol", &layout.node.sym},
	{"interp.node", "nright", "int", &layout.node.nright},

	{"interp.itype", "cat", "interp.tcat", &layout.itype.cat},
	{"interp.itype", "field", "[]interp.structField", &layout.itype.field},
	{"interp.itype", "val", "*interp.itype", &layout.itype.val},
	{"interp.itype", "arg", "[]*interp.itype", &layout.itype.arg},
	{"interp.itype", "ret", "[]*interp.itype", &layout.itype.ret},
	{"interp.itype", "method", "[]*interp.node", &layout.itype.method},
	{"interp.itype", "rtype", "reflect.Type", &layout.itype.rtype},
	{"interp.itype", "untyped", "bool", &layout.itype.untyped},

	// runFrame has the same fields.
	{"interp.frame", "id", "uint64", nil},
	{"interp.frame", "debug", "*interp.frameDebugData", nil},
	{"interp.frame", "root", "*interp.frame", nil},
	{"interp.frame", "anc", "*interp.frame", nil},
	{"interp.frame", "data", "[]reflect.Value", nil},
	{"interp.frame", "mutex", "sync.RWMutex", nil},
	{"interp.frame", "deferred", "[][]reflect.Value", nil},
	{"interp.frame", "recovered", "interface {}", nil},
	{"interp.frame", "done", "reflect.SelectCase", nil},

	{"interp.scope", "sym", "map[string]*interp.symbol", &layout.scope.sym},
	{"interp.scope", "child", "[]*interp.scope", &layout.scope.child},
	{"interp.scope", "types", "[]reflect.Type", &layout.scope.types},
	{"interp.symbol", "index", "int", &layout.symbol.index},
	{"interp.symbol", "global", "bool", &layout.symbol.global},
	{"interp.valueInterface", "value", "reflect.Value", &layout.valueInterface.value},

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
	{callStep, yaegi + "/interp.call"},
	{callBin, yaegi + "/interp.callBin"},
	{clauseChanDir, yaegi + "/interp.clauseChanDir"},
	{compositeBinStruct, yaegi + "/interp.compositeBinStruct"},
	{compositeBinStructNotype, yaegi + "/interp.compositeBinStructNotype"},
	{convertLiteralValue, yaegi + "/interp.convertLiteralValue"},
	{genFuncValue, yaegi + "/interp.genFuncValue"},
	{genFunctionWrapper, yaegi + "/interp.genFunctionWrapper"},
	{genInterfaceWrapper, yaegi + "/interp.genInterfaceWrapper"},
	{genValue, yaegi + "/interp.genValue"},
	{getExec, yaegi + "/interp.getExec"},
	{getFrame, yaegi + "/interp.getFrame"},
	{getFunc, yaegi + "/interp.getFunc"},
	{getIndexSeq, yaegi + "/interp.getIndexSeq"},
	{getIndexSeqField, yaegi + "/interp.getIndexSeqField"},
	{getPtrIndexSeq, yaegi + "/interp.getPtrIndexSeq"},
	{isFuncSrc, yaegi + "/interp.isFuncSrc"},
	{loopVarKey, yaegi + "/interp.loopVarKey"},
	{loopVarVal, yaegi + "/interp.loopVarVal"},
	{panicFunc, yaegi + "/interp.panicFunc"},
	{runCfg, yaegi + "/interp.runCfg"},
	{typeOfItype, yaegi + "/interp.(*itype).TypeOf"},
	{ConvertAssign, "database/sql.convertAssign"},
	{findObject, "runtime.findObject"},
}

// callStep and callBin make the steps of calls, of interpreted and of compiled
// functions.
//
//go:linkname callStep github.com/traefik/yaegi/interp.call
func callStep(n unsafe.Pointer)

//go:linkname callBin github.com/traefik/yaegi/interp.callBin
func callBin(n unsafe.Pointer)

// clauseChanDir returns the operands of a communication: the channel, what is
// sent or where to put what is received, and where to put whether it was.
//
//go:linkname clauseChanDir github.com/traefik/yaegi/interp.clauseChanDir
func clauseChanDir(n unsafe.Pointer) (ch, value, ok unsafe.Pointer, dir reflect.SelectDir)

// compositeBinStruct and compositeBinStructNotype make the steps of composite
// literals of structs.
//
//go:linkname compositeBinStruct github.com/traefik/yaegi/interp.compositeBinStruct
func compositeBinStruct(n unsafe.Pointer)

//go:linkname compositeBinStructNotype github.com/traefik/yaegi/interp.compositeBinStructNotype
func compositeBinStructNotype(n unsafe.Pointer)

// convertLiteralValue makes a literal one of a type.
//
//go:linkname convertLiteralValue github.com/traefik/yaegi/interp.convertLiteralValue
func convertLiteralValue(n unsafe.Pointer, t reflect.Type)

// genFuncValue returns how a function is read from a frame.
//
//go:linkname genFuncValue github.com/traefik/yaegi/interp.genFuncValue
func genFuncValue(n unsafe.Pointer) func(frame unsafe.Pointer) reflect.Value

// genFunctionWrapper returns how a function is made a value of package reflect.
//
//go:linkname genFunctionWrapper github.com/traefik/yaegi/interp.genFunctionWrapper
func genFunctionWrapper(n unsafe.Pointer) func(frame unsafe.Pointer) reflect.Value

// genInterfaceWrapper returns how a value is made one of an interface type.
//
//go:linkname genInterfaceWrapper github.com/traefik/yaegi/interp.genInterfaceWrapper
func genInterfaceWrapper(n unsafe.Pointer, t reflect.Type) func(frame unsafe.Pointer) reflect.Value

// genValue returns how the interpreter reads a node's value from a frame.
//
//go:linkname genValue github.com/traefik/yaegi/interp.genValue
func genValue(n unsafe.Pointer) func(frame unsafe.Pointer) reflect.Value

// getExec returns the step of a node, which it makes where there is none yet.
//
//go:linkname getExec github.com/traefik/yaegi/interp.getExec
func getExec(n unsafe.Pointer) step

// getFrame returns the frame so many levels above.
//
//go:linkname getFrame github.com/traefik/yaegi/interp.getFrame
func getFrame(f unsafe.Pointer, level int) *runFrame

// getFunc makes the step that makes a function of a literal.
//
//go:linkname getFunc github.com/traefik/yaegi/interp.getFunc
func getFunc(n unsafe.Pointer)

// getIndexSeq, getIndexSeqField and getPtrIndexSeq make the steps of selectors
// of fields.
//
//go:linkname getIndexSeq github.com/traefik/yaegi/interp.getIndexSeq
func getIndexSeq(n unsafe.Pointer)

//go:linkname getIndexSeqField github.com/traefik/yaegi/interp.getIndexSeqField
func getIndexSeqField(n unsafe.Pointer)

//go:linkname getPtrIndexSeq github.com/traefik/yaegi/interp.getPtrIndexSeq
func getPtrIndexSeq(n unsafe.Pointer)

// isFuncSrc reports whether a type of the interpreter is a function's.
//
//go:linkname isFuncSrc github.com/traefik/yaegi/interp.isFuncSrc
func isFuncSrc(t unsafe.Pointer) bool

// loopVarKey and loopVarVal make the steps that give each round of a range loop
// variables of its own.
//
//go:linkname loopVarKey github.com/traefik/yaegi/interp.loopVarKey
func loopVarKey(n unsafe.Pointer)

//go:linkname loopVarVal github.com/traefik/yaegi/interp.loopVarVal
func loopVarVal(n unsafe.Pointer)

// panicFunc returns the name of the function that a scope is in, as the
// interpreter notes it when a panic leaves the function.
//
//go:linkname panicFunc github.com/traefik/yaegi/interp.panicFunc
func panicFunc(scope unsafe.Pointer) string

// runCfg runs the body of a function, which starts at a node, in a frame.
//
//go:linkname runCfg github.com/traefik/yaegi/interp.runCfg
func runCfg(start unsafe.Pointer, f *runFrame, function, call unsafe.Pointer)

// typeOfItype returns the type of package reflect that a type of the
// interpreter stands for.
//
//go:linkname typeOfItype github.com/traefik/yaegi/interp.(*itype).TypeOf
func typeOfItype(t unsafe.Pointer) reflect.Type

// valueInterfaceType is the type in which the interpreter keeps a value with its
// node.
//
//go:linkname valueInterfaceType github.com/traefik/yaegi/interp.valueInterfaceType
var valueInterfaceType reflect.Type

// ConvertAssign is what sql.Rows scans with.
//
//go:linkname ConvertAssign database/sql.convertAssign
func ConvertAssign(dest, src any) error

// findObject returns the block that an address is in.
//
//go:linkname findObject runtime.findObject
func findObject(p, refBase, refOff uintptr) (base uintptr, span unsafe.Pointer, index uintptr)

// methodFlag is the flag of a reflect.Value that is a method value, by which
// ofCell tells what a deferred call may recover.
const methodFlag = 1 << 9

// reached holds the types that the tables name, by their names. Whatever reads
// a private field follows from it, so that no field is read before the check.
var reached = func() map[string]reflect.Type {
	goFields, yaegiFields := split(fields, func(f field) bool { return strings.HasPrefix(f.of, "interp.") })
	goFunctions, yaegiFunctions := split(functions, func(f linked) bool { return strings.HasPrefix(f.name, yaegi) })
	_, err := reach(structs, goFields, goFunctions)
	if err = errors.Join(err, checkWords(methodFlag, kindBits, stack)); err != nil {
		buildinfo.Refuse(err)
	}
	known, err := reach(structs, yaegiFields, yaegiFunctions)
	if err != nil {
		panic(fmt.Sprintf("gocell: this program was built with %s %s, and package vm is not written for it:\n%v", yaegi, version(), err))
	}
	return known
}()

// split returns the elements of a list that are not yaegi's, and those that are.
func split[E any](list []E, isYaegi func(E) bool) (rest, yaegis []E) {
	for _, e := range list {
		if isYaegi(e) {
			yaegis = append(yaegis, e)
		} else {
			rest = append(rest, e)
		}
	}
	return rest, yaegis
}

// checkWords compares flags of a reflect.Value, what a closure begins with, and
// what stack returns with what they are taken for.
func checkWords(methodFlag, kindBits uintptr, stack func() (used, id uintptr)) error {
	method := reflect.ValueOf(&sync.Mutex{}).Method(0)
	function := reflect.ValueOf(func() {})
	m, f := rtype.RawOf(&method), rtype.RawOf(&function)
	switch {
	case m.Flag&methodFlag == 0 || f.Flag&methodFlag != 0:
		return fmt.Errorf("the flag of a reflect.Value that is a method is not %#x", methodFlag)
	case reflect.Kind(f.Flag&kindBits) != reflect.Func:
		return fmt.Errorf("the kind of a reflect.Value is not in its flags %#x", kindBits)
	case *(*uintptr)(f.Pointer) != function.Pointer():
		return errors.New("a closure does not begin with its code")
	}
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
func reach(structs []reflect.Type, fields []field, functions []linked) (known map[string]reflect.Type, err error) {
	known = map[string]reflect.Type{}
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
	if f := known["interp.frame"]; f != nil {
		errs = append(errs, sameLayout(f, reflect.TypeFor[runFrame]()))
	}
	for _, f := range functions {
		if name := functionName(f.f); name != f.name {
			errs = append(errs, fmt.Errorf("\tthere is no function %s", f.name))
		}
	}
	return known, errors.Join(errs...)
}

// sameLayout returns an error where two structs differ in the names, the places
// or the sizes of their fields.
func sameLayout(theirs, ours reflect.Type) error {
	if theirs.NumField() != ours.NumField() {
		return fmt.Errorf("\t%s has %d fields, not %d", typeName(theirs), theirs.NumField(), ours.NumField())
	}
	for i := range ours.NumField() {
		a, b := theirs.Field(i), ours.Field(i)
		if a.Name != b.Name || a.Offset != b.Offset || a.Type.Size() != b.Type.Size() {
			return fmt.Errorf("\tfield %d of %s is %s at %d, not %s at %d", i, typeName(theirs), a.Name, a.Offset, b.Name, b.Offset)
		}
	}
	return nil
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

// version returns the version of yaegi that the program was built with.
func version() string {
	b, ok := debug.ReadBuildInfo()
	if !ok {
		return "of an unknown version"
	}
	i := slices.IndexFunc(b.Deps, func(d *debug.Module) bool { return strings.HasPrefix(d.Path, yaegi) })
	if i < 0 {
		return "of an unknown version"
	}
	if d := b.Deps[i]; d.Replace != nil {
		return d.Replace.Version
	}
	return b.Deps[i].Version
}

// codeOf returns the address of a function's code.
func codeOf(f any) uintptr { return reflect.ValueOf(f).Pointer() }

// at returns a pointer to a field at an offset.
func at[T any](p unsafe.Pointer, offset uintptr) *T { return (*T)(unsafe.Add(p, offset)) }
