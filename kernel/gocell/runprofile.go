package gocell

import (
	"go/token"
	"slices"
	"sync/atomic"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/internal/vm"
)

// sample has the functions of cells look at a profile's clock, until the function that
// it returns is called.
func (s *Session) sample(sampler *vm.Sampler) (end func()) {
	r := s.runner
	var over atomic.Bool
	take := func(f *code.Frame) {
		if over.Load() { // a function literal outlives the profile
			return
		}
		x, ok := f.G.Sampled.(*vm.Sampled)
		if !ok {
			x = new(vm.Sampled) // of a goroutine that a library has started
			f.G.Sampled = x
		}
		sampler.Take(x, slices.Concat(x.Parent, r.places(s, f)))
	}
	begins := func(f *code.Frame) func(g *code.G) {
		var parent []vm.Place
		if f != nil {
			if x, ok := f.G.Sampled.(*vm.Sampled); ok {
				parent = x.Parent
			}
			parent = slices.Concat(parent, r.places(s, f))
		}
		return func(g *code.G) { g.Sampled = sampler.Begin(f == nil, parent) }
	}
	sample := func(take func(f *code.Frame)) {
		if err := r.compiler.SampleBy(take); err != nil {
			panic("gocell: internal: a function cannot be compiled again: " + err.Error())
		}
	}
	r.machine.Begins.Store(&begins)
	sample(take)
	return func() {
		over.Store(true)
		r.machine.Begins.Store(nil)
		sample(nil)
	}
}

// mostPlaces bounds the stack of a sample: of a deep recursion the innermost calls are
// left out.
const mostPlaces = 200

// places returns the lines that run in a frame and those that have led there, the
// outermost first.
func (r *runner) places(s *Session, f *code.Frame) (list []vm.Place) {
	for ; f != nil; f = f.Caller {
		p := s.machine.Files().Position(token.Pos(f.Pos))
		if !p.IsValid() || p.Filename == cell.FileName(0) {
			continue
		}
		list = append(list, vm.Place{Function: shownFunction(f.Fn), File: p.Filename, Line: p.Line, Callee: r.compiler.Callee(token.Pos(f.Pos))})
	}
	slices.Reverse(list)
	return list[:min(len(list), mostPlaces)]
}
