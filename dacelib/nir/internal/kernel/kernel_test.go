package kernel

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// everyISA runs a test with each instruction set that this machine supports.
func everyISA(t *testing.T, f func(t *testing.T)) {
	best := isa
	defer use(best)
	for _, name := range sets {
		use(name)
		t.Run(name, f)
		if name == best {
			return
		}
	}
}

func random(n int, r *rand.Rand) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64())
	}
	return x
}

// near fails the test unless got is within tol of want, relative to scale.
func near(t *testing.T, what string, got float32, want, scale float64, tol float64) {
	t.Helper()
	if d := math.Abs(float64(got) - want); !(d <= tol*max(scale, 1)) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func TestISA(t *testing.T) {
	t.Logf("instruction set in use: %s, panels of %d columns", isa, width)
	if isa == "AVX2" && width != 16 || isa == "AVX-512" && width != 64 {
		t.Errorf("%s with panels of %d", isa, width)
	}
}

func TestLayer(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		for _, s := range []struct{ m, in, out int }{{1, 1, 1}, {6, 30, 128}, {7, 60, 30}, {48, 128, 128}, {13, 3, 65}, {128, 128, 60}, {5, 200, 17}} {
			ldx, ldy := s.in+3, RoundCols(s.out)+16
			x := random(RoundRows(s.m)*ldx, r)
			w, b := random(s.in*s.out, r), random(s.out, r)
			h := random(RoundRows(s.m)*ldy, r)
			y, masked, back := make([]float32, len(h)), make([]float32, len(h)), make([]float32, RoundRows(s.m)*(RoundCols(s.in)))
			for i := range y {
				y[i] = float32(math.NaN())
			}
			l := NewLayer(w, b, s.in, s.out, 0.01)
			l.Apply(y, ldy, x, ldx, s.m)
			l.ApplyMask(masked, ldy, h, x, ldx, s.m)
			transposed := NewLayer(nil, nil, s.out, s.in, 1)
			transposed.SetTransposed(w)
			transposed.Apply(back, RoundCols(s.in), h, ldy, s.m)
			for i := range s.m {
				for j := range s.out {
					sum, scale := 0.0, 0.0
					for k := range s.in {
						p := float64(x[i*ldx+k]) * float64(w[k*s.out+j])
						sum += p
						scale += math.Abs(p)
					}
					full := sum + float64(b[j])
					near(t, fmt.Sprint("Apply ", s, i, j), y[i*ldy+j], max(full, 0.01*full), scale, 1e-6)
					if !(h[i*ldy+j] > 0) {
						sum *= 0.01
					}
					near(t, fmt.Sprint("ApplyMask ", s, i, j), masked[i*ldy+j], sum, scale, 1e-6)
				}
				for k := range s.in {
					sum, scale := 0.0, 0.0
					for j := range s.out {
						p := float64(h[i*ldy+j]) * float64(w[k*s.out+j])
						sum += p
						scale += math.Abs(p)
					}
					near(t, fmt.Sprint("transposed ", s, i, k), back[i*RoundCols(s.in)+k], sum, scale, 1e-6)
				}
			}
		}
	})
}

// A row's result does not depend on the other rows.
func TestRowsAreIndependent(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		l := NewLayer(random(60*128, r), random(128, r), 60, 128, 0.01)
		x := random(48*60, r)
		y := make([]float32, 48*144)
		l.Apply(y, 144, x, 60, 48)
		for i := range 48 {
			one := make([]float32, 6*60)
			copy(one, x[i*60:(i+1)*60])
			got := make([]float32, 6*144)
			l.Apply(got, 144, one, 60, 1)
			for j := range 128 {
				if got[j] != y[i*144+j] {
					t.Fatalf("row %d alone: column %d is %v, in a batch %v", i, j, got[j], y[i*144+j])
				}
			}
		}
	})
}

// Layers give the same bits whatever the width of the processor's registers,
// because sums have the same order and rounding. The ranges of scorers, and
// therefore whole constructions, are then the same on all such machines.
func TestLayerWidths(t *testing.T) {
	best := isa
	defer use(best)
	var results [][]float32
	for _, name := range []string{"AVX2", "AVX-512"} {
		if best == "Go" || best == "AVX2" && name != best {
			break
		}
		use(name)
		r := rand.New(rand.NewPCG(23, 24))
		l := NewLayer(random(60*128, r), random(128, r), 60, 128, 0.01)
		x := random(48*60, r)
		y := make([]float32, 48*144)
		l.Apply(y, 144, x, 60, 48)
		results = append(results, y)
	}
	for _, y := range results[min(1, len(results)):] {
		for i, v := range y {
			if v != results[0][i] {
				t.Fatalf("number %d: %v, by AVX2 %v", i, v, results[0][i])
			}
		}
	}
}

