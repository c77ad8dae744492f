// Package graph defines the neural instance representation as a gorgonia graph:
// the model and the loss of the paper's Eq. 9, with the gradient that gorgonia
// derives from them. The hand-written training pass of package nir is tested
// against it, and with nir's Settings.Gorgonia the graph replaces that pass.
//
// A program that sets Settings.Gorgonia imports this package for its side
// effect, and so do cells' kernels:
//
//	import _ "dace.local/dacelib/nir/graph"
//
// Package nir does not import it, because gorgonia requires twenty modules that
// most programs have no other use for. The package exports nothing.
package graph

import (
	"fmt"
	"math"
	"sync"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"dace.local/dacelib/nir/internal/autodiff"
)

// A model is the graph for one batch per instance. It must not be used by
// several goroutines at once.
type model struct {
	c       autodiff.Config
	graph   *G.ExprGraph
	machine G.VM
	params  []param
	x, eps  []*G.Node
	y       []*G.Node
	losses  [][3]*G.Node // by instance: reconstruction, scorer, KL
}

// A param is a node that holds a range of columns of a tensor.
type param struct {
	node     *G.Node
	tensor   autodiff.Tensor
	from, to int
}

var useOnce sync.Once

func init() {
	autodiff.Register(func(c autodiff.Config) (autodiff.Model, error) { return newModel(c) })
}

// newModel builds the graph. It also makes gorgonia multiply matrices with this
// library's kernels, once per process.
func newModel(c autodiff.Config) (m *model, err error) {
	useOnce.Do(func() { G.Use(blas32{}) })
	defer func() { // because G.Must panics
		if r := recover(); r != nil {
			m, err = nil, fmt.Errorf("graph: building the graph: %v", r)
		}
	}()
	m = &model{c: c, graph: G.NewGraph()}
	nodes := map[string]*G.Node{}
	param := func(name string, from, to int) *G.Node {
		key := fmt.Sprintf("%s[%d:%d]", name, from, to)
		if n, ok := nodes[key]; ok {
			return n
		}
		t := c.Tensors[name]
		value := tensor.New(tensor.WithShape(t.Rows, to-from), tensor.WithBacking(make([]float32, t.Rows*(to-from))))
		n := G.NewMatrix(m.graph, tensor.Float32, G.WithShape(t.Rows, to-from), G.WithName(key), G.WithValue(value))
		nodes[key] = n
		m.params = append(m.params, newParam(n, t, from, to))
		return n
	}
	whole := func(name string) *G.Node { return param(name, 0, c.Tensors[name].Cols) }
	linear := func(x *G.Node, name string, from, to int) *G.Node {
		return addRow(G.Must(G.Mul(x, param(name+".W", from, to))), param(name+".b", from, to))
	}
	hidden := func(x *G.Node, name string) *G.Node {
		x = linear(x, name, 0, c.Hidden)
		if c.Norm {
			x = batchNorm(x, whole(name+".gamma"), whole(name+".beta"), c)
		}
		return leaky(x, c.Leak)
	}

	var total *G.Node
	for i := range c.Instances {
		x := G.NewMatrix(m.graph, tensor.Float32, G.WithShape(c.Batch, c.Dim), G.WithName(fmt.Sprint("x", i)))
		y := G.NewMatrix(m.graph, tensor.Float32, G.WithShape(c.Batch, 1), G.WithName(fmt.Sprint("y", i)))
		eps := G.NewMatrix(m.graph, tensor.Float32, G.WithShape(c.Batch, c.Latent), G.WithName(fmt.Sprint("eps", i)))
		m.x, m.y, m.eps = append(m.x, x), append(m.y, y), append(m.eps, eps)

		h := hidden(hidden(x, "e1"), "e2")
		mu := linear(h, "e3", 0, c.Latent)
		logVar := linear(h, "e3", c.Latent, 2*c.Latent)
		sigma := G.Must(G.Exp(scale(logVar, 0.5)))
		z := G.Must(G.Add(mu, G.Must(G.HadamardProd(sigma, eps))))

		out := linear(hidden(hidden(z, "d1"), "d2"), "d3", 0, c.Dim)
		reconstruction := meanSquare(G.Must(G.Sub(hardTanh(out), x)))

		input := mu
		switch {
		case c.WithStd:
			input = G.Must(G.Concat(1, mu, sigma))
		case c.Sampled:
			input = z
		}
		e := G.NewMatrix(m.graph, tensor.Float32, G.WithShape(1, c.EmbeddingSize), G.WithName(fmt.Sprint("e", i)),
			G.WithValue(tensor.New(tensor.WithShape(1, c.EmbeddingSize), tensor.WithBacking(make([]float32, c.EmbeddingSize)))))
		t := c.Tensors["embeddings"]
		m.params = append(m.params, newParam(e, autodiff.Tensor{Name: t.Name, Rows: 1, Cols: t.Cols, Offset: t.Offset + i*t.Cols}, 0, t.Cols))
		code := leaky(linear(e, "h1", 0, c.HyperHidden), c.Leak)
		generated := func(part autodiff.Tensor) *G.Node {
			w := linear(code, "h2", part.Offset, part.Offset+part.Rows*part.Cols)
			return G.Must(G.Reshape(w, tensor.Shape{part.Rows, part.Cols}))
		}
		a := input
		for k := 0; k < len(c.Scorer); k += 2 {
			a = addRow(G.Must(G.Mul(a, generated(c.Scorer[k]))), generated(c.Scorer[k+1]))
			if !c.Affine && k+2 < len(c.Scorer) {
				a = leaky(a, c.Leak)
			}
		}
		scorer := meanSquare(G.Must(G.Sub(a, y)))

		// Half the sum over the rows of mu^2 + sigma^2 - log sigma^2 - 1.
		squares := G.Must(G.Add(G.Must(G.Square(mu)), G.Must(G.Square(sigma))))
		terms := G.Must(G.Sub(G.Must(G.Sub(squares, logVar)), number(1)))
		kl := scale(G.Must(G.Sum(terms)), 0.5/float64(c.Batch))

		m.losses = append(m.losses, [3]*G.Node{reconstruction, scorer, kl})
		loss := G.Must(G.Add(reconstruction, scale(scorer, c.PredictionWeight)))
		loss = G.Must(G.Add(loss, scale(kl, c.KLWeight)))
		if total == nil {
			total = loss
		} else {
			total = G.Must(G.Add(total, loss))
		}
	}
	inputs := make(G.Nodes, len(m.params))
	for i, p := range m.params {
		inputs[i] = p.node
	}
	if _, err := G.Grad(total, inputs...); err != nil {
		return nil, fmt.Errorf("graph: deriving the gradient: %w", err)
	}
	m.machine = G.NewTapeMachine(m.graph, G.BindDualValues(inputs...))
	return m, nil
}

