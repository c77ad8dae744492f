package solver_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// A carried stands for what the kernel does for functions of cells: it describes each
// by the text source, and makes again what again holds, as many as copies.
type carried struct {
	source string
	stays  error
	again  any
	made   int
}

func (c *carried) carry(t *testing.T) {
	farm.SetCarrier(farm.Carrier{
		Pack: func(any) ([]byte, error) { return []byte(c.source), c.stays },
		Make: func(context.Context, []byte, []byte, string) (farm.Carried, error) {
			c.made++
			err, _ := c.again.(error)
			return farm.Carried{Value: c.again, Built: []byte("as built")}, err
		},
	})
	t.Cleanup(func() { farm.SetCarrier(farm.Carrier{}) })
}

// blind walks without a look at values.
func blind(s *solver.Search) error {
	x := make([]bool, s.Dim())
	for !s.Over() {
		s.BoolValue(x)
		x[s.Rand.IntN(len(x))] = true
	}
	return nil
}

// looking walks as blind does, but goes another way after an equal value.
func looking(s *solver.Search) error {
	x := make([]bool, s.Dim())
	for last := -1.0; !s.Over(); {
		v := s.BoolValue(x)
		i := s.Rand.IntN(len(x))
		x[i] = v != last
		last = v
	}
	return nil
}

// A solver of a function travels: its search is the same where it is made again. One
// whose search would be another stays, with the reason.
func TestTravels(t *testing.T) {
	own := solver.FromFunc("walks", smac.Space{}, looking)
	solver.Register(own)
	c := &carried{source: "one", again: []func(*solver.Search) error{looking}}
	c.carry(t)
	pool := farm.Local(1)
	pk := farm.NewPacker(t.Context(), pool)
	if err := solver.Stays("walks"); err != nil {
		t.Error(err)
	}
	var keys []string
	for range 2 {
		key, err := solver.Pack(pk, []string{"walks", "walks"})
		if err != nil || key == "" {
			t.Fatal(key, err)
		}
		keys = append(keys, key)
	}
	if keys[0] != keys[1] || c.made != 1 {
		t.Errorf("a function is made again %d times to be compared with itself, want once; keys %q", c.made, keys)
	}
	env := farm.NewEnv(1, pool.Get, pool.Put)
	there, err := solver.Unpack(t.Context(), env, keys[0])
	if err != nil {
		t.Fatal(err)
	}
	far, err := solver.Find(there, "walks")
	if err != nil || far == own || far.Name() != "walks" {
		t.Fatalf("the worker's is %v, %v", far, err)
	}
	if registered, err := solver.Find(there, "anneal"); err != nil || registered == nil || registered.Name() != "anneal" {
		t.Errorf("where another is unpacked, anneal is %v, %v", registered, err)
	}
	job := solver.Job{Problem: onemax.Random(1, 12), Config: parse(t, "walks"), Evaluations: 50, Seed: 3}
	near, err := solver.Run(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	if r, err := far.Run(there, []solver.Job{job}, 1); err != nil || r[0].Value != near.Value || r[0].Evaluations != near.Evaluations {
		t.Errorf("the worker finds %+v, %v, and this process %+v", r, err, near)
	}

	c.source = "two" // as after a cell that changed a variable: it is compared again
	for _, x := range []struct {
		again any
		want  string
	}{
		{[]func(*solver.Search) error{blind}, "makes another run here"},
		{[]func(*solver.Search) error{nil}, "its function became a []func"},
		{[]func(*solver.Search) error{}, "its function became a []func"},
		{[]func(*solver.Search) error{looking, looking}, "its function became a []func"},
		{7, "its function became a int"},
		{errors.New("no compiler"), "its function cannot be made again: no compiler"},
		{[]func(*solver.Search) error{func(*solver.Search) error { return errors.New("never") }}, "never"},
	} {
		c.again = x.again
		if key, err := solver.Pack(pk, []string{"walks"}); err == nil || !strings.Contains(err.Error(), x.want) || !strings.Contains(err.Error(), "walks cannot travel") {
			t.Errorf("%T packs as %q with %v, want %s", x.again, key, err, x.want)
		}
	}
	c.again = []func(*solver.Search) error{}
	env = farm.NewEnv(1, pool.Get, pool.Put)
	if _, err := solver.Unpack(t.Context(), env, keys[0]); err == nil || !strings.Contains(err.Error(), "solver: walks: its function became") {
		t.Errorf("a worker that cannot make it: %v", err)
	}
	c.stays = errors.New("it reads the variable ch")
	for name, err := range map[string]error{"Stays": solver.Stays("walks"), "Pack": func() error { _, err := solver.Pack(pk, []string{"walks"}); return err }()} {
		if err == nil || !strings.Contains(err.Error(), "it reads the variable ch") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if solver.Travels("walks") {
		t.Error("a function that stays is said to travel")
	}
}

// What is packed is of solvers that workers lack, and another's blob is refused.
func TestUnpackRefuses(t *testing.T) {
	pool := farm.Local(1)
	if ctx, err := solver.Unpack(t.Context(), nil, ""); err != nil || ctx != t.Context() {
		t.Errorf("nothing is unpacked as %v", err)
	}
	if _, err := solver.Pack(farm.NewPacker(t.Context(), pool), []string{"nobody"}); err == nil {
		t.Error("a solver that is not there was packed")
	}
	for text, want := range map[string]string{
		"{":                            "describes no solvers",
		`[{"kind": "x", "name": "a"}]`: `knows no solvers of the kind "x"`,
		`[{"kind": "function", "name": "a b", "data": {}}]`: "knows no solvers of the kind",
		`[{"kind": "function", "name": "a", "data": 7}]`:    "solver: a: json",
	} {
		key, err := pool.Put(t.Context(), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := solver.Unpack(t.Context(), farm.NewEnv(1, pool.Get, pool.Put), key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// A search that remembers ends when it has tried everything.
func TestAllTried(t *testing.T) {
	value := func(x []bool) float64 {
		if x[0] && !x[1] && x[2] {
			return 7
		}
		return 0
	}
	r := searched(t, problem.FromFunc("three", 3, value), 1000, func(s *solver.Search) error {
		s.Remember()
		x := problem.NewSolutions(1, 3)
		for i := range uint64(8) {
			if s.Over() {
				t.Errorf("it is over after %d of 8 solutions", i)
			}
			x.Words[0] = i
			s.Value(x.Words)
		}
		if !s.Over() {
			t.Error("it goes on when all 8 solutions are known")
		}
		if s.BestInto(x.Words); x.Words[0] != 0b101 || s.Best() != 7 {
			t.Errorf("the best is %b with %v", x.Words[0], s.Best())
		}
		return nil
	})
	if r.Evaluations != 8 {
		t.Errorf("%d evaluations", r.Evaluations)
	}
}
