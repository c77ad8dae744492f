package construct

import (
	"context"
	"errors"
	"fmt"
	"os"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// DACE constructs a portfolio by domain-agnostic co-evolution (Alg. 2). It
// treats the training instances as black boxes: it trains an NIR for each and
// from then on evaluates configurations on NIRs, which it makes harder by
// moving their embeddings (Alg. 1). Instances of several dimensions are padded
// or truncated to NIR.Dim, which must be set then (App. E: to their mean).
//
// If ctx ends, DACE returns the best portfolio so far and ctx's error.
func DACE(ctx context.Context, training []problem.Problem, s Settings) (Result, error) {
	return coevolveNeural(ctx, "DACE", training, s, methodDefaults{Minings: 20, Trials: 1600}, func(n *neural) population { return &embeddings{n} })
}

// coevolveNeural runs a co-evolution on NIRs.
func coevolveNeural(ctx context.Context, method string, training []problem.Problem, s Settings, d methodDefaults, pop func(n *neural) population) (Result, error) {
	defer run.Report(&ctx, method, &s.OnEvent)()
	s, err := s.withDefaults(d)
	if err != nil {
		return Result{}, err
	}
	if e := s.Budget.Evaluations; e > 0 && len(training) > 0 {
		const few = 100 // samples: nir.Train takes no fewer
		n, each := len(training), s.checkEvaluations()
		if s.NIR.Samples = (e-looks(training))/n - each; s.NIR.Samples < few {
			return Result{}, fmt.Errorf("construct: Budget.Evaluations is %d, and the least that %s can keep is %d on %d training instances: %d samples of each for its NIR, and %d evaluations for Checks %d", e, method, looks(training)+n*(few+each), n, few, each, max(0, s.Checks))
		}
	}
	for _, p := range training {
		if s.NIR.Dim == 0 && p.Dim() != training[0].Dim() {
			return Result{}, fmt.Errorf("construct: %s: the training instances %s and %s have dimensions %d and %d: set Settings.NIR.Dim, for instance to the mean of all as in App. E, and shorter solutions are padded with zeros and longer ones cut", method, training[0].Name(), p.Name(), training[0].Dim(), p.Dim())
		}
		if d := p.Dim(); d > 0 && d < 7 {
			return Result{}, fmt.Errorf("construct: %s: training instance %s has only %d solutions, too few to train an NIR with; enumerate them, or use a method without NIRs, such as CEPS", method, p.Name(), 1<<d)
		}
	}
	ctx, end := s.limited(ctx)
	defer end()
	c, err := start(ctx, method, "", training, s, d, func(c *coevolution) error { return c.afford(c.fits) })
	if err != nil {
		return early(ctx, method, s, err)
	}
	n := &neural{c: c, training: training}
	c.pop = pop(n)
	err = n.train(ctx)
	if err == nil {
		err = c.run(ctx)
	}
	if err == nil && c.s.Checks > 0 {
		err = n.check(ctx)
	}
	return c.finish(ctx, err)
}

// neural is the part that the two populations of NIRs share.
type neural struct {
	c        *coevolution
	training []problem.Problem
	model    *nir.Model
}

// train trains the NIRs of the training instances, or reads them from the
// record's folder. It continues a training that was interrupted.
func (n *neural) train(ctx context.Context) error {
	s := n.c.s.NIR
	at := step{Stage: "training"}
	sampling, training := n.c.e.within("sampling instances"), n.c.e.within("training NIRs")
	s.OnEvent = func(e run.Event) {
		if e.Stage == "data" {
			sampling(e)
		} else {
			training(e)
		}
	}
	if s.Normalisation.OnEvent == nil {
		s.Normalisation.OnEvent = n.c.e.within("normalising")
	}
	s.Checkpoint = n.c.j.path(modelName)
	train := func(w *work) (bool, error) {
		counted := make([]*problem.Counted, len(n.training))
		ps := make([]problem.Problem, len(n.training))
		for i, p := range n.training {
			if s.Farm != nil && farm.Expensive(p) {
				p = farm.Problem(s.Farm, p)
			}
			counted[i] = problem.Count(p, 0)
			ps[i] = counted[i]
		}
		m, err := nir.Train(ctx, ps, s)
		if err != nil {
			return false, err
		}
		for _, c := range counted {
			w.Evaluations += c.Evaluations()
		}
		n.model, n.c.r.Model = m, m
		return true, nil
	}
	var trained bool
	err := n.c.j.do(at, &trained, func(w *work) (err error) {
		trained, err = train(w)
		return err
	})
	if err != nil || n.model != nil {
		return err
	}
	m, err := nir.Load(s.Checkpoint)
	if errors.Is(err, os.ErrNotExist) {
		_, err = train(new(work)) // the record exists, but its model file does not
		return err
	}
	if err != nil {
		return fmt.Errorf("construct: the model of the construction: %w; remove the file to train it again", err)
	}
	m.Normalisation, m.Farm = s.Normalisation, s.Farm
	n.model, n.c.r.Model = m, m
	return nil
}

// search runs PGPE from a genome; decode turns genomes into normalised
// problems. It returns the genome of the hardest problem and the history.
func (n *neural) search(ctx context.Context, m mutation, decode Decoder, w *work) ([]float64, []float64, error) {
	s := n.c.s.PGPE
	if s.Seed == 0 {
		s.Seed = run.Seed(m.seed, "pgpe")
	}
	if s.Stop == nil {
		s.Known = m.f
	}
	s.MaxIterations = m.iterations
	s.OnEvent = n.c.e.within(m.step.String())
	name := n.c.j.checkpoint(m.step).path
	s.Checkpoint = name
	part := &generation{keep: checkpoint{path: beside(name)}, hardness: n.c.judge.hardness(m, decode, n.c.s.Workers)}
	r, err := pgpe.Run(ctx, m.parent.Genome, part.values, s)
	if err != nil {
		return nil, nil, err
	}
	part.keep.remove()
	w.Runs = r.Evaluations * len(m.configs) * n.c.judge.seeds
	best := make([]float64, len(r.History))
	for i, it := range r.History {
		best[i] = it.Best
	}
	return r.Best, best, nil
}

// hardness returns the objective that a mutation minimises.
func (j judge) hardness(m mutation, decode Decoder, workers int) pgpe.Objective {
	return func(ctx context.Context, dst []float64, candidates [][]float64) error {
		ps, err := decode(ctx, candidates)
		if err != nil {
			return err
		}
		var spent Cost
		f, err := j.portfolio(ctx, m.configs, ps, func(member int) uint64 { return run.Seed(m.seed, "construct: member", member) }, workers, &spent)
		copy(dst, f)
		return err
	}
}

// A Decoder turns the candidates of a search, such as embeddings, into
// normalised problems. It receives many candidates at once so that one pass
// over the normalising sample can serve all of them.
type Decoder func(ctx context.Context, candidates [][]float64) ([]problem.Problem, error)

// Hardness returns the objective that PGPE minimises (Eq. 10): f(P, m | e), the
// performance of a portfolio on the NIR of each candidate. decode turns
// candidates into normalised problems; see [Embedded]. Member j has the same
// seed for all candidates, so the objective is deterministic in e.
func Hardness(configs []solver.Config, evaluations, workers int, seed uint64, decode Decoder) pgpe.Objective {
	return judge{evaluations: evaluations, seeds: 1}.hardness(mutation{configs: configs, seed: seed}, decode, workers)
}

// Embedded returns a Decoder that turns embeddings of a model into normalised
// problems, all in one pass over the normalising sample.
func Embedded(m *nir.Model) Decoder {
	return func(ctx context.Context, candidates [][]float64) ([]problem.Problem, error) {
		return decodeNIRs(ctx, m, candidates, m.Scorer)
	}
}

// decodeNIRs turns genomes into normalised problems.
func decodeNIRs(ctx context.Context, m *nir.Model, genomes [][]float64, scorer func([]float64) (*nir.Scorer, error)) ([]problem.Problem, error) {
	scorers := make([]*nir.Scorer, len(genomes))
	for i, g := range genomes {
		s, err := scorer(g)
		if err != nil {
			return nil, err
		}
		scorers[i] = s
	}
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

// Harder searches near an embedding for an NIR on which a portfolio performs as
// badly as possible (Alg. 1): the mutation of DACE on its own. Best in the
// result is the new embedding, Value the portfolio's performance there,
// normalised by Eq. 11.
func Harder(ctx context.Context, m *nir.Model, embedding []float64, p portfolio.Portfolio, s pgpe.Settings) (pgpe.Result, error) {
	if len(p.Members) == 0 {
		return pgpe.Result{}, fmt.Errorf("construct: portfolio %q has no configurations of BRKGA", p.Name)
	}
	return pgpe.Run(ctx, embedding, Hardness(p.Members, 0, 0, run.Seed(s.Seed, "construct: harder"), Embedded(m)), s)
}

// embeddings is the population of DACE: a genome is an embedding.
type embeddings struct{ *neural }

func (p *embeddings) initial(ctx context.Context, _ *work) ([]Instance, error) {
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

func (p *embeddings) mutate(ctx context.Context, m mutation, w *work) (Instance, []float64, error) {
	genome, history, err := p.search(ctx, m, Embedded(p.model), w)
	if err != nil {
		return Instance{}, nil, err
	}
	r, err := p.model.Normalise(ctx, [][]float64{genome})
	if err != nil {
		return Instance{}, nil, err
	}
	i := Instance{Genome: genome, Range: portfolio.Range(r[0])}
	return i, history, p.confirm(ctx, m, i, history[len(history)-1])
}

// confirm compares the value that the search found for an instance with that
// under the instance's range, which was found over the whole sample, and reports
// a difference: then the search was misled by a range found by references.
func (p *embeddings) confirm(ctx context.Context, m mutation, i Instance, value float64) error {
	whole := func(context.Context, [][]float64) ([]problem.Problem, error) {
		s, err := p.problem(i)
		return []problem.Problem{s}, err
	}
	f := make([]float64, 1) // the runs are those of the search, so they are not counted again
	if err := p.c.judge.hardness(m, whole, p.c.s.Workers)(ctx, f, [][]float64{i.Genome}); err != nil {
		return err
	}
	if f[0] != value {
		p.c.e.emit(run.Event{
			Stage: m.step.String(), Value: f[0], Best: value,
			Detail: fmt.Sprintf("the hardest instance has %v, but the search took it for %v: set NIR.Normalisation.Whole, and please report it", f[0], value),
		})
	}
	return nil
}
