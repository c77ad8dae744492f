package landscape_test

import (
	"reflect"
	"testing"

	"dace.local/dacelib/landscape"
)

func TestAtLeast(t *testing.T) {
	c := landscape.Curve{Name: "x", Distance: []float64{1, 2, 3}, Mean: []float64{4, 5, 6}, Deviation: []float64{7, 8, 9}, Pairs: []int{10, 100, 99}}
	want := landscape.Curve{Name: "x", Distance: []float64{2}, Mean: []float64{5}, Deviation: []float64{8}, Pairs: []int{100}}
	if got := c.AtLeast(100); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
