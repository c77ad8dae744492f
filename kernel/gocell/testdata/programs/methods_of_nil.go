package main

import "fmt"

type I interface{ M(int) int }
type T struct{ n int }

func (t T) M(i int) int { return t.n + i }

type E struct{ I }

func try(s string, f func()) {
	defer func() { fmt.Println(s, recover()) }()
	f()
}

func main() {
	var i I
	var e E
	var p *E
	var pt *T
	try("value", func() { f := i.M; fmt.Println("made", f == nil) })
	try("embedded", func() { f := e.M; fmt.Println("made", f == nil) })
	try("pointer", func() { f := p.M; fmt.Println("made", f == nil) })
	try("value receiver", func() { f := pt.M; fmt.Println("made", f == nil) })
	try("expr", func() { f := I.M; fmt.Println("made", f == nil); f(nil, 1) })
	try("defer", func() { defer i.M(1); fmt.Println("deferred") })
	try("defer2", func() { defer e.M(1); fmt.Println("deferred") })
	try("go", func() { go i.M(1); fmt.Println("gone") })
	try("err", func() { var err error; f := err.Error; fmt.Println("made", f == nil) })
	try("stringer", func() { var s fmt.Stringer; f := s.String; fmt.Println("made", f == nil) })
	try("defer stringer", func() { var s fmt.Stringer; defer s.String(); fmt.Println("deferred") })
	var nf func()
	try("defer nil", func() { defer nf(); fmt.Println("deferred") })
	i = T{4}
	f := i.M
	i = T{5}
	fmt.Println(f(1), i.M(1), I.M(i, 2))
}
