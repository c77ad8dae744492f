package main

import (
	"fmt"
	"math"
	"time"
)

type Weekday int

const (
	Sunday Weekday = iota
	Monday
	Tuesday
	_
	Thursday
)

const (
	A, B = iota, iota * 10
	C, D
	E = "str"
	F
	G = iota
)

const (
	_        = iota
	KB int64 = 1 << (10 * iota)
	MB
	GB
)

type Flags uint8

const (
	F1 Flags = 1 << iota
	F2
	F3
	All = F1 | F2 | F3
)

const big = 1 << 100
const fbig = big >> 98
const pi2 = math.Pi * 2
const typed float32 = 1.0 / 3
const r = 'a' + 1
const s = "con" + "cat"
const l = len(s)
const c = 2i * 2i
const cond = l > 5 && s == "concat"
const timeout = 3 * time.Second
const mask = ^uint32(0)
const neg = -5 % 3
const shifted = 1.0 << 3
const bigf = 1e400 / 1e399

func (w Weekday) String() string { return [...]string{"Su", "Mo", "Tu", "We", "Th"}[w] }

func main() {
	fmt.Println(Sunday, Monday, Tuesday, Thursday, int(Thursday))
	fmt.Println(A, B, C, D, E, F, G)
	fmt.Println(KB, MB, GB)
	fmt.Println(F1, F2, F3, All, All&^F2, ^F1)
	fmt.Println(fbig, pi2, typed, r, string(rune(r)), s, l, c, real(c), cond, timeout, mask, neg, shifted, bigf)
	fmt.Printf("%T %T %T %T %T %T %T %T\n", fbig, pi2, typed, r, s, c, timeout, mask)
	var f32 float32 = 0.1
	var f64 float64 = 0.1
	fmt.Println(float64(f32) == f64, f32*3, f64*3, 0.1*3, 0.1+0.2, f64+0.2)
	x := 10
	fmt.Println(x/4, x/4.0, 10/4, 10/4.0, 10.0/4, float64(x)/4, 7/2*2.0, 1/2+1/2.0)
	var i8 int8 = 1<<7 - 1
	i8++
	fmt.Println(i8, math.MaxInt64, uint64(math.MaxUint64), math.MinInt64)
	var u uint = 0
	u--
	fmt.Println(u, uint8(255)+uint8(x), int8(x)*13, ^0, 5&^3, -7/2, -7%3, 7>>1, -7>>1)
	var sh uint = 70
	fmt.Println(1<<3, x<<sh, x>>sh, -x>>sh, uint8(1)<<7, int32(1)<<30)
	const local = iota + 5
	fmt.Println(local, len([local]int{}), cap(make([]int, 2, local)))
	var d time.Duration = 1500
	fmt.Println(d*time.Millisecond, time.Duration(2.5*float64(time.Second)))
	var arr [l]string
	arr[l-1] = "last"
	fmt.Println(len(arr), arr[5], fmt.Sprintf("%q", arr))
	const huge = 1 << 62
	fmt.Println(huge, uint64(huge)*2, math.Sqrt(huge))
	var r2 rune = 'é'
	var by byte = 'x'
	fmt.Println(r2, by, 'x' == by, string(r2), "x"[0] == by)
	fmt.Println(math.Inf(1), math.NaN(), -math.Inf(1), math.NaN() == math.NaN(), 1/math.Inf(-1))
	fmt.Println(0x1p-2, 0b101, 0o17, 1_000_000, 0x_ff, 'a', '\x41', '\u00e9')
}
