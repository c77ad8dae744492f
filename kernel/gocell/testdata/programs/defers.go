package main

import (
	"errors"
	"fmt"
)

func order() {
	for i := range 3 {
		defer fmt.Print("d", i, " ")
	}
	fmt.Print("body ")
}

func named() (n int, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("recovered: %v", r)
			n *= 10
		}
	}()
	n = 4
	panic("oops")
}

func nested() (s string) {
	defer func() { s += fmt.Sprint("|outer ", recover()) }()
	defer func() {
		defer func() { s += fmt.Sprint("|inner ", recover()) }()
		panic("second")
	}()
	panic("first")
}

func replaced() (s string) {
	defer func() { s = fmt.Sprint(recover()) }()
	defer func() { panic("new") }()
	panic("old")
}

func notDirect() (s string) {
	defer func() { s = fmt.Sprint("direct ", recover()) }()
	defer func() {
		func() {
			if r := recover(); r != nil {
				s = "wrong"
			}
		}()
	}()
	panic("p")
}

func args() {
	x := 1
	defer fmt.Println("deferred x", x)
	f := func(s string) func() {
		fmt.Println("enter", s)
		return func() { fmt.Println("leave", s, x) }
	}
	defer f("args")()
	x = 5
}

func result() int {
	n := 1
	defer func() { n = 100 }()
	return n
}

func resultNamed() (n int) {
	defer func() { n += 100 }()
	return 1
}

var ErrX = errors.New("x")

func again() (err error) {
	defer func() {
		if r := recover(); r != nil {
			e, ok := r.(error)
			if ok && errors.Is(e, ErrX) {
				err = e
				return
			}
			panic(r)
		}
	}()
	panic(fmt.Errorf("wrap: %w", ErrX))
}

func loop() (out []int) {
	for i := 0; i < 3; i++ {
		func() {
			defer func() { out = append(out, i*i) }()
			if i == 1 {
				return
			}
			out = append(out, -i)
		}()
	}
	return
}

func try(f func()) (r any) {
	defer func() { r = recover() }()
	f()
	return "fine"
}

type T struct{ name string }

func (t T) Close()   { fmt.Println("close", t.name) }
func (t *T) PClose() { fmt.Println("pclose", t.name) }

func main() {
	order()
	fmt.Println()
	fmt.Println(named())
	fmt.Println(nested())
	fmt.Println(replaced())
	fmt.Println(notDirect())
	args()
	fmt.Println(result(), resultNamed())
	fmt.Println(again())
	fmt.Println(loop())
	fmt.Println(try(func() {}), try(func() { panic(3) }), try(func() { panic(fmt.Sprint("a", 1)) }))
	fmt.Println(try(func() { var m map[string]int; m["a"] = 1 }))
	fmt.Println(try(func() { var p *T; _ = p.name }))
	fmt.Println(try(func() { a := []int{1}; i := 3; a[i] = 1 }))
	fmt.Println(try(func() { a, b := 1, 0; fmt.Println(a / b) }))
	fmt.Println(try(func() { var e any = "s"; _ = e.(int) }))
	fmt.Println(try(func() { var c chan int; close(c) }))
	fmt.Println(try(func() { _ = make([]int, func() int { return -1 }()) }))
	fmt.Println(try(func() { a := []int{1, 2, 3}; n := 2; _ = a[n:1] }))
	fmt.Println(try(func() { a := make([]int, 2, 4); n := 5; _ = a[:n] }))
	fmt.Println(try(func() { s := "abc"; n := 5; _ = s[n] }))
	fmt.Println(try(func() { a := []int{1}; _ = [2]int(a) }))
	func() {
		t := &T{"late"}
		defer T{"v"}.Close()
		defer (&T{"p"}).PClose()
		t.name = "later"
	}()
	fmt.Println(recover())
}
