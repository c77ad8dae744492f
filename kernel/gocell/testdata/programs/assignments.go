package main

import "fmt"

type T struct{ a, b int }

func p(s string) *int   { fmt.Print(s, " "); return new(int) }
func pb(s string) *bool { fmt.Print(s, " "); return new(bool) }
func ch(s string) chan int {
	fmt.Print(s, " ")
	c := make(chan int, 1)
	c <- 1
	return c
}
func mp(s string) map[string]int { fmt.Print(s, " "); return map[string]int{"a": 2} }
func k(s string) string          { fmt.Print(s, " "); return s }
func sl(s string) []int          { fmt.Print(s, " "); return []int{1, 2, 3} }
func ix(s string, i int) int     { fmt.Print(s, " "); return i }
func an(s string) any            { fmt.Print(s, " "); return 3 }
func st(s string) *T             { fmt.Print(s, " "); return &T{} }
func twoOf(s string) (int, bool) { fmt.Print(s, " "); return 4, true }

func inOrder() {
	var ok bool
	var n int
	*p("1"), ok = <-ch("2")
	fmt.Println(ok)
	*p("1"), *pb("2") = <-ch("3")
	fmt.Println()
	*p("1"), ok = mp("2")[k("a")]
	fmt.Println(ok)
	*p("1"), *pb("2") = mp("3")[k("b")]
	fmt.Println()
	*p("1"), ok = an("2").(int)
	fmt.Println(ok)
	sl("1")[ix("2", 1)], ok = an("3").(int)
	fmt.Println(ok)
	st("1").a, ok = an("2").(int)
	fmt.Println(ok)
	mp("1")[k("2")], ok = <-ch("3")
	fmt.Println(ok)
	*p("1"), ok = twoOf("2")
	fmt.Println(ok)
	sl("1")[ix("2", 0)], *pb("3") = twoOf("4")
	fmt.Println()
	n, *pb("1") = twoOf("2")
	fmt.Println(n)
	*p("1"), *p("2") = ix("3", 1), ix("4", 2)
	fmt.Println()
	sl("1")[ix("2", 0)], mp("3")[k("4")] = ix("5", 1), ix("6", 2)
	fmt.Println()
	*p("1") = ix("2", 2)
	fmt.Println()
	sl("1")[ix("2", 0)] = ix("3", 1)
	fmt.Println()
	mp("1")[k("2")] = ix("3", 1)
	fmt.Println()
	st("1").a = ix("2", 1)
	fmt.Println()
	sl("1")[ix("2", 0)] += ix("3", 1)
	fmt.Println()
	mp("1")[k("2")] += ix("3", 1)
	fmt.Println()
	st("1").a += ix("2", 1)
	fmt.Println()
	*p("1") += ix("2", 1)
	fmt.Println()
	*p("1")++
	sl("1")[ix("2", 0)]++
	fmt.Println()
	sl("1")[ix("2", 0)] = <-ch("3")
	fmt.Println()
	*p("1") = <-ch("3")
	fmt.Println()
}

func try(name string, f func()) {
	defer func() { fmt.Println(name, recover()) }()
	f()
}

