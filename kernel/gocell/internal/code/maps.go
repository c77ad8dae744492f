package code

import (
	"reflect"
	"sync/atomic"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// Maps are Go's own. Those with keys of usual kinds are used as the map type
// of the same layout that the compiler knows, the rest by the run time's
// functions.
//
// Two goroutines that use one map at the same time, one of them to write, would end
// the process. Where several run cells, each step that uses a map locks it.

// shared reports whether a step has to lock the maps that it uses.
func (f *Frame) shared() bool { return f.G.M.others.Load() > 0 && f.G.M.Lock != nil }

// Others returns the counter of goroutines that run cells beside the first.
func (m *Machine) Others() *atomic.Int32 { return &m.others }

// lock locks a map until the function that it returns is called.
func (f *Frame) lock(m unsafe.Pointer, write bool) func() {
	l := f.G.M.Lock(m, write)
	return func() { f.G.M.Unlock(l, write) }
}

// MapGet returns an element, of a kind, of a map whose keys are I64, I32 or Str; it is
// false for other keys, and for kinds that few maps have.
func MapGet(k Kind, m, key Val, okAt int32) (Val, bool) {
	switch k {
	case Bool:
		return mapGet[uint8](k, m, key, okAt)
	case I64:
		return mapGet[int64](k, m, key, okAt)
	case F64:
		return mapGet[float64](k, m, key, okAt)
	case Str:
		return mapGet[string](k, m, key, okAt)
	case Ptr:
		return mapGet[unsafe.Pointer](k, m, key, okAt)
	case Slc:
		return mapGet[Slice](k, m, key, okAt)
	case Ifc:
		return mapGet[Iface](k, m, key, okAt)
	}
	return Val{}, false
}

func mapGet[T any](k Kind, m, key Val, okAt int32) (Val, bool) {
	switch key.K {
	case I64:
		return getFrom[int64, T](k, m, key, okAt), true
	case I32:
		return getFrom[int32, T](k, m, key, okAt), true
	case Str:
		return getFrom[string, T](k, m, key, okAt), true
	}
	return Val{}, false
}

func getFrom[K comparable, T any](k Kind, m, key Val, okAt int32) Val {
	e, x := as[unsafe.Pointer](m.E), as[K](key.E)
	v := func(f *Frame) T {
		m := e(f)
		k := x(f)
		if f.shared() { // nothing panics here
			l := f.G.M.Lock(m, false)
			v := (*(*map[K]T)(unsafe.Pointer(&m)))[k]
			f.G.M.Unlock(l, false)
			return v
		}
		return (*(*map[K]T)(unsafe.Pointer(&m)))[k]
	}
	if okAt != 0 {
		v = func(f *Frame) T {
			m := e(f)
			k := x(f)
			l, shared := 0, f.shared()
			if shared {
				l = f.G.M.Lock(m, false)
			}
			v, ok := (*(*map[K]T)(unsafe.Pointer(&m)))[k]
			if shared {
				f.G.M.Unlock(l, false)
			}
			*(*bool)(at(f, okAt)) = ok
			return v
		}
	}
	return Val{K: k, E: *(*unsafe.Pointer)(unsafe.Pointer(&v))}
}

// MapSet sets an element of such a map.
func MapSet(m, key, v Val) (Do, bool) {
	switch v.K {
	case Bool:
		return mapSet[uint8](m, key, v)
	case I64:
		return mapSet[int64](m, key, v)
	case F64:
		return mapSet[float64](m, key, v)
	case Str:
		return mapSet[string](m, key, v)
	case Ptr:
		return mapSet[unsafe.Pointer](m, key, v)
	case Slc:
		return mapSet[Slice](m, key, v)
	case Ifc:
		return mapSet[Iface](m, key, v)
	}
	return nil, false
}

func mapSet[T any](m, key, v Val) (Do, bool) {
	switch key.K {
	case I64:
		return setIn[int64, T](m, key, v), true
	case I32:
		return setIn[int32, T](m, key, v), true
	case Str:
		return setIn[string, T](m, key, v), true
	}
	return nil, false
}

func setIn[K comparable, T any](m, key, v Val) Do {
	e, x, y := as[unsafe.Pointer](m.E), as[K](key.E), as[T](v.E)
	return func(f *Frame) Ctl {
		m := e(f)
		k := x(f)
		v := y(f)
		if m != nil && f.shared() { // a nil map panics
			l := f.G.M.Lock(m, true)
			(*(*map[K]T)(unsafe.Pointer(&m)))[k] = v
			f.G.M.Unlock(l, true)
			return Next
		}
		(*(*map[K]T)(unsafe.Pointer(&m)))[k] = v
		return Next
	}
}

// A MapType is what the operations of a map need of its type.
type MapType struct {
	t, elem unsafe.Pointer
	zero    unsafe.Pointer // a zero element
	name    string
	each    int // bytes of a key and an element
}

// MapTypeOf returns that of a map type.
func MapTypeOf(t reflect.Type) *MapType {
	return &MapType{rtype.Descriptor(t), rtype.Descriptor(t.Elem()), rtype.New(rtype.Descriptor(t.Elem())), t.String(), int(t.Key().Size() + t.Elem().Size() + 1)}
}

// At returns where an element lies that is only read: a zero element if there
// is none. The key is computed into spare; an element of a map that goroutines share
// is copied into other. Where okAt is not 0 it says whether there is one.
func (t *MapType) At(m Val, key Into, spare, other, okAt int32) Ex[unsafe.Pointer] {
	e := as[unsafe.Pointer](m.E)
	return func(f *Frame) unsafe.Pointer {
		m := e(f)
		k := at(f, spare)
		key(f, k)
		var p unsafe.Pointer
		if f.shared() {
			p = t.copied(f, m, k, at(f, other))
		} else {
			p = rtype.MapGet(t.t, m, k)
		}
		if okAt != 0 {
			*(*bool)(at(f, okAt)) = p != nil
		}
		if p == nil {
			return t.zero
		}
		return p
	}
}

// Hashes panics as an assignment does where a key cannot be hashed. To read an element
// of an empty map panics in other words.
func (t *MapType) Hashes(m Val, key Into, spare int32) Do {
	e := as[unsafe.Pointer](m.E)
	return func(f *Frame) Ctl {
		if m := e(f); m != nil && len(*(*map[int]int)(unsafe.Pointer(&m))) == 0 {
			k := at(f, spare)
			key(f, k)
			rtype.MapSet(t.t, rtype.MakeMap(t.t, 0), k, t.zero)
		}
		return Next
	}
}

// copied returns an element as it is now.
func (t *MapType) copied(f *Frame, m, key, to unsafe.Pointer) unsafe.Pointer {
	defer f.lock(m, false)()
	p := rtype.MapGet(t.t, m, key)
	if p == nil {
		return nil
	}
	rtype.Move(t.elem, to, p)
	return to
}

// Set stores an element. Key and element are computed into spare parts of the
// frame.
func (t *MapType) Set(m Val, key, elem Into, spare, other int32) Do {
	e := as[unsafe.Pointer](m.E)
	return func(f *Frame) Ctl {
		m := e(f)
		k, v := at(f, spare), at(f, other)
		key(f, k)
		elem(f, v)
		if f.shared() {
			defer f.lock(m, true)()
		}
		rtype.MapSet(t.t, m, k, v)
		return Next
	}
}

// Delete is the built-in function delete.
func (t *MapType) Delete(m Val, key Into, spare int32) Do {
	e := as[unsafe.Pointer](m.E)
	return func(f *Frame) Ctl {
		m := e(f)
		k := at(f, spare)
		key(f, k)
		if f.shared() {
			defer f.lock(m, true)()
		}
		rtype.MapDelete(t.t, m, k)
		return Next
	}
}

// Clear is the built-in function clear for maps.
func (t *MapType) Clear(m Val) Do {
	e := as[unsafe.Pointer](m.E)
	return func(f *Frame) Ctl {
		if m := e(f); m != nil {
			if f.shared() {
				defer f.lock(m, true)()
			}
			rtype.MapClear(t.t, m)
		}
		return Next
	}
}

// Make is make for maps; the size may be the zero Val.
func (t *MapType) Make(n Val) Val {
	size := optional(n)
	return NewVal(Ptr, func(f *Frame) unsafe.Pointer {
		k := max(bound(f, size, 0), 0) // a hint
		if b := float64(k) * float64(t.each); b > maxAlloc {
			k = 0
		} else {
			f.G.makes(t.name, int64(k), b)
		}
		return rtype.MakeMap(t.t, k)
	})
}

// Literal is a map with keys and elements, each computed into spare parts of the
// frame.
func (t *MapType) Literal(keys, elems []Into, spare, other int32) Val {
	return NewVal(Ptr, func(f *Frame) unsafe.Pointer {
		m := rtype.MakeMap(t.t, len(keys))
		for i, key := range keys {
			k, v := at(f, spare), at(f, other)
			key(f, k)
			elems[i](f, v)
			rtype.MapSet(t.t, m, k, v)
		}
		return m
	})
}

// RangeMap runs the body for each key of a map: it stores key and element in
// the frame.
func RangeMap(t reflect.Type, m Val, key, elem int32, enter func(f *Frame), body Do, l Loop) Do {
	e := as[unsafe.Pointer](m.E)
	return func(f *Frame) Ctl {
		m := e(f)
		if m == nil {
			return Next
		}
		iter := reflect.NewAt(t, unsafe.Pointer(&m)).Elem().MapRange()
		k := reflect.NewAt(t.Key(), at(f, key)).Elem()
		v := reflect.NewAt(t.Elem(), at(f, elem)).Elem()
		next := func() bool {
			if f.shared() {
				defer f.lock(m, false)()
			}
			if !iter.Next() {
				return false
			}
			k.SetIterKey(iter)
			v.SetIterValue(iter)
			return true
		}
		for next() {
			if enter != nil {
				enter(f)
			}
			if k := body(f); k != Next {
				if k, over := l.ends(k); over {
					return k
				}
			}
			poll(f)
		}
		return Next
	}
}
