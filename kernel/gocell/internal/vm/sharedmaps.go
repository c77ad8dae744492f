package vm

import (
	"math/bits"
	"reflect"
	"sync"
)

// A set of stripes, by their indices.
type stripeSet [len(stripes) / 64]uint64

func (s *stripeSet) add(i int)      { s[i/64] |= 1 << (i % 64) }
func (s *stripeSet) has(i int) bool { return s[i/64]&(1<<(i%64)) != 0 }
func (s *stripeSet) addAll() {
	for i := range s {
		s[i] = ^uint64(0)
	}
}

// each calls f for the indices in the set, in order.
func (s *stripeSet) each(f func(i int)) {
	for w, set := range s {
		for ; set != 0; set &= set - 1 {
			f(64*w + bits.TrailingZeros64(set))
		}
	}
}

// holding holds the stripes that goroutines hold while they are in a call of a
// library (WithMaps): code of a cell that the library calls does not wait for
// them.
var holding sync.Map // uintptr, the goroutine -> *heldStripes

// heldStripes are stripes that a goroutine holds for reading, or for writing.
type heldStripes struct {
	stripeSet
	write bool
}

func (h *heldStripes) lock() {
	h.each(func(i int) {
		if h.write {
			stripes[i].Lock()
		} else {
			stripes[i].RLock()
		}
	})
}

func (h *heldStripes) unlock() {
	h.each(func(i int) {
		if h.write {
			stripes[i].Unlock()
		} else {
			stripes[i].RUnlock()
		}
	})
}

// held reports whether this goroutine holds a stripe.
func held(i int) bool {
	h, ok := holding.Load(currentG())
	return ok && h.(*heldStripes).has(i)
}

// rlock locks a stripe for reading. It reports false if the goroutine holds it
// already: then it is not to be unlocked.
func rlock(i int) bool {
	if !stripes[i].TryRLock() {
		if held(i) {
			return false
		}
		stripes[i].RLock()
	}
	return true
}

// lock is rlock for writing.
func lock(i int) bool {
	if !stripes[i].TryLock() {
		if held(i) {
			return false
		}
		stripes[i].Lock()
	}
	return true
}

// WithMaps calls f while it holds the locks of the maps that the given values
// consist of. f may call a cell, but must not wait for another goroutine, other
// than in WithoutMaps.
func WithMaps(write bool, f func(), values ...any) {
	h := &heldStripes{write: write}
	w := mapWalk{set: &h.stripeSet, left: mostWalked}
	for _, v := range values {
		if v != nil && MayHoldMaps(reflect.TypeOf(v)) {
			w.visit(reflect.ValueOf(v))
		}
	}
	if h.stripeSet == (stripeSet{}) {
		f()
		return
	}
	g := currentG()
	if _, nested := holding.Load(g); nested {
		f() // to wait for more locks out of order could be for ever
		return
	}
	h.lock()
	holding.Store(g, h)
	defer func() {
		holding.Delete(g)
		h.unlock()
	}()
	f()
}

// WithoutMaps calls f, which may wait for other goroutines, without the locks that
// WithMaps holds for this one. No loop over one of the maps may be under way.
func WithoutMaps(f func()) {
	g := currentG()
	x, ok := holding.LoadAndDelete(g)
	if !ok {
		f()
		return
	}
	h := x.(*heldStripes)
	h.unlock()
	defer func() {
		h.lock()
		holding.Store(g, h)
	}()
	f()
}

// mostWalked is how many values are looked at for the maps in them. Where there
// are more, all locks are taken.
const mostWalked = 1000

// A mapWalk collects the stripes of the maps that a value consists of.
type mapWalk struct {
	set  *stripeSet
	left int
}

func (w *mapWalk) visit(v reflect.Value) {
	if w.left--; w.left < 0 {
		w.set.addAll()
		return
	}
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		if e := v.Elem(); e.IsValid() && MayHoldMaps(e.Type()) {
			w.visit(e)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); MayHoldMaps(f.Type()) {
				w.visit(f)
			}
		}
	case reflect.Slice, reflect.Array:
		for i := 0; i < v.Len() && w.left >= 0; i++ {
			w.visit(v.Index(i))
		}
	case reflect.Map:
		w.visitMap(v)
	}
}

func (w *mapWalk) visitMap(m reflect.Value) {
	if m.IsNil() {
		return
	}
	i := stripeOf(m)
	w.set.add(i)
	if !MayHoldMaps(m.Type().Elem()) {
		return
	}
	var elems []reflect.Value
	func() {
		if rlock(i) {
			defer stripes[i].RUnlock()
		}
		for it := m.MapRange(); it.Next() && len(elems) <= w.left; {
			elems = append(elems, it.Value())
		}
	}()
	for _, e := range elems {
		w.visit(e)
	}
}

// mapTypes caches the results of MayHoldMaps. It is bounded by the number of
// types.
var mapTypes sync.Map // reflect.Type -> bool

// MayHoldMaps reports whether a value of a type may consist of maps: be one, or
// hold or point to one.
func MayHoldMaps(t reflect.Type) bool {
	if b, ok := mapTypes.Load(t); ok {
		return b.(bool)
	}
	b := holdsMaps(t, map[reflect.Type]bool{})
	mapTypes.Store(t, b)
	return b
}

func holdsMaps(t reflect.Type, seen map[reflect.Type]bool) bool {
	if seen[t] {
		return false
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Map, reflect.Interface:
		return true
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return holdsMaps(t.Elem(), seen)
	case reflect.Struct:
		for f := range t.Fields() {
			if holdsMaps(f.Type, seen) {
				return true
			}
		}
	}
	return false
}