func newParam(n *G.Node, t autodiff.Tensor, from, to int) param { return param{n, t, from, to} }

// Gradient computes the losses of the instances and writes the gradient of Eq.
// 9 to grad. x, y and eps hold for each instance Batch x Dim numbers +-1, Batch
// values, and Batch x Latent normal numbers.
func (m *model) Gradient(params []float32, x, y, eps [][]float32, grad []float32) ([]autodiff.Losses, error) {
	for _, p := range m.params {
		data := p.node.Value().Data().([]float32)
		w := p.to - p.from
		for r := range p.tensor.Rows {
			at := p.tensor.Offset + r*p.tensor.Cols
			copy(data[r*w:(r+1)*w], params[at+p.from:at+p.to])
		}
	}
	let := func(n *G.Node, data []float32) error {
		return G.Let(n, tensor.New(tensor.WithShape(n.Shape().Clone()...), tensor.WithBacking(data)))
	}
	for i := range m.x {
		for _, err := range []error{let(m.x[i], x[i]), let(m.y[i], y[i]), let(m.eps[i], eps[i])} {
			if err != nil {
				return nil, fmt.Errorf("graph: %w", err)
			}
		}
	}
	if err := m.machine.RunAll(); err != nil {
		return nil, fmt.Errorf("graph: %w", err)
	}
	losses := make([]autodiff.Losses, len(m.losses))
	for i, l := range m.losses {
		value := func(n *G.Node) float64 { return float64(n.Value().Data().(float32)) }
		losses[i] = autodiff.Losses{Reconstruction: value(l[0]), Scorer: value(l[1]), KL: value(l[2])}
	}
	for _, p := range m.params {
		v, err := p.node.Grad()
		if err != nil {
			return nil, fmt.Errorf("graph: %w", err)
		}
		data := v.Data().([]float32)
		w := p.to - p.from
		for r := range p.tensor.Rows {
			at := p.tensor.Offset + r*p.tensor.Cols
			copy(grad[at+p.from:at+p.to], data[r*w:(r+1)*w])
		}
		clear(data) // otherwise gorgonia adds the next run's gradient to it
	}
	m.machine.Reset()
	return losses, nil
}

func number(v float64) *G.Node { return G.NewConstant(float32(v)) }

func scale(x *G.Node, by float64) *G.Node { return G.Must(G.Mul(x, number(by))) }

// addRow adds the 1 x n matrix b to every row of x.
func addRow(x, b *G.Node) *G.Node { return G.Must(G.BroadcastAdd(x, b, nil, []byte{0})) }

func meanSquare(x *G.Node) *G.Node { return G.Must(G.Mean(G.Must(G.Square(x)))) }

// hardTanh limits x to [-1, 1]: relu(x+1) - relu(x-1) - 1.
func hardTanh(x *G.Node) *G.Node {
	low := G.Must(G.Rectify(G.Must(G.Add(x, number(1)))))
	high := G.Must(G.Rectify(G.Must(G.Sub(x, number(1)))))
	return G.Must(G.Sub(G.Must(G.Sub(low, high)), number(1)))
}

// batchNorm normalises the columns of x by their mean and variance over the
// batch; gamma and beta are 1 x n.
func batchNorm(x, gamma, beta *G.Node, c autodiff.Config) *G.Node {
	row := func(n *G.Node) *G.Node { return G.Must(G.Reshape(n, tensor.Shape{1, c.Hidden})) }
	mean := row(G.Must(G.Mean(x, 0)))
	x = G.Must(G.BroadcastSub(x, mean, nil, []byte{0}))
	variance := row(G.Must(G.Mean(G.Must(G.Square(x)), 0)))
	deviation := G.Must(G.Sqrt(G.Must(G.Add(variance, number(c.NormEpsilon)))))
	x = G.Must(G.BroadcastHadamardDiv(x, deviation, nil, []byte{0}))
	x = G.Must(G.BroadcastHadamardProd(x, gamma, nil, []byte{0}))
	return addRow(x, beta)
}

// leaky applies LeakyReLU to x.
func leaky(x *G.Node, slope float64) *G.Node {
	return G.Must(G.ApplyOp(leakyOp{slope: math.Float32bits(float32(slope))}, x))
}
