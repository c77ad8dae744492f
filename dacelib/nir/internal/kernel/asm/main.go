// Command asm writes the assembly of package kernel:
//
//	go run . -out ../kernel_amd64.s -stubs ../kernel_amd64.go -pkg kernel
//
// It is a separate module, so that only those who change the kernels need its
// dependencies.
package main

import (
	"fmt"
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rows is the number of rows of a tile.
const rows = 6

// An isa is an instruction set: a vector width and the number of vectors per
// row of a tile.
type isa struct {
	name    string
	vectors int // per row of a tile
	bytes   int // per vector
	vec     func() reg.VecVirtual
}

var (
	avx2   = isa{"AVX2", 2, 32, YMM}
	avx512 = isa{"AVX512", 4, 64, ZMM}
	half   = isa{"AVX512Half", 2, 64, ZMM} // for panels of AVX512 that are half empty
)

func main() {
	ConstraintExpr("amd64")
	for _, v := range []isa{avx2, avx512} {
		tile(v, false, false)
		tile(v, true, false)
		sums(v)
		adam(v)
	}
	tile(avx512, false, true)
	tile(half, false, false)
	tile(half, true, false)
	productTransposed()
	adamOuter()
	dots()
	extremes()
	dot()
	axpy()
	columnProducts()
	columnMaps()
	halfExp()
	lookup()
	bytesHidden()
	bytesScore()
	outside()
	peak(avx2, 12)
	peak(avx512, 24)
	peakBytes(24)
	Generate()
}

func pointer(name string) reg.GPVirtual { return Load(Param(name), GP64()).(reg.GPVirtual) }

// broadcast loads a float32 parameter into all lanes.
func (v isa) broadcast(name string) reg.VecVirtual {
	p, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	out := v.vec()
	VBROADCASTSS(p.Addr, out)
	return out
}

// constant loads a number into all lanes.
func constant(f float32) reg.VecVirtual {
	r, x, out := GP32(), XMM(), YMM()
	MOVL(U32(math.Float32bits(f)), r)
	MOVD(r, x)
	VBROADCASTSS(x, out)
	return out
}

// tile writes the product of six rows of x with a panel of w; all strides are
// in bytes. Without mask it computes y = act(x w + b), with mask y = (x w) *
// act'(h). With ahead it prefetches the panel after w.
func tile(v isa, mask, ahead bool) {
	signature := "func(k int, x *float32, xr, xk uintptr, w *float32, wk uintptr, b *float32, y *float32, ldy uintptr, slope float32)"
	name := "tile" + v.name
	doc := "computes y = max(t, slope t), t = x w + b, for six rows and one panel."
	if mask {
		signature = "func(k int, x *float32, xr, xk uintptr, w *float32, wk uintptr, h *float32, y *float32, ldy uintptr, slope float32)"
		name += "Mask"
		doc = "computes y = x w where h > 0 and slope x w elsewhere, for six rows and one panel; h has the stride of y."
	}
	blank := 0 // vectors of y that become zeros
	if v.name == half.name {
		blank = avx512.vectors - half.vectors
		doc += " The panel's right half is empty."
	}
	if ahead {
		name += "Ahead"
		doc += " It prefetches the panel at the right of w."
	}
	TEXT(name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + " " + doc)
	k := pointer("k")
	x, xr, xk := pointer("x"), pointer("xr"), pointer("xk")
	w, wk := pointer("w"), pointer("wk")
	xr3, x3 := GP64(), GP64()
	LEAQ(Mem{Base: xr, Index: xr, Scale: 2}, xr3)
	LEAQ(Mem{Base: x, Index: xr3, Scale: 1}, x3)

	var acc [rows][]reg.VecVirtual
	var b reg.GPVirtual
	if !mask {
		b = pointer("b")
	}
	for i := range acc {
		acc[i] = make([]reg.VecVirtual, v.vectors)
		for j := range acc[i] {
			acc[i][j] = v.vec()
			if mask {
				VXORPS(acc[i][j], acc[i][j], acc[i][j])
			} else {
				VMOVUPS(Mem{Base: b, Disp: v.bytes * j}, acc[i][j])
			}
		}
	}
	Label("loop")
	wv := make([]reg.VecVirtual, v.vectors)
	for j := range wv {
		wv[j] = v.vec()
		VMOVUPS(Mem{Base: w, Disp: v.bytes * j}, wv[j])
		if ahead {
			PREFETCHT0(Mem{Base: w, Disp: v.bytes * (v.vectors + j)})
		}
	}
	for i := range acc {
		base := x
		if i >= 3 {
			base = x3.(reg.GPVirtual)
		}
		address := Mem{Base: base}
		switch i % 3 {
		case 1:
			address.Index, address.Scale = xr, 1
		case 2:
			address.Index, address.Scale = xr, 2
		}
		xv := v.vec()
		VBROADCASTSS(address, xv)
		for j := range wv {
			VFMADD231PS(wv[j], xv, acc[i][j])
		}
	}
	ADDQ(wk, w)
	ADDQ(xk, x)
	ADDQ(xk, x3)
	DECQ(k)
	JNZ(LabelRef("loop"))

	y, ldy := pointer("y"), pointer("ldy")
	slope := v.broadcast("slope")
	t, zero := v.vec(), v.vec()
	if mask || blank > 0 {
		VXORPS(zero, zero, zero)
	}
	if !mask {
		for i := range acc {
			for j, a := range acc[i] {
				VMULPS(slope, a, t)
				VMAXPS(t, a, a)
				VMOVUPS(a, Mem{Base: y, Disp: v.bytes * j})
			}
			for j := range blank {
				VMOVUPS(zero, Mem{Base: y, Disp: v.bytes * (v.vectors + j)})
			}
			if i < rows-1 {
				ADDQ(ldy, y)
			}
		}
		VZEROUPPER()
		RET()
		return
	}
	h := pointer("h")
	for i := range acc {
		for j := range blank {
			VMOVUPS(zero, Mem{Base: y, Disp: v.bytes * (v.vectors + j)})
		}
		for j, a := range acc[i] {
			hv := Mem{Base: h, Disp: v.bytes * j}
			VMULPS(slope, a, t)
			if v.bytes == 64 {
				positive := K()
				VCMPPS(Imm(1), hv, zero, positive) // 0 < h
				VMOVAPS(a, positive, t)
				VMOVUPS(t, Mem{Base: y, Disp: v.bytes * j})
			} else {
				m := v.vec()
				VCMPPS(Imm(1), hv, zero, m)
				VBLENDVPS(m, a, t, t)
				VMOVUPS(t, Mem{Base: y, Disp: v.bytes * j})
			}
		}
		if i < rows-1 {
			ADDQ(ldy, y)
			ADDQ(ldy, h)
		}
	}
	VZEROUPPER()
	RET()
}

// dots writes out[i] = b + sum_j x[i][j] w[j], j < 128.
func dots() {
	TEXT("dotsAVX2", NOSPLIT, "func(n int, x *float32, ldx uintptr, w *float32, b float32, out *float32)")
	Pragma("noescape")
	Doc("dotsAVX2 computes out[i] = b + the product of row i of x with w, both of length 128.")
	n, x, ldx, w, out := pointer("n"), pointer("x"), pointer("ldx"), pointer("w"), pointer("out")
	b := XMM()
	Load(Param("b"), b)
	Label("row")
	var s [4]reg.VecVirtual
	for j := range 16 {
		t := YMM()
		VMOVUPS(Mem{Base: x, Disp: 32 * j}, t)
		if j < 4 {
			s[j] = YMM()
			VMULPS(Mem{Base: w, Disp: 32 * j}, t, s[j])
		} else {
			VFMADD231PS(Mem{Base: w, Disp: 32 * j}, t, s[j%4])
		}
	}
	lo := total(s)
	VADDSS(b, lo, lo)
	VMOVSS(lo, Mem{Base: out})
	ADDQ(ldx, x)
	ADDQ(Imm(4), out)
	DECQ(n)
	JNZ(LabelRef("row"))
	VZEROUPPER()
	RET()
}

// extremes writes lo = min(lo, row), hi = max(hi, row) over rows of eight
// columns.
func extremes() {
	TEXT("extremesAVX2", NOSPLIT, "func(n int, x *float32, ldx uintptr, lo, hi *float32)")
	Pragma("noescape")
	Doc("extremesAVX2 lowers lo and raises hi, 8 numbers each, to the n rows of x.")
	n, x, ldx, lo, hi := pointer("n"), pointer("x"), pointer("ldx"), pointer("lo"), pointer("hi")
	l, h := YMM(), YMM()
	VMOVUPS(Mem{Base: lo}, l)
	VMOVUPS(Mem{Base: hi}, h)
	Label("loop")
	t := YMM()
	VMOVUPS(Mem{Base: x}, t)
	VMINPS(l, t, l)
	VMAXPS(h, t, h)
	ADDQ(ldx, x)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VMOVUPS(l, Mem{Base: lo})
	VMOVUPS(h, Mem{Base: hi})
	VZEROUPPER()
	RET()
}

// dot writes the dot product of two vectors of 32 n numbers.
func dot() {
	TEXT("dotAVX2", NOSPLIT, "func(n int, x, y *float32) float32")
	Pragma("noescape")
	Doc("dotAVX2 returns the product of two vectors of 32 n numbers.")
	n, x, y := pointer("n"), pointer("x"), pointer("y")
	var s [4]reg.VecVirtual
	for j := range s {
		s[j] = YMM()
		VXORPS(s[j], s[j], s[j])
	}
	Label("loop")
	for j := range s {
		t := YMM()
		VMOVUPS(Mem{Base: x, Disp: 32 * j}, t)
		VFMADD231PS(Mem{Base: y, Disp: 32 * j}, t, s[j])
	}
	ADDQ(U32(128), x)
	ADDQ(U32(128), y)
	DECQ(n)
	JNZ(LabelRef("loop"))
	Store(total(s), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// total adds up the lanes of four registers.
func total(s [4]reg.VecVirtual) reg.Register {
	VADDPS(s[1], s[0], s[0])
	VADDPS(s[3], s[2], s[2])
	VADDPS(s[2], s[0], s[0])
	hi, lo := XMM(), s[0].AsX()
	VEXTRACTF128(Imm(1), s[0], hi)
	VADDPS(hi, lo, lo)
	VHADDPS(lo, lo, lo)
	VHADDPS(lo, lo, lo)
	return lo
}

// axpy writes y += a x for vectors of 8 n numbers.
func axpy() {
	TEXT("axpyAVX2", NOSPLIT, "func(n int, y *float32, a float32, x *float32)")
	Pragma("noescape")
	Doc("axpyAVX2 adds a times x to y, vectors of 8 n numbers.")
	n, y, x := pointer("n"), pointer("y"), pointer("x")
	a := avx2.broadcast("a")
	Label("loop")
	t := YMM()
	VMOVUPS(Mem{Base: y}, t)
	VFMADD231PS(Mem{Base: x}, a, t)
	VMOVUPS(t, Mem{Base: y})
	ADDQ(Imm(32), x)
	ADDQ(Imm(32), y)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// columnProducts writes y += the column sums of a (b - shift), for 32 columns.
func columnProducts() {
	TEXT("columnProductsAVX2", NOSPLIT, "func(n int, y, a, b *float32, ld uintptr, shift *float32)")
	Pragma("noescape")
	Doc("columnProductsAVX2 adds the sums of a (b - shift) over n rows to y, for 32 columns. Rows start every ld bytes.")
	n, y, a, b, ld, shift := pointer("n"), pointer("y"), pointer("a"), pointer("b"), pointer("ld"), pointer("shift")
	sum, s, t := ymms(4), ymms(4), ymms(4)
	for c := range sum {
		VMOVUPS(Mem{Base: y, Disp: 32 * c}, sum[c])
		VMOVUPS(Mem{Base: shift, Disp: 32 * c}, s[c])
	}
	Label("loop")
	for c := range sum {
		VMOVUPS(Mem{Base: b, Disp: 32 * c}, t[c])
		VSUBPS(s[c], t[c], t[c])
		VFMADD231PS(Mem{Base: a, Disp: 32 * c}, t[c], sum[c])
	}
	ADDQ(ld, a)
	ADDQ(ld, b)
	DECQ(n)
	JNZ(LabelRef("loop"))
	for c := range sum {
		VMOVUPS(sum[c], Mem{Base: y, Disp: 32 * c})
	}
	VZEROUPPER()
	RET()
}

// columnMaps writes y = max(t, slope t), t = p x + q z + r, with a p, q and r
// for each of 32 columns.
func columnMaps() {
	TEXT("columnMapsAVX2", NOSPLIT, "func(n int, y, x, z *float32, ld uintptr, p, q, r *float32, slope float32)")
	Pragma("noescape")
	Doc("columnMapsAVX2 computes y = max(t, slope t), t = p x + q z + r, for n rows, which start every ld bytes, and 32 columns.")
	n, y, x, z, ld := pointer("n"), pointer("y"), pointer("x"), pointer("z"), pointer("ld")
	from := [3]reg.Register{pointer("p"), pointer("q"), pointer("r")}
	slope := avx2.broadcast("slope")
	var by [3][]reg.VecVirtual
	for i := range by {
		by[i] = ymms(4)
		for c, v := range by[i] {
			VMOVUPS(Mem{Base: from[i], Disp: 32 * c}, v)
		}
	}
	t, u := YMM(), YMM()
	Label("loop")
	for c := range 4 {
		VMOVAPS(by[2][c], t)
		VFMADD231PS(Mem{Base: x, Disp: 32 * c}, by[0][c], t)
		VFMADD231PS(Mem{Base: z, Disp: 32 * c}, by[1][c], t)
		VMULPS(slope, t, u)
		VMAXPS(u, t, t)
		VMOVUPS(t, Mem{Base: y, Disp: 32 * c})
	}
	ADDQ(ld, x)
	ADDQ(ld, y)
	ADDQ(ld, z)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// ymms returns n vectors.
func ymms(n int) []reg.VecVirtual {
	out := make([]reg.VecVirtual, n)
	for i := range out {
		out[i] = YMM()
	}
	return out
}

// halfExp writes x = exp(x/2), eight numbers at a time, by Cody-Waite reduction
// and the polynomial of degree 6 in the remainder, as in Cephes' expf.
func halfExp() {
	TEXT("halfExpAVX2", NOSPLIT, "func(n int, x *float32)")
	Pragma("noescape")
	Doc("halfExpAVX2 replaces 8 n numbers by the exponential of their half.")
	n, x := pointer("n"), pointer("x")
	table := GLOBL("halfExpConstants", RODATA|NOPTR)
	at := 0
	constant := func(f float32) Mem {
		m := table.Offset(at)
		for range 8 {
			DATA(at, F32(f))
			at += 4
		}
		return m
	}
	half, log2e, one := constant(0.5), constant(math.Log2E), constant(1)
	top, bottom := constant(88), constant(-87)
	ln2hi, ln2lo := constant(0.693359375), constant(-2.12194440e-4)
	Label("loop")
	v := YMM()
	VMOVUPS(Mem{Base: x}, v)
	VMULPS(half, v, v)
	VMINPS(top, v, v)
	VMAXPS(bottom, v, v)
	k := YMM()
	VMULPS(log2e, v, k)
	VROUNDPS(Imm(0), k, k)
	VFNMADD231PS(ln2hi, k, v)
	VFNMADD231PS(ln2lo, k, v)
	p := YMM()
	VMOVUPS(constant(1.9875691500e-4), p)
	for _, c := range []float32{1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1} {
		VFMADD213PS(constant(c), v, p)
	}
	square := YMM()
	VMULPS(v, v, square)
	VFMADD213PS(v, square, p)
	VADDPS(one, p, p)
	VCVTPS2DQ(k, k)
	VPSLLD(Imm(23), k, k)
	VPADDD(k, p, p)
	VMOVUPS(p, Mem{Base: x})
	ADDQ(Imm(32), x)
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// adam writes one step of Adam.
func adam(v isa) {
	name := "adam" + v.name
	TEXT(name, NOSPLIT, "func(n int, p, m, v, grad *float32, b1, b2, rate, epsilon float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s is a step of Adam for %d n parameters.", name, v.bytes/4))
	n, p, m, s, g := pointer("n"), pointer("p"), pointer("m"), pointer("v"), pointer("grad")
	b1, b2 := v.broadcast("b1"), v.broadcast("b2")
	rate, epsilon := v.broadcast("rate"), v.broadcast("epsilon")
	one := GP32()
	MOVL(U32(math.Float32bits(1)), one)
	x, c1, c2 := XMM(), v.vec(), v.vec()
	MOVD(one, x)
	VBROADCASTSS(x, c1)
	VSUBPS(b2, c1, c2)
	VSUBPS(b1, c1, c1)
	Label("loop")
	gv, t, mv, sv := v.vec(), v.vec(), v.vec(), v.vec()
	VMOVUPS(Mem{Base: g}, gv)
	VMULPS(c1, gv, t)
	VMOVUPS(Mem{Base: m}, mv)
	VFMADD213PS(t, b1, mv)
	VMOVUPS(mv, Mem{Base: m})
	VMULPS(gv, gv, gv)
	VMULPS(c2, gv, gv)
	VMOVUPS(Mem{Base: s}, sv)
	VFMADD213PS(gv, b2, sv)
	VMOVUPS(sv, Mem{Base: s})
	VSQRTPS(sv, sv)
	VADDPS(epsilon, sv, sv)
	VMULPS(rate, mv, mv)
	VDIVPS(sv, mv, mv)
	VMOVUPS(Mem{Base: p}, t)
	VSUBPS(mv, t, t)
	VMOVUPS(t, Mem{Base: p})
	for _, a := range []reg.GPVirtual{p, m, s, g} {
		ADDQ(Imm(uint64(v.bytes)), a)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// adamOuter writes one step of Adam whose gradient is a row of a product. The
// gradient never leaves the registers.
func adamOuter() {
	const vectors = 4
	TEXT("adamOuterAVX512", NOSPLIT, "func(n, k int, h *float32, ldh uintptr, w *float32, ldw uintptr, p, m, v *float32, decay, b1, b2, rate, epsilon float32)")
	Pragma("noescape")
	Doc("adamOuterAVX512 is a step of Adam for 64 n parameters. Their gradient is decay p + the sum of h[i] times row i of w over k rows; strides are in bytes.")
	n, k, h, ldh := pointer("n"), pointer("k"), pointer("h"), pointer("ldh")
	g, ldg := pointer("w"), pointer("ldw")
	p, m, s := pointer("p"), pointer("m"), pointer("v")
	decay := avx512.broadcast("decay")
	b1, b2 := avx512.broadcast("b1"), avx512.broadcast("b2")
	rate, epsilon := avx512.broadcast("rate"), avx512.broadcast("epsilon")
	one := GP32()
	MOVL(U32(math.Float32bits(1)), one)
	x, c1, c2 := XMM(), ZMM(), ZMM()
	MOVD(one, x)
	VBROADCASTSS(x, c1)
	VSUBPS(b2, c1, c2)
	VSUBPS(b1, c1, c1)
	decays := GP32()
	Load(Param("decay"), x)
	MOVD(x, decays)
	Label("loop")
	hi, gi, left := GP64(), GP64(), GP64()
	MOVQ(h, hi)
	MOVQ(g, gi)
	MOVQ(k, left)
	var grad [vectors]reg.VecVirtual
	for j := range grad {
		grad[j] = ZMM()
		VPXORD(grad[j], grad[j], grad[j])
		for _, a := range []reg.GPVirtual{p, m, s} {
			PREFETCHT0(Mem{Base: a, Disp: 1024 + 64*j})
		}
	}
	Label("row")
	hv := ZMM()
	VBROADCASTSS(Mem{Base: hi}, hv)
	for j := range grad {
		VFMADD231PS(Mem{Base: gi, Disp: 64 * j}, hv, grad[j])
	}
	ADDQ(ldh, hi)
	ADDQ(ldg, gi)
	DECQ(left)
	JNZ(LabelRef("row"))
	TESTL(decays, decays)
	JZ(LabelRef("step"))
	for j := range grad {
		VFMADD231PS(Mem{Base: p, Disp: 64 * j}, decay, grad[j])
	}
	Label("step")
	for j, gv := range grad {
		t, mv, sv := ZMM(), ZMM(), ZMM()
		VMULPS(c1, gv, t)
		VMOVUPS(Mem{Base: m, Disp: 64 * j}, mv)
		VFMADD213PS(t, b1, mv)
		VMOVUPS(mv, Mem{Base: m, Disp: 64 * j})
		VMULPS(gv, gv, gv)
		VMULPS(c2, gv, gv)
		VMOVUPS(Mem{Base: s, Disp: 64 * j}, sv)
		VFMADD213PS(gv, b2, sv)
		VMOVUPS(sv, Mem{Base: s, Disp: 64 * j})
		VSQRTPS(sv, sv)
		VADDPS(epsilon, sv, sv)
		VMULPS(rate, mv, mv)
		VDIVPS(sv, mv, mv)
		VMOVUPS(Mem{Base: p, Disp: 64 * j}, t)
		VSUBPS(mv, t, t)
		VMOVUPS(t, Mem{Base: p, Disp: 64 * j})
	}
	for _, a := range []reg.GPVirtual{p, m, s, g} {
		ADDQ(U32(64*vectors), a)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// sums writes y += the sum of rows, for a panel of columns.
func sums(v isa) {
	name := "sums" + v.name
	TEXT(name, NOSPLIT, "func(n int, x *float32, ldx uintptr, y *float32)")
	Pragma("noescape")
	Doc(fmt.Sprintf("%s adds the n rows of x, which start every ldx bytes, to y: %d columns.", name, v.vectors*v.bytes/4))
	n, x, ldx, y := pointer("n"), pointer("x"), pointer("ldx"), pointer("y")
	s := make([]reg.VecVirtual, v.vectors)
	for j := range s {
		s[j] = v.vec()
		VMOVUPS(Mem{Base: y, Disp: v.bytes * j}, s[j])
	}
	Label("loop")
	for j := range s {
		VADDPS(Mem{Base: x, Disp: v.bytes * j}, s[j], s[j])
	}
	ADDQ(ldx, x)
	DECQ(n)
	JNZ(LabelRef("loop"))
	for j := range s {
		VMOVUPS(s[j], Mem{Base: y, Disp: v.bytes * j})
	}
	VZEROUPPER()
	RET()
}

// productTransposed writes the products of four rows of x with six rows of g.
func productTransposed() {
	const xs = 4
	TEXT("productTransposedAVX512", NOSPLIT, "func(n int, x *float32, ldx uintptr, w *float32, ldw uintptr, y *float32, ldy uintptr)")
	Pragma("noescape")
	Doc("productTransposedAVX512 writes y[j][i] = the product of row j of 6 of w with row i of 4 of x, rows of 16 n numbers; strides are in bytes.")
	n, x, ldx, g, ldg, y, ldy := pointer("n"), pointer("x"), pointer("ldx"), pointer("w"), pointer("ldw"), pointer("y"), pointer("ldy")
	var s [rows][xs]reg.VecVirtual
	for j := range s {
		for i := range s[j] {
			s[j][i] = ZMM()
			VPXORD(s[j][i], s[j][i], s[j][i])
		}
	}
	var px [xs]reg.GPVirtual
	px[0] = x
	for i := 1; i < xs; i++ {
		px[i] = GP64()
		LEAQ(Mem{Base: px[i-1], Index: ldx, Scale: 1}, px[i])
	}
	g3 := GP64() // row 3 of g
	LEAQ(Mem{Base: g, Index: ldg, Scale: 2}, g3)
	ADDQ(ldg, g3)
	gs := [rows]Mem{
		{Base: g}, {Base: g, Index: ldg, Scale: 1}, {Base: g, Index: ldg, Scale: 2},
		{Base: g3}, {Base: g3, Index: ldg, Scale: 1}, {Base: g3, Index: ldg, Scale: 2},
	}
	Label("loop")
	var xv [xs]reg.VecVirtual
	for i := range xv {
		xv[i] = ZMM()
		VMOVUPS(Mem{Base: px[i]}, xv[i])
		PREFETCHT0(Mem{Base: px[i], Disp: 1024})
		ADDQ(Imm(64), px[i])
	}
	for j := range gs {
		gv := ZMM()
		VMOVUPS(gs[j], gv)
		for i := range xv {
			VFMADD231PS(gv, xv[i], s[j][i])
		}
	}
	ADDQ(Imm(64), g)
	ADDQ(Imm(64), g3)
	DECQ(n)
	JNZ(LabelRef("loop"))
	for j := range s {
		var half [xs]reg.VecVirtual
		for i, z := range s[j] {
			half[i] = YMM()
			VEXTRACTF64X4(Imm(1), z, half[i])
			VADDPS(z.AsY(), half[i], half[i])
		}
		// VHADDPS cannot address the upper registers.
		pairs := func(unpackLow, unpackHigh func(...Op), a, b reg.VecVirtual) reg.VecVirtual {
			lo, hi := YMM(), YMM()
			unpackLow(b, a, lo)
			unpackHigh(b, a, hi)
			VADDPS(lo, hi, hi)
			return hi
		}
		a, b := pairs(VUNPCKLPS, VUNPCKHPS, half[0], half[1]), pairs(VUNPCKLPS, VUNPCKHPS, half[2], half[3])
		four := pairs(VUNPCKLPD, VUNPCKHPD, a, b)
		hi := XMM()
		VEXTRACTF32X4(Imm(1), four, hi)
		VADDPS(four.AsX(), hi, hi)
		VMOVUPS(hi, Mem{Base: y})
		ADDQ(ldy, y)
	}
	VZEROUPPER()
	RET()
}

// lookup writes y = max(t, slope t), t = b + the table rows that the bytes of
// a solution select, for 128 columns.
func lookup() {
	TEXT("lookupAVX2", NOSPLIT, "func(n int, bits *byte, table *float32, b *float32, y *float32, slope float32)")
	Pragma("noescape")
	Doc("lookupAVX2 sums the rows of 128 numbers that n bytes select from n tables of 256 rows, and b, and applies the activation.")
	bits, table, b, y := pointer("bits"), pointer("table"), pointer("b"), pointer("y")
	slope := avx2.broadcast("slope")
	for half := range 2 {
		var acc [8]reg.VecVirtual
		for j := range acc {
			acc[j] = YMM()
			VMOVUPS(Mem{Base: b, Disp: 256*half + 32*j}, acc[j])
		}
		n, p, t := GP64(), GP64(), GP64()
		Load(Param("n"), n)
		MOVQ(bits, p)
		MOVQ(table, t)
		label := fmt.Sprintf("half%d", half)
		Label(label)
		row := GP64()
		MOVBQZX(Mem{Base: p}, row)
		SHLQ(Imm(9), row)
		ADDQ(t, row)
		for j := range acc {
			VADDPS(Mem{Base: row, Disp: 256*half + 32*j}, acc[j], acc[j])
		}
		INCQ(p)
		ADDQ(U32(256*512), t)
		DECQ(n)
		JNZ(LabelRef(label))
		s := YMM()
		for j := range acc {
			VMULPS(slope, acc[j], s)
			VMAXPS(s, acc[j], acc[j])
			VMOVUPS(acc[j], Mem{Base: y, Disp: 256*half + 32*j})
		}
	}
	VZEROUPPER()
	RET()
}

// peak writes a loop of independent multiply-adds on registers, the most that a
// core can do.
func peak(v isa, chains int) {
	TEXT("peak"+v.name, NOSPLIT, "func(n int)")
	Doc(fmt.Sprintf("peak%s does n times %d multiply-adds on registers.", v.name, chains))
	n := pointer("n")
	a := v.vec()
	VXORPS(a, a, a)
	acc := make([]reg.VecVirtual, chains)
	for i := range acc {
		acc[i] = v.vec()
		VXORPS(acc[i], acc[i], acc[i])
	}
	Label("loop")
	for _, c := range acc {
		VFMADD231PS(a, a, c)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}

// Layers in bytes process three rows at a time, with all 128 columns in 24
// accumulators. Sums start at the bits of magic, so that as float32 they are
// magic plus the sum and need no conversion. The sum must be below 2^22 in
// magnitude.
const (
	byteRows = 3
	magic    = 0x4b400000 // 1.5 * 2^23
)

// byteSums writes the loop that sums k groups of four columns: for three rows
// of x, ldx bytes apart, the products with w.
func byteSums(label string, k, x, ldx, w reg.GPVirtual) [byteRows][8]reg.VecVirtual {
	var acc [byteRows][8]reg.VecVirtual
	r, start := GP32(), ZMM()
	MOVL(U32(magic), r)
	VPBROADCASTD(r, start)
	for i := range acc {
		for j := range acc[i] {
			acc[i][j] = ZMM()
			VMOVDQA32(start, acc[i][j])
		}
	}
	Label(label)
	var xv [byteRows]reg.VecVirtual
	for i := range xv {
		xv[i] = ZMM()
		m := Mem{Base: x}
		if i > 0 {
			m.Index, m.Scale = ldx, uint8(i)
		}
		VPBROADCASTD(m, xv[i])
	}
	for j := range 8 {
		wv := ZMM()
		VMOVDQU32(Mem{Base: w, Disp: 64 * j}, wv)
		for i := range acc {
			VPDPBUSD(wv, xv[i], acc[i][j])
		}
	}
	ADDQ(U32(512), w)
	ADDQ(Imm(4), x)
	DECQ(k)
	JNZ(LabelRef(label))
	return acc
}

// bytesHidden writes the first layer in bytes.
func bytesHidden() {
	TEXT("bytesHiddenVNNI", NOSPLIT, "func(n, k int, x *uint8, w *int8, c *float32, y *uint8, over *uint32)")
	Pragma("noescape")
	Doc("bytesHiddenVNNI computes 3 n rows of a hidden layer in bytes: rows of x have 4 k bytes, those of y 128. c holds factor and addend, then both again for negative sums, for every 16 columns. over becomes all ones where a byte is 255, else 0.")
	n, y, over := pointer("n"), pointer("y"), pointer("over")
	row, ldx := pointer("x"), GP64()
	Load(Param("k"), ldx)
	SHLQ(Imm(2), ldx)
	ones := ZMM()
	VPTERNLOGD(Imm(255), ones, ones, ones)
	Label("rows")
	k, w, x := pointer("k"), pointer("w"), GP64()
	MOVQ(row, x)
	acc := byteSums("sum", k, x, ldx, w)
	c := pointer("c")
	for j := range 8 {
		var v [4]reg.VecVirtual
		for q := range v {
			v[q] = ZMM()
			VMOVUPS(Mem{Base: c, Disp: 256*j + 64*q}, v[q])
		}
		for i := range acc {
			negative := ZMM()
			VMOVAPS(acc[i][j], negative)
			VFMADD213PS(v[1], v[0], acc[i][j])
			VFMADD213PS(v[3], v[2], negative)
			// As integers, of two negative numbers the smaller may be the larger:
			// both become byte 0.
			VPMAXSD(negative, acc[i][j], acc[i][j])
			VCVTPS2DQ(acc[i][j], acc[i][j])
		}
	}
	for i := range acc {
		var full [2]reg.OpmaskVirtual
		for h := range 2 {
			a := acc[i][4*h : 4*h+4]
			VPACKSSDW(a[1], a[0], a[0])
			VPACKSSDW(a[3], a[2], a[2])
			VPACKUSWB(a[2], a[0], a[0])
			VMOVDQU32(a[0], Mem{Base: y, Disp: 128*i + 64*h})
			full[h] = K()
			VPCMPEQB(ones, a[0], full[h])
		}
		flag := GP32()
		XORL(flag, flag)
		KORTESTQ(full[0], full[1])
		SETNE(flag.As8())
		NEGL(flag)
		MOVL(flag, Mem{Base: over, Disp: 4 * i})
	}
	ADDQ(U32(128*byteRows), y)
	ADDQ(Imm(4*byteRows), over)
	step := GP64()
	LEAQ(Mem{Base: ldx, Index: ldx, Scale: 2}, step)
	ADDQ(step, row)
	DECQ(n)
	JNZ(LabelRef("rows"))
	VZEROUPPER()
	RET()
}

// bytesScore writes the second layer in bytes and the output.
func bytesScore() {
	TEXT("bytesScoreVNNI", NOSPLIT, "func(n int, x *uint8, w *int8, c *float32, over *uint32, y *float32)")
	Pragma("noescape")
	Doc("bytesScoreVNNI computes 3 n scores from rows of 128 bytes. c holds 16 numbers to start from, then for every 16 columns factor, addend, factor of the straight part, and sign. A score is NaN where over is all ones.")
	n, y, over, row := pointer("n"), pointer("y"), pointer("over"), pointer("x")
	ldx := GP64()
	MOVQ(U32(128), ldx)
	Label("rows")
	k, w, x := GP64(), pointer("w"), GP64()
	MOVQ(U32(32), k)
	MOVQ(row, x)
	acc := byteSums("sum", k, x, ldx, w)
	c := pointer("c")
	bit, sign := GP32(), ZMM()
	MOVL(U32(1<<31), bit)
	VPBROADCASTD(bit, sign)
	var s [byteRows]reg.VecVirtual
	for i := range s {
		s[i] = ZMM()
		VMOVUPS(Mem{Base: c}, s[i])
	}
	for j := range 8 {
		factor, addend := ZMM(), ZMM()
		VMOVUPS(Mem{Base: c, Disp: 64 + 256*j}, factor)
		VMOVUPS(Mem{Base: c, Disp: 128 + 256*j}, addend)
		for i := range acc {
			VFMADD231PS(Mem{Base: c, Disp: 192 + 256*j}, acc[i][j], s[i])
			VFMADD213PS(addend, factor, acc[i][j])
			// Clear the sign, then take that of c: a &^ b | c.
			VPTERNLOGD(Imm(0xba), Mem{Base: c, Disp: 256 + 256*j}, sign, acc[i][j])
			VADDPS(acc[i][j], s[i], s[i])
		}
	}
	for i := range s {
		half, quarter, flag := YMM(), XMM(), XMM()
		VEXTRACTF64X4(Imm(1), s[i], half)
		VADDPS(half, s[i].AsY(), half)
		VEXTRACTF128(Imm(1), half, quarter)
		VADDPS(quarter, half.AsX(), quarter)
		VMOVHLPS(quarter, quarter, half.AsX())
		VADDPS(half.AsX(), quarter, quarter)
		VMOVSHDUP(quarter, half.AsX())
		VADDSS(half.AsX(), quarter, quarter)
		VMOVD(Mem{Base: over, Disp: 4 * i}, flag)
		VPOR(flag, quarter, quarter)
		VMOVD(quarter, Mem{Base: y, Disp: 4 * i})
	}
	ADDQ(U32(128*byteRows), row)
	ADDQ(Imm(4*byteRows), over)
	ADDQ(Imm(4*byteRows), y)
	DECQ(n)
	JNZ(LabelRef("rows"))
	VZEROUPPER()
	RET()
}

// outside writes the comparison of 16 numbers with an interval.
func outside() {
	TEXT("outsideAVX512", NOSPLIT, "func(y *float32, lo, hi float32) uint16")
	Pragma("noescape")
	Doc("outsideAVX512 has the bits of those of 16 numbers that are not within [lo, hi].")
	y, lo, hi := pointer("y"), avx512.broadcast("lo"), avx512.broadcast("hi")
	v, below, above, out := ZMM(), K(), K(), GP32()
	VMOVUPS(Mem{Base: y}, v)
	VCMPPS(Imm(9), lo, v, below) // v < lo or NaN: not (v >= lo)
	VCMPPS(Imm(6), hi, v, above) // not (v <= hi)
	KORW(below, above, below)
	KMOVW(below, out)
	Store(out.As16(), ReturnIndex(0))
	VZEROUPPER()
	RET()
}

// peakBytes is like peak, for products of bytes.
func peakBytes(chains int) {
	TEXT("peakVNNI", NOSPLIT, "func(n int)")
	Doc(fmt.Sprintf("peakVNNI does n times %d multiply-adds of 64 bytes on registers.", chains))
	n := pointer("n")
	a := ZMM()
	VPXORD(a, a, a)
	acc := make([]reg.VecVirtual, chains)
	for i := range acc {
		acc[i] = ZMM()
		VPXORD(acc[i], acc[i], acc[i])
	}
	Label("loop")
	for _, c := range acc {
		VPDPBUSD(a, a, c)
	}
	DECQ(n)
	JNZ(LabelRef("loop"))
	VZEROUPPER()
	RET()
}
