package main

import "fmt"

type A struct{ n int }

type I interface {
	Get(B, int) (B, E)
	Num() int
	Self() I
	Arr([2]B) map[B]D
}

func (a A) Get(b B, k int) (B, E) { b.x += k; b.s = "got"; return b, "e" }
func (a A) Num() int              { return a.n }
func (a A) Self() I               { return a }
func (a A) Arr(b [2]B) map[B]D    { return map[B]D{b[1]: 2.5} }

type B struct {
	x, y int
	s    string
	d    D
	i    I
}

type D float64
type E string

func main() {
	var i I = A{3}
	b, e := i.Get(B{1, 2, "s", 4, i}, 10)
	fmt.Println(b.x, b.y, b.s, b.d, b.i.Num(), e)
	j := i.Self().Self()
	fmt.Println(j.Num(), j.Arr([2]B{{x: 1}, {x: 2}}))
}
