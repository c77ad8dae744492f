package main

import (
	"errors"
	"fmt"
	"strings"
)

var x = "package"

type T struct{ x int }

func (x T) get() int { return x.x }

func f(x int) (y int, err error) {
	if x := x * 2; x > 10 {
		y := x
		_ = y
		return y, nil
	} else if y := x + 1; y > 5 {
		x := y
		return x, errors.New("else")
	}
	for x := range 3 {
		y += x
	}
	{
		x, y := "a", 3.5
		_, _ = x, y
	}
	switch x := any(x).(type) {
	case int:
		x++
		y += x
	}
	return
}

func err1() (err error) {
	if err := errors.New("inner"); err != nil {
		_ = err
	}
	return
}

func main() {
	fmt.Println(x)
	x := 1
	fmt.Println(x)
	{
		x := x + 1
		x++
		fmt.Println(x)
		{
			x := "deep"
			fmt.Println(x)
		}
		fmt.Println(x)
	}
	fmt.Println(x)
	fmt.Println(f(6))
	fmt.Println(f(4))
	fmt.Println(f(1))
	fmt.Println(err1())
	func(x string) {
		fmt.Println(x)
		x = "changed"
	}("arg")
	fmt.Println(x, T{7}.get())
	int := func(s string) string { return "int" + s }
	fmt.Println(int("x"))
	true := false
	fmt.Println(true, !true)
	len := 3
	fmt.Println(len + 1)
	a, b := 1, 2
	if a, c := b, a; c == 1 {
		b, d := a*10, c
		fmt.Println(a, b, c, d)
	}
	fmt.Println(a, b)
	b, c := 5, 6
	fmt.Println(b, c)
	for i := 0; i < 2; i++ {
		i := i * 10
		i++
		fmt.Print(i, " ")
	}
	fmt.Println()
	string := strings.ToUpper
	fmt.Println(string("up"))
	type T struct{ s float64 }
	fmt.Printf("%+v\n", T{1.5})
	print := fmt.Sprint
	fmt.Println(print("p", 1))
	fmt := "shadowed package"
	_ = fmt
}
