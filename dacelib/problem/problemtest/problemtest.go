// Package problemtest checks that an implementation keeps the contract of
// [problem.Problem].
//
// Start with [Run] in a test, or with [Check] anywhere else: a problem defined
// in a notebook's cell passes the same checks.
package problemtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// Settings says how much to check. The zero value suits a problem whose
// evaluation takes milliseconds or less.
type Settings struct {
	// Solutions is the number of sample solutions, each of which is evaluated
	// about twelve times; 0 means 65.
	Solutions int
	// Seed is the seed from which the sample is drawn.
	Seed uint64
	// Decode, if not nil, decodes an instance from its JSON. The decoded
	// instance must have the same name, dimension, values and JSON.
	Decode func(data []byte) (problem.Problem, error)
}

// A check is one clause of the contract.
type check struct {
	name string
	f    func(context.Context, *sample) error
}

var checks = []check{
	{"shape", shape},
	{"repeat", repeat},
	{"permutation", permutation},
	{"batch shape", batchShape},
	{"edges", edges},
	{"memory", memory},
	{"concurrency", concurrency},
	{"cancel", cancelled},
	{"optimum", optimum},
	{"JSON", roundTrip},
}

// A sample is a problem with sample solutions and their values.
type sample struct {
	p      problem.Problem
	s      Settings
	rng    *rand.Rand
	x      problem.Solutions
	values []float64
}

// Run checks p, with a subtest for each clause of the contract.
func Run(t *testing.T, p problem.Problem, s Settings) {
	t.Helper()
	sm, err := newSample(t.Context(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range checks {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(t.Context(), sm); err != nil {
				t.Error(err)
			}
		})
	}
}

// Check checks p and returns the joined errors of all clauses that are
// violated, or nil if there are none.
func Check(ctx context.Context, p problem.Problem, s Settings) error {
	sm, err := newSample(ctx, p, s)
	if err != nil {
		return err
	}
	add, end := run.Steps(&ctx, "check "+p.Name(), len(checks))
	defer end()
	var errs []error
	for _, c := range checks {
		if err := c.run(ctx, sm); err != nil {
			errs = append(errs, fmt.Errorf("problem %s: %s: %w", p.Name(), c.name, err))
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		add(1)
	}
	return errors.Join(errs...)
}

func (c check) run(ctx context.Context, s *sample) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return c.f(ctx, s)
}

func newSample(ctx context.Context, p problem.Problem, s Settings) (*sample, error) {
	if s.Solutions == 0 {
		s.Solutions = 65
	}
	if p.Dim() <= 0 {
		return nil, fmt.Errorf("problem %q has dimension %d", p.Name(), p.Dim())
	}
	sm := &sample{p: p, s: s, rng: run.Rand(s.Seed, "problemtest")}
	sm.x = problem.Random(sm.rng, max(s.Solutions, 4), p.Dim())
	// Include the corners, and one solution twice.
	for j := range p.Dim() {
		sm.x.Set(0, j, false)
		sm.x.Set(1, j, true)
	}
	copy(sm.x.Row(3), sm.x.Row(2))
	var err error
	sm.values, err = sm.evaluate(ctx, sm.x)
	return sm, err
}

func (s *sample) evaluate(ctx context.Context, x problem.Solutions) ([]float64, error) {
	dst := make([]float64, x.Len())
	for i := range dst {
		dst[i] = math.NaN()
	}
	return dst, s.p.Evaluate(ctx, dst, x)
}

// expect compares values with the sample's: got[i] belongs to sample solution
// at(i).
func (s *sample) expect(got []float64, at func(i int) int) error {
	for i, v := range got {
		if want := s.values[at(i)]; math.Float64bits(v) != math.Float64bits(want) {
			return fmt.Errorf("the value of %s is %v, but was %v before", s.x.Slice(at(i), at(i)+1), v, want)
		}
	}
	return nil
}

func itself(i int) int { return i }

func shape(_ context.Context, s *sample) error {
	if s.p.Name() == "" {
		return errors.New("the problem has no name")
	}
	for i, v := range s.values {
		if math.IsNaN(v) {
			return fmt.Errorf("the value of %s is NaN or was not set", s.x.Slice(i, i+1))
		}
	}
	return nil
}

func repeat(ctx context.Context, s *sample) error {
	if math.Float64bits(s.values[2]) != math.Float64bits(s.values[3]) {
		return fmt.Errorf("one solution, %s, has two values in a batch: %v and %v", s.x.Slice(2, 3), s.values[2], s.values[3])
	}
	got, err := s.evaluate(ctx, s.x)
	if err != nil {
		return err
	}
	return s.expect(got, itself)
}

func permutation(ctx context.Context, s *sample) error {
	p := s.rng.Perm(s.x.Len())
	x := problem.NewSolutions(len(p), s.x.D)
	for i, k := range p {
		copy(x.Row(i), s.x.Row(k))
	}
	got, err := s.evaluate(ctx, x)
	if err != nil {
		return err
	}
	return s.expect(got, func(i int) int { return p[i] })
}

