package solver

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"dace.local/dacelib/internal/failure"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
)

// A Search is a run under way, from the view of the solver's code: it evaluates
// solutions, counts them, and remembers the best. Once it is over, because the
// budget is spent, the target reached or the context ended, it evaluates nothing
// any more; the code should then return. It is for one goroutine.
type Search struct {
	// Rand is the run's source of random numbers.
	Rand *rand.Rand

	ctx     context.Context
	p       problem.Problem
	d       int
	left    int
	budget  int
	target  float64
	best    float64
	x       []uint64
	history []Point
	err     error
	status  run.Status
	one     [1]float64
	space   smac.Space
	point   []float64

	final *problem.Final // nil: none

	memory *memory // nil unless values are remembered
	known  int     // known solutions in a row
	// Working memory of recall.
	fresh  []uint64
	places []int32
	values []float64
}

// newSearch returns a search at the start of a job, which was checked.
func newSearch(ctx context.Context, j Job, space smac.Space) (*Search, error) {
	point, err := j.Config.Point(space)
	if err != nil {
		return nil, err
	}
	s := &Search{
		Rand: run.Rand(j.Seed, "solver: "+j.Config.Solver()),
		ctx:  ctx, p: j.Problem, d: j.Problem.Dim(), left: j.Budget(), budget: j.Budget(),
		target: math.Inf(1), best: math.Inf(-1), space: space, point: point,
	}
	if j.Target != nil {
		s.target = *j.Target
	}
	s.final = problem.NewFinal(j.Problem)
	if c, ok := j.Problem.(problem.Costly); ok && c.Costly() {
		s.p = problem.Memo(j.Problem)
	}
	return s, nil
}

// Dim returns the dimension d.
func (s *Search) Dim() int { return s.d }

// Problem returns the problem. Evaluating it directly does not count: use
// [Search.Value] and [Search.Values].
func (s *Search) Problem() problem.Problem { return s.p }

// Budget returns the evaluations that the run was allowed, Left those that are
// left; Left is 0 once the run is over.
func (s *Search) Budget() int { return s.budget }

// Left returns the number of evaluations left; it is 0 once the run is over.
func (s *Search) Left() int { return s.left }

// Over reports whether the run is over.
func (s *Search) Over() bool { return s.left == 0 }

// Number returns the value of a parameter that is a number. It panics if the
// solver has no such parameter, as the other methods of parameters do.
func (s *Search) Number(name string) float64 { return s.point[s.param(name)] }

// Int returns the value of a parameter that is a whole number.
func (s *Search) Int(name string) int { return int(s.point[s.param(name)]) }

// Flag returns the value of a parameter that is false or true.
func (s *Search) Flag(name string) bool { return s.point[s.param(name)] == 1 }

// Choice returns the value of a parameter that is a category.
func (s *Search) Choice(name string) string {
	i := s.param(name)
	return s.space.Params[i].Choices[int(s.point[i])]
}

func (s *Search) param(name string) int {
	for i := range s.space.Params {
		if s.space.Params[i].Name == name {
			return i
		}
	}
	panic("solver: the solver asks for a parameter that its Space does not have: " + name)
}

// Best returns the best value so far, -Inf before the first.
func (s *Search) Best() float64 { return s.best }

// BestInto copies the best solution so far to x, packed.
func (s *Search) BestInto(x []uint64) { copy(x, s.x) }

// Remember makes the search remember values: [Search.Value] and [Search.Values]
// then look a solution up that was asked for before, and do not evaluate and count
// it again. A search whose moves all lead to known solutions does not spend its
// budget: see [Search.Stuck].
func (s *Search) Remember() { s.memory = newMemory(problem.Stride(s.d)) }

// Stuck reports whether a search that remembers has asked for known solutions only
// for a while: it should begin anew elsewhere. A search that goes on nevertheless is
// ended after many more, and so is one that knows all solutions.
func (s *Search) Stuck() bool { return s.known > 4*s.d+100 }

// mostKnown returns the number of known solutions in a row after which the run
// ends.
func (s *Search) mostKnown() int { return 1000*s.d + 100_000 }

// Value evaluates one packed solution, of Stride(d) words. It returns -Inf, and
// evaluates nothing, once the run is over.
func (s *Search) Value(x []uint64) float64 {
	if s.left == 0 {
		return math.Inf(-1)
	}
	var hash uint64
	if s.memory != nil {
		v, h, ok := s.memory.find(x)
		if ok {
			s.hit()
			return v
		}
		hash = h
	}
	if err := s.p.Evaluate(s.ctx, s.one[:], problem.Solutions{D: s.d, Words: x}); err != nil {
		return s.fail(err)
	}
	v := s.one[0]
	s.left--
	s.final.Add(x, v)
	if v > s.best || v != v || s.x == nil {
		s.improve(v, x, s.budget-s.left)
	}
	if s.memory != nil {
		s.learn(x, hash, v)
	}
	return v
}

