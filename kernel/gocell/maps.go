package gocell

import (
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// Two goroutines that use one map at a time, one of them to write, end a Go
// program with a fatal error that nothing can stop: a kernel would be gone
// with all that its session holds. So what cells do with maps takes turns.

// turns holds the locks of maps, by their addresses.
var turns [256]sync.RWMutex

func turnOf(m reflect.Value) int {
	if m.Kind() != reflect.Map {
		return -1
	}
	p := m.Pointer()
	return int((p>>5 ^ p>>13) % uintptr(len(turns)))
}

// isMap reports whether a node stands for a map.
func isMap(n node) bool {
	t := n.typ()
	return t.p != nil && (t.cat() == "mapT" || t.rtype() != nil && t.rtype().Kind() == reflect.Map)
}

// takeTurns makes a node that reads or writes a map wait for its turn; other
// nodes are left as they are.
func takeTurns(n node, run step) step {
	c := n.children()
	switch kind := n.kind(); {
	case kind == "indexExpr" && len(c) == 2 && isMap(c[0]):
		return reading(c[0], run)
	case kind == "rangeStmt" && len(c) >= 3 && isMap(c[len(c)-2]):
		next := reading(c[len(c)-2], run)
		// The loop is entered by way of its first child, which goes on to
		// the node as it was.
		if first := c[0].exec(); *first != nil {
			start := *first
			*first = func(f unsafe.Pointer) step {
				start(f)
				return next
			}
		}
		return next
	case kind == "callExpr" && len(c) == 2 && c[0].ident() == "len" && isMap(c[1]):
		return reading(c[1], run)
	case kind == "callExpr" && len(c) == 3 && c[0].ident() == "delete" && isMap(c[1]):
		return writing([]node{c[1]}, run)
	case kind == "assignStmt" || kind == "incDecStmt" || kind == "defineStmt":
		var maps []node
		for _, x := range c {
			if x.kind() == "indexExpr" && len(x.children()) == 2 && isMap(x.children()[0]) {
				maps = append(maps, x.children()[0])
			}
		}
		if len(maps) > 0 {
			return writing(maps, run)
		}
	}
	return run
}

// looksUp reports whether a node is the right side of v, ok = m[k].
func looksUp(n node) bool {
	if p := n.parent(); n.kind() == "indexExpr" && p.p != nil && (p.kind() == "assignXStmt" || p.kind() == "defineXStmt") {
		c := p.children()
		return len(c) > 2 && c[len(c)-1] == n
	}
	return false
}

// lookupStep runs such a node. The interpreter's own step leaves v as it was
// where the map does not have the key.
func lookupStep(n node) step {
	place := func(x node) func(unsafe.Pointer) reflect.Value {
		if x.ident() == "_" {
			return nil
		}
		return genValue(x.p)
	}
	left, c := n.parent().children(), n.children()
	value, has := place(left[0]), place(left[1])
	m, key := genValue(c[0].p), genValue(c[1].p)
	next := getExec(n.tnext().p)
	return func(f unsafe.Pointer) step {
		of := m(f)
		v := of.MapIndex(key(f))
		ok := v.IsValid()
		if value != nil {
			if !ok {
				v = reflect.Zero(of.Type().Elem())
			}
			value(f).Set(v)
		}
		if has != nil {
			has(f).SetBool(ok)
		}
		return next
	}
}

func reading(m node, run step) step {
	value := genValue(m.p)
	return func(f unsafe.Pointer) step {
		if i := turnOf(value(f)); i >= 0 {
			turns[i].RLock()
			defer turns[i].RUnlock()
		}
		return run(f)
	}
}

func writing(maps []node, run step) step {
	if len(maps) == 1 {
		value := genValue(maps[0].p)
		return func(f unsafe.Pointer) step {
			if i := turnOf(value(f)); i >= 0 {
				turns[i].Lock()
				defer turns[i].Unlock()
			}
			return run(f)
		}
	}
	values := make([]func(unsafe.Pointer) reflect.Value, len(maps))
	for i, m := range maps {
		values[i] = genValue(m.p)
	}
	return func(f unsafe.Pointer) step {
		// In order, each once: nobody waits in a circle.
		var all []int
		for _, v := range values {
			if i := turnOf(v(f)); i >= 0 {
				all = append(all, i)
			}
		}
		slices.Sort(all)
		for _, i := range slices.Compact(all) {
			turns[i].Lock()
			defer turns[i].Unlock()
		}
		return run(f)
	}
}

// clearIn is the builtin clear.
func clearIn(x any) {
	v := reflect.ValueOf(x)
	if i := turnOf(v); i >= 0 {
		turns[i].Lock()
		defer turns[i].Unlock()
	}
	v.Clear()
}