func TestProduct(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(5, 6))
		for _, s := range []struct{ n, a, b int }{{1, 1, 1}, {128, 30, 128}, {100, 128, 60}, {7, 128, 1}, {5, 64, 64}} {
			ldx, ldg, ldy := RoundRows(s.a)+1, RoundCols(s.b)+16, RoundCols(s.b)
			x, g := random(s.n*ldx, r), random(s.n*ldg, r)
			y := make([]float32, RoundRows(s.a)*ldy)
			Product(y, ldy, x, ldx, s.a, g, ldg, s.b, s.n)
			for i := range s.a {
				for j := range s.b {
					sum, scale := 0.0, 0.0
					for k := range s.n {
						p := float64(x[k*ldx+i]) * float64(g[k*ldg+j])
						sum += p
						scale += math.Abs(p)
					}
					near(t, fmt.Sprint(s, i, j), y[i*ldy+j], sum, scale, 1e-6)
				}
			}
		}
	})
}

func TestAffine(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(15, 16))
		for _, s := range []struct{ m, in, cols int }{{5, 64, 100}, {1, 3, 1}, {13, 7, 64}} {
			ldw, ldy := RoundCols(s.cols)+5, RoundCols(s.cols)
			x := random(RoundRows(s.m)*s.in, r)
			w, b := random(s.in*ldw, r), random(ldy, r)
			y := make([]float32, RoundRows(s.m)*ldy)
			Affine(y, ldy, x, s.in, s.m, w, ldw, s.in, b, s.cols)
			for i := range s.m {
				for j := range s.cols {
					sum, scale := float64(b[j]), 0.0
					for k := range s.in {
						p := float64(x[i*s.in+k]) * float64(w[k*ldw+j])
						sum += p
						scale += math.Abs(p)
					}
					near(t, fmt.Sprint(s, i, j), y[i*ldy+j], sum, scale, 1e-6)
				}
			}
		}
	})
}

func TestProductTransposed(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(17, 18))
		for _, s := range []struct{ a, b, n int }{{64, 5, 512}, {64, 5, 385}, {6, 1, 3}, {7, 17, 100}, {65, 70, 10}, {4, 6, 16}} {
			ldx, ldg, ldy := s.n+3, s.n+1, s.a
			x, g := random(s.a*ldx, r), random(RoundRows(s.b)*ldg, r)
			y := make([]float32, RoundRows(s.b)*ldy)
			ProductTransposed(y, ldy, x, ldx, s.a, g, ldg, s.b, s.n)
			for i := range s.a {
				for j := range s.b {
					sum, scale := 0.0, 0.0
					for k := range s.n {
						p := float64(x[i*ldx+k]) * float64(g[j*ldg+k])
						sum += p
						scale += math.Abs(p)
					}
					near(t, fmt.Sprint(s, i, j), y[j*ldy+i], sum, scale, 1e-6)
				}
			}
		}
	})
}

func TestSums(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(21, 22))
		for _, cols := range []int{1, 30, 64, 128} {
			const m = 9
			ldx := RoundCols(cols) + 5
			x, y := random(m*ldx, r), random(RoundCols(cols), r)
			want := append([]float32(nil), y...)
			for i := range m {
				for j := range want {
					want[j] += x[i*ldx+j]
				}
			}
			Sums(y, x, ldx, m, cols)
			for j := range want { // row after row, for the same rounding
				if y[j] != want[j] {
					t.Fatalf("%d columns: column %d is %v, want %v", cols, j, y[j], want[j])
				}
			}
		}
	})
}

