package gocell

import (
	"cmp"
	"context"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
)

// The checker knows which cell declares and which reads what. After a cell has run, the
// cells that have read what it changed are stale, and those that have read what these
// compute.

const nothingStale = "No cell is stale.\n"

// staleCells holds the cells that have run, as they ran last.
type staleCells struct {
	mu    sync.Mutex          // guards the fields
	cells map[string]*ranCell // by the notebook's id, or by text where there is none
	runs  map[int]*changing
	next  int
}

// A ranCell is a cell that has run.
type ranCell struct {
	number, place       int // place orders cells by when they first ran
	hasID               bool
	computes            bool            // is more than functions, which read what they need when they are called
	reads, declares, by map[string]bool // by: all that it declares or changes
	stale               string          // the name that has changed; "" if it is not stale
}

// A changing is what a cell under way has done, by the effects of its steps.
type changing struct {
	effects check.Effects
	before  map[string]any // simple values of what it changes
	changed map[string]bool

	computes bool
}

// watchedSteps runs a cell, and says which cells are stale by it, unless it is quiet.
func (s *Session) watchedSteps(ctx context.Context, input engine.Cell, out engine.Outputs, quiet bool) (engine.Result, error) {
	if !s.opts.Stale || input.Number <= 0 || input.Silent {
		return s.steps(ctx, input, out)
	}
	st := &s.stale
	st.mu.Lock()
	if st.cells == nil {
		st.cells, st.runs = map[string]*ranCell{}, map[int]*changing{}
	}
	r := &changing{effects: check.Effects{Reads: map[string]bool{}, Declares: map[string]bool{}, Sets: map[string]bool{}, Updates: map[string]bool{}},
		before: map[string]any{}, changed: map[string]bool{}}
	outer := st.runs[input.Number]
	st.runs[input.Number] = r
	st.mu.Unlock()
	res, err := s.steps(ctx, input, out)
	line := st.finish(input, r)
	st.mu.Lock()
	if st.runs[input.Number] = outer; outer == nil {
		delete(st.runs, input.Number)
	}
	st.mu.Unlock()
	if line != "" && !quiet {
		out.Stdout(line)
	}
	return res, err
}

// begin notes what a checked step of a cell will change, before it does.
func (st *staleCells) begin(s *Session, src *check.Source) {
	st.mu.Lock()
	defer st.mu.Unlock()
	r, e := st.runs[src.Number], src.Effects
	if r == nil {
		return
	}
	r.computes = r.computes || !onlyFunctions(src)
	for name := range e.Reads {
		if !r.effects.Declares[name] {
			r.effects.Reads[name] = true
		}
	}
	maps.Copy(r.effects.Declares, e.Declares)
	maps.Copy(r.effects.Sets, e.Sets)
	maps.Copy(r.effects.Updates, e.Updates)
	for _, names := range []map[string]bool{e.Declares, e.Sets, e.Updates} {
		for name := range names {
			if _, known := r.before[name]; !known {
				r.before[name] = s.simpleValue(name)
			}
			if !e.Same[name] {
				r.changed[name] = true
			}
		}
	}
}

// onlyFunctions reports whether a cell declares functions and does nothing else.
func onlyFunctions(src *check.Source) bool {
	return (src.Body == nil || len(src.Body.List) == 0) && !slices.ContainsFunc(src.File.Decls, func(d ast.Decl) bool {
		gen, ok := d.(*ast.GenDecl)
		return ok && gen.Tok != token.IMPORT
	})
}

// note notes what a step of a cell has changed, once it has run.
func (st *staleCells) note(s *Session, src *check.Source) {
	st.mu.Lock()
	defer st.mu.Unlock()
	r := st.runs[src.Number]
	if r == nil {
		return
	}
	for name := range r.changed {
		if old := r.before[name]; old != nil && old == s.simpleValue(name) {
			delete(r.changed, name)
		}
	}
}

// simpleValue returns the value of a variable that is a number, a short text or a
// boolean; nil for others.
func (s *Session) simpleValue(name string) any {
	v, ok := s.global(name)
	if !ok {
		return nil
	}
	switch k := v.Kind(); {
	case k == reflect.String && v.Len() < 1000, k == reflect.Bool, k >= reflect.Int && k <= reflect.Complex128:
		return v.Interface()
	}
	return nil
}

