package main

import "fmt"

type U [4]byte
type S struct {
	p *U
	q *[3]struct{ n int }
}

func (u *U) set(d []byte) int { return copy(u[:], d) }
func (u *U) all() []byte      { return u[:] }
func ix(i int) int            { fmt.Print("i", i, " "); return i }
func try(f func()) {
	defer func() { fmt.Println(recover()) }()
	f()
}

func main() {
	var u U
	fmt.Println(u.set([]byte("abcdef")), u)
	s := &S{&u, &[3]struct{ n int }{{1}, {2}, {3}}}
	x := s.p[1:3]
	x[0] = 'z'
	x = append(x, 'y')
	y := s.q[:2:3]
	y[1].n = 9
	fmt.Println(x, u, len(s.p[:]), cap(s.p[:2]), y, s.q[2:][0].n, cap(y))
	fmt.Println(string(s.p[:]), s.p.all(), u)
	fmt.Println(copy(s.p[2:], "QQ"))
	for i, b := range s.p[1:] {
		fmt.Print(i, b, " ")
	}
	var np *U
	try(func() { _ = np[ix(0):ix(1)] })
	try(func() { _ = np[:] })
	try(func() { np.set(nil) })
	try(func() { _ = s.p[ix(3):ix(2)] })
	try(func() { _ = s.p[:ix(5)] })
	arr := (*[2]byte)(u[1:3])
	arr[0]++
	fmt.Println(u, arr[:], *arr)
	z := append([]byte(nil), u.all()[1:]...)
	fmt.Println(z)
	pp := &s.p
	fmt.Println((*pp)[1:2], (**pp)[1:2], (*pp)[1])
}
