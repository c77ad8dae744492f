package gocell

import (
	"strings"
	"testing"
	"time"
)

// TestRecall reads results of earlier cells.
func TestRecall(t *testing.T) {
	s, err := New(Options{KeepStdio: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, c := range []struct{ code, want string }{
		{"2 + 3", "= 5"},
		{"_ * 10", "= 50"},
		{"_ + __", "= 55"},
		{"Out[1] + _2 + Out[3]", "= 110"},
		{"type point struct{ X, y int }\n[]point{{1, 2}, {3, 4}}", "3  4"},
		{"_[1].y", "= 4"},
		{"Out[5][0].X", "= 1"},
		{"func(n int) int { return n + 1 }", "func"},
		{"_(41)", "= 42"},
		{"error(os.ErrNotExist)", "not exist"},
		{"errors.Is(_, os.ErrNotExist)", "= true"},
		{"1, \"two\"", "two"},
		{"_[1]", "= \"two\""},
		{"strconv.Atoi(\"17\")", "= 17"},
		{"_ + 1", "= 18"},
		{"In[1]", "2 + 3"},
		{"len(In), Out[2], len(Out) > 8", "true"},
		{"n := 3\nOut[n]", "= 55"},
		{"for _, x := range []int{_18.(int)} { fmt.Println(x) }", "55"},
		{"_, b := 1, 2\nb", "= 2"},
		{"map[int]bool{_: true}", "{2: true}"},
		{"%time _[2]", "true"},
		{"x := 1;", ""},
		{"_ == Out[22]", "= true"},
		{"type point struct{ X, y int }\nlen(Out[5])", "= 2"},
		{"Out[5][1].y", "= 4"},
		{"%who variable", "b\t n\t x\n"},
		{"Out[99]", "there is no Out[99]: there are values of the cells 1, 2, 3, ..., 18, 20, 21, 22, 24, 25, 26"},
		{"n = 98\nfunc() {\n\tfmt.Println(Out[n+Out[1]-4])\n}()", "there is no Out[99]"},
		{"v, found := Out[99]\nv, found", "<nil>"},
		{"Out[_1-4]", "= 5"},
		{"Out := []string{\"mine\"}\nOut[0]", "= \"mine\""},
		{"Out[0]", "= \"mine\""},
		{"%who variable", "Out\t b\t found\t n\t v\t x\n"},
		{"type T struct{ In, Out int }\nT{In: 3, Out: 4}.In", "= 3"},
		{"_ + undefinedName", "undefined: undefinedName"},
		{"len(_)", "invalid argument: _35 (variable of type int) for built-in len"},
		{"%reset -f", ""},
		{"_", "cannot use _ as value"},
	} {
		got := runCell(s, i+1, c.code, time.Minute)
		if !strings.Contains(got, c.want) || c.want == "" && strings.TrimSpace(got) != "" {
			t.Errorf("In[%d]: %s\nshows %q, want in it %q", i+1, c.code, got, c.want)
		}
	}
}
