package main

import "fmt"

// Shifts of each width and sign, by constants and by variables that have signs and that
// have none, up to the width and beyond; and cases of select that are ready at once.

type number interface {
	~int | ~int8 | ~int16 | ~int32 | ~int64 | ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr
}

func shift[T number](name string, x T) {
	fmt.Println(name, x<<3, x>>3, x<<70, x>>70)
	for _, n := range []int{0, 1, 7, 8, 31, 63, 64} {
		b, w := uint8(n), uint64(n)
		y, z := x, []T{x, x}
		y <<= n
		z[0] >>= n
		z[1] >>= w
		fmt.Println(name, n, x<<n, x>>n, x<<b, x>>b, x<<w, x>>w, y, z)
	}
	n := -1
	for i, f := range []func() T{func() T { return x << n }, func() T { return x >> n }, func() T { x >>= n; return x }} {
		func() {
			defer func() { fmt.Println(name, i, recover()) }()
			f()
		}()
	}
}

// chosen counts which cases are ever chosen.
func chosen(next func() int) (n int) {
	seen := map[int]bool{}
	for range 400 {
		seen[next()] = true
	}
	return len(seen)
}

func selects() {
	a, b, c, d, e := make(chan int), make(chan int), make(chan int), make(chan int), make(chan int)
	for _, c := range []chan int{a, b, c, d, e} {
		close(c)
	}
	room := make(chan int, 1000)
	fmt.Println(chosen(func() int {
		select {
		case <-a:
			return 0
		case <-b:
			return 1
		}
	}), chosen(func() int {
		select {
		case <-a:
			return 0
		case room <- 1:
			return 1
		case _, ok := <-b:
			if !ok {
				return 2
			}
		}
		return 3
	}), chosen(func() int {
		select {
		case <-a:
			return 0
		case <-b:
			return 1
		case <-c:
			return 2
		case <-d:
			return 3
		case <-e:
			return 4
		}
	}), chosen(func() int {
		select {
		case <-a:
			return 0
		default:
			return 1
		}
	}), chosen(func() int {
		select {
		case <-a:
			return 0
		case <-b:
			return 1
		default:
			return 2
		}
	}))
}

func main() {
	shift("int", -1<<62-12345)
	shift[int8]("int8", -77)
	shift[int16]("int16", -12345)
	shift[int32]("int32", -1234567890)
	shift[int64]("int64", 1<<62+98765)
	shift[uint]("uint", 1<<63+12345)
	shift[uint8]("uint8", 0xa5)
	shift[uint16]("uint16", 0xa55a)
	shift[uint32]("uint32", 0xdeadbeef)
	shift[uint64]("uint64", 1<<63+54321)
	shift[uintptr]("uintptr", 1<<63+4321)
	selects()
}
