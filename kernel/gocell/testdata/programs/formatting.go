package main

import (
	"errors"
	"fmt"
	"time"
)

type P struct {
	X, Y int
}
type N struct {
	P    P
	Q    *P
	L    []P
	M    map[string]P
	I    any
	E    error
	F    float64
	S    string
	B    []byte
	c    complex64
	arr  [2]bool
	next *N
}
type St int

func (s St) String() string { return fmt.Sprintf("St%d", int(s)) }

type G struct{ v int }

func (g G) GoString() string { return fmt.Sprintf("G(%d)", g.v) }

type Er struct{}

func (*Er) Error() string { return "er" }

type B byte
type Sl []int
type Mp map[string]bool

func main() {
	n := N{P: P{1, 2}, L: []P{{3, 4}}, M: map[string]P{"k": {5, 6}}, I: P{7, 8}, E: errors.New("e"), F: 1.5, S: "s\n", B: []byte("hi"), c: 1 + 2i}
	fmt.Printf("%v\n", n)
	fmt.Printf("%+v\n", n)
	fmt.Printf("%T %T %T %T\n", n, n.L, n.M, &n)
	fmt.Printf("%#v\n", n.P)
	fmt.Printf("%#v\n", n.L)
	fmt.Printf("%#v\n", n.M)
	fmt.Printf("%#v %#v %#v %#v %#v\n", 1, "a", 1.0, []string{"x"}, map[string]int{"b": 1, "a": 2})
	fmt.Printf("%#v %#v %#v\n", Sl{1, 2}, Mp{"t": true}, B(3))
	fmt.Printf("%v %v %v %T %T %T\n", Sl{1, 2}, Mp{"t": true}, B(3), Sl{}, Mp{}, B(0))
	fmt.Printf("%v %d %s %q %x %5v|%-5v|\n", St(3), St(3), St(3), St(3), St(3), St(3), St(3))
	fmt.Printf("%v %+v %#v\n", []St{1, 2}, map[St]St{1: 2}, St(4))
	fmt.Printf("%v %#v %#v\n", G{1}, G{2}, []G{{3}})
	fmt.Printf("%v %v\n", &Er{}, []error{&Er{}, nil})
	fmt.Printf("%t %v %5t|\n", true, false, true)
	fmt.Printf("%d %5d|%-5d|%05d %+d %x %X %#x %o %#o %b %c %q %U %#U\n", 42, 42, 42, 42, 42, 255, 255, 255, 8, 8, 5, 'A', 'A', 'é', 'é')
	fmt.Printf("%f %.2f %8.3f|%-8.1f|%e %g %G %08.2f %+.1f %x\n", 3.14159, 3.14159, 3.14159, 3.14159, 31415.9, 1e21, 1e-7, -3.14159, 2.0, 1.5)
	fmt.Printf("%s %q %10s|%-10s|%.2s %x % x %X %#q\n", "go", "go\t", "go", "go", "golang", "hi", "hi", "hi", "raw")
	fmt.Printf("%v %s %x %q %d\n", []byte("abc"), []byte("abc"), []byte("abc"), []byte("abc"), []byte("abc"))
	fmt.Printf("%v %q %d\n", []string{"a b", "c"}, []string{"a b", "c"}, []int{1, 2})
	fmt.Printf("%v %.1f %v\n", 1+2i, 1.25-3i, complex64(2))
	fmt.Printf("%p %v\n", nil, nil)
	fmt.Printf("%!|%z|%d|%s\n", 1, "x")
	fmt.Printf("%d %d\n", 1)
	fmt.Printf("%d\n", 1, 2)
	fmt.Printf("%[2]d %[1]d %[3]*.[2]*[1]f|\n", 1, 2, 3)
	fmt.Printf("%*d|%-*d|%.*f\n", 5, 1, 5, 2, 3, 1.23456)
	fmt.Printf("%v %v %v\n", time.Duration(1500)*time.Millisecond, time.March, time.Sunday)
	fmt.Printf("%6.2f%%\n", 12.345)
	fmt.Printf("%v %v\n", struct{}{}, [3]int{})
	fmt.Printf("%v %+v\n", struct {
		a any
		b *int
	}{}, struct {
		a any
		b []string
	}{1, nil})
	fmt.Printf("%s\n", error(nil))
	fmt.Printf("%d %s\n", "str", 5)
	fmt.Printf("%t\n", 1)
	fmt.Println(fmt.Sprint("a", 1, 2, "b", "c", 3.0, nil, 'x'), fmt.Sprintln("end", 1))
	fmt.Print("a", "b", 1, 2, true, "\n")
	fmt.Printf("%v %v\n", &n.P, &n.L)
	fmt.Printf("%v %v\n", &[]int{1}, &map[string]int{"a": 1})
	fmt.Printf("%08b %o %x\n", -5, -8, -255)
	fmt.Printf("%x %X %x\n", "hello", []byte{1, 0xab}, [3]byte{1, 2, 3})
	fmt.Printf("%t %v %s\n", []bool{true, false}, [2]bool{true}, []error{errors.New("z")})
	fmt.Printf("%q %v\n", []rune("hé"), []rune("hé"))
	fmt.Printf("%6d|%-6d|%06d\n", []int{1, 22}, []int{1, 22}, []int{1, 22})
	fmt.Printf("%+q %#U\n", "é", '⌘')
	fmt.Printf("%v %v\n", int8(-128), uint64(1<<63))
	fmt.Printf("%T %T %T %T %T %T %T\n", 1, "s", 'r', 1.5, 2i, nil, []any{1})
	fmt.Printf("%T %T %T\n", func(int) (string, error) { return "", nil }, make(chan<- int), struct{ A, b int }{})
}
