package gocell

import (
	"regexp"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// TestPlacesOfTests checks that what tests log names the cell and the line of the
// call, or of that of a helper, as go test names the file and the line.
func TestPlacesOfTests(t *testing.T) {
	s, err := New(Options{}) // tests write to the process's output
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i, c := range []struct{ name, code, want string }{
		{"each method", `%%test -v
func TestX(t *testing.T) {
	t.Log("log", 1)
	t.Logf("log %d", 2)
	t.Error("error", 3)
	t.Errorf("error %d", 4)
	t.Error()
}
func TestFatal(t *testing.T) { t.Fatal("fatal", 5) }
func TestFatalf(t *testing.T) {
	t.Fatalf("fatal %d", 6)
}
func TestSkip(t *testing.T) { t.Skip("skip", 7) }
func TestSkipf(t *testing.T) { t.Skipf("skip %d", 8) }`, `=== RUN   TestX
    In[1]:3: log 1
    In[1]:4: log 2
    In[1]:5: error 3
    In[1]:6: error 4
    In[1]:7: 
--- FAIL: TestX
=== RUN   TestFatal
    In[1]:9: fatal 5
--- FAIL: TestFatal
=== RUN   TestFatalf
    In[1]:11: fatal 6
--- FAIL: TestFatalf
=== RUN   TestSkip
    In[1]:13: skip 7
--- SKIP: TestSkip
=== RUN   TestSkipf
    In[1]:14: skip 8
--- SKIP: TestSkipf
FAIL
`},
		{"not verbose, several lines", `%%test
func TestX(t *testing.T) {
	t.Error("one\ntwo")
}`, `--- FAIL: TestX
    In[2]:3: one
        two
FAIL
`},
		{"subtests", `%%test
func TestX(t *testing.T) {
	for _, name := range []string{"a", "b"} {
		t.Run(name, func(t *testing.T) {
			t.Errorf("in %s",
				t.Name())
		})
	}
	t.Error("after")
}`, `--- FAIL: TestX
    --- FAIL: TestX/a
        In[3]:5: in TestX/a
    --- FAIL: TestX/b
        In[3]:5: in TestX/b
    In[3]:9: after
FAIL
`},
		{"helpers", `%%test
func equal(t *testing.T, a, b int) {
	t.Helper()
	if a != b {
		t.Errorf("%d is not %d", a, b)
	}
}
func outer(t testing.TB, a int) {
	t.Helper()
	equal(t.(*testing.T), a, 2)
	func() { t.Error("in a literal of a helper") }()
}
func plain(t *testing.T) { equal(t, 7, 8) }
func TestX(t *testing.T) {
	equal(t, 1, 2)
	outer(t, 1)
	plain(t)
	check := func(a int) { t.Helper(); equal(t, a, 0) }
	other := func(a int) { equal(t, a, 0) }
	check(3)
	other(4)
}`, `--- FAIL: TestX
    In[4]:15: 1 is not 2
    In[4]:16: 1 is not 2
    In[4]:11: in a literal of a helper
    In[4]:13: 7 is not 8
    In[4]:20: 3 is not 0
    In[4]:19: 4 is not 0
FAIL
`},
		{"helpers of subtests", `%%test
func TestX(t *testing.T) {
	t.Helper()
	t.Run("a", func(t *testing.T) {
		t.Helper()
		t.Error("inner")
	})
	bad := func(t *testing.T) { t.Helper(); t.Error("bad") }
	t.Run("b", func(t *testing.T) { bad(t) })
	t.Run("c", bad)
}
func TestY(t *testing.T) { t.Run("a", func(t *testing.T) {
	t.Helper()
	t.Error("inner")
}) }`, `--- FAIL: TestX
    --- FAIL: TestX/a
        In[5]:4: inner
    --- FAIL: TestX/b
        In[5]:9: bad
    --- FAIL: TestX/c
        In[5]:10: bad
--- FAIL: TestY
    --- FAIL: TestY/a
        In[5]:12: inner
FAIL
`},
		{"values, embedded, deferred, cleanups, goroutines", `%%test
type suite struct {
	*testing.T
	n int
}
func (s suite) check() { s.Errorf("n = %d", s.n) }
type own struct{ testing.TB }
func (o own) Error(a ...any) { o.TB.Error(append(a, "by its own")...) }
func TestX(t *testing.T) {
	log := t.Errorf
	log("value %d",
		1)
	say := (*testing.T).Error
	say(t, "expression")
	suite{t, 2}.check()
	var tb testing.TB = t
	tb.Error("interface")
	own{t}.Error("called")
	own{t}.Logf("promoted")
	t.Cleanup(func() { t.Log("cleaned") })
	defer func() {
		t.Log("in a deferred literal")
	}()
	done := make(chan bool)
	go func() {
		defer close(done)
		t.Error("aside")
	}()
	<-done
	several := func() (string, int) { return "%d", 3 }
	t.Log(several())
}`, `--- FAIL: TestX
    In[6]:11: value 1
    In[6]:14: expression
    In[6]:6: n = 2
    In[6]:17: interface
    In[6]:8: called by its own
    In[6]:19: promoted
    In[6]:27: aside
    In[6]:31: %d 3
    In[6]:22: in a deferred literal
    In[6]:20: cleaned
FAIL
`},
		{"interfaces of cells", `%%test
type failer interface{ Errorf(string, ...any); Helper() }
type fatal interface{ Fatal(...any) }
type wrapped struct{ failer; n int }
type suited struct{ *testing.T }
type both interface{ failer; fatal }
type mine struct{ got []string }
func (m *mine) Errorf(f string, a ...any) { m.got = append(m.got, fmt.Sprintf(f, a...)) }
func (m *mine) Helper() {}
func must[T any](f failer, v T, err error) T {
	f.Helper()
	if err != nil {
		f.Errorf("failed: %v", err)
	}
	return v
}
func TestX(t *testing.T) {
	must(t, 1, io.EOF)
	var f failer = suited{t}
	f.Errorf("of a struct that embeds it")
	wrapped{t, 1}.Errorf("%d", 2)
	g := f.Errorf
	g("a value")
	m := &mine{}
	must[any](m, nil, io.EOF)
	t.Log(m.got)
	func() {
		defer func() { t.Log(recover()) }()
		var none failer
		none.Errorf("x")
	}()
	interface{ Error(...any) }(t).Error("of no name")
	for _, b := range []both{t, suited{t}} {
		b.Errorf("both")
	}
	fatal(t).Fatal("over")
}`, `--- FAIL: TestX
    In[7]:18: failed: EOF
    In[7]:20: of a struct that embeds it
    In[7]:21: 2
    In[7]:23: a value
    In[7]:26: [failed: EOF]
    In[7]:28: runtime error: invalid memory address or nil pointer dereference
    In[7]:32: of no name
    In[7]:34: both
    In[7]:34: both
    In[7]:36: over
FAIL
`},
		{"deferred", `%%test
func TestX(t *testing.T) {
	defer t.Log("at the brace")
	t.Log("first")
	func() int {
		defer t.Logf("at the %s", "return")
		fmt.Sprint(1)
		return 1
	}()
	for i := range 2 {
		defer func() {
			defer t.Error("in a literal", i)
			fmt.Sprint(2)
		}()
	}
	var f interface{ Log(...any) } = t
	defer f.Log("by an interface")
	defer log.New(t.Output(), "", log.Lshortfile).Print("a logger")
	fmt.Sprint(3)
}`, `--- FAIL: TestX
    In[8]:4: first
    In[8]:8: at the return
    In[8]:20: a logger
    In[8]:20: by an interface
    In[8]:14: in a literal 1
    In[8]:14: in a literal 0
    In[8]:20: at the brace
FAIL
`},
		{"panics", `%%test
type cutter interface{ Truncate(int) }
func cut(c cutter) { c.Truncate(-1) }
func TestX(t *testing.T) {
	cut(&bytes.Buffer{})
}`, `--- FAIL: TestX
    the test has panicked
        In[9]:5:2: in TestX
            	cut(&bytes.Buffer{})
            	^
        In[9]:3:22: in cut
            func cut(c cutter) { c.Truncate(-1) }
                                 ^
        panic: bytes.Buffer: truncation out of range
FAIL
`},
		{"several cells", `%%test
func TestX(t *testing.T) {
	equal(t, 1, 2)
	plain(t)
}`, `--- FAIL: TestX
    In[10]:3: 1 is not 2
    In[4]:13: 7 is not 8
FAIL
`},
		{"benchmarks", `%%test -run XXX -bench BenchmarkX
func BenchmarkX(b *testing.B) {
	b.Run("a", func(b *testing.B) {
		b.Fatalf("bad %d", 1)
	})
	b.Skip("over")
}`, "--- FAIL: BenchmarkX/a\n    In[11]:4: bad 1\n--- FAIL: BenchmarkX\n    In[11]:6: over\nFAIL\n"},
	} {
		var out enginetest.Recorder
		_, err := s.Execute(t.Context(), engine.Cell{Number: i + 1, Code: c.code}, &out)
		if got := differing.ReplaceAllString(enginetest.Plain(out.Text(enginetest.Stdout)), ""); got != c.want {
			t.Errorf("%s: got %s (%v)\nwant %s", c.name, got, err, c.want)
		}
	}
}

// differing is what differs from machine to machine in the output of tests.
var differing = regexp.MustCompile(`(?m) \(\d+\.\d+s\)$|^(goos|goarch|pkg|cpu): .*\n`)
