package vm

import (
	"reflect"
	"slices"
	"sync"
	"unsafe"
)

// Two goroutines that use one map at the same time, one of them to write, end a
// Go process with a fatal error that nothing can recover, and a session would be
// lost. So each step of a cell that reads or writes a map holds a lock for it, and
// so do the calls of libraries that are known to use the maps of their arguments
// (WithMaps).

// stripes are the locks of all maps: a map's is chosen by its address.
var stripes [256]sync.RWMutex

// stripeOf returns the index of a map's lock, -1 for what is no map.
func stripeOf(m reflect.Value) int {
	if m.Kind() != reflect.Map {
		return -1
	}
	return stripeAt(m.Pointer())
}

func stripeAt(p uintptr) int { return int((p>>5 ^ p>>13) % uintptr(len(stripes))) }

// LockMap locks the map at an address for reading or writing, unless this goroutine
// does so already, and returns what UnlockMap wants.
func LockMap(m unsafe.Pointer, write bool) int {
	i := stripeAt(uintptr(m))
	if write && lock(i) || !write && rlock(i) {
		return i
	}
	return -1
}

// UnlockMap undoes LockMap.
func UnlockMap(i int, write bool) {
	switch {
	case i < 0:
	case write:
		stripes[i].Unlock()
	default:
		stripes[i].RUnlock()
	}
}

// isMap reports whether a node stands for a map.
func isMap(n node) bool {
	t := n.typ()
	return t.p != nil && (t.cat() == "mapT" || t.rtype() != nil && t.rtype().Kind() == reflect.Map)
}

// lockMaps makes a step hold the locks of the maps that its node reads or writes;
// the steps of other nodes are returned as they are.
func lockMaps(n node, run step) step {
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

// lookupStep returns the step of the right side of v, ok = m[k]. The
// interpreter's own does not set v where the map does not have the key.
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

// reading returns a step that holds a map's lock for reading.
func reading(m node, run step) step {
	value := genValue(m.p)
	return func(f unsafe.Pointer) step {
		if i := stripeOf(value(f)); i >= 0 && rlock(i) {
			defer stripes[i].RUnlock()
		}
		return run(f)
	}
}

// writing returns a step that holds the locks of maps for writing.
func writing(maps []node, run step) step {
	if len(maps) == 1 {
		value := genValue(maps[0].p)
		return func(f unsafe.Pointer) step {
			if i := stripeOf(value(f)); i >= 0 && lock(i) {
				defer stripes[i].Unlock()
			}
			return run(f)
		}
	}
	values := make([]func(unsafe.Pointer) reflect.Value, len(maps))
	for i, m := range maps {
		values[i] = genValue(m.p)
	}
	return func(f unsafe.Pointer) step {
		// In order, each once: two steps cannot wait for each other.
		var all []int
		for _, v := range values {
			if i := stripeOf(v(f)); i >= 0 {
				all = append(all, i)
			}
		}
		slices.Sort(all)
		for _, i := range slices.Compact(all) {
			if lock(i) {
				defer stripes[i].Unlock()
			}
		}
		return run(f)
	}
}

// clearIn is the predeclared function clear.
func clearIn(x any) {
	v := reflect.ValueOf(x)
	if i := stripeOf(v); i >= 0 && lock(i) {
		defer stripes[i].Unlock()
	}
	v.Clear()
}
