package main

import (
	"fmt"
	"strconv"
	"strings"
)

func f() (s string) {
	i := 0
again:
	defer func(i int) { s += strconv.Itoa(i) }(i)
	if i++; i < 3 {
		goto again
	}
	return
}
func g() (s string) {
	i := 0
again:
	func(i int) { s += strconv.Itoa(i) }(i)
	if i++; i < 3 {
		goto again
	}
	return
}
func h() (n int) {
	c := make(chan int, 3)
	i := 0
again:
	go func(i int) { c <- i }(i)
	if i++; i < 3 {
		goto again
	}
	return <-c + <-c + <-c
}
func pair() (int, string) { return 1, "x" }
func k() (s string) {
l:
	for i := range 2 {
		defer func(n int, t string) { s += fmt.Sprint(n, t, i) }(pair())
		if i == 1 {
			break l
		}
	}
m:
	defer func(n int, t string) { s += fmt.Sprint(n, t) }(pair())
	if s != "" {
		goto m
	}
	return
}
func fs() (fs []func() int) {
	i := 0
again:
	j := i
	fs = append(fs, func() int { return j })
	if i++; i < 3 {
		goto again
	}
	return
}
func clos() (s string) {
	c, m, sl := make(chan int, 1), map[string]int{"a": 1, "b": 2}, []int{1, 2}
	func() {
		defer close(c)
		defer delete(m, "a")
		defer copy(sl, []int{7})
		defer print("")
		defer func() { s += fmt.Sprint(len(m), sl, recover()) }()
		c <- 1
		s += fmt.Sprint(len(m), sl, len(c))
	}()
	_, ok1 := <-c
	_, ok2 := <-c
	s += fmt.Sprint(ok1, ok2, m, sl)
	func() {
		defer func() { s += fmt.Sprint(recover()) }()
		defer panic(fmt.Sprint("late", len(s) > 0))
		s += "body"
	}()
	func() { defer clear(m); m["z"] = 1; s += fmt.Sprint(len(m)) }()
	func() { x := "a"; defer func() { s += fmt.Sprint(recover()) }(); defer panic(x); x = "b" }()
	func() {
		defer func() { s += fmt.Sprint(recover()) }()
		func() { defer recover(); panic("not stopped") }()
	}()
	func() {
		for i := range 3 {
			defer delete(m, fmt.Sprint(i))
			m[fmt.Sprint(i)] = i
		}
		s += fmt.Sprint(len(m))
	}()
	// Go 1.27 puts "runtime error: " before this one.
	func() {
		defer func() { s += strings.TrimPrefix(fmt.Sprint(recover()), "runtime error: ") }()
		defer panic(nil)
	}()
	func() { defer func() { s += fmt.Sprint(recover()) }(); var n chan int; defer close(n) }()
	c2 := make(chan int)
	go close(c2)
	<-c2
	done := make(chan bool)
	go func() { defer close(done); go copy([]int{1}, sl); go delete(map[string]int{"a": 1}, "q"); go print("") }()
	<-done
	return s + fmt.Sprint(len(m))
}
func main() {
	fmt.Println(f(), g(), h(), k())
	for _, x := range fs() {
		fmt.Print(x(), " ")
	}
	fmt.Println(clos())
	i := 0
	if i == 0 {
		i++
	} else {
		goto end
	}
	switch {
	case i == 1:
		defer fmt.Println("sw")
		fallthrough
	default:
		defer fmt.Println("df")
	}
end:
	fmt.Println("end")
}
