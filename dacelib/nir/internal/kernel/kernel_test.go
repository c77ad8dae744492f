package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"time"
)

// everyISA runs a test with each instruction set that this machine has.
func everyISA(t *testing.T, f func(t *testing.T)) {
	best := isa
	defer use(best)
	for _, name := range []string{"Go", "AVX2", "AVX-512"} {
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

// near fails unless got is within tol of want, relative to scale.
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

// A row's result must not depend on the rows beside it.
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
		for _, s := range []struct{ a, b, n int }{{64, 5, 512}, {6, 1, 3}, {7, 17, 100}, {65, 70, 10}} {
			ldx, ldg, ldy := s.n+3, s.n+1, RoundCols(s.b)
			x, g := random(s.a*ldx, r), random(s.b*ldg, r)
			y := make([]float32, s.a*ldy)
			ProductTransposed(y, ldy, x, ldx, s.a, g, ldg, s.b, s.n, random(s.n*ldy, r))
			for i := range s.a {
				for j := range s.b {
					sum, scale := 0.0, 0.0
					for k := range s.n {
						p := float64(x[i*ldx+k]) * float64(g[j*ldg+k])
						sum += p
						scale += math.Abs(p)
					}
					near(t, fmt.Sprint(s, i, j), y[i*ldy+j], sum, scale, 1e-6)
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
		const n = 37
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

// cpuTime returns the processor time of this process so far: what a busy
// machine does not distort much.
func cpuTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// BenchmarkLayer measures the 128 x 128 layer on one core, beside the core's
// own peak in the same run, by processor time.
func BenchmarkLayer(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	l := NewLayer(random(128*128, r), random(128, r), 128, 128, 0.01)
	const m = 48
	x, y := random(m*144, r), make([]float32, m*144)
	rate := func() float64 {
		start := cpuTime()
		flop := PeakFLOP(10_000_000)
		return flop / (cpuTime() - start).Seconds() / 1e9
	}
	peak := max(rate(), rate())
	start := cpuTime()
	for b.Loop() {
		l.Apply(y, 144, x, 144, m)
	}
	got := 2 * 128 * 128 * m * float64(b.N) / (cpuTime() - start).Seconds() / 1e9
	peak = max(peak, rate())
	b.ReportMetric(got, "GFLOP/s")
	b.ReportMetric(peak, "peak-GFLOP/s")
	b.ReportMetric(100*got/peak, "%peak")
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