func TestColumns(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(23, 24))
		for _, cols := range []int{32, 128} {
			const m = 7
			ld := cols + 5
			a, b := random(m*ld, r), random(m*ld, r)
			p, q, c, y := random(cols, r), random(cols, r), random(cols, r), random(cols, r)
			mapped := slices.Clone(a)
			ColumnMaps(mapped, mapped, b, ld, m, p, q, c, 0.25)
			sums := slices.Clone(y)
			ColumnProducts(sums, a, b, ld, m, c)
			for j := range cols {
				want := float64(y[j])
				for i := range m {
					x, z := float64(a[i*ld+j]), float64(b[i*ld+j])
					want += x * (z - float64(c[j]))
					v := float64(p[j])*x + float64(q[j])*z + float64(c[j])
					if v = max(v, v/4); math.Abs(v-float64(mapped[i*ld+j])) > 1e-5 {
						t.Fatalf("%d columns: row %d, column %d is mapped to %v, want %v", cols, i, j, mapped[i*ld+j], v)
					}
				}
				if math.Abs(want-float64(sums[j])) > 1e-5 {
					t.Fatalf("%d columns: the sum of column %d is %v, want %v", cols, j, sums[j], want)
				}
			}
			for i := range m { // nothing between the rows
				for j := cols; j < ld && i*ld+j < len(a); j++ {
					if mapped[i*ld+j] != a[i*ld+j] {
						t.Fatal("a column beyond the last was written")
					}
				}
			}
		}
	})
}

func TestExtremes(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(19, 20))
		const m, ldx = 7, 30
		x := random(m*ldx, r)
		for _, cols := range []int{1, 8, 27} {
			lo, hi := make([]float32, cols), make([]float32, cols)
			Extremes(lo, hi, x, ldx, m)
			for j := range cols {
				a, b := float32(0), float32(0)
				for i := range m {
					a, b = min(a, x[i*ldx+j]), max(b, x[i*ldx+j])
				}
				if lo[j] != a || hi[j] != b {
					t.Fatalf("column %d: [%v, %v], want [%v, %v]", j, lo[j], hi[j], a, b)
				}
			}
		}
	})
}

func TestDots(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(7, 8))
		for _, k := range []int{128, 31} {
			x, w := random(7*144, r), random(k, r)
			got := make([]float32, 7)
			Dots(got, x, 144, w, 0.5)
			for i := range got {
				sum, scale := 0.5, 0.0
				for j := range k {
					p := float64(x[i*144+j]) * float64(w[j])
					sum += p
					scale += math.Abs(p)
				}
				near(t, fmt.Sprint(k, i), got[i], sum, scale, 1e-6)
			}
		}
	})
}

func TestDotAxpy(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(13, 14))
		for _, n := range []int{0, 1, 7, 8, 31, 32, 33, 1000} {
			a, b := random(n, r), random(n, r)
			sum, scale := 0.0, 0.0
			want := make([]float64, n)
			for i := range n {
				p := float64(a[i]) * float64(b[i])
				sum += p
				scale += math.Abs(p)
				want[i] = float64(b[i]) - 0.75*float64(a[i])
			}
			near(t, fmt.Sprint("Dot ", n), Dot(a, b), sum, scale, 1e-6)
			Axpy(b, -0.75, a)
			for i := range n {
				near(t, fmt.Sprint("Axpy ", n, i), b[i], want[i], 4, 1e-6)
			}
		}
	})
}

func TestHalfExp(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		var x []float32
		for v := -200.0; v <= 200; v += 0.037 {
			x = append(x, float32(v))
		}
		x = append(x, 0, float32(math.Copysign(0, -1)), 1e-30)
		in := append([]float32(nil), x...)
		padded := make([]float32, len(x)+7)
		copy(padded, x)
		x = padded[:len(x)]
		HalfExp(x)
		for i, v := range in {
			want := math.Exp(min(max(float64(v)/2, -87), 88))
			if math.Abs(float64(x[i])-want) > 3e-7*want {
				t.Fatalf("exp(%v/2): got %v, want %v", v, x[i], want)
			}
		}
	})
}

func TestAdam(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(9, 10))
		const n = 45 // blocks of 16 and of 8, and a remainder of 5
		p, m, g := random(n, r), random(n, r), random(n, r)
		v := random(n, r)
		for i := range v {
			v[i] *= v[i]
		}
		want := make([]float64, n)
		for i := range want {
			m1 := 0.9*float64(m[i]) + 0.1*float64(g[i])
			v1 := 0.999*float64(v[i]) + 0.001*float64(g[i])*float64(g[i])
			want[i] = float64(p[i]) - 0.01*m1/(math.Sqrt(v1)+1e-8)
		}
		Adam(p, m, v, g, 0.9, 0.999, 0.01, 1e-8)
		for i := range want {
			near(t, fmt.Sprint(i), p[i], want[i], 1, 1e-5)
		}
	})
}