func partly() {
	m := map[string]int{}
	var p *int
	var t *T
	var nm map[string]int
	s := []int{1, 2, 3}
	x := 0
	y := 0
	var e any = "s"
	c := make(chan int, 3)
	two := func() (int, int) { return 7, 8 }
	try("a", func() { m["k"], *p = 1, 2 })
	fmt.Println(m)
	try("b", func() { x, *p = 1, 2 })
	fmt.Println(x)
	try("c", func() { s[0], *p = 9, 2 })
	fmt.Println(s)
	try("d", func() { s[1], s[5] = 9, 2 })
	fmt.Println(s)
	i := 5
	try("e", func() { x, s[i] = 3, 2 })
	fmt.Println(x, s)
	try("f", func() { x, t.a = 4, 2 })
	fmt.Println(x)
	try("g", func() { x, nm["k"] = 5, 2 })
	fmt.Println(x)
	try("h", func() { nm["k"], x = 5, 6 })
	fmt.Println(x)
	try("i", func() { *p, x = 5, 7 })
	fmt.Println(x)
	try("j", func() { x, *p = two() })
	fmt.Println(x)
	try("k", func() { m["z"], s[i] = two() })
	fmt.Println(m)
	try("l", func() { x, y = 8, e.(int) })
	fmt.Println(x, y)
	try("m", func() { x, y = 8, *p })
	fmt.Println(x, y)
	try("n", func() { x, y = 8, s[i] })
	fmt.Println(x, y)
	try("o", func() { x, t.b = 9, len(c)+2 })
	try("p", func() { x, t.b = two() })
	fmt.Println(x, y)
	var arr *[3]int
	try("q", func() { x, arr[1] = 11, 12 })
	fmt.Println(x)
	try("r", func() { x, arr[1] = two() })
	fmt.Println(x)
	var ok bool
	try("s", func() { ok, x = true, s[i] })
	fmt.Println(ok)
	try("t", func() { *p, ok = m["z"] })
	fmt.Println(ok)
	try("u", func() { x, *(&ok) = m["z"] })
	fmt.Println(x, ok)
	var pb *bool
	try("v", func() { x, *pb = m["k"] })
	fmt.Println(x)
	var a1, a2 any
	var pa *any
	try("w", func() { a1, *pa = 1, "b" })
	fmt.Println(a1)
	try("x", func() { a1, m[a2.(string)] = 2, 3 })
	fmt.Println(a1)
	try("y", func() { x, s[4:][0] = 2, 3 })
	fmt.Println(x)
}

type U struct {
	a, b int
	n    *U
	E
}
type E struct{ x int }

func f(i int) int { return i * 10 }

func everywhere() {
	s := []int{1, 2, 3, 4}
	i, j := 0, 3
	for ; i < j; i, j = i+1, j-1 {
		s[i], s[j] = s[j], s[i]
	}
	fmt.Println(s, i, j)
	k, q := 1, 2
	for n := 0; n < 3; n, k, q = n+1, f(q), k {
	}
	fmt.Println(k, q)
	for n := 0; n < 2; n, s[n] = n+1, f(n) {
	}
	fmt.Println(s)
	t := &U{n: &U{}}
	t.a, t.b = 1, 2
	t.n.a, t.n.b, t.x = t.a, t.b, 5
	t, t.n = t.n, t
	fmt.Println(t.a, t.n == nil, t.b)
	func() {
		defer func() { fmt.Println(recover() != nil, t.a, t.b) }()
		t.a, t.n.b = 7, 8
	}()
	var arr [3]int
	p := &arr
	p[0], p[1], arr[2] = 4, 5, 6
	m := map[int]int{}
	m[1], m[2] = 2, m[1]
	fmt.Println(arr, m)
	var c chan int = make(chan int, 1)
	c <- 5
	var ok bool
	s[0], ok = <-c
	fmt.Println(s, ok)
	var post *int
	func() {
		defer func() { fmt.Println(recover() != nil, k) }()
		for n := 0; n < 2; n, k, *post = n+1, n, 4 {
		}
	}()
	func() {
		defer func() { fmt.Println(recover() != nil, k) }()
		for n := 0; n < 2; k, *post = two() {
		}
	}()
	func() {
		defer func() { fmt.Println(recover() != nil, k) }()
		if k, *post = 77, 4; k > 0 {
		}
	}()
	func() {
		defer func() { fmt.Println(recover() != nil, k) }()
		if k, *post = two(); k > 0 {
		}
	}()
	func() {
		defer func() { fmt.Println(recover() != nil, k) }()
		switch k, *post = 3, 4; k {
		}
	}()
	func() {
		defer func() { fmt.Println(recover() != nil, k) }()
		var x any = 4
		switch k, *post = 9, 4; x.(type) {
		}
	}()
	func() {
		defer func() { fmt.Println(recover() != nil, k) }()
		var np *int
		ch := make(chan int, 1)
		ch <- 3
		select {
		case *np, ok = <-ch:
		}
	}()
	func() {
		defer func() { fmt.Println(recover() != nil, k) }()
		var np *bool
		ch := make(chan int, 1)
		ch <- 33
		select {
		case k, *np = <-ch:
		}
	}()
	func() {
		defer func() { fmt.Println(recover() != nil, k) }()
		var np *int
		for k, *np = range []int{5, 6} {
		}
	}()
	fmt.Println(k)
}

func two() (int, int) { return 55, 6 }

func main() {
	inOrder()
	partly()
	everywhere()
}
