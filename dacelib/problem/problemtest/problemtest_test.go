package problemtest_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/problemtest"
)

func ones(x []bool) float64 {
	n := 0.0
	for _, b := range x {
		if b {
			n++
		}
	}
	return n
}

func TestFromFunc(t *testing.T) {
	problemtest.Run(t, problem.FromFunc("ones", 30, ones), problemtest.Settings{})
	problemtest.Run(t, problem.FromFunc("wide", 130, ones), problemtest.Settings{})
}

func TestWrappers(t *testing.T) {
	p := problem.WithOptimum(problem.FromFunc("ones", 70, ones), 70)
	for name, q := range map[string]problem.Problem{
		"memo": problem.Memo(p), "parallel": problem.Parallel(p, 3), "count": problem.Count(p, 0),
		"named": problem.Named(p, "other"), "negated": problem.Negated(p),
		"all": problem.Count(problem.Memo(problem.Parallel(p, 0)), 0),
	} {
		t.Run(name, func(t *testing.T) { problemtest.Run(t, q, problemtest.Settings{}) })
	}
}

// TestFaults checks that a problem with a fault fails the check for this fault.
func TestFaults(t *testing.T) {
	for fault, f := range map[string]func(dst []float64, x problem.Solutions){
		"repeat": counter(),
		"permutation": func(dst []float64, x problem.Solutions) {
			for i := range dst {
				dst[i] = float64(x.Ones(0))
			}
		},
		"batch shape": func(dst []float64, x problem.Solutions) {
			for i := range dst {
				dst[i] = float64(len(dst))
			}
		},
		"the solutions were changed": func(dst []float64, x problem.Solutions) {
			for i := range dst {
				dst[i] = float64(x.Words[i] & 1)
				x.Words[i] ^= 1
			}
		},
	} {
		p := problem.FromBatch("faulty", 10, f)
		err := problemtest.Check(context.Background(), p, problemtest.Settings{})
		if err == nil || !strings.Contains(err.Error(), fault) {
			t.Errorf("want a failure of %q, got %v", fault, err)
		}
	}
}

func counter() func(dst []float64, x problem.Solutions) {
	var mu sync.Mutex // guards n
	n := 0.0
	return func(dst []float64, _ problem.Solutions) {
		mu.Lock()
		defer mu.Unlock()
		for i := range dst {
			n++
			dst[i] = n
		}
	}
}

func TestNaN(t *testing.T) {
	p := problem.FromFunc("root", 3, func(x []bool) float64 { return math.Sqrt(-1 - ones(x)) })
	if err := problemtest.Check(context.Background(), p, problemtest.Settings{}); err == nil || !strings.Contains(err.Error(), "000") {
		t.Errorf("want an error that names the solution, got %v", err)
	}
}

// ExampleCheck checks a faulty problem, whose values depend on the batch.
func ExampleCheck() {
	p := problem.FromBatch("relative", 4, func(dst []float64, x problem.Solutions) {
		for i := range dst {
			dst[i] = float64(x.Ones(i)) / float64(len(dst))
		}
	})
	err := problemtest.Check(context.Background(), p, problemtest.Settings{Solutions: 8})
	fmt.Println(strings.Split(err.Error(), "\n")[0])
	// Output: problem relative: batch shape: in a batch of 5: the value of 1111 is 0.8, but was 0.5 before
}
