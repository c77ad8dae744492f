package main

import (
	"errors"
	"fmt"
	"io"
)

type E1 struct{ n int }

func (e E1) Error() string { return fmt.Sprint("E1 ", e.n) }

type S string

func (s S) String() string { return "S(" + string(s) + ")" }

func kind(v any) string {
	switch x := v.(type) {
	case nil:
		return "nil"
	case bool:
		if x {
			return "yes"
		}
		return "no"
	case int, int64:
		return fmt.Sprintf("integer %v %T", x, x)
	case uint8:
		return fmt.Sprint("byte ", x+1)
	case float64:
		return fmt.Sprint("float ", x/2)
	case string:
		return "string " + x[1:]
	case []int:
		return fmt.Sprint("ints ", len(x))
	case map[string]int:
		return fmt.Sprint("map ", x["a"])
	case func(int) int:
		return fmt.Sprint("func ", x(2))
	case *int:
		*x++
		return fmt.Sprint("pointer ", *x)
	case [2]int:
		return fmt.Sprint("array ", x[1])
	case chan int:
		return fmt.Sprint("chan ", cap(x))
	case error:
		return "error " + x.Error()
	case fmt.Stringer:
		return "stringer " + x.String()
	case struct{ A int }:
		return fmt.Sprint("struct ", x.A)
	case complex128:
		return fmt.Sprint("complex ", real(x))
	default:
		return fmt.Sprintf("other %T", x)
	}
}

func main() {
	n := 4
	for _, v := range []any{nil, true, false, 3, uint8(5), 2.5, "text", []int{1, 2}, map[string]int{"a": 7},
		func(x int) int { return x * 21 }, &n, [2]int{1, 2}, make(chan int, 3), io.EOF, errors.New("x"), struct{ A int }{8}, 1 + 2i, 'r', int8(1), []string{}, struct{}{}} {
		fmt.Println(kind(v))
	}
	fmt.Println(n)
	var v any = 5
	switch v.(type) {
	case string:
		fmt.Println("string")
	case int:
		fmt.Println("int")
	}
	switch x := v.(type) {
	case int:
		x++
		fmt.Println(x, v)
	}
	i, ok := v.(string)
	fmt.Printf("%q %v\n", i, ok)
	if f, ok := v.(float64); !ok {
		fmt.Println("no float", f)
	}
	switch y := v.(type) {
	case string, bool:
		fmt.Println("either", y)
	default:
		z := y.(int) + 1
		fmt.Println("default", z)
	}
}
