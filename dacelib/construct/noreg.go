package construct

import (
	"context"

	"dace.local/dacelib/nir"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
)

// NoReg is DACE without the hypernetwork's regularisation (the paper's section
// V-F): it moves the weights of the scorer instead of an embedding, and with
// [Settings].PerturbEncoder also those of the encoder.
func NoReg(ctx context.Context, training []problem.Problem, s Settings) (Result, error) {
	return coevolveNeural(ctx, "NoReg", training, s, methodDefaults{Minings: 20, Trials: 1600}, func(n *neural) population { return &weights{n} })
}

// weights is the population of NoReg: a genome is a scorer's weights.
type weights struct{ *neural }

func (p *weights) decode(ctx context.Context, genomes [][]float64) ([]problem.Problem, error) {
	return decodeNIRs(ctx, p.model, genomes, p.model.ScorerOf)
}

// rangeOf returns the normalising range of one genome.
func (p *weights) rangeOf(ctx context.Context, genome []float64) (portfolio.Range, error) {
	s, err := p.model.ScorerOf(genome)
	if err != nil {
		return portfolio.Range{}, err
	}
	r, err := p.model.NormaliseScorers(ctx, []*nir.Scorer{s})
	if err != nil {
		return portfolio.Range{}, err
	}
	return portfolio.Range(r[0]), nil
}

func (p *weights) initial(ctx context.Context, _ *work) ([]Instance, error) {
	var out []Instance
	names := p.model.Names()
	for i, e := range p.model.Embeddings() {
		w, err := p.model.Weights(e, p.c.s.PerturbEncoder)
		if err != nil {
			return nil, err
		}
		r, err := p.rangeOf(ctx, w)
		if err != nil {
			return nil, err
		}
		out = append(out, Instance{Name: names[i], Genome: w, Range: r})
	}
	return out, nil
}

func (p *weights) problem(i Instance) (problem.Problem, error) {
	s, err := p.model.ScorerOf(i.Genome)
	if err != nil {
		return nil, err
	}
	return s.Named(i.Name).Within(nir.Range(i.Range)), nil
}

func (p *weights) mutate(ctx context.Context, m mutation, w *work) (Instance, []float64, error) {
	genome, history, err := p.search(ctx, m, p.decode, w)
	if err != nil {
		return Instance{}, nil, err
	}
	r, err := p.rangeOf(ctx, genome)
	return Instance{Genome: genome, Range: r}, history, err
}
