package vm

import (
	"fmt"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"unsafe"
)

// step is the interpreter's unit of execution: it runs a node on a frame and
// returns what follows.
type step func(frame unsafe.Pointer) step

// runFrame is a frame of the interpreter.
type runFrame struct {
	id        uint64
	debug     unsafe.Pointer // *calls; the interpreter's debugger, which we do not use, has something else
	root, anc *runFrame
	data      []reflect.Value
	mutex     sync.RWMutex
	deferred  [][]reflect.Value
	recovered any
	done      reflect.SelectCase
}

// node is a node of the interpreter's tree.
type node struct{ p unsafe.Pointer }

// Types of the interpreter.
var (
	nodeType    = reached["interp.node"]
	nodePointer = reflect.PointerTo(nodeType)
	kindType    = reached["interp.nkind"]
	actionType  = reached["interp.action"]
	itypeType   = reached["interp.itype"]
	catType     = reached["interp.tcat"]

	// The names of these types' constants.
	kindNames, actionNames, catNames = namesOf(kindType), namesOf(actionType), namesOf(catType)
)

func (n node) children() []node      { return *at[[]node](n.p, layout.node.child) }
func (n node) parent() node          { return *at[node](n.p, layout.node.anc) }
func (n node) pos() token.Pos        { return *at[token.Pos](n.p, layout.node.pos) }
func (n node) ident() string         { return *at[string](n.p, layout.node.ident) }
func (n node) start() node           { return *at[node](n.p, layout.node.start) }
func (n node) tnext() node           { return *at[node](n.p, layout.node.tnext) }
func (n node) fnext() node           { return *at[node](n.p, layout.node.fnext) }
func (n node) scope() unsafe.Pointer { return *at[unsafe.Pointer](n.p, layout.node.scope) }
func (n node) sym() unsafe.Pointer   { return *at[unsafe.Pointer](n.p, layout.node.sym) }
func (n node) nright() int           { return *at[int](n.p, layout.node.nright) }
func (n node) val() any              { return *at[any](n.p, layout.node.val) }
func (n node) recv() unsafe.Pointer  { return *at[unsafe.Pointer](n.p, layout.node.recv) }
func (n node) rval() reflect.Value   { return *at[reflect.Value](n.p, layout.node.rval) }
func (n node) types() []reflect.Type { return *at[[]reflect.Type](n.p, layout.node.types) }
func (n node) meta() *any            { return at[any](n.p, layout.node.meta) }
func (n node) redeclared() bool      { return *at[bool](n.p, layout.node.redeclared) }
func (n node) level() int            { return *at[int](n.p, layout.node.level) }
func (n node) findex() int           { return *at[int](n.p, layout.node.findex) }
func (n node) exec() *step           { return at[step](n.p, layout.node.exec) }
func (n node) typ() itype            { return *at[itype](n.p, layout.node.typ) }

func (n node) gen() *func(unsafe.Pointer) { return at[func(unsafe.Pointer)](n.p, layout.node.gen) }

func (n node) kind() string   { return kindNames[*at[uint](n.p, layout.node.kind)] }
func (n node) action() string { return actionNames[*at[uint](n.p, layout.node.action)] }

// namesOf returns the names of the interpreter's constants of a type, by their
// values, from 0 on.
func namesOf(typ reflect.Type) (names []string) {
	for v := reflect.New(typ).Elem(); ; v.SetUint(v.Uint() + 1) {
		name := v.Interface().(fmt.Stringer).String()
		if strings.HasSuffix(name, "("+strconv.FormatUint(v.Uint(), 10)+")") { // there is no such constant
			return names
		}
		names = append(names, name)
	}
}

// itype is a type of the interpreter's.
type itype struct{ p unsafe.Pointer }

func (t itype) val() itype          { return *at[itype](t.p, layout.itype.val) }
func (t itype) rtype() reflect.Type { return *at[reflect.Type](t.p, layout.itype.rtype) }
func (t itype) params() []itype     { return *at[[]itype](t.p, layout.itype.arg) }
func (t itype) results() []itype    { return *at[[]itype](t.p, layout.itype.ret) }
func (t itype) methods() []node     { return *at[[]node](t.p, layout.itype.method) }
func (t itype) untyped() bool       { return *at[bool](t.p, layout.itype.untyped) }
func (t itype) cat() string         { return catNames[*at[uint](t.p, layout.itype.cat)] }

// reflected returns the type of package reflect.
func (t itype) reflected() reflect.Type { return typeOfItype(t.p) }

func (t itype) emptyInterface() bool {
	return t.cat() == "interfaceT" && len(*at[[]struct{}](t.p, layout.itype.field)) == 0
}

// newNode returns a copy of a node.
func newNode(n node) node {
	c := reflect.New(nodeType)
	c.Elem().Set(reflect.NewAt(nodeType, n.p).Elem())
	return node{c.UnsafePointer()}
}
