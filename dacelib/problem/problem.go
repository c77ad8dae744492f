// Package problem defines the contract between an optimisation problem and the
// methods that solve it. A problem is a function over {0,1}^d to be maximised,
// evaluated in batches of packed solutions.
//
// Start with [Problem]. [FromFunc] makes one from a function of one solution;
// [Count] adds a budget, [Memo] remembers values, [Parallel] uses all cores; a
// [Class] draws instances. The problems of the paper are in the sub-packages
// onemax, ccp, cimp and caop; package problemtest checks that an implementation
// keeps the contract.
package problem

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/bits"
)

// A Problem is an instance: a function f: {0,1}^d -> R to be maximised.
//
// Evaluate must be deterministic, and the value of a solution must not depend
// on the other solutions of its batch. It may be called from several goroutines
// at once. A value is never NaN, and -Inf only for a solution that must not be
// chosen.
type Problem interface {
	// Name identifies the instance in tables and figures: "ccp-30/17".
	Name() string
	// Dim returns the dimension d.
	Dim() int
	// Evaluate sets dst[i] = f(x_i) for the x.Len() solutions of x, whose
	// dimension is Dim; dst may be longer. It must not retain dst or x, and
	// must not change x. If ctx ends, it returns ctx.Err(). On any error, the
	// values in dst are undefined.
	Evaluate(ctx context.Context, dst []float64, x Solutions) error
}

// A Costly problem may say that a value costs much more than looking it up among
// some thousands. A run of a search then evaluates each solution once; what it
// counts, its budget and its result stay the same.
type Costly interface {
	Problem
	// Costly reports whether searches look values up.
	Costly() bool
}

// An Opaque problem may say that its solutions cannot be evaluated, because only
// external programs can read the instance: see package solver/external.
type Opaque interface {
	Problem
	// Opaque reports whether evaluating it is an error.
	Opaque() bool
}

// Solutions is a batch of n packed solutions of dimension d. Bit j of
// solution i is bit j%64 of word j/64 of its row; a row has Stride(d) words;
// bits at and above d are 0.
type Solutions struct {
	// D is the dimension d, in bits.
	D int
	// Words holds the n rows one after the other, n*Stride(d) words.
	Words []uint64
}

// Stride returns the number of words of a solution of dimension d.
func Stride(d int) int { return (d + 63) / 64 }

// The largest problems and batches. A larger number is taken for a mistake: the
// memory for its solutions would not be there.
const (
	// MaxDim is the largest dimension of a problem.
	MaxDim = 1 << 24
	// MaxBatch is the largest size of a batch of solutions, in bytes.
	MaxBatch = 1 << 33
)

// checkDim panics if a dimension is too large for the named function.
func checkDim(function string, d int) {
	if d > MaxDim {
		panic(fmt.Sprintf("problem: %s with dimension %d; it must be at most %d (MaxDim)", function, d, MaxDim))
	}
}

// NewSolutions returns n solutions of dimension d, with all bits 0. It panics if
// d is above MaxDim, or the batch above MaxBatch.
func NewSolutions(n, d int) Solutions {
	if n < 0 || d <= 0 {
		panic("problem: NewSolutions needs n >= 0 and d > 0")
	}
	checkDim("NewSolutions", d)
	if n > MaxBatch/8/Stride(d) {
		panic(fmt.Sprintf("problem: NewSolutions of %d solutions of dimension %d; at most %d fit a batch (MaxBatch)", n, d, MaxBatch/8/Stride(d)))
	}
	return Solutions{D: d, Words: make([]uint64, n*Stride(d))}
}

// Pack returns the given solutions as one batch. All must have the same,
// positive length.
func Pack(xs ...[]bool) Solutions {
	if len(xs) == 0 || len(xs[0]) == 0 {
		panic("problem: Pack needs at least one solution of at least one bit")
	}
	s := NewSolutions(len(xs), len(xs[0]))
	for i, x := range xs {
		if len(x) != s.D {
			panic("problem: Pack needs solutions of one length")
		}
		for j, b := range x {
			if b {
				s.Set(i, j, true)
			}
		}
	}
	return s
}

// Len returns the number of solutions n.
func (s Solutions) Len() int {
	if s.D == 0 {
		return 0
	}
	return len(s.Words) / Stride(s.D)
}

// Row returns the words of solution i. It shares memory with s.
func (s Solutions) Row(i int) []uint64 {
	w := Stride(s.D)
	return s.Words[i*w : (i+1)*w : (i+1)*w]
}

// Slice returns solutions i to j-1. They share memory with s.
func (s Solutions) Slice(i, j int) Solutions {
	w := Stride(s.D)
	return Solutions{D: s.D, Words: s.Words[i*w : j*w : j*w]}
}

// At reports whether bit j of solution i is 1.
func (s Solutions) At(i, j int) bool {
	return s.Words[i*Stride(s.D)+j>>6]>>(j&63)&1 == 1
}

// Set sets bit j of solution i to 1 if b is true, else to 0.
func (s Solutions) Set(i, j int, b bool) {
	w := &s.Words[i*Stride(s.D)+j>>6]
	if b {
		*w |= 1 << (j & 63)
	} else {
		*w &^= 1 << (j & 63)
	}
}

// Ones returns |x_i|_1, the number of ones of solution i.
func (s Solutions) Ones(i int) int {
	n := 0
	for _, w := range s.Row(i) {
		n += bits.OnesCount64(w)
	}
	return n
}

// Bools returns a copy of solution i, unpacked into d booleans.
func (s Solutions) Bools(i int) []bool {
	x := make([]bool, (s.D+7)&^7)
	unpack(x, s.Row(i))
	return x[:s.D:s.D]
}

// String returns the solutions as rows of 0 and 1, showing at most ten.
func (s Solutions) String() string {
	n := s.Len()
	b := make([]byte, 0, min(n, 10)*(s.D+1)+32)
	for i := range min(n, 10) {
		if i > 0 {
			b = append(b, '\n')
		}
		for j := range s.D {
			c := byte('0')
			if s.At(i, j) {
				c = '1'
			}
			b = append(b, c)
		}
	}
	if n > 10 {
		b = fmt.Appendf(b, "\n... %d more", n-10)
	}
	return string(b)
}

// Bytes returns the words of the solutions as little-endian bytes; [FromBytes]
// reads them.
func (s Solutions) Bytes() []byte {
	b := make([]byte, 0, 8*len(s.Words))
	for _, w := range s.Words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}

// FromBytes returns the solutions of dimension d whose [Solutions.Bytes] are b.
func FromBytes(d int, b []byte) (Solutions, error) {
	if d < 1 || len(b)%(8*Stride(d)) != 0 {
		return Solutions{}, fmt.Errorf("problem: %d bytes are no whole number of solutions of dimension %d", len(b), d)
	}
	s := Solutions{D: d, Words: make([]uint64, len(b)/8)}
	above := ^uint64(0) << (d & 63)
	if d&63 == 0 {
		above = 0
	}
	for i := range s.Words {
		s.Words[i] = binary.LittleEndian.Uint64(b[8*i:])
		if i%Stride(d) == Stride(d)-1 && s.Words[i]&above != 0 {
			return Solutions{}, fmt.Errorf("problem: solution %d has bits above dimension %d", i/Stride(d), d)
		}
	}
	return s, nil
}
