package program

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dace.local/kernel/gocell/internal/magic"
	"dace.local/kernel/notebook"
)

var withGo = flag.Bool("go", false, "also vet, build and run programs with Go, a minute")

var set = magic.NewSet(func() []string { return nil })

func cells(sources ...string) *notebook.Notebook {
	nb := &notebook.Notebook{Metadata: map[string]any{}}
	for _, s := range sources {
		c := &notebook.Cell{Type: notebook.Code, Source: s, Metadata: map[string]any{}}
		if rest, ok := strings.CutPrefix(s, "#"); ok {
			c.Type, c.Source = notebook.Markdown, rest
		}
		nb.Cells = append(nb.Cells, c)
	}
	return nb
}

func of(t *testing.T, nb *notebook.Notebook) (string, []string) {
	t.Helper()
	text, lacks, err := Make(set, nb, "nb", nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return string(text), lacks
}

// goRun runs programs with Go, after go vet, and returns what each prints.
func goRun(t *testing.T, programs map[string]string) map[string]string {
	t.Helper()
	dir, err := os.MkdirTemp(".", "testprogram") // in the module, whose packages they import
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, text := range programs {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name, "main.go"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "vet", "./"+dir+"/...").CombinedOutput(); err != nil {
		t.Fatalf("go vet: %v\n%s", err, out)
	}
	printed := map[string]string{}
	for name := range programs {
		out, err := exec.Command("go", "run", "./"+dir+"/"+name).CombinedOutput()
		if err != nil {
			t.Errorf("%s: %v\n%s\n%s", name, err, out, programs[name])
		}
		printed[name] = string(out)
	}
	return printed
}

// The programs print what the cells show.
func TestPrograms(t *testing.T) {
	type notebookCase struct {
		cells []string
		want  string
	}
	cases := map[string]notebookCase{
		"values":    {[]string{"x := 3\nx", "import \"strconv\"\nfunc f() string { return strconv.Itoa(x) }\nf()", "x, f()", "x;", "1 == 1"}, "3\n\"3\"\n3, \"3\"\ntrue\n"},
		"redefined": {[]string{"x := 1\ny := x", "x := \"a\"\nx", "x := \"b\"\ny, x", "y := 7\ny"}, "\"a\"\n1, \"b\"\n7\n"},
		"errors":    {[]string{"must(strconv.Atoi(\"42\"))", "func two() (int, string, error) { return 1, \"b\", nil }\na, b := must(two())\na, b", "two()", "must(os.Setenv(\"A\", \"b\"))", "fmt.Println(os.Getenv(\"A\"))"}, "42\n1, \"b\"\n1, \"b\"\nb\n"},
		"outside":   {[]string{"n := 1\nfunc add() { n++ }", "add()\nn", "m, n := 5, 6\nm, n", "var k, l int = 1, 2\nfunc sum() int { return k + l }", "sum()", "var k, l int\nsum()"}, "2\n5, 6\n3\n0\n"},
		"functions": {[]string{"func f() int { return 1 }\nfunc g() int { return f() * 10 }", "g()", "func f() int { return 2 }", "g()", "for i := 0; i < 2; i++ {\n\tfmt.Println(i, f())\n}"}, "10\n20\n0 2\n1 2\n"},
		"types":     {[]string{"type P struct{ X, Y int }\nfunc (p P) Sum() int { return p.X + p.Y }", "p := P{1, 2}\np.Sum()", "var all []P", "func keep(p P) { all = append(all, p) }\nkeep(p)\nlen(all)"}, "3\n1\n"},
		"packages":  {[]string{"r := rand.New(rand.NewPCG(1, 2))\n_ = r.IntN(3)", "fmt := 3\nfmt + 1", "strings.Repeat(\"x\", fmt)"}, "4\n\"xxx\"\n"},
		"context":   {[]string{"ctx, stop := context.WithCancel(ctx)\nstop()", "func err() error { return ctx.Err() }\nfmt.Println(err())"}, "context canceled\n"},
		"commands":  {[]string{"!echo hi", "lines := !printf 'a\\nb\\n'\nlen(lines)", "%%bash\necho `date >/dev/null`there", "%env B=c\n!echo $B", "%%script tr a-z A-Z\nshout\nit's $B", "%timeit 1 + 1\n7"}, "hi\n2\nthere\nc\nSHOUT\nIT'S $B\n7\n"},
		"results": {[]string{"2 + 3", "_ * 10", "10 + _ // c", "Out[1] + _2 + Out[3]", "type p struct{ X, y int }\n[]p{{1, 2}, {3, 4}}", "_[1].y", "len(Out[5])", "1, \"two\"", "_[1]", "strconv.Atoi(\"17\")", "_ + 1", "func two() (int, string) { return 1, \"b\" }\ntwo()", "for _, x := range _ {\n\tfmt.Println(x, __)\n}", "x := 1;", "_[1]", "out1 := 7\nout1 + Out[1]"},
			"5\n50\n60\n115\nX  y\n1  2\n3  4\n4\n2\n1, \"two\"\n\"two\"\n17\n18\n1, \"b\"\n1 18\nb 18\n\"b\"\n12\n"},
		"inputs": {[]string{"7", "n := 1\nOut[n]", "fmt.Println(len(Out), In[2])\nv, ok := Out[5]\nfmt.Println(v, ok)"}, "7\n7\n2 n := 1\nOut[n]\n<nil> false\n"},
		"blank":  {[]string{"import _ \"image/png\"\n1"}, "1\n"},
		"apart": {[]string{"x := 1\nfor i := range 2 {\n\tdefer fmt.Println(\"deferred\", i, x)\n}\nfmt.Println(\"end\")", "y, x := \"b\", 2\nif x > 1 {\n\treturn\n}\nfmt.Println(\"never\")", "x, y", "out:\nfor i := range 3 {\n\tif i == 1 {\n\t\tbreak out\n\t}\n\tfmt.Println(i)\n}", "n := 0\nout:\nfor {\n\tif n++; n > 3 {\n\t\tbreak out\n\t}\n}\nn", "defer func() { fmt.Println(\"caught\", recover()) }()\nvar a, b = 1, []int{}\nb[a] = 3", "a, len(b), n"},
			"end\ndeferred 1 1\ndeferred 0 1\n2, \"b\"\n0\n4\ncaught runtime error: index out of range [1] with length 0\n1, 0, 4\n"},
		"typed": {[]string{"type I interface{ M() int }\ntype T int\nfunc (t T) M() int { return int(t) }", "var i I = T(3)\nfunc f() int { return i.M() }\nf()", "type S struct{ a int }", "var t, u S\nfunc g() int { t.a++; return t.a + u.a }\ng()", "t, u"}, "3\n1\nS{a: 1}, S{a: 0}\n"},
		"inits": {[]string{"func init() { fmt.Println(1) }\nfunc init() { fmt.Println(2) }\nfmt.Println(3)", "func init() { n++ }\nvar n = 4\nn"}, "1\n2\n3\n5\n"},
		"order": {[]string{"var a = b + 1 // first\nvar b, c = f(1), d\n\nvar (\n\td, e int = g(), f(3)\n\tw    int\n)\nfunc f(n int) int { fmt.Println(\"f\", n); return 40 + n }\nfunc g() int { return a * 2 }", "a, b, c, d, e, w", "var p = q + 1\nvar q = 2", "p, q", "7", "var r = s + _\nvar s = p + Out[5]", "r", "var (\n\tt = u + 1 // t\n\tu = f(2)\n)\nt += 2\nvar v = t\nt, u, v"},
			"f 1\nf 3\n42, 41, 84, 84, 43, 0\n3, 2\n7\n17\nf 2\n45, 42, 45\n"},
		"dots":   {[]string{"import . \"strings\"\nfunc up(s string) string { return ToUpper(s) + Repeat(\"a\", 2) }\nup(\"q\")", "func ToUpper(s string) string { return \"mine\" }\ntype Builder int\nFields := 3\nfunc half() int { return Fields / 2 }", "up(\"q\"), ToUpper(\"q\"), int(Builder(1)), Fields, half(), ToLower(\"Q\")"}, "\"Qaa\"\n\"Qaa\", \"mine\", 1, 3, 1, \"q\"\n"},
		"unused": {[]string{"a := 1\nb, c := 2, 3\nb = 4\nvar d int", "c++"}, ""},
		"raw":    {[]string{"#Text\n\n%% x", "s := `a\n\tb`\nfmt.Println(s) // c"}, "a\n\tb\n"},
		"init":   {[]string{"func init() { fmt.Println(1) }\nfmt.Println(2)", "func main() { fmt.Println(3) }", "package main\nfunc main() { fmt.Println(4) }"}, "1\n2\n3\n4\n"},
	}
	programs, backs := map[string]string{}, map[string]string{}
	for name, c := range cases {
		text, _ := of(t, cells(c.cells...))
		programs[name] = text
		nb, ok := Notebook(set, []byte(text))
		if !ok {
			t.Errorf("%s is no notebook:\n%s", name, text)
			continue
		}
		backs[name+"-again"], _ = of(t, nb)
	}
	if !*withGo {
		return // kernel/gocell runs such programs in a session, which takes no time
	}
	printed := goRun(t, programs)
	for name, out := range goRun(t, backs) {
		printed[name] = out
	}
	for name, out := range printed {
		if want := cases[strings.TrimSuffix(name, "-again")].want; out != want {
			t.Errorf("%s prints %q, want %q\n%s", name, out, want, programs[name]+backs[name])
		}
	}
}

// What a program does not do is said in it, and in a list.
func TestLacks(t *testing.T) {
	text, lacks := of(t, cells("%timeit f()", "x := undefinedName", "?fmt", "%%nosuch", "%%capture a\nfmt.Println(1)", "1"))
	for _, want := range []string{"In[1]: %timeit f(): ", "In[2]: line 1: undefined: undefinedName", "In[3]: ?fmt: ", "In[4]: ", "In[5]: %%capture a: "} {
		if !strings.Contains(strings.Join(lacks, "\n"), want) {
			t.Errorf("%q lacks %s", lacks, want)
		}
	}
	for _, want := range []string{"\t// Not here: %timeit f(): ", "\t// Not here: line 1: undefined: undefinedName", "\n\t// x := undefinedName\n", "\tfmt.Println(1)\n", "display.Show(1)"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The committed notebooks come back from their programs with their text cells.
func TestNotebooks(t *testing.T) {
	files, err := filepath.Glob("../../../../notebooks/*.ipynb")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		nb, err := notebook.Read(data)
		if err != nil {
			t.Fatal(err)
		}
		text, lacks := of(t, nb)
		if len(lacks) > 0 && !strings.Contains(lacks[0], noFarm) {
			t.Errorf("%s lacks %q", file, lacks)
		}
		back, ok := Notebook(set, []byte(text))
		if !ok {
			t.Errorf("%s does not come back", file)
			continue
		}
		var want, got bytes.Buffer
		for _, c := range nb.Cells {
			if c.Type == notebook.Markdown {
				want.WriteString(c.ID + c.Source + "\n")
			}
		}
		for _, c := range back.Cells {
			if c.Type == notebook.Markdown {
				got.WriteString(c.ID + c.Source + "\n")
			}
		}
		if want.String() != got.String() {
			t.Errorf("%s: want the text cells\n%s\ngot\n%s", file, &want, &got)
		}
		if again, _ := of(t, back); len(again) < len(text)/2 {
			t.Errorf("%s comes back as\n%s", file, again)
		}
	}
}
