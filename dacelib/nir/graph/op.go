package graph

import (
	"fmt"
	"hash"
	"hash/fnv"
	"math"

	"github.com/chewxy/hm"
	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"
)

// leakyOp is LeakyReLU as a single operation, max(x, slope x), or with back its
// derivative at x times a gradient. gorgonia's own LeakyReLU is made of several
// operations and slower.
type leakyOp struct {
	slope uint32 // the bits of a float32, because an op must be comparable
	back  bool
}

func (o leakyOp) Arity() int {
	if o.back {
		return 2
	}
	return 1
}

func (o leakyOp) Type() hm.Type {
	a := hm.TypeVariable('a')
	if o.back {
		return hm.NewFnType(a, a, a)
	}
	return hm.NewFnType(a, a)
}

func (o leakyOp) InferShape(in ...G.DimSizer) (tensor.Shape, error) {
	s, ok := in[0].(tensor.Shape)
	if !ok {
		return nil, fmt.Errorf("graph: leaky needs a shape, got %T", in[0])
	}
	return s.Clone(), nil
}

func (o leakyOp) Do(in ...G.Value) (G.Value, error) {
	x := in[0].Data().([]float32)
	slope := math.Float32frombits(o.slope)
	out := make([]float32, len(x))
	if o.back {
		for i, g := range in[1].Data().([]float32) {
			if x[i] > 0 {
				out[i] = g
			} else {
				out[i] = slope * g
			}
		}
	} else {
		for i, v := range x {
			out[i] = max(v, slope*v)
		}
	}
	return tensor.New(tensor.WithShape(in[0].Shape().Clone()...), tensor.WithBacking(out)), nil
}

func (o leakyOp) ReturnsPtr() bool      { return true }
func (o leakyOp) CallsExtern() bool     { return false }
func (o leakyOp) OverwritesInput() int  { return -1 }
func (o leakyOp) WriteHash(h hash.Hash) { fmt.Fprint(h, o.String()) }

func (o leakyOp) Hashcode() uint32 {
	h := fnv.New32a()
	o.WriteHash(h)
	return h.Sum32()
}

func (o leakyOp) String() string { return fmt.Sprintf("leaky{%08x,%v}", o.slope, o.back) }

// DiffWRT reports that the output depends on the input.
func (o leakyOp) DiffWRT(int) []bool { return []bool{true} }

// SymDiff adds the derivative to the graph.
func (o leakyOp) SymDiff(in G.Nodes, _, grad *G.Node) (G.Nodes, error) {
	n, err := G.ApplyOp(leakyOp{o.slope, true}, in[0], grad)
	return G.Nodes{n}, err
}