// TestAdamOuter compares a step whose gradient stays in registers with the same
// step by Product, Axpy and Adam: equal bits.
func TestAdamOuter(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(3, 4))
		for _, k := range []int{1, 5, 9} {
			for _, n := range []int{1, 63, 64, 200} {
				for _, decay := range []float32{0, 0.25} {
					ld := RoundCols(n)
					h, g := random(k*TileRows, r), random(k*ld, r)
					grad := make([]float32, TileRows*ld)
					Product(grad, ld, h, TileRows, 1, g, ld, n, k)
					p, m, v := random(n, r), random(n, r), make([]float32, n)
					gotP, gotM, gotV := slices.Clone(p), slices.Clone(m), slices.Clone(v)
					done := AdamOuter(gotP, gotM, gotV, h, TileRows, g, ld, k, decay, 0.9, 0.999, 0.01, 1e-8)
					if want := n / 64 * 64; isa == "AVX-512" && done != want {
						t.Fatalf("%d columns done, want %d", done, want)
					}
					if decay > 0 {
						Axpy(grad[:n], decay, p)
					}
					Adam(p, m, v, grad[:n], 0.9, 0.999, 0.01, 1e-8)
					if !slices.Equal(gotP[:done], p[:done]) || !slices.Equal(gotM[:done], m[:done]) || !slices.Equal(gotV[:done], v[:done]) {
						t.Errorf("k = %d, n = %d, decay %v: bits differ", k, n, decay)
					}
				}
			}
		}
	})
}

// TestFewColumns checks that the columns of a panel have the same bits whether
// it is half empty or not.
func TestFewColumns(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		const in, few, m = 20, 30, 7
		r := rand.New(rand.NewPCG(5, 6))
		w, b := random(in*64, r), random(64, r)
		some, someB := make([]float32, in*few), b[:few]
		for i := range in {
			copy(some[i*few:(i+1)*few], w[i*64:])
		}
		rows := RoundRows(m)
		x, h := random(rows*in, r), random(rows*64, r)
		check := func(name string, f func(l *Layer, y []float32)) {
			got, want := random(rows*64, r), random(rows*64, r)
			f(NewLayer(some, someB, in, few, 0.1), got)
			f(NewLayer(w, b, in, 64, 0.1), want)
			for i := range m {
				if !slices.Equal(got[i*64:i*64+few], want[i*64:i*64+few]) {
					t.Errorf("%s: row %d differs", name, i)
				}
				for _, v := range got[i*64+few : i*64+RoundCols(few)] {
					if v != 0 {
						t.Errorf("%s: %v beyond the columns of row %d", name, v, i)
					}
				}
			}
		}
		check("Apply", func(l *Layer, y []float32) { l.Apply(y, 64, x, in, m) })
		check("ApplyMask", func(l *Layer, y []float32) { l.ApplyMask(y, 64, h, x, in, m) })
	})
}

func TestTable(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(11, 12))
		for _, d := range []int{1, 8, 30, 64, 80, 100} {
			w, b := random(d*TableCols, r), random(TableCols, r)
			stride := (d + 63) / 64
			const m = 9
			words := make([]uint64, m*stride)
			x := make([]float32, RoundRows(m)*d)
			for i := range m {
				for j := range d {
					x[i*d+j] = -1
					if r.IntN(2) == 1 {
						words[i*stride+j/64] |= 1 << (j % 64)
						x[i*d+j] = 1
					}
				}
			}
			got, want := make([]float32, RoundRows(m)*144), make([]float32, RoundRows(m)*144)
			NewTable(w, b, d, 0.01).Apply(got, 144, words, stride, m)
			NewLayer(w, b, d, TableCols, 0.01).Apply(want, 144, x, d, m)
			for i := range m {
				for c := range TableCols {
					near(t, fmt.Sprint(d, i, c), got[i*144+c], float64(want[i*144+c]), float64(d), 1e-6)
				}
			}
		}
	})
}

