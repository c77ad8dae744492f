package magic

import (
	"strings"
	"testing"
)

func TestFormat(t *testing.T) {
	set := NewSet(func() []string { return nil })
	for _, c := range []struct{ code, want string }{
		{"", ""}, {" \n\n", ""},
		{"x:=1", "x := 1"},
		{"x:=1\n\n\n\ny :=2;", "x := 1\n\ny := 2;"},
		{"x;// quiet", "x; // quiet"},
		{"a,b", "a, b"},
		{"x := 1\na ,x // both", "x := 1\na, x // both"},
		{"a,b;", "a, b;"},
		{"f( a,b )", "f(a, b)"},
		{"import \"fmt\"\nfunc  f( ) {\nfmt.Println( 1)}\nf()", "import \"fmt\"\nfunc f() {\n\tfmt.Println(1)\n}\nf()"},
		{"func f(){}; f()", "func f() {}\nf()"},
		{"x := 1 // a\nlonger := 2 // b\ntype T struct{a int; bc string}", "x := 1      // a\nlonger := 2 // b\ntype T struct {\n\ta  int\n\tbc string\n}"},
		{"// about f\nfunc f() { }\n// then\nf()\n// end", "// about f\nfunc f() {}\n// then\nf()\n// end"},
		{"// only\n//  comments ", "// only\n//  comments"},
		{"%time   f( x)\nx:=  1", "%time   f( x)\nx := 1"},
		{"for {\n!ls  -l \\\n  a\n}", "for {\n\t!ls  -l \\\n  a\n}"},
		{"files := !ls   *\nlen( files)", "files := !ls   *\nlen(files)"},
		{"%%time\nx:=1", "%%time\nx := 1"},
		{"%%timeit -n 3 x:=1\n\nf( x )", "%%timeit -n 3 x:=1\nf(x)"},
		{"%%bash\nx=1;  y=2", "%%bash\nx=1;  y=2"},
		{"s := `a\n  b`", "s := `a\n  b`"},
		{"?fmt.Println", "?fmt.Println"},
		{"%%\nx:=1", "%%\nx := 1"},
	} {
		got, err := set.Format(c.code)
		if err != nil || got != c.want {
			t.Errorf("%q becomes %q, %v, want %q", c.code, got, err, c.want)
		}
		if again, err := set.Format(got); err != nil || again != got {
			t.Errorf("%q, formatted again, becomes %q, %v", got, again, err)
		}
	}
	for code, want := range map[string]string{"x := 1\nfunc f() {}\n\ny := := 2": "line 4: ", "%%time\nx := )": "line 2: ", "%nosuch": "unknown magic"} {
		if _, err := set.Format(code); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", code, err, want)
		}
	}
}

func BenchmarkFormat(b *testing.B) {
	set := NewSet(func() []string { return nil })
	code := strings.Repeat("for i := range 10 {\n\tfmt.Println( i )\n}\n", 10) + "!ls\nfunc f() { }\nx"
	for b.Loop() {
		if _, err := set.Format(code); err != nil {
			b.Fatal(err)
		}
	}
}
