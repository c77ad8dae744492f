package display

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

type chained struct {
	N    int
	Next *chained
}

// TestDeep unfolds a chain of pointers as deep as it goes.
func TestDeep(t *testing.T) {
	var list *chained
	for i := range 30 {
		list = &chained{30 - i, list}
	}
	b := Value(list)
	text, page := b.Data["text/plain"].(string), b.Data["text/html"]
	if !strings.Contains(text, "(…)") || strings.Contains(text, "N: 9") {
		t.Errorf("the text is %s", text)
	}
	for _, want := range []string{"{N: 9, ", "{N: 30, Next: &lt;nil&gt;}", "<details open>"} {
		if s, _ := page.(string); !strings.Contains(s, want) {
			t.Errorf("no %q in %v", want, page)
		}
	}
	list.Next = list // a cycle ends
	if s, _ := Value(list).Data["text/html"].(string); strings.Count(s, "chained") > 10 {
		t.Errorf("a cycle is %s", s)
	}
}

// TestDistribution has a line about more numbers than are shown.
func TestDistribution(t *testing.T) {
	falling := make([]float64, 1000)
	for i := range falling {
		falling[i] = math.Sqrt(float64(i))
	}
	ints := make([]int, 101)
	ints[100] = 1000
	for _, c := range []struct {
		value any
		want  string
	}{
		{falling, "1,000 numbers from 0 to 31.61, mean 21.07  ▁▁▁"},
		{ints, "101 numbers from 0 to 1000, mean 9.901  █                      ▁"},
		{append([]float64{math.NaN(), math.Inf(1)}, make([]float64, 100)...), "102 numbers from 0 to 0, mean 0, 2 not finite"},
		{make([]uint8, 200), ""},
		{falling[:100], ""},
		{make([]string, 200), ""},
	} {
		b := Value(c.value)
		text := b.Data["text/plain"].(string)
		last := text[strings.LastIndexByte(text, '\n')+1:]
		if c.want == "" && strings.Contains(text, "numbers from") || !strings.HasPrefix(last, c.want) {
			t.Errorf("%T: got %q, want %q", c.value, last, c.want)
		}
		if page, _ := b.Data["text/html"].(string); c.want != "" && !strings.Contains(page, `white-space:pre">`+c.want) {
			t.Errorf("%T: no %q in %s", c.value, c.want, page)
		}
	}
}

// TestNumbersUnfold has the same line above the numbers that a click unfolds, once.
func TestNumbersUnfold(t *testing.T) {
	held := struct{ list []int }{make([]int, 250)}
	held.list[249] = 3
	b := branch{v: reflect.ValueOf(held).Field(0)}
	parts, next, total := b.Parts(0)
	if len(parts) != 1 || !strings.Contains(parts[0].HTML, ">250 numbers from 0 to 3, mean 0.012") || !strings.Contains(parts[0].HTML, "0…99:") {
		t.Errorf("%+v", parts)
	}
	if next != 100 || total != 250 {
		t.Errorf("next %d of %d", next, total)
	}
	if parts, next, _ = b.Parts(200); strings.Contains(parts[0].HTML, "numbers from") || !strings.Contains(parts[0].HTML, "200…249:") || next != 0 {
		t.Errorf("%+v, next %d", parts, next)
	}
}

// BenchmarkDistribution measures the line about a million numbers.
func BenchmarkDistribution(b *testing.B) {
	list := make([]float64, 1_000_000)
	for i := range list {
		list[i] = float64(i % 1000)
	}
	for b.Loop() {
		Value(list)
	}
}
