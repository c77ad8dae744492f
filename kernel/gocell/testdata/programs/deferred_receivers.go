package main

import (
	"fmt"
	"io"
	"math/big"
	"reflect"
	"strings"
	"sync"
	"time"
)

type cl struct {
	n   string
	log *[]string
}

func (c cl) Close() error { *c.log = append(*c.log, c.n); return nil }
func (c *cl) PClose()     { *c.log = append(*c.log, "p"+c.n) }

type wrap struct {
	cl
	io.Closer
}

func a() (x, y int) {
	p, q := 0, 0
	func() { v := reflect.ValueOf(&p).Elem(); defer v.SetInt(7); v = reflect.ValueOf(&q).Elem() }()
	return p, q
}
func b() (log []string) {
	func() { var c io.Closer = cl{"a", &log}; defer c.Close(); c = cl{"b", &log}; defer c.Close(); c = nil }()
	return
}
func c() (s string) {
	b1, b2 := &strings.Builder{}, &strings.Builder{}
	func() { w := b1; defer w.WriteString("x"); w = b2; defer w.WriteByte('y') }()
	return b1.String() + "|" + b2.String()
}
func d() (s string) {
	var b strings.Builder
	func() { defer b.WriteString("z"); pb := &b; defer pb.WriteString("p"); pb = nil; b.WriteString("a") }()
	return b.String()
}
func e() (log []string) {
	func() {
		c := cl{"v", &log}
		defer c.Close()
		defer c.PClose()
		pc := &c
		defer pc.Close()
		c.n = "w"
		pc = nil
		w := wrap{c, c}
		defer w.cl.Close()
		defer w.Closer.Close()
		w.cl.n = "q"
		w.Closer = nil
		m := map[string]cl{"k": {"m", &log}}
		defer m["k"].Close()
		m["k"] = cl{"n", &log}
		s := []cl{{"s", &log}}
		defer s[0].Close()
		defer s[0].PClose()
		s[0].n = "t"
	}()
	return
}
func f() (out []any) {
	func() {
		defer func() { out = append(out, recover()) }()
		var c io.Closer
		defer c.Close()
		out = append(out, "after")
	}()
	return
}
func g() (out []any) {
	func() {
		defer func() { out = append(out, recover()) }()
		var c *cl
		defer c.Close()
		out = append(out, "after")
	}()
	return
}
func h() (n int) {
	var mu sync.Mutex
	ms := []*sync.Mutex{&mu, {}}
	func() {
		m := ms[0]
		m.Lock()
		defer m.Unlock()
		m = ms[1]
		m.Lock()
		defer m.Unlock()
		m = nil
	}()
	for _, m := range ms {
		if m.TryLock() {
			n++
		}
	}
	return
}
func i() (s string) {
	f := func() { s += "1" }
	func() { defer f(); f = func() { s += "2" }; defer f(); f = nil }()
	return
}
func j() (s string) {
	t := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	func() { defer func(x string) { s += x }(t.Format("2006")); t = t.AddDate(1, 0, 0) }()
	return s + t.Format(" 2006")
}
func k() (r []string) {
	c := make(chan string, 4)
	l := []string{}
	func() {
		x := cl{"g", &l}
		go func() { c <- x.n }()
		r = append(r, <-c)
		done := make(chan bool)
		y := x
		go func(c cl) { c.Close(); done <- true }(y)
		y.n = "h"
		<-done
	}()
	return append(r, l...)
}
func l() (s string) {
	for i := range 3 {
		b := big.NewInt(int64(i))
		defer func() { s += b.String() }()
		defer b.Add(b, big.NewInt(10))
	}
	return ""
}
func main() {
	fmt.Println(a())
	fmt.Println(b(), c(), d())
	fmt.Println(e())
	fmt.Println(f()...)
	fmt.Println(g()...)
	fmt.Println(h(), i(), j(), k(), l())
}
