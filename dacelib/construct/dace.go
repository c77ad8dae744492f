package construct

import (
	"context"
	"errors"
	"fmt"
	"os"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// DACE constructs a portfolio by domain-agnostic co-evolution (Alg. 2). The
// training instances are black boxes: an NIR is trained for each, and from
// then on configurations are judged on NIRs, which are made harder by moving
// their embeddings (Alg. 1). Instances of several dimensions are padded or
// truncated to NIR.Dim, by default the mean of theirs (App. E).
//
// On the end of ctx it returns the best portfolio so far and ctx's error.
func DACE(ctx context.Context, training []problem.Problem, s Settings) (Result, error) {
	c, err := start("DACE", training, s, 20, 1600)
	if err != nil {
		return Result{}, err
	}
	c.pop = &embeddings{neural{c: c, training: training}}
	return c.finish(ctx, c.run(ctx))
}

// A neural is what populations of NIRs share.
type neural struct {
	c        *coevolution
	training []problem.Problem
	model    *nir.Model
}

// train makes the NIRs of the training instances, or reads them from the
// journal's folder. A training that was interrupted is continued.
func (n *neural) train(ctx context.Context) error {
	s := n.c.s.NIR
	s.OnEvent = n.c.e.within("training NIRs")
	if s.Normalisation.OnEvent == nil {
		s.Normalisation.OnEvent = n.c.e.within("normalising")
	}
	path := n.c.j.path("model.npz")
	if path != "" {
		m, err := nir.Load(path)
		switch {
		case err == nil && m.Status() != run.Cancelled:
			m.Normalisation = s.Normalisation
			n.model, n.c.r.Model = m, m
			return nil
		case err == nil:
			s.Resume = m
		case !errors.Is(err, os.ErrNotExist):
			return err
		}
	}
	m, err := nir.Train(ctx, n.training, s)
	if m != nil && path != "" {
		if e := m.Save(path); e != nil && err == nil {
			err = e
		}
	}
	if err != nil {
		return err
	}
	n.model, n.c.r.Model = m, m
	return nil
}

// search runs PGPE from a genome: problems turns genomes into normalised
// problems. It returns the genome of the hardest and the history.
func (n *neural) search(ctx context.Context, genome []float64, configs []brkga.Config, f []float64, step string, seed uint64, problems func(ctx context.Context, genomes [][]float64) ([]problem.Problem, error)) ([]float64, []float64, error) {
	s := n.c.s.PGPE
	if s.Seed == 0 {
		s.Seed = run.Seed(seed, "pgpe")
	}
	if s.Stop == nil {
		s.Stop = pgpe.EarlyStop(f)
	}
	s.OnEvent = n.c.e.within(step)
	partial := step + ", unfinished"
	var before pgpe.Result
	if found, err := n.c.j.get(partial, &before); err != nil {
		return nil, nil, err
	} else if found {
		s.Resume = &before
	}
	r, err := pgpe.Run(ctx, genome, Hardness(configs, n.c.s.Evaluations, n.c.s.Workers, seed, problems), s)
	if err != nil {
		if r.Iterations > before.Iterations {
			if e := n.c.j.put(partial, r); e != nil {
				return nil, nil, e
			}
		}
		return nil, nil, err
	}
	best := make([]float64, len(r.History))
	for i, it := range r.History {
		best[i] = it.Best
	}
	return r.Best, best, nil
}

// Hardness returns what PGPE minimises (Eq. 10): f(P, m | e), the performance
// of a portfolio on the NIR of each candidate. problems makes normalised
// problems of candidates; see [Embedded]. Member j has one seed for all
// candidates, so the function is deterministic in e.
func Hardness(configs []brkga.Config, evaluations, workers int, seed uint64, problems func(ctx context.Context, candidates [][]float64) ([]problem.Problem, error)) pgpe.Objective {
	return func(ctx context.Context, dst []float64, candidates [][]float64) error {
		ps, err := problems(ctx, candidates)
		if err != nil {
			return err
		}
		f, err := performance(ctx, configs, ps, evaluations, workers, func(member int) uint64 { return run.Seed(seed, "construct: member", member) })
		copy(dst, f)
		return err
	}
}

// Embedded returns a function that makes normalised problems of embeddings of
// a model, all in one pass over the normalising sample.
func Embedded(m *nir.Model) func(ctx context.Context, candidates [][]float64) ([]problem.Problem, error) {
	return func(ctx context.Context, candidates [][]float64) ([]problem.Problem, error) {
		scorers := make([]*nir.Scorer, len(candidates))
		for i, e := range candidates {
			s, err := m.Scorer(e)
			if err != nil {
				return nil, err
			}
			scorers[i] = s
		}
		return normalised(ctx, m, scorers)
	}
}

// Harder looks for an NIR, near that of an embedding, on which a portfolio
// does as badly as possible (Alg. 1): the mutation of DACE on its own. The
// result's Best is the new embedding, its Value the portfolio's performance
// there, as Eq. 11 normalises it.
func Harder(ctx context.Context, m *nir.Model, embedding []float64, p portfolio.Portfolio, s pgpe.Settings) (pgpe.Result, error) {
	if len(p.Configs) == 0 {
		return pgpe.Result{}, fmt.Errorf("construct: portfolio %q has no configurations of BRKGA", p.Name)
	}
	return pgpe.Run(ctx, embedding, Hardness(p.Configs, 0, 0, run.Seed(s.Seed, "construct: harder"), Embedded(m)), s)
}

// normalised finds the ranges of scorers.
func normalised(ctx context.Context, m *nir.Model, scorers []*nir.Scorer) ([]problem.Problem, error) {
	ranges, err := m.NormaliseScorers(ctx, scorers)
	if err != nil {
		return nil, err
	}
	ps := make([]problem.Problem, len(scorers))
	for i, s := range scorers {
		ps[i] = s.Within(ranges[i])
	}
	return ps, nil
}

// embeddings is the population of DACE: a genome is an embedding.
type embeddings struct{ neural }

func (p *embeddings) initial(ctx context.Context) ([]Instance, error) {
	if err := p.train(ctx); err != nil {
		return nil, err
	}
	e := p.model.Embeddings()
	ranges, err := p.model.Normalise(ctx, e)
	if err != nil {
		return nil, err
	}
	out := make([]Instance, len(e))
	for i, name := range p.model.Names() {
		out[i] = Instance{Name: name, Genome: e[i], Range: portfolio.Range(ranges[i])}
	}
	return out, nil
}

func (p *embeddings) problem(i Instance) (problem.Problem, error) {
	s, err := p.model.Scorer(i.Genome)
	if err != nil {
		return nil, err
	}
	return s.Named(i.Name).Within(nir.Range(i.Range)), nil
}

func (p *embeddings) mutate(ctx context.Context, parent Instance, configs []brkga.Config, f []float64, step string, seed uint64) (Instance, []float64, error) {
	genome, history, err := p.search(ctx, parent.Genome, configs, f, step, seed, Embedded(p.model))
	if err != nil {
		return Instance{}, nil, err
	}
	r, err := p.model.Normalise(ctx, [][]float64{genome})
	if err != nil {
		return Instance{}, nil, err
	}
	return Instance{Genome: genome, Range: portfolio.Range(r[0])}, history, nil
}
