package main

import "fmt"

type item struct{ n int }

func id(n int) int { n++; return n }

func source(ns ...int) <-chan int {
	c := make(chan int, len(ns))
	for _, n := range ns {
		c <- n
	}
	close(c)
	return c
}

func named(c <-chan int) (n int)           { n = <-c; n++; return n }
func two(c <-chan int) (n int, ok bool)    { n, ok = <-c; n++; return n, ok }
func through(c <-chan int) int             { return <-c }
func both(c <-chan int) (a, b int)         { return <-c, <-c }
func crossed(c <-chan int) (a, b int)      { a, b = <-c, <-c; return b, a }
func items(c <-chan item) (sum int)        { x := <-c; x.n++; x = item{x.n * 2}; return x.n }
func functions(c <-chan func(int) int) int { f := <-c; g := f; f = id; return f(1) + g(1) }

func main() {
	c := source(1, 2, 3, 4, 5, 6, 7)
	x := <-c
	x = 7
	x++
	var y = <-c
	y += 2
	z, ok := <-c
	z++
	fmt.Println(x, y, z, ok)
	x, y = <-c, x
	x++
	fmt.Println(x, y)
	if v := <-c; v > 0 {
		v++
		fmt.Println("if", v)
	}
	switch v := <-c; v {
	case 6:
		v = 60
		fmt.Println("switch", v)
	}
	for v := range c {
		v *= 2
		fmt.Println("range", v)
	}
	fmt.Println(<-c, named(source(1)), through(source(9)))
	fmt.Println(two(source(1)))
	fmt.Println(two(source()))
	fmt.Println(both(source(1, 2)))
	fmt.Println(crossed(source(1, 2)))
	d := source(1, 2, 3, 4, 5)
	var s item
	s.n = <-d
	s.n++
	a := []int{0}
	a[0] = <-d
	a[0]++
	m := map[string]int{}
	m["a"] = <-d
	m["a"]++
	p := new(int)
	*p = <-d
	*p++
	arr := [2]int{<-d, 3}
	arr[0]++
	fmt.Println(s, a, m, *p, arr)
	select {
	case v := <-source(5):
		v++
		fmt.Println("select", v)
	}
	select {
	case x = <-source(8):
		x++
		fmt.Println("select", x)
	}
	select {
	case m["b"], ok = <-source():
		m["b"]--
		fmt.Println("select", m, ok)
	}
	ci := make(chan item, 1)
	ci <- item{3}
	fmt.Println(items(ci))
	cf := make(chan func(int) int, 1)
	cf <- func(n int) int { return n * 10 }
	fmt.Println(functions(cf))
	any1 := make(chan any, 2)
	any1 <- 5
	any1 <- item{5}
	v := <-any1
	v = "text"
	w := (<-any1).(item)
	w.n++
	fmt.Println(v, w)
}
