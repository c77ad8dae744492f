package main

import (
	"fmt"
	"reflect"
	"runtime"
	"sort"
	"time"
)

type T struct{ n int }

func (t T) M() int { return t.n }

type Z struct{ n int }

func (Z) M() int { return 1 }

type ZS struct{}

func (ZS) M() int { return 1 }

type A [3]int

func (a A) M() int { return 7 }

type I interface{ M() int }
type E struct{ *T }
type EV struct{ T }
type EE struct{ I }
type EP struct{ *EV }
type G[X any] struct{ x X }

func (g G[X]) M() int { return 1 }

type GE struct{ G[int] }
type L []int

func (l L) M() int { return len(l) }

type F func()

func (f F) M() int { return 1 }

func g[X I](x X) int { return x.M() }
func gp[X any, P interface {
	*X
	M() int
}](x P) int {
	return x.M()
}
func ge[X any, P interface {
	*X
	M() int
}](x P) int {
	f := P.M
	return f(x)
}
func gv[X I](x X) int     { f := x.M; return f() }
func gi[X I](x X) int     { var i I = x; return i.M() }
func gd[X I](x X) (n int) { defer x.M(); return }

func try(name string, f func()) {
	defer func() {
		r := recover()
		_, re := r.(runtime.Error)
		fmt.Println(name, r, re)
	}()
	f()
}

func main() {
	var p *T
	var z *Z
	var zs *ZS
	var a *A
	var l *L
	var ff *F
	var e *E
	var ev *EV
	var ee *EE
	var gp_ *G[int]
	var gE *GE
	var i I
	try("p.M()", func() { p.M() })
	try("z.M()", func() { z.M() })
	try("zs.M()", func() { zs.M() })
	try("a.M()", func() { a.M() })
	try("l.M()", func() { l.M() })
	try("ff.M()", func() { ff.M() })
	try("gp.M()", func() { gp_.M() })
	try("e.M()", func() { e.M() })
	try("ev.M()", func() { ev.M() })
	try("ee.M()", func() { ee.M() })
	try("gE.M()", func() { gE.M() })
	try("E{}.M()", func() { E{}.M() })
	try("EE{}.M()", func() { EE{}.M() })
	try("EP{}.M()", func() { EP{}.M() })
	for n, i := range []I{p, z, zs, a, l, ff, gp_, e, ev, ee, gE, E{}, &E{}, EE{}, &EE{}, EP{}, &EP{}} {
		try(fmt.Sprintf("%d i=%T", n, i), func() { i.M() })
		try(fmt.Sprintf("%d f:=i.M %T", n, i), func() { f := i.M; f() })
		try(fmt.Sprintf("%d I.M(i) %T", n, i), func() { I.M(i) })
		try(fmt.Sprintf("%d defer i.M %T", n, i), func() { defer i.M() })
		try(fmt.Sprintf("%d reflect %T", n, i), func() { reflect.ValueOf(i).Method(0).Call(nil) })
		try(fmt.Sprintf("%d g(i) %T", n, i), func() { g(i) })
		try(fmt.Sprintf("%d any %T", n, i), func() { any(i).(interface{ M() int }).M() })
	}
	try("nil i", func() { i.M() })
	try("I.M(nil)", func() { I.M(nil) })
	try("f := p.M", func() { f := p.M; f() })
	try("f := ev.M", func() { f := ev.M; f() })
	try("f := ee.M", func() { f := ee.M; f() })
	try("defer p.M", func() { defer p.M(); fmt.Println("deferred") })
	try("(*T).M(p)", func() { (*T).M(p) })
	try("f=(*T).M", func() { f := (*T).M; f(p) })
	try("f=(*Z).M", func() { f := (*Z).M; f(z) })
	try("f=(*EV).M", func() { f := (*EV).M; f(ev) })
	try("f=(*E).M", func() { f := (*E).M; f(e) })
	try("f=(*EE).M", func() { f := (*EE).M; f(ee) })
	try("f=(*G).M", func() { f := (*G[int]).M; f(gp_) })
	try("(*Z).M(z)", func() { (*Z).M(z) })
	try("(*EV).M(z)", func() { (*EV).M(ev) })
	try("defer (*T).M(p)", func() { defer (*T).M(p); fmt.Println("deferred") })
	try("E.M", func() { f := E.M; f(E{}) })
	try("T.M(*p)", func() { T.M(*p) })
	try("g(p)", func() { g(p) })
	try("g(z)", func() { g(z) })
	try("g(ev)", func() { g(ev) })
	try("g(e)", func() { g(e) })
	try("g(ee)", func() { g(ee) })
	try("g(gp)", func() { g(gp_) })
	try("g(gE)", func() { g(gE) })
	try("gp(p)", func() { gp(p) })
	try("ge(p)", func() { ge(p) })
	try("gv(p)", func() { gv(p) })
	try("gi(p)", func() { gi(p) })
	try("gd(p)", func() { gd(p) })
	try("gp(ev)", func() { gp(ev) })
	try("ge(ev)", func() { ge(ev) })
	try("gv(ev)", func() { gv(ev) })
	try("gi(ev)", func() { gi(ev) })
	var tm *time.Time
	try("(*time.Time).String", func() { f := (*time.Time).String; f(tm) })
	try("(*time.Time).String direct", func() { _ = (*time.Time).String(tm) })
	try("sort", func() { sort.Sort((*sort.IntSlice)(nil)) })
	try("reflect.Call of method expr", func() { reflect.ValueOf((*T).M).Call([]reflect.Value{reflect.ValueOf(p)}) })
	try("reflect type method", func() { reflect.TypeOf(p).Method(0).Func.Call([]reflect.Value{reflect.ValueOf(p)}) })
	type loc struct{ T }
	var lo *loc
	try("lo", func() { var i I = lo; i.M() })
	for _, i := range []I{p, e} {
		func() {
			defer func() { fmt.Printf("%T\n", recover()) }()
			i.M()
		}()
	}
}
