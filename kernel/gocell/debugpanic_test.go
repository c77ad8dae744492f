package gocell

import (
	"strings"
	"testing"
	"time"
)

// TestPostMortem looks at the variables of functions after a panic has left them.
func TestPostMortem(t *testing.T) {
	s := sessionWith(t, Options{KeepStdio: true})
	showCells(t, s, 1, []shownCell{
		{"%debug", "no cell of this session has panicked"},
		{`type item struct{ Name string; N int }
func at(xs []int, i int) int {
	unseen := "so far"
	_ = unseen
	for i := range xs {
		_ = i
	}
	return xs[i]
}
func total(it item) (sum int) {
	xs := []int{4, 5, 6}
	visit := func(step int) {
		sum += at(xs, it.N+step)
		later := sum
		_ = later
	}
	for k := range 3 {
		visit(k)
	}
	return sum
}`, ""},
		{"total(item{\"a\", 1})", "index out of range [3] with length 3"},
		{"%debug", "panic: runtime error: index out of range [3] with length 3\n" +
			"0 In[2]:8 in at\n    return xs[i]\n  xs      []int   []int{4, 5, 6}\n  i       int     3\n  unseen  string  \"so far\"\n" +
			"1 In[2]:13 in total.func\n    sum += at(xs, it.N+step)\n"},
		{"%debug", "  step  int    2\n2 In[2]:18 in total\n    visit(k)\n"},
		{"%debug", "  k      int             2\n3 In[3]:1 in cell\n"},
		{"%debug len(xs) + i", "= 6"},
		{"%debug 1 it.Name", "= \"a\""},
		{"%debug 2", "item{Name: \"a\", N: 1}"},
		{"%debug 1 sum *= 2\n%debug 2 sum", "= 22"},
		{"%debug 1 later", "undefined: later"},
		{"%debug xs[7]", "index out of range [7]"},
		{"%debug i", "= 3"}, // of the cell's panic still
		{"%debug 9", "there is no function 9"},
		{"must(0, errors.New(\"failed\"))", "failed"},
		{"%debug", "panic: failed\n0 In[15]:1 in cell"},
		{"%reset -f\n%debug", "no cell of this session has panicked"},
	})
	runCell(s, 40, "func f(n int) { if n == 0 { panic(\"end\") }; f(n-1) }\nf(30)", time.Minute)
	if got := runCell(s, 41, "%debug", time.Minute); !strings.Contains(got, "... 16 functions ...") || strings.Count(got, "  n  int  ") != 15 {
		t.Errorf("of 32 calls: %s", got)
	}
	runCell(s, 42, "done := make(chan bool)\ngo func(job string) { defer close(done); panic(job) }(\"in a goroutine\")\n<-done", time.Minute)
	if got := runCell(s, 43, "time.Sleep(time.Millisecond)\n%debug job", time.Minute); !strings.Contains(got, "in a goroutine") {
		t.Errorf("of a goroutine: %s", got)
	}
}
