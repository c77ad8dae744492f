package construct

import (
	"context"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
)

// NoReg is DACE without the hypernetwork's regularisation (the paper's section
// V-F): the weights of the scorer are moved instead of an embedding, and with
// [Settings].PerturbEncoder those of the encoder too.
func NoReg(ctx context.Context, training []problem.Problem, s Settings) (Result, error) {
	c, err := start("NoReg", training, s, 20, 1600)
	if err != nil {
		return Result{}, err
	}
	c.pop = &weights{neural{c: c, training: training}}
	return c.finish(ctx, c.run(ctx))
}

// weights is the population of NoReg: a genome is a scorer's weights.
type weights struct{ neural }

func (p *weights) problems(ctx context.Context, genomes [][]float64) ([]problem.Problem, error) {
	scorers := make([]*nir.Scorer, len(genomes))
	for i, g := range genomes {
		s, err := p.model.ScorerOf(g)
		if err != nil {
			return nil, err
		}
		scorers[i] = s
	}
	return normalised(ctx, p.model, scorers)
}

// rangeOf returns the range of one genome.
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

func (p *weights) initial(ctx context.Context) ([]Instance, error) {
	if err := p.train(ctx); err != nil {
		return nil, err
	}
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

func (p *weights) mutate(ctx context.Context, parent Instance, configs []brkga.Config, f []float64, step string, seed uint64) (Instance, []float64, error) {
	genome, history, err := p.search(ctx, parent.Genome, configs, f, step, seed, p.problems)
	if err != nil {
		return Instance{}, nil, err
	}
	r, err := p.rangeOf(ctx, genome)
	return Instance{Genome: genome, Range: r}, history, err
}