// testByteScorer returns a scorer in bytes, the numbers from which it was made,
// and the grid of its input.
func testByteScorer(in int, r *rand.Rand) (*ByteScorer, [5][]float32, Grid) {
	w := [5][]float32{random(in*128, r), random(128, r), random(128*128, r), random(128, r), random(128, r)}
	grid := func(n int, lo, hi float64) Grid {
		l, h, m := make([]float64, n), make([]float64, n), make([]float64, n)
		for i := range n {
			l[i], h[i] = lo*(1+r.Float64()), hi*(1+r.Float64())
			m[i] = (l[i] + h[i]) / 2
		}
		return NewGrid(l, h, m)
	}
	z := grid(in, -1, 1)
	top := 2.8 * math.Sqrt(float64(in))
	return NewByteScorer(w[0], w[1], w[2], w[3], w[4], 0.5, 0.01, z, grid(128, -0.02*top, top)), w, z
}

// Scores in bytes are near those in double precision. The processor's code and
// the plain Go code give the same scores, and a hidden layer that leaves its
// grid is detected.
func TestByteScorer(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	best := FastBytes()
	defer useBytes(best)
	for _, in := range []int{1, 3, 60, 61, 160, 200} {
		const m = 99
		s, w, grid := testByteScorer(in, r)
		stride := ByteStride(in)
		z, x := make([]uint8, m*stride), make([]float32, in)
		exact, over, scale := make([]float64, m), 0, 0.0
		for i := range m {
			for j := range x {
				x[j] = float32(grid.Low[j] + 255*grid.Step[j]*r.Float64())
			}
			grid.Round(z[i*stride:], x)
			h := make([]float64, 128)
			for j := range h {
				h[j] = float64(w[1][j])
				for k, v := range x {
					h[j] += float64(v) * float64(w[0][k*128+j])
				}
				h[j] = max(h[j], 0.01*h[j])
			}
			exact[i] = 0.5
			for j := range 128 {
				v := float64(w[3][j])
				for k := range h {
					v += h[k] * float64(w[2][k*128+j])
				}
				exact[i] += max(v, 0.01*v) * float64(w[4][j])
			}
			scale += exact[i] * exact[i] / m
		}
		var results [2][]float32
		for k, fast := range []bool{false, best} {
			useBytes(fast)
			results[k] = make([]float32, m)
			s.Scores(results[k], NewByteScratch(m), z, m)
		}
		scale = math.Sqrt(scale)
		worst := 0.0
		for i, v := range results[0] {
			if u := results[1][i]; math.IsNaN(float64(v)) != math.IsNaN(float64(u)) || math.Abs(float64(u-v)) > 1e-4*scale {
				t.Errorf("in=%d, row %d: %v in Go, %v by the processor", in, i, v, u)
			}
			if v != v {
				over++
				continue
			}
			worst = max(worst, math.Abs(float64(v)-exact[i])/scale)
		}
		t.Logf("in=%d: %d of %d rows over, error at most %.3g", in, over, m, worst)
		if worst > 0.1 || over > m/2 {
			t.Errorf("in=%d: error %v of the root mean square, %d rows over", in, worst, over)
		}
	}
}

// Sums of products stay within their bounds, whatever the weights.
func TestByteScorerRoom(t *testing.T) {
	const in = 500
	ones := make([]float32, in*128)
	for i := range ones {
		ones[i] = 1
	}
	lo, hi := make([]float64, in), make([]float64, in)
	for i := range hi {
		hi[i] = 1
	}
	w, factor, _ := roundWeights(ones, ones, NewGrid(lo, hi, lo), func(i int) int { return i })
	var sum int
	for i := range in {
		sum += 255 * int(w[i/4*512+i%4])
	}
	if sum >= 1<<22 || math.Abs(float64(sum)*factor[0]-in) > 0.05*in {
		t.Errorf("the sum is %d, worth %v", sum, float64(sum)*factor[0])
	}
}

func TestOutside(t *testing.T) {
	best := FastBytes()
	defer useBytes(best)
	nan := float32(math.NaN())
	y := [16]float32{0, 1, -1, 1.5, -1.5, nan, 1, 2, -2, 0.5, 3, 0, 0, 0, -7, 1}
	for _, fast := range []bool{false, best} {
		useBytes(fast)
		if got := Outside(&y, -1, 1); got != 0b0100_0101_1011_1000 {
			t.Errorf("got %016b", got)
		}
	}
}

// rate returns billions of operations per second of f, which returns how many
// it did. It takes the best of many short windows, when no other load uses the
// core.
func rate(f func() float64) float64 {
	var best float64
	for range 500 {
		start, flop := time.Now(), 0.0
		for time.Since(start) < 300*time.Microsecond {
			flop += f()
		}
		best = max(best, flop/time.Since(start).Seconds()/1e9)
	}
	return best
}

