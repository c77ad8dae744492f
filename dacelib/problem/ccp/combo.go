package ccp

import (
	"fmt"
	"math"
)

// COMBO returns the instance that the COMBO implementation, and the paper's
// with it, draws for a seed: from NumPy's RandomState(seed).beta, restarted for
// each of the initial contamination, the contamination and the restoration. It
// is for comparisons with published results; [Generate] draws the three
// independently of each other.
func COMBO(seed uint32, s Settings) (*Instance, error) {
	s = s.withDefaults()
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.Name == "" {
		s.Name = fmt.Sprintf("ccp-combo-%d/%d", s.Dim, seed)
	}
	data := s.data()
	draw := func(b float64, n int) []float64 {
		r := newTwister(seed)
		z := make([]float64, n)
		for i := range z {
			z[i] = r.beta1(b)
		}
		return z
	}
	rows := func(b float64) [][]float64 {
		z := draw(b, s.Dim*s.Simulations)
		out := make([][]float64, s.Dim)
		for i := range out {
			out[i] = z[i*s.Simulations : (i+1)*s.Simulations]
		}
		return out
	}
	data.Initial = draw(initialBeta, s.Simulations)
	data.Contamination = rows(contaminationBeta)
	data.Restoration = rows(s.restorationBeta())
	return New(data)
}

// A twister is the Mersenne Twister MT19937 of Matsumoto and Nishimura (1998)
// with the distributions of NumPy's legacy RandomState.
type twister struct {
	state [624]uint32
	at    int
	gauss float64 // the second value of the polar method, for the next call
	kept  bool
}

func newTwister(seed uint32) *twister {
	r := &twister{at: 624}
	for i := range r.state {
		r.state[i] = seed
		seed = 1812433253*(seed^seed>>30) + uint32(i) + 1
	}
	return r
}

func (r *twister) uint32() uint32 {
	if r.at == 624 {
		for i := range r.state {
			y := r.state[i]&0x80000000 | r.state[(i+1)%624]&0x7fffffff
			r.state[i] = r.state[(i+397)%624] ^ y>>1 ^ -(y&1)&0x9908b0df
		}
		r.at = 0
	}
	y := r.state[r.at]
	r.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// float64 returns a uniform number in [0,1) of 53 bits.
func (r *twister) float64() float64 {
	a, b := r.uint32()>>5, r.uint32()>>6
	return (float64(a)*(1<<26) + float64(b)) / (1 << 53)
}

// normal draws a normal number by Marsaglia's polar method.
func (r *twister) normal() float64 {
	if r.kept {
		r.kept = false
		return r.gauss
	}
	for {
		x, y := 2*r.float64()-1, 2*r.float64()-1
		q := float64(x*x) + float64(y*y)
		if q >= 1 || q == 0 {
			continue
		}
		f := math.Sqrt(-2 * math.Log(q) / q)
		r.gauss, r.kept = f*x, true
		return f * y
	}
}

// gamma draws by the method of Marsaglia and Tsang (2000), for a shape above 1.
func (r *twister) gamma(shape float64) float64 {
	b := shape - 1.0/3
	c := 1 / math.Sqrt(9*b)
	for {
		x := r.normal()
		v := 1 + float64(c*x)
		if v <= 0 {
			continue
		}
		v = v * v * v
		u := r.float64()
		if u < 1-float64(0.0331*float64(x*x)*float64(x*x)) ||
			math.Log(u) < float64(0.5*x*x)+float64(b*(1-v+math.Log(v))) {
			return b * v
		}
	}
}

// beta1 draws from Be(1, b): by Johnk's method for b <= 1, else as a ratio of
// gammas.
func (r *twister) beta1(b float64) float64 {
	if b <= 1 {
		for {
			x := r.float64()
			y := math.Pow(r.float64(), 1/b)
			if s := x + y; 0 < s && s <= 1 {
				return x / s
			}
		}
	}
	x := -math.Log(1 - r.float64())
	y := r.gamma(b)
	return x / (x + y)
}
