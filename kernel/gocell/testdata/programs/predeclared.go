package main

import (
	"fmt"
	"sort"
	"time"
)

// What Go predeclares is anybody's name.

func halves(deg int) (min, max int) { max = deg*2 - 1; min = max / 2; return min, max }

func sorted(xs []int) (copy []int) {
	copy = xs
	defer func() { copy = append(copy, 1) }()
	sort.Ints(copy)
	return
}

func weigh(len int, cap ...int) (new int, err error) {
	for _, real := range cap {
		new += real * len
	}
	switch any := any(new).(type) {
	case int:
		new += any
	case string, nil:
		fmt.Println(any)
	}
	return new, nil
}

type limits[E any] struct{ min, max E }

func (t *limits[E]) set(min, max E) (len int) {
	t.min, t.max = min, max
	func() { len++ }()
	return len
}

func smallest[E int | float64](min E, max ...E) E {
	for _, new := range max {
		if new < min {
			min = new
		}
	}
	return min
}

func untrue() (true bool) {
	func(nil int) { true = nil == 1 }(1)
	if true := !true; true {
		return false
	}
	return
}

func adder(n int) (max func(int) int) {
	var copy = n
	max = func(min int) int { copy += min; return copy }
	return max
}

type clear struct{ len int }

func (c *clear) append(x int) *clear { c.len += x; return c }
func (c clear) cap() int             { return c.len * 2 }

const iota = 7

var complex, delete = halves(iota)

func main() {
	fmt.Println(halves(3))
	fmt.Println(sorted([]int{3, 2}))
	fmt.Println(weigh(2, 3, 4))
	var l limits[string]
	fmt.Println(l.set("a", "b"), l, smallest(3, 1, 2), smallest(2.5))
	fmt.Println(untrue(), adder(2)(3))
	fmt.Println((&clear{1}).append(2).append(3).cap(), iota, complex, delete)
make:
	for i, string := range "ab" {
		for {
			if i == 0 {
				continue make
			}
			fmt.Println(string)
			break make
		}
	}
	select {
	case len := <-time.After(1):
		fmt.Println(len.IsZero())
	}
	const (
		false = 1 << (2 * iota)
		nil   = "nil"
	)
	var int32, uint8 = false, nil
	panic := func(recover any) string { return fmt.Sprint("panic ", recover) }
	var fs []func() int
	for len := 0; len < 3; len++ {
		fs = append(fs, func() int { len *= 10; return len })
	}
	for new := range 3 {
		fmt.Print(fs[new](), " ")
	}
	fmt.Println(int32, uint8, panic(nil))
	close := map[string]int{"k": 1}
	if print, ok := close["k"]; ok {
		goto done
	} else {
		fmt.Println(print)
	}
done:
	for imag, real := range close {
		imag, real := imag+"!", real+1
		close[imag] = real
		break
	}
	fmt.Println(close)
}
