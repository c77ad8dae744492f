package nir

import (
	"context"
	"fmt"
	"slices"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// A Fit says how well an NIR stands for the instance that it has learned.
type Fit struct {
	// Instance is the name of the instance.
	Instance string
	// Loss is the scorer's mean squared error on the validation data.
	Loss float64
	// Correlation is that of the NIR's values with the instance's over uniform
	// solutions, Top the same over the better half of them, which is where a
	// search goes.
	Correlation, Top float64
	// Advice is "good", or says what to change: the number of Steps while the
	// loss still falls, else the number of Samples; if only the better half is
	// poor, the problem, whose worst values take up the scale (a penalty that
	// is smaller, or its logarithm).
	Advice string
}

// Limits of correlations. Other authentic instances of a class correlate with a
// given one at about 0.87 (CCP): an NIR below that is further from its instance
// than another instance is.
const (
	goodFit = 0.95
	poorFit = 0.85
	poorTop = 0.70
)

// CheckFit compares the NIRs of a trained model with the instances that it was
// trained on, in their order, on n uniform solutions each; n should be 1,000 or
// more. Each instance is evaluated n times.
func CheckFit(ctx context.Context, m *Model, instances []problem.Problem, n int, seed uint64) ([]Fit, error) {
	embeddings := m.Embeddings()
	if len(embeddings) != len(instances) {
		return nil, fmt.Errorf("nir: the model has learned %d instances, and %d are given", len(embeddings), len(instances))
	}
	if n < 4 {
		return nil, fmt.Errorf("nir: a fit needs at least 4 solutions; got %d", n)
	}
	losses := m.Losses()
	fits := make([]Fit, len(instances))
	add, end := run.Steps(&ctx, "checking the fit", len(instances))
	defer end()
	for i, p := range instances {
		if p.Dim() != m.Dim() {
			return nil, fmt.Errorf("nir: %s has dimension %d, the model %d", p.Name(), p.Dim(), m.Dim())
		}
		s, err := m.Scorer(embeddings[i])
		if err != nil {
			return nil, err
		}
		x := problem.Random(run.Rand(seed, "nir: fit", i), n, p.Dim())
		y, z := make([]float64, n), make([]float64, n)
		if err := p.Evaluate(ctx, y, x); err != nil {
			return nil, err
		}
		if err := s.Evaluate(ctx, z, x); err != nil {
			return nil, err
		}
		raise(y)
		middle := slices.Sorted(slices.Values(y))[n/2]
		var top, of []float64
		for k, v := range y {
			if v >= middle {
				top, of = append(top, v), append(of, z[k])
			}
		}
		f := Fit{Instance: p.Name(), Correlation: similarity(y, z).Correlation, Top: similarity(top, of).Correlation}
		if i < len(losses.Scorer) {
			f.Loss = losses.Scorer[i]
		}
		f.Advice = f.advice(m.stillFalling(i))
		fits[i] = f
		add(1)
	}
	return fits, nil
}

// advice says what to change.
func (f Fit) advice(falling bool) string {
	more := "more Samples"
	if falling {
		more = "more Steps"
	}
	switch {
	case f.Correlation >= goodFit && f.Top >= poorTop:
		return "good"
	case f.Top < poorTop && f.Correlation >= poorFit:
		return "poor at the top: make bad values less extreme, or " + more
	case f.Correlation >= poorFit:
		return "fair: " + more
	}
	return "poor: " + more + ", or a method without NIRs (ONEx3)"
}

// stillFalling reports whether the validation loss of scorer i fell by a tenth or
// more in the last quarter of the training.
func (m *Model) stillFalling(i int) bool {
	h := m.History()
	if len(h) < 4 {
		return true
	}
	before, last := h[len(h)-1-len(h)/4].Validation, h[len(h)-1].Validation
	return i < len(before.Scorer) && i < len(last.Scorer) && last.Scorer[i] < 0.9*before.Scorer[i]
}