// hit counts a solution that was known.
func (s *Search) hit() {
	if s.known++; s.known > s.mostKnown() {
		s.Stop()
	}
}

// learn remembers a value.
func (s *Search) learn(x []uint64, hash uint64, v float64) {
	s.known = 0
	s.memory.add(x, hash, v)
	if s.memory.n == 1<<s.d {
		s.Stop()
	}
}

// Values evaluates the first solutions of x, as many as are left, and sets dst to
// their values; it returns how many. After an error it returns 0.
func (s *Search) Values(dst []float64, x problem.Solutions) int {
	if s.memory != nil {
		return s.recall(dst, x)
	}
	n := min(x.Len(), s.left)
	if n == 0 {
		return 0
	}
	dst = dst[:n]
	if err := s.p.Evaluate(s.ctx, dst, x.Slice(0, n)); err != nil {
		s.fail(err)
		return 0
	}
	before := s.budget - s.left
	s.left -= n
	for i, v := range dst {
		s.final.Add(x.Row(i), v)
		if v > s.best || v != v || s.x == nil {
			s.improve(v, x.Row(i), before+i+1)
		}
	}
	if s.err != nil {
		return 0
	}
	return n
}

// recall is Values with a memory.
func (s *Search) recall(dst []float64, x problem.Solutions) int {
	s.fresh, s.places = s.fresh[:0], s.places[:0]
	n := 0
	for ; n < x.Len() && s.left > 0; n++ {
		row := x.Row(n)
		if v, _, ok := s.memory.find(row); ok {
			dst[n] = v
			if s.hit(); s.left == 0 {
				return 0
			}
			continue
		}
		if len(s.places) == s.left {
			break
		}
		s.fresh, s.places = append(s.fresh, row...), append(s.places, int32(n))
	}
	k := len(s.places)
	if k == 0 {
		return n
	}
	if cap(s.values) < k {
		s.values = make([]float64, k+k/2)
	}
	s.values = s.values[:k]
	fresh := problem.Solutions{D: s.d, Words: s.fresh}
	if err := s.p.Evaluate(s.ctx, s.values, fresh); err != nil {
		s.fail(err)
		return 0
	}
	before := s.budget - s.left
	s.left -= k
	for i, v := range s.values {
		row := fresh.Row(i)
		dst[s.places[i]] = v
		s.final.Add(row, v)
		if v > s.best || v != v || s.x == nil {
			s.improve(v, row, before+i+1)
		}
		if _, hash, ok := s.memory.find(row); !ok { // twice in a batch: evaluated twice
			s.learn(row, hash, v)
		}
	}
	if s.err != nil {
		return 0
	}
	return n
}

// BoolValue is Value of a solution that is not packed.
func (s *Search) BoolValue(x []bool) float64 {
	if len(x) != s.d {
		return s.fail(fmt.Errorf("solver: problem %s: the solver asks for the value of a solution of dimension %d, want %d", s.p.Name(), len(x), s.d))
	}
	return s.Value(problem.Pack(x).Words)
}

// improve takes a better value.
func (s *Search) improve(v float64, x []uint64, at int) {
	if math.IsNaN(v) {
		s.fail(fmt.Errorf("solver: problem %s: the value of %s is NaN, which cannot be compared", s.p.Name(), problem.Solutions{D: s.d, Words: x}))
		return
	}
	s.best = v
	s.x = append(s.x[:0], x...)
	s.history = append(s.history, Point{at, v})
	switch {
	case v < s.target:
	case math.IsInf(s.target, 1): // none was set, and nothing is better than +Inf
		s.Stop()
	default:
		s.end(run.TargetReached)
	}
}

// end ends the run: what is left is not evaluated.
func (s *Search) end(status run.Status) {
	s.budget -= s.left
	s.left = 0
	s.status = status
}

// Stop ends the run, because the solver has nothing left to try.
func (s *Search) Stop() {
	if s.left > 0 {
		s.end(run.Converged)
	}
}

func (s *Search) fail(err error) float64 {
	s.err = err
	s.end(run.NotRun)
	return math.Inf(-1)
}

