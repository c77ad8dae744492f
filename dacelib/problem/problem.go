// Package problem is the contract between an optimisation problem and the
// methods that solve it: a function over {0,1}^d to be maximised, evaluated
// in batches of packed solutions.
//
// Start with [Problem]. [FromFunc] makes one from a function of one solution;
// [Count] gives one a budget, [Memo] a memory, [Parallel] all cores; a [Class]
// draws instances. The problems of the paper are in the folders below: onemax,
// ccp, cimp, caop; problemtest checks that an implementation keeps the
// contract.
package problem

import (
	"context"
	"fmt"
	"math/bits"
)

// A Problem is an instance: a function f: {0,1}^d -> R to be maximised.
//
// Evaluate must be deterministic, and the value of a solution must not depend
// on the other solutions of its batch. It may be called from several
// goroutines at once. A value is never NaN; it is -Inf only for a solution
// that must not be chosen.
type Problem interface {
	// Name identifies the instance in tables and figures: "ccp-30/17".
	Name() string
	// Dim returns d.
	Dim() int
	// Evaluate sets dst[i] = f(x_i) for the x.Len() solutions of x, whose
	// dimension is Dim; dst may be longer. It must keep neither dst nor x,
	// and must not change x. On an error, and on the end of ctx, which it
	// reports as ctx.Err(), the values in dst are undefined.
	Evaluate(ctx context.Context, dst []float64, x Solutions) error
}

// Solutions is a batch of n packed solutions of dimension d. Bit j of
// solution i is bit j%64 of word j/64 of its row; a row has Stride(d) words;
// bits at and above d are 0.
type Solutions struct {
	// D is the dimension d, in bits.
	D int
	// Words holds the n rows one after the other, n*Stride(d) in all.
	Words []uint64
}

// Stride returns the number of words of a solution of dimension d.
func Stride(d int) int { return (d + 63) / 64 }

// NewSolutions returns n solutions of dimension d, all zero.
func NewSolutions(n, d int) Solutions {
	if n < 0 || d <= 0 {
		panic("problem: NewSolutions needs n >= 0 and d > 0")
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

// Len returns n.
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

// Slice returns the solutions i to j-1. It shares memory with s.
func (s Solutions) Slice(i, j int) Solutions {
	w := Stride(s.D)
	return Solutions{D: s.D, Words: s.Words[i*w : j*w : j*w]}
}

// At reports whether bit j of solution i is 1.
func (s Solutions) At(i, j int) bool {
	return s.Words[i*Stride(s.D)+j>>6]>>(j&63)&1 == 1
}

// Set makes bit j of solution i one or zero.
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

// Bools returns solution i unpacked: d booleans, a copy.
func (s Solutions) Bools(i int) []bool {
	x := make([]bool, s.D)
	for j := range x {
		x[j] = s.At(i, j)
	}
	return x
}

// String returns the solutions as rows of 0 and 1, at most ten of them.
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
