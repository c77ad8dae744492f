package main

import "fmt"

type T struct{ a int }

func main() {
	m := map[int]int{}
	x := 5
	var ok bool
	x, ok = m[1]
	fmt.Println(x, ok)
	p := &x
	x = 5
	*p, ok = m[1]
	fmt.Println(x, ok)
	s := []int{4, 5}
	s[0], ok = m[1]
	fmt.Println(s, ok)
	t := &T{4}
	t.a, ok = m[1]
	fmt.Println(t, ok)
	var e any = "x"
	*p = 5
	*p, ok = e.(int)
	fmt.Println(*p, ok)
	t.a, ok = e.(int)
	fmt.Println(*t, ok)
	s[0], ok = e.(int)
	fmt.Println(s, ok)
	c := make(chan int)
	close(c)
	*p = 5
	*p, ok = <-c
	fmt.Println(*p, ok)
	s[1], ok = <-c
	fmt.Println(s, ok)
	t.a = 5
	t.a, ok = <-c
	fmt.Println(*t, ok)
	var i any = 4
	mi := map[string]any{}
	i, ok = mi["a"]
	fmt.Println(i, ok)
	var st fmt.Stringer
	st, ok = e.(fmt.Stringer)
	fmt.Println(st, ok)
	ms := map[string]T{}
	v := T{4}
	v, ok = ms["a"]
	fmt.Println(v, ok)
	*t = T{4}
	*t, ok = ms["a"]
	fmt.Println(v, *t, ok)
	for j := 0; j < 2; j++ {
		y, ok := m[j]
		y++
		fmt.Println(y, ok)
	}
	ar := [3]int{1, 2, 3}
	ar[1], ok = m[6]
	fmt.Println(ar)
	v.a = 6
	v.a, ok = m[6]
	fmt.Println(v)
	again()
}

func again() {
	m := map[string]int{"a": 1}
	for _, k := range []string{"a", "b", "c", "a"} {
		v, ok := m[k]
		v += 10
		fmt.Print(v, ok, " ")
		w, _ := m[k]
		fmt.Print(w, " ")
		w = 7
		_, ok = m[k]
		fmt.Println(ok)
		if u, ok := m[k]; !ok {
			fmt.Println(u)
			u = 88
		}
		var e any = k
		if k == "b" {
			e = 5
		}
		n, ok := e.(int)
		fmt.Print(n, ok)
		n = 99
		c := make(chan int, 1)
		if k != "a" {
			c <- 4
		}
		close(c)
		r, ok := <-c
		fmt.Println(r, ok)
		r = 66
		var z int
		fmt.Println(z)
		z = 7
		var q, okq = m[k]
		fmt.Println(q, okq)
		q = 67
	}
	x := "a"
	mm := map[string]string{"a": "b"}
	x, ok := mm[x]
	fmt.Println(x, ok)
	x, ok = mm[x]
	fmt.Println(x == "", ok)
	bb := map[bool]int{true: 4}
	y, ok := bb[ok]
	fmt.Println(y, ok)
	var nilm map[any]any
	yy, ok := nilm["x"]
	fmt.Println(yy, ok)
	func() {
		defer func() { fmt.Println(recover()) }()
		yy, ok = map[any]any{1: 2}[[]int{}]
	}()
	type K struct{ a, b int }
	km := map[K]func() int{{1, 2}: func() int { return 5 }}
	fn, ok := km[K{1, 2}]
	fmt.Println(fn(), ok)
	fn, ok = km[K{}]
	fmt.Println(fn == nil, ok)
	type B bool
	var nb B
	_, nb = nilm[1]
	fmt.Println(nb)
	fl := map[float64]string{1: "one"}
	s, ok := fl[1]
	fmt.Println(s, ok)
}
