package docs

// Keyword returns an explanation of a keyword of Go with an example, or "" for
// other names.
func Keyword(name string) string { return keywords[name] }

// keywords explains each keyword in our own words; the language's specification
// is at https://go.dev/ref/spec.
var keywords = map[string]string{
	"break": `break ends the innermost for, switch or select, or the one that a label names.

	for i := 0; ; i++ {
		if i*i > 1000 {
			break
		}
	}`,
	"case": `case begins one of the alternatives of a switch or select; it does not run on into the next one.

	switch x := 3; {
	case x < 0:
		println("negative")
	case x == 3, x == 4:
		println("three or four")
	}`,
	"chan": `chan is a channel's type: chan T, or <-chan T to receive and chan<- T to send only. A channel passes values between goroutines.

	c := make(chan int, 10) // room for ten values
	c <- 1
	x := <-c
	_ = x`,
	"const": `const declares constants. Iota counts the lines of a group.

	const (
		red = iota // 0
		green
		blue
	)`,
	"continue": `continue begins the next step of the innermost for loop, or of the one that a label names.

	for i := range 10 {
		if i%2 == 0 {
			continue
		}
		println(i)
	}`,
	"default": `default is the alternative of a switch that runs if no case fits; that of a select runs if nothing is ready.

	switch x := 3; x {
	case 1:
		println("one")
	default:
		println("another")
	}`,
	"defer": `defer runs a call when the function around it returns or panics; the last one deferred runs first.

	f, err := os.Open("data.csv")
	if err == nil {
		defer f.Close()
	}`,
	"else": `else is what an if runs where its condition is false.

	if x := 3; x < 0 {
		println("negative")
	} else {
		println("not negative")
	}`,
	"fallthrough": `fallthrough, last in a case of a switch, runs on into the next case.

	switch 1 {
	case 1:
		fallthrough
	case 2:
		println("one or two")
	}`,
	"for": `for is Go's only loop: with a condition, with a counter, over a range, or without end.

	for i := 0; i < 3; i++ {
		println(i)
	}
	for i := range 3 { // 0, 1, 2
		println(i)
	}
	for i, x := range []string{"a", "b"} {
		println(i, x)
	}
	for {
		break
	}`,
	"func": `func declares a function or a method, or writes a function as a value.

	square := func(x float64) float64 { return x * x }
	println(square(3))`,
	"go": `go runs a call in a goroutine of its own, beside the rest. Wait for it with a channel or a sync.WaitGroup.

	done := make(chan bool)
	go func() {
		println("beside")
		done <- true
	}()
	<-done`,
	"goto": `goto jumps to a label of the same function. Loops, break and continue say most things better.

	i := 0
again:
	if i++; i < 3 {
		goto again
	}`,
	"if": `if runs a block where a condition holds; a short statement may stand before the condition.

	if n, err := fmt.Sscan("1"); err != nil {
		println(n)
	}`,
	"import": `import makes packages usable. In a cell the standard library, gonum, gorgonia and dacelib are there without a download.

	package main
	import (
		"fmt"
		"gonum.org/v1/plot"
	)`,
	"interface": `interface is a type that lists methods; every type that has them all satisfies it. With types in place of methods it is a constraint of type parameters; interface{} is any.

	type Shape interface {
		Area() float64
	}`,
	"map": `map is a table from keys to values: map[K]V. A key that is missing gives the zero value; delete removes one.

	count := map[string]int{"a": 1}
	count["b"]++
	n, there := count["c"]
	_, _ = n, there`,
	"package": `package names the package that a file belongs to. A cell needs none.

	package main`,
	"range": `range gives a for loop the elements of a slice, array, map, string, channel or function, or the numbers from 0 up to one.

	for i, x := range []float64{1.5, 2.5} {
		println(i, x)
	}
	for i := range 3 {
		println(i)
	}`,
	"return": `return ends a function and gives its results.

	sign := func(x float64) int {
		if x < 0 {
			return -1
		}
		return 1
	}
	_ = sign`,
	"select": `select waits for the first of several channels that is ready; with default it does not wait.

	c := make(chan int)
	select {
	case x := <-c:
		println(x)
	default:
		println("nothing yet")
	}`,
	"struct": `struct is a type of named fields.

	type Point struct {
		X, Y float64
	}`,
	"switch": `switch runs the first case that fits a value, whose condition holds, or which names an interface value's type.

	var x any = 3
	switch x := x.(type) {
	case int:
		println(x + 1)
	case string:
		println(x)
	}`,
	"type": `type declares a type; with = it gives one another name.

	type Celsius float64
	type Bits = []bool`,
	"var": `var declares variables: with a type, which makes them zero, with values, or with both. In a function x := value is shorter.

	var (
		n    int
		name = "DACE"
	)`,
}
