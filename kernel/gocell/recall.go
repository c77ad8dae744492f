package gocell

import (
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
)

// mostResults is how many results of cells are kept for _ and Out: the latest.
const mostResults = 100

// A result is the value that a cell has shown, and its type.
type result struct {
	number int
	typ    types.Type
	value  any
}

// results holds what cells have shown.
type results struct {
	mu   sync.Mutex // guards list
	list []result   // the oldest first
	// made holds the names of variables that stand for results and texts of cells. It
	// is guarded by known.mu.
	made map[string]bool
}

// note keeps the values of a cell's last expression. Several values are one, a []any.
func (r *results) note(src *check.Source, values []any) {
	list := src.Results
	if len(values) < len(list) {
		list = list[:len(values)] // without an error that is nil
	}
	if src.Number <= 0 || len(values) == 0 || len(list) == 0 {
		return
	}
	now := result{src.Number, list[0], values[0]}
	if len(list) > 1 {
		now.typ, now.value = types.NewSlice(types.Universe.Lookup("any").Type()), values
	}
	if b, ok := now.typ.(*types.Basic); ok && b.Kind() == types.UntypedNil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = slices.DeleteFunc(r.list, func(old result) bool { return old.number == now.number })
	r.list = append(r.list, now)
	r.list = slices.Delete(r.list, 0, max(0, len(r.list)-mostResults))
}

// clear forgets all results.
func (r *results) clear() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list, r.made = nil, nil
}

// forget gives up the values.
func (r *results) forget() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = nil
}

// find returns the first result, from the latest, for which is returns true.
func (r *results) find(is func(back int, x result) bool) (result, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.list {
		if x := r.list[len(r.list)-1-i]; is(i, x) {
			return x, true
		}
	}
	return result{}, false
}

// recalling makes variables of results.
type recalling struct{ s *Session }

func (r recalling) Last(n int, at token.Pos) *types.Var {
	x, ok := r.s.results.find(func(back int, _ result) bool { return back == n })
	return r.result(x, ok, at)
}

func (r recalling) Out(number int, at token.Pos) *types.Var {
	x, ok := r.s.results.find(func(_ int, x result) bool { return x.number == number })
	return r.result(x, ok, at)
}

func (r recalling) In(at token.Pos) *types.Var {
	return r.variable("In", types.NewMap(types.Typ[types.Int], types.Typ[types.String]), at)
}

func (r recalling) Outs(at token.Pos) *types.Var {
	return r.variable("Out", types.NewMap(types.Typ[types.Int], types.Universe.Lookup("any").Type()), at)
}

func (r recalling) result(x result, ok bool, at token.Pos) *types.Var {
	if !ok {
		return nil
	}
	return r.variable("_"+strconv.Itoa(x.number), x.typ, at)
}

// variable returns the session's variable of a name, or a new one.
func (r recalling) variable(name string, t types.Type, at token.Pos) *types.Var {
	r.s.mu.Lock()
	defer r.s.mu.Unlock()
	if e := r.s.prog.Names[name]; e != nil {
		v, _ := e.Object.(*types.Var)
		return v
	}
	if r.s.results.made == nil {
		r.s.results.made = map[string]bool{}
	}
	r.s.results.made[name] = true
	return types.NewVar(at, r.s.prog.Package, name, t)
}

// declaredByCells reports whether a cell has declared a name, so that it does not stand
// for results.
func (s *Session) declaredByCells(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prog.Names[name] != nil && !s.results.made[name]
}

// recall gives variables that stand for results their values, as the cell's own code
// begins.
func (s *Session) recall(vars []*types.Var) {
	for _, v := range vars {
		place, ok := s.machine.Global(cell.Mangle(v.Name()))
		if !ok || !place.CanSet() {
			continue
		}
		var value any
		switch number, err := strconv.Atoi(v.Name()[1:]); {
		case v.Name() == "In":
			value = s.inputs()
		case v.Name() == "Out":
			value = s.results.all()
		case err == nil:
			x, _ := s.results.find(func(_ int, x result) bool { return x.number == number })
			value = x.value
		}
		if x := reflect.ValueOf(value); x.IsValid() && x.Type().AssignableTo(place.Type()) {
			place.Set(x)
		}
	}
}

// inputs returns the texts of the cells by their numbers.
func (k *known) inputs() map[int]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	texts := maps.Clone(k.texts)
	maps.DeleteFunc(texts, func(number int, _ string) bool { return number <= 0 })
	return texts
}

// all returns the results by the numbers of their cells.
func (r *results) all() map[int]any {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := map[int]any{}
	for _, x := range r.list {
		all[x.number] = x.value
	}
	return all
}
