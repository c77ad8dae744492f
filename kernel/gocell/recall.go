package gocell

import (
	"fmt"
	"go/token"
	"go/types"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/vm"
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
	// made holds the variables that stand for results and texts of cells, by their
	// names. It is guarded by known.mu.
	made map[string]types.Object
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

func (r recalling) OutOf(at token.Pos) *types.Var {
	if r.s.declaredByCells(outOf) {
		return nil
	}
	param := types.NewTuple(types.NewParam(at, nil, "", types.Typ[types.Int]))
	value := types.NewTuple(types.NewParam(at, nil, "", types.Universe.Lookup("any").Type()))
	return r.variable(outOf, types.NewSignatureType(nil, nil, nil, param, value, false), at)
}

// outOf is the name of the function that returns the result of a cell.
const outOf = "_Out"

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
		r.s.results.made = map[string]types.Object{}
	}
	v := types.NewVar(at, r.s.prog.Package, name, t)
	r.s.results.made[name] = v
	return v
}

// declaredByCells reports whether a cell has declared a name, so that it does not stand
// for results.
func (s *Session) declaredByCells(name string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.prog.Names[name]
	return e != nil && !s.results.has(name, e.Object)
}

// has reports whether an object of a name stands for results or texts of cells. (The
// type of a single result may have been declared anew, and with it the variable.)
func (r *results) has(name string, o types.Object) bool {
	v := r.made[name]
	return v != nil && (v == o || name[0] == '_')
}

// recall gives variables that stand for results their values, as the cell's own code
// begins.
func (s *Session) recall(vars []*types.Var) {
	for _, v := range vars {
		place, ok := s.global(v.Name())
		if !ok || !place.CanSet() {
			continue
		}
		var value any
		switch number, err := strconv.Atoi(v.Name()[1:]); {
		case v.Name() == "In":
			value = s.inputs()
		case v.Name() == "Out":
			value = s.results.all()
		case v.Name() == outOf:
			value = s.results.of
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

// of returns the result of a cell. Where there is none, the running cell fails.
func (r *results) of(number int) any {
	x, ok := r.find(func(_ int, x result) bool { return x.number == number })
	if !ok {
		vm.Must(r.lacks(number))
	}
	return x.value
}

// lacks returns the error that there is no result of a cell, with those that there are.
func (r *results) lacks(number int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.list) == 0 {
		return fmt.Errorf("there is no Out[%d]: no cell has shown a value yet", number)
	}
	var list []string
	for i, x := range r.list {
		if last := len(r.list) - 1; i < 3 || i > last-7 {
			list = append(list, strconv.Itoa(x.number))
		} else if i == 3 {
			list = append(list, "...")
		}
	}
	return fmt.Errorf("there is no Out[%d]: there are values of the cells %s", number, strings.Join(list, ", "))
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
