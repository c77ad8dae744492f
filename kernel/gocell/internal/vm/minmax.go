package vm

import (
	"cmp"
	"reflect"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// minMax holds the predeclared functions min and max of two arguments, for each
// basic type that is ordered.
var minMax = func() map[string]reflect.Value {
	all := map[string]reflect.Value{}
	ofType[int](all)
	ofType[int8](all)
	ofType[int16](all)
	ofType[int32](all)
	ofType[int64](all)
	ofType[uint](all)
	ofType[uint8](all)
	ofType[uint16](all)
	ofType[uint32](all)
	ofType[uint64](all)
	ofType[uintptr](all)
	ofType[float32](all)
	ofType[float64](all)
	ofType[string](all)
	return all
}()

func ofType[T cmp.Ordered](all map[string]reflect.Value) {
	name := reflect.TypeFor[T]().Name()
	all["Min_"+name] = reflect.ValueOf(func(x, y T) T { return min(x, y) })
	all["Max_"+name] = reflect.ValueOf(func(x, y T) T { return max(x, y) })
}

// extreme returns Min or Max for a node that selects one of these functions, ""
// for other nodes.
func extreme(callee node) string {
	name, _, ok := strings.Cut(runtimeName(callee), "_")
	if !ok {
		return ""
	}
	return name
}

// runtimeName returns the name of the function of Machine.Runtime that a node
// selects, "" for other nodes.
func runtimeName(n node) string {
	if n.kind() != "selectorExpr" || n.action() != "." {
		return ""
	}
	c := n.children()
	if len(c) != 2 || c[0].ident() != cell.Runtime {
		return ""
	}
	return c[1].ident()
}