func batchShape(ctx context.Context, s *sample) error {
	for lo := 0; lo < s.x.Len(); {
		hi := min(lo+1+s.rng.IntN(7), s.x.Len())
		got, err := s.evaluate(ctx, s.x.Slice(lo, hi))
		if err != nil {
			return err
		}
		if err := s.expect(got, func(i int) int { return lo + i }); err != nil {
			return fmt.Errorf("in a batch of %d: %w", hi-lo, err)
		}
		lo = hi
	}
	return nil
}

// edges checks that an empty batch is no error, that values beyond the batch
// are left alone, and that a batch that does not fit causes an error or a
// panic.
func edges(ctx context.Context, s *sample) error {
	if err := s.p.Evaluate(ctx, nil, problem.Solutions{D: s.x.D}); err != nil {
		return fmt.Errorf("an empty batch: %w", err)
	}
	dst := []float64{0, 42}
	if err := s.p.Evaluate(ctx, dst, s.x.Slice(0, 1)); err != nil {
		return err
	}
	if dst[1] != 42 {
		return errors.New("a value beyond the batch was overwritten")
	}
	if err := s.fails(ctx, make([]float64, 1), s.x.Slice(0, 2)); err != nil {
		return fmt.Errorf("room for one value of two: %w", err)
	}
	return nil
}

func (s *sample) fails(ctx context.Context, dst []float64, x problem.Solutions) (err error) {
	defer func() {
		if recover() != nil {
			err = nil
		}
	}()
	if s.p.Evaluate(ctx, dst, x) == nil {
		return errors.New("no error")
	}
	return nil
}

// memory checks that the problem changes no solution, and retains neither x nor
// dst.
func memory(ctx context.Context, s *sample) error {
	x := problem.Solutions{D: s.x.D, Words: slices.Clone(s.x.Words)}
	dst := make([]float64, x.Len())
	if err := s.p.Evaluate(ctx, dst, x); err != nil {
		return err
	}
	if !slices.Equal(x.Words, s.x.Words) {
		return errors.New("the solutions were changed by Evaluate")
	}
	// If the problem retained the slices, it would now see other solutions, and
	// write to dst.
	problem.Randomize(s.rng, x)
	for i := range dst {
		dst[i] = 42
	}
	got, err := s.evaluate(ctx, s.x)
	if err != nil {
		return err
	}
	for _, v := range dst {
		if v != 42 {
			return errors.New("dst was kept, and written to later")
		}
	}
	return s.expect(got, itself)
}

func concurrency(ctx context.Context, s *sample) error {
	const callers = 4
	errs := make([]error, callers)
	n := s.x.Len()
	var wg sync.WaitGroup
	for c := range callers {
		wg.Go(func() {
			errs[c] = check{"", func(ctx context.Context, s *sample) error {
				// Each caller starts at another solution, so that the batches
				// differ.
				lo := c * n / (2 * callers)
				got, err := s.evaluate(ctx, s.x.Slice(lo, n))
				if err != nil {
					return err
				}
				return s.expect(got, func(i int) int { return lo + i })
			}}.run(ctx, s)
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// cancelled checks that a call whose context has ended returns the context's
// error, and that a call whose context ends meanwhile returns soon, with the
// values or with ctx's error.
func cancelled(ctx context.Context, s *sample) error {
	over, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.evaluate(over, s.x); !errors.Is(err, context.Canceled) {
		return fmt.Errorf("the context had ended, but Evaluate returned %v and not ctx.Err()", err)
	}
	soon, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	got, err := s.evaluate(soon, s.x)
	if err == nil {
		return s.expect(got, itself)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("the context ended, but Evaluate returned %v and not ctx.Err()", err)
	}
	got, err = s.evaluate(ctx, s.x)
	if err != nil {
		return fmt.Errorf("after a call that was cancelled: %w", err)
	}
	return s.expect(got, itself)
}

// optimum checks that no value is above the known optimum.
func optimum(_ context.Context, s *sample) error {
	best, ok := problem.Optimum(s.p)
	if !ok {
		return nil
	}
	for i, v := range s.values {
		if v > best {
			return fmt.Errorf("the value of %s is %v, above the optimum %v", s.x.Slice(i, i+1), v, best)
		}
	}
	return nil
}

func roundTrip(ctx context.Context, s *sample) error {
	if s.s.Decode == nil {
		return nil
	}
	data, err := json.Marshal(s.p)
	if err != nil {
		return err
	}
	q, err := s.s.Decode(data)
	if err != nil {
		return fmt.Errorf("what was written cannot be read: %w", err)
	}
	if q.Name() != s.p.Name() || q.Dim() != s.p.Dim() {
		return fmt.Errorf("%s of dimension %d was read back as %s of dimension %d", s.p.Name(), s.p.Dim(), q.Name(), q.Dim())
	}
	back := *s
	back.p = q
	got, err := back.evaluate(ctx, s.x)
	if err != nil {
		return err
	}
	if err := s.expect(got, itself); err != nil {
		return fmt.Errorf("the instance read back: %w", err)
	}
	again, err := json.Marshal(q)
	if err != nil {
		return err
	}
	if !bytes.Equal(data, again) {
		return errors.New("the instance read back is written otherwise")
	}
	if _, err := s.s.Decode([]byte("[]")); err == nil {
		return errors.New("a JSON array was read as an instance")
	}
	return nil
}
