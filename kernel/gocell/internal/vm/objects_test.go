package vm

import (
	"reflect"
	"slices"
	"testing"

	"gorgonia.org/gorgonia"
)

// A package is guarded with those below it, and its functions, and none whose path begins
// alike.
func TestIsSharing(t *testing.T) {
	for path, want := range map[string]bool{
		"flag": true, "flag.Parse": true, "flagged": false, "gonum.org/v1/gonum/graph/simple": true,
		"gonum.org/v1/gonum/graph.NodesOf": true, "gonum.org/v1/gonum/graphs": false, "gonum.org/v1/gonum": false, "": false,
	} {
		if got := isSharing(path); got != want {
			t.Errorf("%q is guarded: %v, want %v", path, got, want)
		}
	}
}

// A node of gorgonia has the lock of its graph, in a list and an interface, too, and other
// values have none.
func TestLockOf(t *testing.T) {
	g := gorgonia.NewGraph()
	x := gorgonia.NewScalar(g, gorgonia.Float64)
	want := lockOf(nil, reflect.ValueOf(g))
	if len(want) != 1 {
		t.Fatalf("a graph has the locks %v", want)
	}
	for _, c := range []struct {
		value any
		want  []int
	}{{x, want}, {gorgonia.Nodes{x, x}, []int{want[0], want[0]}}, {[]any{x}, want}, {(*gorgonia.Node)(nil), nil}, {new(int), nil}, {nil, nil}} {
		if got := lockOf(nil, reflect.ValueOf(c.value)); !slices.Equal(got, c.want) {
			t.Errorf("%T has the locks %v, want %v", c.value, got, c.want)
		}
	}
}

// A set of stripes has those that were added, and no others.
func TestStripeSet(t *testing.T) {
	for i := range len(stripes) {
		var s stripeSet
		s.add(i)
		s.add(len(stripes) - 1)
		var got []int
		s.each(func(k int) { got = append(got, k) })
		if want := slices.Compact([]int{i, len(stripes) - 1}); !slices.Equal(got, want) {
			t.Errorf("the set of %v has %v", want, got)
		}
		for k := range len(stripes) {
			if s.has(k) != slices.Contains(got, k) {
				t.Errorf("the set of %v has %d: %v", got, k, s.has(k))
			}
		}
	}
}
