package experiment

import (
	"context"
	"math/rand/v2"
	"sync"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/cimp"
	"dace.local/dacelib/run"
)

// Sampled returns an instance of influence maximisation as the authors' public
// code evaluates it: every evaluation draws its own 1,000 worlds, so its result
// is the value plus noise. Sampled adds normal noise with one standard
// deviation for all solutions, the mean standard error over 64 uniform ones. A
// run of a portfolio has its own stream of noise (portfolio.Stochastic);
// outside of a run, the noise of a solution is fixed.
//
// This noise explains the paper's table for CIMP: the best of 800 noisy values
// is above the best value, and no portfolio is significantly better than
// another that is close. Without noise CEPS's portfolio is better than DACE's;
// see notebooks/results/readings.md.
func Sampled(ctx context.Context, p *cimp.Instance) (problem.Problem, error) {
	estimates, err := p.Estimate(ctx, problem.Random(run.Rand(1, "experiment: noise of "+p.Name()), 64, p.Dim()))
	if err != nil {
		return nil, err
	}
	n := &noisy{p: p}
	for _, e := range estimates {
		n.sd += e.StandardError / float64(len(estimates))
	}
	return n, nil
}

// noisy is a problem whose values have noise added.
type noisy struct {
	p  problem.Problem
	sd float64
}

func (n *noisy) Name() string { return n.p.Name() }
func (n *noisy) Dim() int     { return n.p.Dim() }

// Evaluate sets dst to the values plus noise that is fixed for each solution.
func (n *noisy) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	if err := n.p.Evaluate(ctx, dst, x); err != nil {
		return err
	}
	words := make([]int, problem.Stride(x.D))
	for i := range x.Len() {
		for k, w := range x.Row(i) {
			words[k] = int(w)
		}
		dst[i] += n.sd * run.Rand(1, "experiment: noise", words...).NormFloat64()
	}
	return nil
}

// Stream returns the problem with its own stream of noise.
func (n *noisy) Stream(seed uint64) problem.Problem {
	return &noiseStream{noisy: n, rng: run.Rand(seed, "experiment: noise of a run")}
}

type noiseStream struct {
	*noisy
	mu  sync.Mutex // guards rng
	rng *rand.Rand
}

func (n *noiseStream) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	if err := n.p.Evaluate(ctx, dst, x); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i := range x.Len() {
		dst[i] += n.sd * n.rng.NormFloat64()
	}
	return nil
}
