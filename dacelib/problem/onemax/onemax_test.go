package onemax

import (
	"context"
	"fmt"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/problemtest"
	"dace.local/dacelib/run"
)

func TestConformance(t *testing.T) {
	for _, d := range []int{1, 30, 64, 65, 130} {
		problemtest.Run(t, Random(3, d), problemtest.Settings{Decode: Decode})
	}
}

// TestDefinition compares values with d - sum |t_i - x_i|.
func TestDefinition(t *testing.T) {
	for _, d := range []int{5, 64, 100} {
		p := Random(4, d)
		target := p.Target()
		x := problem.Random(run.Rand(4, "definition"), 100, d)
		dst := make([]float64, 100)
		if err := p.Evaluate(context.Background(), dst, x); err != nil {
			t.Fatal(err)
		}
		for i, v := range dst {
			want := float64(d)
			for j, b := range x.Bools(i) {
				if b != target[j] {
					want--
				}
			}
			if v != want {
				t.Errorf("d = %d, solution %d: %v, want %v", d, i, v, want)
			}
		}
		if v, err := problem.Value(context.Background(), p, target); err != nil || v != float64(d) {
			t.Errorf("the target has value %v, %v", v, err)
		}
	}
}

func TestErrors(t *testing.T) {
	if _, err := New("empty", nil); err == nil {
		t.Error("an empty target: no error")
	}
	for _, bad := range []string{`{}`, `{"target":"01x"}`, `{"target":3}`, `[`} {
		if _, err := Decode([]byte(bad)); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte(`{"name":"a","target":"0110"}`))
	f.Add([]byte(`{"target":""}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(data)
		if err != nil {
			return
		}
		v, err := problem.Value(context.Background(), p, p.(*Instance).Target())
		if err != nil || v != float64(p.Dim()) {
			t.Errorf("%q: the target has value %v, %v", data, v, err)
		}
	})
}

func Example() {
	p, _ := New("example", []bool{true, true, false, true})
	v, _ := problem.Value(context.Background(), p, []bool{true, false, false, true})
	fmt.Println(v)
	// Output: 3
}

// BenchmarkEvaluate measures evaluations of batches of 1,000 on one core.
func BenchmarkEvaluate(b *testing.B) {
	for _, d := range []int{30, 100} {
		b.Run(fmt.Sprint("d=", d), func(b *testing.B) {
			p := Random(1, d)
			x := problem.Random(run.Rand(1, "benchmark"), 1000, d)
			dst := make([]float64, 1000)
			for b.Loop() {
				if err := p.Evaluate(context.Background(), dst, x); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "evals/s")
		})
	}
}