func peak() float64 { return rate(func() float64 { return PeakFLOP(10_000) }) }

// BenchmarkLayer measures layers on one core, next to the core's own peak in
// the same run.
func BenchmarkLayer(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, in := range []int{60, 128} {
		b.Run(fmt.Sprintf("%dx128", in), func(b *testing.B) {
			l := NewLayer(random(in*128, r), random(128, r), in, 128, 0.01)
			const m = 48
			x, y := random(m*144, r), make([]float32, m*144)
			top := peak()
			for b.Loop() {
				l.Apply(y, 144, x, 144, m)
			}
			got := rate(func() float64 {
				l.Apply(y, 144, x, 144, m)
				return float64(2 * in * 128 * m)
			})
			top = max(top, peak())
			b.ReportMetric(got, "GFLOP/s")
			b.ReportMetric(top, "peak-GFLOP/s")
			b.ReportMetric(100*got/top, "%peak")
		})
	}
}

// BenchmarkByteScorer measures a scorer in bytes. It counts operations as if in
// single precision, next to the peaks of products of bytes and of
// multiply-adds. On a busy Zen 4 (118 GFLOP/s, 473 GOP/s) a scorer of 60 inputs
// reaches 90.0 % of the former peak, one of 160 inputs 92.9 %; the rest are the
// operations between the sums, which need the same units.
func BenchmarkByteScorer(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, in := range []int{60, 160} {
		b.Run(fmt.Sprintf("in=%d", in), func(b *testing.B) {
			s, _, _ := testByteScorer(in, r)
			const m = 240
			y, t, z := make([]float32, m), NewByteScratch(m), make([]uint8, m*ByteStride(in))
			for i := range z {
				z[i] = uint8(r.IntN(256))
			}
			for b.Loop() {
				s.Scores(y, t, z, m)
			}
			flop := float64(2 * m * (in*128 + 128*128 + 128))
			got := rate(func() float64 {
				s.Scores(y, t, z, m)
				return flop
			})
			top := rate(func() float64 { return PeakByteOps(10_000) })
			b.ReportMetric(got, "GOP/s")
			b.ReportMetric(top, "peak-GOP/s")
			b.ReportMetric(100*got/top, "%peak")
			b.ReportMetric(100*got/peak(), "%f32-peak")
			b.ReportMetric(flop/m/got, "ns/solution")
		})
	}
}

func BenchmarkTable(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, d := range []int{30, 80} {
		w, bias := random(d*128, r), random(128, r)
		table, layer := NewTable(w, bias, d, 0.01), NewLayer(w, bias, d, 128, 0.01)
		const m = 48
		stride := (d + 63) / 64
		words := make([]uint64, 100*m*stride)
		for i := range words {
			words[i] = r.Uint64() & (1<<(d%64) - 1)
		}
		x, y := random(m*d, r), make([]float32, m*144)
		b.Run(fmt.Sprintf("table/d=%d", d), func(b *testing.B) {
			i := 0
			for b.Loop() {
				table.Apply(y, 144, words[i%100*m*stride:], stride, m)
				i++
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/m, "ns/solution")
		})
		b.Run(fmt.Sprintf("layer/d=%d", d), func(b *testing.B) {
			for b.Loop() {
				layer.Apply(y, 144, x, d, m)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/m, "ns/solution")
		})
	}
}

// TestLayerBits checks that layers give the same bits on all processors with
// fused products, x86 and ARM: the hash was computed with AVX-512.
func TestLayerBits(t *testing.T) {
	everyISA(t, func(t *testing.T) {
		if isa == "Go" {
			t.Skip("plain Go rounds products, or not, as the compiler likes")
		}
		r := rand.New(rand.NewPCG(11, 12))
		uniform := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = r.Float32() - 0.5
			}
			return x
		}
		const m, in, out = 18, 61, 128
		x, h, y := uniform(m*in), uniform(m*out), make([]float32, m*out)
		l := NewLayer(uniform(in*out), uniform(out), in, out, 0.01)
		sum := fnv.New64a()
		l.Apply(y, out, x, in, m)
		_ = binary.Write(sum, binary.LittleEndian, y)
		l.ApplyMask(y, out, h, x, in, m)
		_ = binary.Write(sum, binary.LittleEndian, y)
		if got := sum.Sum64(); got != 0x3165aecdbccfafee {
			t.Errorf("the hash is %#x", got)
		}
	})
}
