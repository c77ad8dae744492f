package nir

import "dace.local/dacelib/nir/internal/autodiff"

// A graphPass is the gradienter that uses gorgonia's derivatives, of the package
// that has registered itself with autodiff.
type graphPass struct {
	pass    *pass // for its shards and its statistics of batch normalisation
	model   autodiff.Model
	x, y, e [][]float32
	grad    []float32
}

func newGraphPass(p *pass) (*graphPass, error) {
	sh, s := p.shape, p.settings
	c := autodiff.Config{
		Instances: sh.instances, Batch: s.Batch, Dim: sh.dim, Latent: sh.latent,
		Hidden: Hidden, EmbeddingSize: sh.embedding, HyperHidden: hyperHidden,
		WithStd: s.Input == MeanAndStd, Sampled: s.Input == Sample, Affine: s.Activation == Identity,
		Norm: sh.norm, NormEpsilon: normEpsilon, Leak: leak,
		PredictionWeight: s.PredictionWeight, KLWeight: s.KLWeight,
		Tensors: map[string]autodiff.Tensor{},
	}
	convert := func(t tensor) autodiff.Tensor {
		return autodiff.Tensor{Name: t.name, Rows: t.rows, Cols: t.cols, Offset: t.off}
	}
	for _, t := range sh.tensors {
		c.Tensors[t.name] = convert(t)
	}
	for _, t := range sh.scorer {
		c.Scorer = append(c.Scorer, convert(t))
	}
	m, err := autodiff.New(c)
	if err != nil {
		return nil, err
	}
	g := &graphPass{pass: p, model: m, grad: make([]float32, sh.size)}
	for range sh.instances {
		g.x = append(g.x, make([]float32, s.Batch*sh.dim))
		g.y = append(g.y, make([]float32, s.Batch))
		g.e = append(g.e, make([]float32, s.Batch*sh.latent))
	}
	return g, nil
}

func (g *graphPass) gradient(params []float32, fill filler, to sink) ([]partLoss, error) {
	p := g.pass
	d, L := p.shape.dim, p.shape.latent
	parallel(p.workers, len(p.shards), func(k int) {
		s, b := p.shards[k], <-p.idle
		fill(k, s.instance, s.rows, b.x, p.ldX, b.y, b.eps)
		first := k % p.perInstance * p.rows
		for r := range s.rows {
			copy(g.x[s.instance][(first+r)*d:(first+r+1)*d], b.x[r*p.ldX:])
		}
		copy(g.y[s.instance][first:first+s.rows], b.y)
		copy(g.e[s.instance][first*L:(first+s.rows)*L], b.eps)
		if p.shape.norm {
			p.forward(s, b, false)
		}
		p.idle <- b
	})
	losses, err := g.model.Gradient(params, g.x, g.y, g.e, g.grad)
	if err != nil {
		return nil, err
	}
	to.add(0, g.grad)
	out := make([]partLoss, len(losses))
	for i, l := range losses {
		out[i] = partLoss{l.Reconstruction, l.Scorer, l.KL}
	}
	return out, nil
}