// result returns the outcome.
func (s *Search) result() (Result, error) {
	r := Result{Problem: s.p.Name(), Value: s.best, Evaluations: s.budget - s.left, Status: s.status, History: s.history}
	if s.x != nil {
		r.X = problem.Solutions{D: s.d, Words: s.x}.Bools(0)
	}
	if s.err == nil {
		row, value, ok, err := s.final.Choose(s.ctx)
		if s.err = err; ok {
			r.X, r.Value = problem.Solutions{D: s.d, Words: row}.Bools(0), value
		}
	}
	if s.err != nil {
		r.Status = run.NotRun
		if s.ctx.Err() != nil {
			r.Status = run.Cancelled
			return r, s.ctx.Err()
		}
		return r, s.err
	}
	if s.left > 0 {
		r.Status = run.Converged
	} else if r.Status == run.NotRun {
		r.Status = run.BudgetSpent
	}
	return r, nil
}

// Each runs every job by f on that many goroutines, and is the Run of most
// solvers. f searches until s is over, or returns before if nothing is left to try.
func Each(ctx context.Context, of Solver, jobs []Job, workers int, f func(s *Search) error) ([]Result, error) {
	results := make([]Result, len(jobs))
	total := 0
	for i := range jobs {
		if err := jobs[i].check(); err != nil {
			return results, fmt.Errorf("job %d: %w", i, err)
		}
		total += jobs[i].Budget()
	}
	add, end := run.Steps(&ctx, of.Name(), total)
	defer end()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := run.Each(workers, len(jobs), func(i int) error {
		s, err := newSearch(ctx, jobs[i], of.Space(jobs[i].Problem.Dim(), jobs[i].Budget()))
		if err == nil {
			if err = f(s); err != nil && s.err == nil {
				s.fail(fmt.Errorf("solver: %s on %s: %w", of.Name(), jobs[i].Problem.Name(), failure.Wrap(err)))
			}
			results[i], err = s.result()
			add(results[i].Evaluations)
		}
		if err != nil {
			cancel()
		}
		return err
	})
	return results, err
}

// at returns the best value of a history after a number of evaluations.
func at(history []Point, evaluations int) float64 {
	v := math.NaN()
	for _, p := range history {
		if p.Evaluations > evaluations {
			break
		}
		v = p.Best
	}
	return v
}

// anytime returns the mean of the best value over the evaluations of a budget; NaN if there
// are none.
func anytime(history []Point, budget int) float64 {
	sum, n := 0.0, 0
	for i, p := range history {
		to := budget
		if i+1 < len(history) {
			to = min(to, history[i+1].Evaluations-1)
		}
		if k := to - p.Evaluations + 1; k > 0 {
			sum += float64(k) * p.Best
			n += k
		}
	}
	return sum / float64(n)
}

// FromFunc returns a solver from a function of your own:
//
//	climb := solver.FromFunc("climb", smac.Space{Params: []smac.Param{
//		{Name: "flips", Kind: smac.Int, Lo: 1, Hi: 5, Default: 1},
//	}}, func(s *solver.Search) error {
//		x := problem.Random(s.Rand, 1, s.Dim())
//		for v := s.Value(x.Words); !s.Over(); { ... s.Int("flips") ... }
//		return nil
//	})
//	solver.Register(climb)
//
// The function searches until s is over. It is called from several goroutines at
// once, and must draw its random numbers from s.Rand. A panic in it becomes an
// error. A space without parameters is possible, too.
//
// In a notebook the function may use types of cells. It travels to the workers of a
// farm as objectives do, with the plain variables that it reads: see [Stays].
func FromFunc(name string, space smac.Space, f func(s *Search) error) Solver {
	if !isName(name) || f == nil {
		panic("solver: FromFunc needs a name of letters, digits and dashes, and a function")
	}
	return &funcSolver{name: name, space: space, f: f}
}

type funcSolver struct {
	name  string
	space smac.Space
	f     func(s *Search) error

	mu            sync.Mutex // guards source and built
	source, built []byte     // the function as it was proven to travel
}

func (f *funcSolver) Name() string              { return f.name }
func (f *funcSolver) Space(d, n int) smac.Space { return f.space }

// Configs returns random configurations with which a choice begins.
func (f *funcSolver) Configs(d, n int) []Config { return Draw(f.name, f.space, 7) }

func (f *funcSolver) Run(ctx context.Context, jobs []Job, workers int) ([]Result, error) {
	return Each(ctx, f, jobs, workers, func(s *Search) (err error) {
		defer func() {
			if r := recover(); r != nil {
				err = fmt.Errorf("%s: %s", failure.Panicked(r), failure.Text(r))
			}
		}()
		return f.f(s)
	})
}
