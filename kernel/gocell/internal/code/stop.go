package code

import (
	"reflect"
	"sync/atomic"
)

// StopAt runs a statement before which a debugger may stop: while the flag is not 0 it
// is told.
func StopAt(flag *uint32, pos int32, stop func(f *Frame), s Do) Do {
	return func(f *Frame) Ctl {
		if atomic.LoadUint32(flag) != 0 {
			f.Pos = pos
			stop(f)
		}
		return s(f)
	}
}

// Sampled runs a statement while a profile is taken: take is called where the clock has
// moved meanwhile, with Pos where the time went.
func Sampled(clock *atomic.Uint32, pos int32, take func(f *Frame), s Do) Do {
	return func(f *Frame) Ctl {
		if t := clock.Load(); t != f.G.tick { // since the last statement: in a condition
			f.G.tick = t
			take(f)
		}
		f.Pos = pos
		k := s(f)
		if t := clock.Load(); t != f.G.tick {
			f.G.tick = t
			take(f)
		}
		return k
	}
}

// begins returns what is called where a goroutine begins.
func (m *Machine) begins(f *Frame) func(g *G) {
	if begins := m.Begins.Load(); begins != nil {
		return (*begins)(f)
	}
	return func(*G) {}
}

// Place returns the variable at an offset of a frame, or behind the address there; with
// captured, of the variables around a function literal.
func (f *Frame) Place(t reflect.Type, off int32, boxed, captured bool) reflect.Value {
	p := at(f, off)
	if captured {
		p = add(f.Env, uintptr(off))
	}
	if boxed {
		if p = *(*Address)(p); p == nil {
			return reflect.Value{}
		}
	}
	return reflect.NewAt(t, p).Elem()
}
