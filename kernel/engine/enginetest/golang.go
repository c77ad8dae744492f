package enginetest

import "dace.local/kernel/engine"

// Go returns the Language for Go in notebook cells: declarations and statements
// are mixed, the packages of the standard library and display are preloaded,
// and the value of the last expression is shown.
func Go(newEngine func() (engine.Engine, error)) Language {
	return Language{
		New:             newEngine,
		Hello:           `fmt.Println("hello")`,
		Oops:            `fmt.Fprintln(os.Stderr, "oops")`,
		Mixed:           "fmt.Println(\"a\")\nfmt.Fprintln(os.Stderr, \"b\")\ndisplay.HTML(\"<b>x</b>\")\nfmt.Println(\"c\")",
		Ticks:           "for range 3 {\n\tfmt.Println(\"tick\")\n\ttime.Sleep(100 * time.Millisecond)\n}",
		Many:            "for range 10000 {\n\tfmt.Println(\"x\")\n}",
		Value:           `len("日本") * 7`,
		ValueText:       "42",
		SetOne:          "état := 1",
		Get:             "état",
		SetTwoFail:      "état = 2\nvar p *int\n*p = 1\nétat = 3",
		FailName:        engine.Panic,
		SetThreeInvalid: "état = 3\nnobody(état)",
		Panic:           `panic("boom")`,
		Loop:            "for {\n}",
		Sleep:           "<-make(chan int)",
		Late:            "go func() {\n\ttime.Sleep(100 * time.Millisecond)\n\tfmt.Println(\"late\")\n}()",
		Ask:             "var name string\nfmt.Scanln(&name)\nfmt.Println(name)",
		Display:         "h := display.NewHandle()\nh.Show(1)\nh.HTML(\"<b>2</b>\")",
		Clear:           "display.Clear(true)",
		Page:            "?fmt.Println",
		Complete: []string{
			"x := 1", "1 + 1", `import "math"`, "func f() int {\n\treturn 1\n}", "type t struct{ a int }",
			"for i := range 3 {\n\tfmt.Println(i)\n}", "x := `raw\nstring`", "// comment",
		},
		Incomplete: []string{
			"for i := range 3 {", "func f() {\n\treturn", "fmt.Println(", "x := []int{\n\t1,", "s := `raw", "/* comment", "if x {\n} else {", "1 +",
		},
		Invalid: []string{"x := )", "func 1", "a b c", "}", `"open`},
		Completions: []Completion{
			{Code: "fmt.Printl|", Want: "Println", Result: "fmt.Println"},
			{Code: "\"日本\"; ét|", Want: "état", Result: "\"日本\"; état"},
			{Code: "x := math.Sq|(2)", Want: "Sqrt", Result: "x := math.Sqrt(2)"},
			{Code: "func g() {\n\tlocal := 1\n\t_ = loc|\n}", Want: "local", Result: "func g() {\n\tlocal := 1\n\t_ = local\n}"},
		},
		Inspect:        "fmt.Println",
		InspectHas:     "Println",
		InspectUnknown: "fmt.Nobody",
		Expression:     "état",
		ExpressionText: "1",
		NoExpression:   "état +",
	}
}
