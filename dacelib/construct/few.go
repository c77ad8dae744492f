package construct

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"slices"

	"dace.local/dacelib/internal/defaults"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/solver"
)

// This file has Best race on NIRs where the budget pays for few runs. That it pays
// was measured: see dacelib/experiment/solvers/RESULTS.md.

// mostForNIRs is the largest budget in evaluations that goes to NIRs, leastForNIR the
// least for one of them.
const mostForNIRs, leastForNIR = 5_000, 200

// leastModelled is the least dimension: of fewer bits the samples are a large share
// of all solutions.
const leastModelled = 20

// trainingSeconds is the least limit of time that has room for training NIRs.
const trainingSeconds = 60

// few reports whether the budget pays for too few runs to compare the solvers by,
// and NIRs can take the instances' place.
func (r *rungs) few(families []solver.Config, seconds float64) bool {
	s, n, d := r.c.s, len(r.training), r.training[0].Dim()
	switch {
	case s.Budget.Runs > 0 || s.Target != nil || seconds == math.MaxFloat64:
		return false
	case r.total > mostForNIRs || r.total/n < leastForNIR || r.total/s.Evaluations >= len(families)*min(n, mostBlock):
		return false
	case d < leastModelled || slices.ContainsFunc(r.training, func(p problem.Problem) bool { return p.Dim() != d }):
		return false
	case s.Budget.Seconds > 0 && s.Budget.Seconds < trainingSeconds:
		return false
	}
	return !slices.ContainsFunc(s.Solvers, func(s solver.Solver) bool { _, ok := s.(solver.Fitter); return ok })
}

// model puts NIRs in the place of the training instances, and the default number of
// runs on them in that of the budget. It reports false, and why in a note, if nothing
// can be learnt from the instances' values; the budget is then spent.
func (r *rungs) model(ctx context.Context) (bool, error) {
	c := r.c
	runs, total := r.total/c.s.Evaluations, r.total
	if c.s.Budget.Seconds > 0 {
		total -= total / 4 // time for the training
	}
	q := nir.Quick()
	s := &c.s.NIR
	s.Samples = total / len(r.training)
	defaults.Set(&s.Steps, q.Steps)
	defaults.Set(&s.Batch, min(q.Batch, s.Samples/2))
	defaults.Set(&s.ValidateEvery, max(1, s.Steps/10))
	defaults.Set(&s.LearningRate, q.LearningRate)
	defaults.Set(&s.HyperRate, q.HyperRate)
	defaults.Set(&s.NormaliseSample, q.NormaliseSample)
	n := &neural{c: c, training: r.training}
	if err := n.train(ctx); err != nil {
		var file *fs.PathError
		var evaluation *nir.EvaluationError
		if ctx.Err() != nil || errors.As(err, &file) || errors.As(err, &evaluation) {
			return false, err // of the machine or of the objective's program, not of its values
		}
		r.note("The budget of %d evaluations pays for %d runs on the instances, and went to NIRs, models of the instances, which could not be trained (%v): the portfolio is the solvers' defaults.", r.total, runs, err)
		return false, nil
	}
	nirs, err := n.model.NIRs()
	if err != nil {
		return false, err
	}
	r.note("The budget of %d evaluations pays for %d runs on the instances, too few to compare solvers by. They went to NIRs, models of the instances, on which configurations raced; with 2,000 evaluations this was measured to be better than short runs.", r.total, runs)
	r.training, c.r.Problems = nirs, nirs
	c.judge.authentic = false
	r.most, r.total = math.MaxInt, defaultRuns*c.s.Evaluations
	return true, nil
}
