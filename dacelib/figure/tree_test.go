package figure_test

import (
	"slices"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"dace.local/dacelib/figure"
)

func ExampleTree() {
	parent := []int{-1, -1, 0, 0, 2, -1}
	level := []int{0, 0, 1, 1, 2, -1}
	group := []int{0, 0, 1, 1, 1, 1}
	p := figure.Tree("Two roots, three followers", parent, level, group, []string{"first", "followers"})
	_ = figure.Save(p, "tree.pdf")
}

func TestTree(t *testing.T) {
	p := figure.Tree("", []int{-1, 0, 0, 1}, []int{0, 1, 1, 2}, []int{0, 1, 1, 1}, []string{"a", "b"})
	if err := figure.SaveSize(p, t.TempDir()+"/tree.svg", 8*vg.Centimeter, 8*vg.Centimeter); err != nil {
		t.Error(err)
	}
	for name, f := range map[string]func(){
		"uneven": func() { figure.Tree("", []int{-1}, []int{0, 1}, []int{0, 1}, []string{"a", "b"}) },
		"bars":   func() { figure.LargestBars("", "", []string{"a"}, nil, 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			f()
		}()
	}
}

// The bars are those of the largest size, in ascending order.
func TestLargestBars(t *testing.T) {
	p := figure.LargestBars("", "bytes", []string{"a", "b", "c", "d"}, []float64{1, -5, 3, 0}, 3)
	var names []string
	for _, tick := range p.X.Tick.Marker.(plot.ConstantTicks) {
		names = append(names, tick.Label)
	}
	if want := []string{"b", "a", "c"}; !slices.Equal(names, want) {
		t.Errorf("%v, want %v", names, want)
	}
}

func TestQuartiles(t *testing.T) {
	b := figure.Quartiles("b", []float64{1, 2, 3}, [][]float64{{5, 1, 2, 4, 3}, nil, {7}})
	if !slices.Equal(b.X, []float64{1, 3}) || !slices.Equal(b.Low, []float64{2, 7}) || !slices.Equal(b.Mid, []float64{3, 7}) || !slices.Equal(b.High, []float64{4, 7}) {
		t.Errorf("%+v", b)
	}
}
