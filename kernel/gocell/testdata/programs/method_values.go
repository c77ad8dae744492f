package main

import (
	"fmt"
	"reflect"
	"sort"
	"strings"
)

type Counter struct{ n int }

func (c *Counter) Inc() int      { c.n++; return c.n }
func (c Counter) Get() int       { return c.n }
func (c Counter) Plus(k int) int { return c.n + k }

type Op func(float64, float64) float64

func (o Op) Flip() Op { return func(a, b float64) float64 { return o(b, a) } }

type Celsius float64

func (c Celsius) F() float64 { return float64(c)*9/5 + 32 }

func apply(n int, f func() int) (out []int) {
	for range n {
		out = append(out, f())
	}
	return
}

func main() {
	var c Counter
	inc, get := c.Inc, c.Get
	fmt.Println(apply(3, inc), c.n, get(), c.Get())
	plus := Counter.Plus
	pinc := (*Counter).Inc
	pget := (*Counter).Get
	fmt.Println(plus(c, 10), pinc(&c), pget(&c))
	sub := Op(func(a, b float64) float64 { return a - b })
	fmt.Println(sub(5, 3), sub.Flip()(5, 3), sub.Flip().Flip()(5, 3))
	fmt.Println(Celsius(100).F(), Celsius.F(-40))
	fs := map[string]func(string) string{"up": strings.ToUpper, "trim": strings.TrimSpace}
	keys := make([]string, 0)
	for k := range fs {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	for _, k := range keys {
		fmt.Printf("%s:%q ", k, fs[k](" x "))
	}
	fmt.Println()
	cs := []*Counter{{1}, {2}, {3}}
	var gets []func() int
	for _, c := range cs {
		gets = append(gets, c.Inc)
	}
	for _, g := range gets {
		fmt.Print(g(), g(), " ")
	}
	fmt.Println(cs[0].n, cs[2].n)
	for _, x := range []any{Counter{4}, &Counter{5}, sub, Celsius(20)} {
		t := reflect.TypeOf(x)
		for i := range t.NumMethod() {
			m := t.Method(i)
			fmt.Print(m.Name, " ", m.Type, " ")
			if m.Type.NumIn() == 1 && m.Name != "Flip" {
				fmt.Print(m.Func.Call([]reflect.Value{reflect.ValueOf(x)})[0], " ")
			}
		}
		fmt.Println()
	}
	defer fmt.Println("end", c.Get())
	m := map[string]*Counter{"a": {}}
	m["a"].Inc()
	m["a"].Inc()
	fmt.Println(m["a"].n, strings.Map(func(r rune) rune { return r + 1 }, "HAL"))
	var np *Counter
	func() {
		defer func() { fmt.Println(recover()) }()
		np.Get()
	}()
	fmt.Println((&Counter{7}).Get(), Counter{8}.Plus(1))
}
