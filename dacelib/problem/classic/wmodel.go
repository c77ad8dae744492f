package classic

import (
	"fmt"
	"math"

	"dace.local/dacelib/run"
)

// layered is OneMax or LeadingOnes behind the layers of the W-model.
type layered struct {
	at         []int // the bits that matter, in order
	neutrality int   // bits for each one that is seen; at most 1: no layer
	epistasis  func(bits []byte)
	leading    bool
	table      []float64 // by the number of ones; nil: the number
}

func (f *layered) value(row []uint64) float64 {
	seen := make([]byte, 0, 256)
	if f.neutrality <= 1 {
		for _, j := range f.at {
			seen = append(seen, byte(bit(row, j)))
		}
	} else {
		for i := 0; i+f.neutrality <= len(f.at); i += f.neutrality {
			ones := 0
			for _, j := range f.at[i : i+f.neutrality] {
				ones += bit(row, j)
			}
			b := byte(0)
			if 2*ones >= f.neutrality {
				b = 1
			}
			seen = append(seen, b)
		}
	}
	if f.epistasis != nil {
		f.epistasis(seen)
	}
	n := 0
	for _, b := range seen {
		if b == 1 {
			n++
		} else if f.leading {
			break
		}
	}
	if f.table != nil {
		return f.table[n]
	}
	return float64(n)
}

// epistasis transforms blocks of nu bits so that a flip of one bit changes nu-1 or
// more of them, and each block's values are a permutation (Weise and Wu 2018).
func epistasis(nu int) func(bits []byte) {
	return func(bits []byte) {
		out := make([]byte, nu)
		for start := 0; start < len(bits); start += nu {
			block := bits[start:min(start+nu, len(bits))]
			n := len(block)
			skip := 0
			for i := n - 1; i >= 0; i-- {
				b := block[0]
				for j := n - 1; j > 0; j-- {
					if j != skip {
						b ^= block[j]
					}
				}
				out[i] = b
				if skip--; skip < 0 {
					skip = n - 1
				}
			}
			copy(block, out[:n])
		}
	}
}

// mostRugged returns the largest ruggedness of a function with q+1 values.
func mostRugged(q int) int { return q * (q - 1) / 2 }

// ruggedness returns, by the number of ones, the value of the W-model's ruggedness
// gamma, 0 to mostRugged(q), in the order of growing difficulty (Weise and Wu 2018).
func ruggedness(gamma, q int) []float64 {
	gamma = ruggednessRank(gamma, q)
	r := make([]int, q+1)
	most := mostRugged(q)
	start := 0
	if gamma > 0 {
		start = q - 1 - int(0.5+math.Sqrt(0.25+float64(2*(most-gamma))))
	}
	k, j := 0, 1
	for ; j <= start; j++ {
		if j&1 != 0 {
			r[j] = q - k
		} else {
			k++
			r[j] = k
		}
	}
	for ; j <= q; j++ {
		k++
		if start&1 != 0 {
			r[j] = q - k
		} else {
			r[j] = k
		}
	}
	swaps := gamma - most + (q-start-1)*(q-start)/2
	j--
	for range swaps {
		if j--; j > 0 {
			r[j], r[q] = r[q], r[j]
		}
	}
	table := make([]float64, q+1)
	for i := range table {
		table[i] = float64(q - r[q-i])
	}
	return table
}

// ruggednessRank translates a difficulty to the number of a permutation.
func ruggednessRank(g, q int) int {
	if g <= 0 {
		return 0
	}
	lastUpper := (q >> 1) * ((q + 1) >> 1)
	if g <= lastUpper {
		j := int(math.Abs(math.Trunc(float64(q+2)*0.5 - math.Sqrt(float64(q*q)*0.25+1-float64(g)))))
		k := g - (q+2)*j + j*j + q
		return k + 1 + ((q+2)*j-j*j-q-1)*2 - (j - 1)
	}
	odd := q % 2
	j := int(math.Abs(math.Trunc(float64(odd+1)*0.5 + math.Sqrt(float64(1-odd)*0.25+float64(g-1-lastUpper)))))
	k := g - ((j-odd)*(j-1) + 1 + lastUpper)
	return mostRugged(q) - k - (2*j*j - j) - odd*(-2*j+1)
}

// A WModelSettings holds the layers of a W-model. The zero value is plain OneMax.
type WModelSettings struct {
	// Leading takes LeadingOnes instead of OneMax.
	Leading bool `json:"leading,omitempty"`
	// Neutrality is the number mu of bits of which each bit that is seen is the
	// majority, ones winning a tie; 0 and 1 mean none.
	Neutrality int `json:"neutrality,omitempty"`
	// Epistasis is the size nu of blocks whose bits depend on each other; 0 and 1
	// mean none.
	Epistasis int `json:"epistasis,omitempty"`
	// Ruggedness is gamma, from 0 (none) to q (q-1) / 2, where q is d / Neutrality.
	Ruggedness int `json:"ruggedness,omitempty"`
}

type wmodelData struct {
	Dim      int            `json:"dim"`
	Settings WModelSettings `json:"settings"`
}

// WModel returns a W-model (Weise and Wu, Difficult features of combinatorial
// optimization problems and the tunable W-Model benchmark problem for simulating
// them, GECCO 2018 companion): OneMax or LeadingOnes behind layers of neutrality,
// epistasis and ruggedness, in this order. It is maximised; the optimum is d /
// Neutrality, rounded down.
func WModel(name string, d int, s WModelSettings) (*Instance, error) {
	return (&wmodelData{d, s}).instance(name)
}

func (w *wmodelData) instance(name string) (*Instance, error) {
	s := w.Settings
	if err := checkDim("a W-model", w.Dim, 1, 1<<14); err != nil {
		return nil, err
	}
	if s.Neutrality < 0 || s.Neutrality > w.Dim {
		return nil, fmt.Errorf("classic: a W-model of %d bits with neutrality %d", w.Dim, s.Neutrality)
	}
	q := w.Dim / max(1, s.Neutrality)
	if s.Epistasis < 0 || s.Epistasis > q {
		return nil, fmt.Errorf("classic: a W-model of %d seen bits with epistasis %d", q, s.Epistasis)
	}
	if s.Ruggedness < 0 || s.Ruggedness > mostRugged(q) {
		return nil, fmt.Errorf("classic: a W-model of %d seen bits with ruggedness %d: want 0 to %d", q, s.Ruggedness, mostRugged(q))
	}
	f := &layered{neutrality: s.Neutrality, leading: s.Leading, table: ruggedness(s.Ruggedness, q)}
	for i := range w.Dim {
		f.at = append(f.at, i)
	}
	if s.Epistasis > 1 {
		f.epistasis = epistasis(s.Epistasis)
	}
	return newInstance(name, w.Dim, f, "wmodel", w).known(float64(q)), nil
}

// RandomWModel draws a W-model of d bits with epistasis 4 and a ruggedness up to a
// quarter of the largest; its bits are negated and reordered at random.
func RandomWModel(seed uint64, d int) (*Instance, error) {
	if err := checkDim("a W-model", d, 4, 1<<14); err != nil {
		return nil, err
	}
	rng := run.Rand(seed, "W-model", d)
	p, err := WModel("base", d, WModelSettings{Epistasis: 4, Ruggedness: rng.IntN(mostRugged(d)/4 + 1)})
	if err != nil {
		return nil, err
	}
	mask := make([]bool, d)
	for i := range mask {
		mask[i] = rng.IntN(2) == 1
	}
	return Moved(fmt.Sprintf("wmodel-%d/%d", d, seed), p, rng.Perm(d), mask)
}
