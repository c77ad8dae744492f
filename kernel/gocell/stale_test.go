package gocell

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// TestStale changes what earlier cells have read.
func TestStale(t *testing.T) {
	s := sessionWith(t, Options{KeepStdio: true, Stale: true})
	showCells(t, s, 1, []shownCell{
		{"x := 2", ""},
		{"func twice() int { return 2 * x }", ""},
		{"y := twice()", ""},
		{"z := y + 1", ""},
		{"w := 1", ""},
		{"%stale", "No cell is stale."},
		{"x = 5", "Stale: In[3], In[4], since x has changed. %rerun stale runs what is stale again.\n"},
		{"%stale", "In[3], since x has changed\nIn[4], since y has changed\n"},
		{"%rerun stale", "In[3]: y := twice()"},
		{"z", "= 11"},
		{"%rerun stale", "No cell is stale."},
		{"x = 5", ""},
		{"x = 6 // another value", "Stale: In[3], In[4], In[10], since x"},
		{"%rerun stale", "In[3]: y := twice()"},
		{"z", "= 13"},
		{"func twice() int { return 2 * x }", ""},
		{"func twice() int { return 3 * x }", "In[3]"},
		{"%stale", "since twice has changed"},
		{"%reset -f\n%stale", "No cell is stale."},
	})
	s = sessionWith(t, Options{KeepStdio: true, Stale: true})
	showCells(t, s, 1, []shownCell{
		{"n, m := 0, map[string]int{}\nvar b strings.Builder", ""},
		{"n++\nm[\"a\"] = 1\nb.WriteString(\"x\");", ""},
		{"n, len(m), b.Len()", "= 1, 1, 1"},
		{"n++\nm[\"b\"] = 1\nb.WriteString(\"y\");", ""}, // stands below
		{"%rerun 2\n%stale", "In[3], since"},
		{"_, err := strconv.Atoi(\"x\")\nerr != nil", "= true"},
		{"_, err := strconv.Atoi(\"y\")\nerr != nil", "= true"},
		{"func add(k int) { n += k }", ""},
		{"add(2)", ""},
		{"n > 100", "= false"},
		{"%rerun 9\n%stale", "In[10], since n has changed"},
	})
}

// TestStaleByCalls changes what cells have read by functions that set it, which the cells
// above have to follow, too, and by such that go on from its value.
func TestStaleByCalls(t *testing.T) {
	s := sessionWith(t, Options{KeepStdio: true, Stale: true})
	showCells(t, s, 1, []shownCell{
		{"v := 1", ""},
		{"w := v + 1", ""},
		{"func set(k int) { v = k }", ""},
		{"func add(k int) { v += k }", ""},
		{"add(1)", ""},
		{"%stale", "No cell is stale."},
		{"set(3)", "Stale: In[2], In[5], since v has changed."},
		{"set(4)", ""}, // the other call has not read it
		{"%stale", "In[2], since v has changed\nIn[5], since v has changed\n"},
	})
}

// TestStaleByID runs edited versions of a cell, which clients name.
func TestStaleByID(t *testing.T) {
	s := sessionWith(t, Options{KeepStdio: true, Stale: true})
	number := 0
	for _, c := range []struct{ id, code, want string }{
		{"a", "k := 2", ""},
		{"b", "area := k * k\narea", "= 4"},
		{"c", "type T struct{ n int }", ""},
		{"d", "v := T{k}\nv.n", "= 2"},
		{"a", "k := 3", "Stale: In[2], In[4], since k has changed."},
		{"b", "area := k * k\narea", "= 9"},
		{"e", "%stale", "In[4], since k has changed\n"},
		{"f", "%rerun stale", "= 3"},
		{"e", "%stale", "No cell is stale."},
		{"a", "k := 3", ""},
		{"a", "k := \"a\"", "Stale: In[6], In[4], since k"},
	} {
		number++
		got := enginetest.Show(context.Background(), s, engine.Cell{Number: number, Code: c.code, ID: c.id}, answering())
		if !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("In[%d]: %s\nshows %q, want in it %q", number, c.code, got, c.want)
		}
	}
}

// BenchmarkStale measures what it takes of a cell's time to know which cells are stale,
// in a session of 200 cells.
func BenchmarkStale(b *testing.B) {
	for _, stale := range []bool{false, true} {
		b.Run(fmt.Sprintf("stale=%v", stale), func(b *testing.B) {
			s, err := New(Options{KeepStdio: true, Stale: stale})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			execute(b, s, 1000, "r0 := 0")
			for i := range 100 {
				execute(b, s, 2*i+1, fmt.Sprintf("v%d := %d\nfunc f%[1]d() int { return v%[1]d + v0 }", i, i))
				execute(b, s, 2*i+2, fmt.Sprintf("r%d := f%d() + r%d", i+1, i, i))
			}
			for i := 0; b.Loop(); i++ {
				runCell(s, 201+i, fmt.Sprintf("v0 = %d", i), time.Minute)
			}
		})
	}
}