// finish notes that a cell has run, and returns the line that names the cells which are
// stale by it.
func (st *staleCells) finish(input engine.Cell, r *changing) string {
	st.mu.Lock()
	defer st.mu.Unlock()
	e := &r.effects
	if len(e.Reads)+len(e.Declares)+len(e.Sets)+len(e.Updates) == 0 {
		return ""
	}
	key := cmp.Or(input.ID, "\n"+strings.TrimSpace(input.Code))
	now := st.cells[key]
	if now == nil {
		st.next++
		now = &ranCell{place: st.next}
		st.cells[key] = now
	}
	now.number, now.hasID, now.reads, now.declares, now.stale = input.Number, input.ID != "", e.Reads, e.Declares, ""
	now.computes = r.computes
	now.by = maps.Clone(e.Declares)
	maps.Copy(now.by, e.Sets)
	maps.Copy(now.by, e.Updates)
	maps.DeleteFunc(st.cells, func(_ string, x *ranCell) bool { // an earlier version of the cell
		return x != now && !x.hasID && !now.hasID && len(x.declares) > 0 && allIn(x.declares, now.declares)
	})
	var by []string
	var fresh []*ranCell
	met := map[*ranCell]bool{now: true}
	add := func(x *ranCell, name string) {
		if met[x] = true; x.stale == "" {
			fresh = append(fresh, x)
		}
		if x.computes {
			x.stale = name
		}
	}
	mark := func(x *ranCell, name string) {
		add(x, name)
		if !slices.Contains(by, name) {
			by = append(by, name)
		}
	}
	all, changed := st.inOrder(), slices.Sorted(maps.Keys(r.changed))
	for _, x := range all {
		if x == now {
			continue
		}
		for _, name := range changed {
			if x.reads[name] && name != "err" && name != "ok" && (!e.Updates[name] || x.place > now.place) {
				mark(x, name)
				break
			}
		}
	}
	for i := 0; i < len(fresh); i++ { // what they compute is stale, too
		for _, x := range all {
			if met[x] || x.stale != "" || x.place < fresh[i].place {
				continue
			}
			for name := range fresh[i].by {
				if x.reads[name] {
					add(x, name)
					break
				}
			}
		}
	}
	fresh = slices.DeleteFunc(fresh, func(x *ranCell) bool { return !x.computes })
	if len(fresh) == 0 {
		return ""
	}
	slices.SortFunc(fresh, func(a, b *ranCell) int { return a.place - b.place })
	var cells []string
	for _, x := range fresh {
		cells = append(cells, fmt.Sprintf("In[%d]", x.number))
	}
	verb := "has"
	if len(by) > 1 {
		verb = "have"
	}
	slices.Sort(by)
	return fmt.Sprintf("Stale: %s, since %s %s changed. %%rerun stale runs what is stale again.\n", strings.Join(cells, ", "), strings.Join(by, ", "), verb)
}

func allIn(a, b map[string]bool) bool {
	for n := range a {
		if !b[n] {
			return false
		}
	}
	return true
}

// inOrder returns the cells by their places; st.mu is held.
func (st *staleCells) inOrder() []*ranCell {
	return slices.SortedFunc(maps.Values(st.cells), func(a, b *ranCell) int { return a.place - b.place })
}

// numbers returns the stale cells in order.
func (st *staleCells) numbers() (list []int) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, x := range st.inOrder() {
		if x.stale != "" {
			list = append(list, x.number)
		}
	}
	return list
}

func (st *staleCells) clear() {
	st.mu.Lock()
	defer st.mu.Unlock()
	clear(st.cells)
}

// listStale implements the magic %stale.
func (s *Session) listStale(_ context.Context, args []string, out engine.Outputs) error {
	if len(args) > 0 {
		return fmt.Errorf("usage: %%stale")
	}
	if !s.opts.Stale {
		out.Stdout("Which cells are stale is known in the kernel of a notebook only.\n")
		return nil
	}
	st := &s.stale
	st.mu.Lock()
	defer st.mu.Unlock()
	var b strings.Builder
	for _, x := range st.inOrder() {
		if x.stale != "" {
			fmt.Fprintf(&b, "In[%d], since %s has changed\n", x.number, x.stale)
		}
	}
	out.Stdout(cmp.Or(b.String(), nothingStale))
	return nil
}
