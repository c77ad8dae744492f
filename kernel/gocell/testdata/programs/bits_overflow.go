package main

import (
	"fmt"
	"math"
	"math/bits"
)

type Set uint64

func (s Set) Has(i int) bool { return s&(1<<i) != 0 }
func (s *Set) Add(is ...int) {
	for _, i := range is {
		*s |= 1 << i
	}
}
func (s Set) Len() (n int) {
	for ; s != 0; s &= s - 1 {
		n++
	}
	return
}

func fnv(s string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(s); i++ {
		h ^= uint32(s[i])
		h *= 16777619
	}
	return h
}

func xorshift(x uint64) uint64 {
	x ^= x << 13
	x ^= x >> 7
	x ^= x << 17
	return x
}

func lcg(n int) (out []uint32) {
	x := uint32(12345)
	for range n {
		x = x*1103515245 + 12345
		out = append(out, x>>16&0x7fff)
	}
	return
}

func main() {
	var s Set
	s.Add(1, 5, 63)
	fmt.Println(s, s.Has(5), s.Has(6), s.Len(), s&^(1<<5))
	fmt.Println(fnv("hello"), xorshift(88172645463325252), lcg(4))
	var i8 int8 = 127
	i8++
	var u8 uint8 = 0
	u8--
	var i16 int16 = math.MaxInt16
	i16 += 2
	var i32 int32 = math.MinInt32
	i32--
	i64 := int64(math.MaxInt64)
	i64++
	fmt.Println(i8, u8, i16, i32, i64, -i8, -i64)
	var u32 uint32 = 1 << 31
	u32 *= 2
	fmt.Println(u32, uint32(1<<32-1)+u32, ^u8, ^i8, 7^2, -1>>1, uint(1)<<63)
	a, b := 13, 5
	fmt.Println(a&b, a|b, a^b, a&^b, a<<2, a>>1, -a>>1, a%b, -a%b, a/b, -a/b)
	a <<= 3
	a |= 1
	a &^= 8
	a ^= 0xff
	a >>= 1
	a %= 50
	fmt.Println(a)
	f := 1e20
	fmt.Println(int8(300&0x7f), uint8(a*1000), int32(int64(a)<<33>>2), int(f/1e15), int(-f/1e19), uint16(70000&0xffff))
	x := 300
	fmt.Println(int8(x), uint8(x), byte(x), int16(x*200), uint32(-x), float32(16777217), float32(x)/7)
	fmt.Println(bits.OnesCount(255), bits.LeadingZeros64(1), bits.TrailingZeros(8), bits.Reverse8(1), bits.Len(1023), bits.RotateLeft8(129, 1))
	hi, lo := bits.Mul64(math.MaxUint64, 2)
	sum, carry := bits.Add64(math.MaxUint64, 1, 0)
	fmt.Println(hi, lo, sum, carry)
	fmt.Println(math.Float64bits(1.5), math.Float32frombits(0x40490fdb), math.MaxUint32, math.MaxInt8)
	var sh uint8 = 200
	fmt.Println(1<<sh == 0, int64(-1)>>sh, uint8(1)<<sh, 1<<(sh&7))
	for _, n := range []int{0, 1, 2, 255, -1} {
		fmt.Printf("%b %o %x %08b\n", n, n, n, uint8(n))
	}
	min := math.MinInt
	fmt.Println(min/-1 == min, min%-1, -min == min)
	var up uintptr = 5
	fmt.Println(up<<1, float64(math.MaxInt64) == float64(1<<63))
	func() {
		defer func() { fmt.Println(recover()) }()
		n := -1
		fmt.Println(1 << n)
	}()
	gray := func(n uint) uint { return n ^ n>>1 }
	for i := range uint(5) {
		fmt.Printf("%03b ", gray(i))
	}
	fmt.Println()
}
