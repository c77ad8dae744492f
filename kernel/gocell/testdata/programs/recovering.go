package main

import (
	"errors"
	"fmt"
	"sync"
)

func helper() any { return recover() }

func handle(where string) {
	if r := recover(); r != nil {
		fmt.Println(where, "recovered", r)
	}
}

type T struct{ name string }

func (t T) cleanup()   { fmt.Println(t.name, recover()) }
func (t *T) pcleanup() { fmt.Println("p", t.name, recover()) }

type cleaner interface{ cleanup() }

func variable() {
	hd := func() { fmt.Println("variable", recover()) }
	defer hd()
	panic(1)
}

func indirect() {
	defer func() {
		fmt.Println("helper", helper())
		func() { fmt.Println("nested", recover()) }()
		fmt.Println("own", recover())
	}()
	panic(2)
}

func viaParam(f func()) {
	defer f()
	panic(3)
}

func iface() {
	var c cleaner = T{"iface"}
	defer c.cleanup()
	panic(4)
}

func method() {
	t := &T{"method"}
	defer t.pcleanup()
	panic(5)
}

func value() {
	f := T{"bound"}.cleanup
	defer f()
	panic(6)
}

func direct() (err error) {
	defer func() { fmt.Println("outer", recover()) }()
	defer recover()
	panic(7)
}

func repanic() (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("wrapped: %v", r)
		}
	}()
	defer func() {
		r := recover()
		panic(fmt.Sprint("again ", r))
	}()
	panic(8)
}

func normal() {
	defer func() { fmt.Println("normal", recover()) }()
}

func twice() {
	defer func() { fmt.Println("first", recover(), recover()) }()
	panic(9)
}

func during() {
	defer func() { fmt.Println("during", recover()) }()
	defer func() {
		func() {
			defer func() { fmt.Println("inner", recover()) }()
			panic("in")
		}()
	}()
	panic("out")
}

func seq(yield func(int) bool) { _ = yield(1) && yield(2) }

func loop() (n int) {
	for i := range seq {
		defer handle(fmt.Sprint("loop", i))
		defer func() { n += i }()
		hd := func() { fmt.Println("loop var", recover()) }
		if i == 2 {
			defer hd()
			panic("in loop")
		}
	}
	return
}

func once() {
	var o sync.Once
	defer func() { fmt.Println("once", recover()) }()
	defer o.Do(func() { fmt.Println("in once", recover()) })
	panic(10)
}

func results() (x int, err error) {
	defer handleErr(&err)
	panic(errors.New("boom"))
}

func handleErr(err *error) {
	if r := recover(); r != nil {
		*err = r.(error)
	}
}

func generic[X any](x X) {
	defer func() { fmt.Println("generic", x, recover()) }()
	panic(x)
}

func rec(n int) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Print(n, r, " ")
			if n > 0 {
				panic(n)
			}
			fmt.Println()
		}
	}()
	if n == 3 {
		panic("deep")
	}
	rec(n + 1)
}

var table = map[string]func(){"a": func() { fmt.Println("table", recover()) }}

func fromMap() {
	defer table["a"]()
	panic(11)
}

func main() {
	variable()
	indirect()
	viaParam(func() { fmt.Println("param", recover()) })
	iface()
	method()
	value()
	direct()
	fmt.Println(repanic())
	normal()
	twice()
	during()
	fmt.Println(loop())
	once()
	fmt.Println(results())
	generic("g")
	rec(0)
	fromMap()
	fmt.Println(recover())
	func() {
		defer handle("declared")
		var m map[string]int
		m["a"] = 1
	}()
}
