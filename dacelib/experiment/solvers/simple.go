package main

import (
	"math"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// The simple searches are written without the library's families: a line or two for
// each of what textbooks say, nothing tuned, no memory of values.
func init() {
	for name, f := range map[string]func(s *solver.Search){
		"simple-ea": func(s *solver.Search) { simpleEA(s, 1, 0) }, "simple-sa": func(s *solver.Search) { simpleSA(s, 0.5, 0.02, 0) },
		"simple-ils": func(s *solver.Search) { simpleILS(s, 3) }, "simple-tabu": simpleTabu, "simple-climber": simpleClimber,
	} {
		simple = append(simple, name)
		register(name, f)
	}
	for name, f := range map[string]func(s *solver.Search){
		"simple-ea-half": func(s *solver.Search) { simpleEA(s, 0.5, 0) }, "simple-ea-two": func(s *solver.Search) { simpleEA(s, 2, 0) },
		"simple-ea-half-swaps": func(s *solver.Search) { simpleEA(s, 0.5, 0.5) }, "simple-ea-swaps": func(s *solver.Search) { simpleEA(s, 1, 0.5) },
		"simple-ea-two-swaps": func(s *solver.Search) { simpleEA(s, 2, 0.5) },
		"simple-sa-low":       func(s *solver.Search) { simpleSA(s, 0.2, 0.02, 0) }, "simple-sa-high": func(s *solver.Search) { simpleSA(s, 1, 0.02, 0) },
		"simple-sa-low-swaps": func(s *solver.Search) { simpleSA(s, 0.2, 0.02, 0.5) }, "simple-sa-swaps": func(s *solver.Search) { simpleSA(s, 0.5, 0.02, 0.5) },
		"simple-sa-high-swaps": func(s *solver.Search) { simpleSA(s, 1, 0.02, 0.5) },
		"simple-ils-2":         func(s *solver.Search) { simpleILS(s, 2) }, "simple-ils-5": func(s *solver.Search) { simpleILS(s, 5) }, "simple-ils-8": func(s *solver.Search) { simpleILS(s, 8) },
	} {
		more = append(more, name)
		register(name, f)
	}
}

// simple are the names of the five untuned searches, more those of the other
// configurations of the greedy choice.
var simple, more []string

func register(name string, f func(s *solver.Search)) {
	solver.Register(solver.FromFunc(name, smac.Space{}, func(s *solver.Search) error { f(s); return nil }))
}

func flip(x []uint64, i int) { x[i>>6] ^= 1 << (i & 63) }

func random(s *solver.Search) []uint64 { return problem.Random(s.Rand, 1, s.Dim()).Words }

// other returns a bit of another value than bit i, or -1 after 20 draws.
func other(s *solver.Search, x []uint64, i int) int {
	for range 20 {
		if j := s.Rand.IntN(s.Dim()); bit(x, j) != bit(x, i) {
			return j
		}
	}
	return -1
}

func simpleEA(s *solver.Search, rate, swaps float64) {
	d := s.Dim()
	x := random(s)
	y := make([]uint64, len(x))
	for v := s.Value(x); !s.Over(); {
		copy(y, x)
		if s.Rand.Float64() < swaps {
			i := s.Rand.IntN(d)
			if j := other(s, y, i); j >= 0 {
				flip(y, i)
				flip(y, j)
			}
		} else {
			for n := 0; n == 0; {
				for i := range d {
					if s.Rand.Float64()*float64(d) < rate {
						flip(y, i)
						n++
					}
				}
			}
		}
		if w := s.Value(y); w >= v {
			x, y, v = y, x, w
		}
	}
}

func simpleSA(s *solver.Search, start, end, swaps float64) {
	d := s.Dim()
	x := random(s)
	v := s.Value(x)
	sum, n := 0.0, min(20, s.Budget()/10)
	step := func(t float64) {
		i, j := s.Rand.IntN(d), -1
		if s.Rand.Float64() < swaps {
			j = other(s, x, i)
		}
		move := func() {
			flip(x, i)
			if j >= 0 {
				flip(x, j)
			}
		}
		move()
		w := s.Value(x)
		if t < 0 {
			sum += math.Abs(w - v)
		}
		if w >= v || t > 0 && s.Rand.Float64() < math.Exp((w-v)/t) {
			v = w
		} else {
			move()
		}
	}
	for range n {
		step(-1)
	}
	first := sum/float64(max(1, n))*start + 1e-12
	for left := s.Left(); !s.Over(); {
		step(first * math.Pow(end, 1-float64(s.Left())/float64(left)))
	}
}

func simpleILS(s *solver.Search, kick int) {
	d := s.Dim()
	x := random(s)
	v := s.Value(x)
	top, best := append([]uint64(nil), x...), v
	for !s.Over() {
		for improved := true; improved && !s.Over(); {
			improved = false
			for _, i := range s.Rand.Perm(d) {
				flip(x, i)
				if w := s.Value(x); w > v {
					v, improved = w, true
				} else {
					flip(x, i)
				}
			}
		}
		if v >= best {
			copy(top, x)
			best = v
		}
		copy(x, top)
		for range kick {
			flip(x, s.Rand.IntN(d))
		}
		v = s.Value(x)
	}
}

func simpleTabu(s *solver.Search) {
	d := s.Dim()
	x := random(s)
	best := s.Value(x)
	until := make([]int, d)
	stale := 0
	for it := 1; !s.Over(); it++ {
		at, top, same := -1, math.Inf(-1), 0
		for i := range d {
			if s.Over() {
				break
			}
			flip(x, i)
			w := s.Value(x)
			flip(x, i)
			switch {
			case until[i] > it && w <= best:
			case w > top:
				at, top, same = i, w, 1
			case w == top:
				if same++; s.Rand.IntN(same) == 0 {
					at = i
				}
			}
		}
		if at < 0 {
			continue
		}
		flip(x, at)
		until[at] = it + 1 + d/4 + s.Rand.IntN(3)
		if top > best {
			best, stale = top, 0
		} else if stale++; stale > 10 {
			x = random(s)
			clear(until)
			stale = 0
		}
	}
}

func simpleClimber(s *solver.Search) {
	d := s.Dim()
	x := random(s)
	for v := s.Value(x); !s.Over(); {
		i, j := s.Rand.IntN(d), -1
		if s.Rand.IntN(2) == 0 {
			j = other(s, x, i)
		}
		flip(x, i)
		if j >= 0 {
			flip(x, j)
		}
		if w := s.Value(x); w >= v {
			v = w
			continue
		}
		flip(x, i)
		if j >= 0 {
			flip(x, j)
		}
	}
}
