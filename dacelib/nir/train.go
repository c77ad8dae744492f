package nir

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// Train draws [Settings].Samples distinct uniform solutions of every instance,
// evaluates them, and trains one NIR per instance on them: see [TrainOn].
func Train(ctx context.Context, instances []problem.Problem, s Settings) (*Model, error) {
	n := s.withDefaults(1).Samples
	data := make([]Data, len(instances))
	for i, p := range instances {
		var err error
		if data[i], err = SampleData(ctx, problem.Parallel(p, s.Workers), n, run.Seed(s.Seed, "nir: data", i)); err != nil {
			return nil, err
		}
		if s.OnEvent != nil {
			s.OnEvent(run.Event{Stage: "data", Step: i + 1, Total: len(instances), Value: math.NaN(), Best: math.NaN(), Detail: p.Name()})
		}
	}
	return TrainOn(ctx, data, s)
}

// TrainOn trains one NIR per instance, jointly, on given solutions and values,
// by minimising Eq. 9 with Adam. The parameters of the smallest validation
// loss are kept. On the end of ctx it returns the model with the best
// parameters so far, and ctx.Err(): see [Settings].Resume.
func TrainOn(ctx context.Context, data []Data, s Settings) (*Model, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("nir: training needs at least one instance")
	}
	sum := 0
	names := make([]string, len(data))
	for i, d := range data {
		if err := d.check(); err != nil {
			return nil, err
		}
		names[i] = d.Name
		sum += d.X.D
	}
	s = s.withDefaults((sum + len(data)/2) / len(data))
	if err := s.check(); err != nil {
		return nil, err
	}
	t, err := newTrainer(newModel(names, s), data, s)
	if err != nil {
		return nil, err
	}
	return t.model, t.run(ctx)
}

// A checkpoint is the state of a training between two steps.
type checkpoint struct {
	step          int       // steps done
	params        []float32 // of the last step; the model has the best
	stats         []float32
	first, second []float32 // Adam's moments
	best          float64   // smallest validation loss so far
}

// A trainer trains a model.
type trainer struct {
	model    *Model
	settings Settings
	data     []trainingData
	pass     *pass
	grad     gradienter
	valid    []*shard
	*checkpoint
}

// A gradienter computes the losses of one batch and their gradient: the
// hand-written pass, or the reference.
type gradienter interface {
	gradient(params []float32, fill filler, to sink) ([]partLoss, error)
}

// trainingData is Data as training reads it.
type trainingData struct {
	x     problem.Solutions
	y     []float32
	train int // the first so many are trained with
}

func newTrainer(m *Model, data []Data, s Settings) (*trainer, error) {
	t := &trainer{model: m, settings: s}
	for _, d := range data {
		t.data = append(t.data, trainingData{d.X, d.normalised(), d.split()})
	}
	t.pass = newPass(m.shape, s, m.workers())
	t.grad = t.pass
	if s.Gorgonia {
		g, err := newGraphPass(t.pass)
		if err != nil {
			return nil, fmt.Errorf("nir: %w", err)
		}
		t.grad = g
	}
	for i, d := range t.data {
		for r := d.train; r < len(d.y); r += t.pass.rows {
			t.valid = append(t.valid, &shard{instance: i, rows: min(t.pass.rows, len(d.y)-r)})
		}
	}
	if p := s.Resume; p != nil {
		if p.training == nil {
			return nil, fmt.Errorf("nir: Settings.Resume is a model whose training has ended (%v); train anew", p.status)
		}
		a, b := p.settings, m.settings
		if !slices.Equal(p.names, m.names) || p.shape.size != m.shape.size || a.Batch != b.Batch || a.Steps != b.Steps ||
			a.Seed != b.Seed || a.LearningRate != b.LearningRate || a.HyperRate != b.HyperRate || a.ValidateEvery != b.ValidateEvery {
			return nil, fmt.Errorf("nir: Settings.Resume was trained on other instances or with other settings; they must be the same")
		}
		m.params, m.stats, m.history = slices.Clone(p.params), slices.Clone(p.stats), slices.Clone(p.history)
		c := *p.training
		c.params, c.stats = slices.Clone(c.params), slices.Clone(c.stats)
		c.first, c.second = slices.Clone(c.first), slices.Clone(c.second)
		t.checkpoint = &c
		return t, nil
	}
	t.checkpoint = &checkpoint{
		params: slices.Clone(m.params), stats: slices.Clone(m.stats),
		first: make([]float32, len(m.params)), second: make([]float32, len(m.params)),
		best: math.Inf(1),
	}
	return t, nil
}

// run trains to the end.
func (t *trainer) run(ctx context.Context) error {
	m, s := t.model, t.settings
	m.status = run.BudgetSpent
	last := math.NaN()
	if n := len(m.history); n > 0 {
		last = m.history[n-1].Validation.Total
	}
	between := max(1, s.ValidateEvery/10)
	for t.step < s.Steps {
		if err := ctx.Err(); err != nil {
			m.status, m.training = run.Cancelled, t.checkpoint
			if math.IsInf(t.best, 1) { // never validated
				copy(m.params, t.params)
				copy(m.stats, t.stats)
			}
			return err
		}
		rate := s.rate(t.step)
		parts, err := t.takeStep(rate)
		if err != nil {
			return fmt.Errorf("nir: %w", err)
		}
		loss := m.total(parts)
		if math.IsNaN(loss.Total) || math.IsInf(loss.Total, 0) {
			return fmt.Errorf("nir: training diverged at step %d: the loss is %v; a smaller Settings.LearningRate (now %v) may help", t.step, loss.Total, s.LearningRate)
		}
		detail := fmt.Sprintf("batch: %s", loss)
		validated := t.step%s.ValidateEvery == 0 || t.step == s.Steps
		if validated {
			v := m.total(t.validate())
			last = v.Total
			r := Record{Step: t.step, Train: loss, Validation: v, LearningRate: rate}
			m.history = append(m.history, r)
			if v.Total < t.best {
				t.best = v.Total
				copy(m.params, t.params)
				copy(m.stats, t.stats)
			}
			if s.OnRecord != nil {
				s.OnRecord(r)
			}
			detail = fmt.Sprintf("validation: %s", v)
		}
		if s.OnEvent != nil && (validated || t.step%between == 0) {
			best := t.best
			if math.IsInf(best, 1) {
				best = math.NaN()
			}
			s.OnEvent(run.Event{Stage: "train", Step: t.step, Total: s.Steps, Value: last, Best: best, Detail: detail})
		}
		if last > s.StopFactor*t.best {
			m.status = run.Converged
			break
		}
	}
	return nil
}

// String returns the losses in a line.
func (l Losses) String() string {
	return fmt.Sprintf("reconstruction %.3g, scorers %.3g, KL %.3g", l.Reconstruction, l.Scorer, l.KL)
}

// rate returns the learning rate of a step, which counts from 0: from
// LearningRate along a half cosine to a hundredth of it.
func (s Settings) rate(step int) float64 {
	c := (1 + math.Cos(math.Pi*float64(step)/float64(s.Steps))) / 2
	return s.LearningRate * (0.01 + 0.99*c)
}

// takeStep draws a batch and takes one step of Adam.
func (t *trainer) takeStep(rate float64) ([]partLoss, error) {
	p, step := t.pass, t.step
	fill := func(k, instance, rows int, x []float32, ldx int, y, eps []float32) {
		d := t.data[instance]
		r := run.Rand(t.settings.Seed, "nir: batch", step, k)
		for i := range rows {
			j := r.IntN(d.train)
			unpack(x[i*ldx:i*ldx+p.shape.dim], d.x.Row(j), d.x.D)
			y[i] = d.y[j]
		}
		for i := range rows * p.shape.latent {
			eps[i] = float32(r.NormFloat64())
		}
	}
	const b1, b2, epsilon = 0.9, 0.999, 1e-8
	c1 := 1 - math.Pow(b1, float64(step+1))
	c2 := math.Sqrt(1 - math.Pow(b2, float64(step+1)))
	hyper := p.shape.find("h2.W")
	adam := func(off int, g []float32) {
		for len(g) > 0 { // by parts of one learning rate
			n, part := len(g), rate
			switch hyperEnd := hyper.off + hyper.rows*hyper.cols; {
			case off < hyper.off:
				n = min(n, hyper.off-off)
			case off < hyperEnd:
				n, part = min(n, hyperEnd-off), rate*t.settings.HyperRate
			}
			end := off + n
			kernel.Adam(t.params[off:end], t.first[off:end], t.second[off:end], g[:n], b1, b2, float32(part*c2/c1), float32(epsilon*c2))
			off, g = end, g[n:]
		}
	}
	p.load(t.params, nil)
	losses, err := t.grad.gradient(t.params, fill, adam)
	p.moveStats(t.stats)
	t.step++
	return losses, err
}

// moveStats moves the running statistics of the batch normalisations towards
// those of the batches, instance by instance, by a tenth.
func (p *pass) moveStats(stats []float32) {
	if !p.shape.norm {
		return
	}
	for _, s := range p.shards {
		for k, st := range s.stats {
			for which, values := range st {
				running := stats[(2*k+which)*Hidden:]
				for j, v := range values {
					running[j] += 0.1 * (v - running[j])
				}
			}
		}
	}
}

// validate returns the losses on the validation data, with the same noise each
// time.
func (t *trainer) validate() []partLoss {
	p := t.pass
	first := make([]int, len(t.valid))
	for k, s := range t.valid {
		if k > 0 && t.valid[k-1].instance == s.instance {
			first[k] = first[k-1] + t.valid[k-1].rows
		} else {
			first[k] = t.data[s.instance].train
		}
	}
	fill := func(k, instance, rows int, x []float32, ldx int, y, eps []float32) {
		d := t.data[instance]
		r := run.Rand(t.settings.Seed, "nir: validation", k)
		for i := range rows {
			unpack(x[i*ldx:i*ldx+p.shape.dim], d.x.Row(first[k]+i), d.x.D)
			y[i] = d.y[first[k]+i]
		}
		for i := range rows * p.shape.latent {
			eps[i] = float32(r.NormFloat64())
		}
	}
	p.load(t.params, t.stats)
	return p.evaluate(t.valid, fill)
}

// total combines the losses of all instances into Eq. 9.
func (m *Model) total(parts []partLoss) Losses {
	var l Losses
	n := float64(len(parts))
	for _, p := range parts {
		l.Total += p.reconstruction + m.settings.PredictionWeight*p.scorer + m.settings.KLWeight*p.kl
		l.Reconstruction += p.reconstruction / n
		l.KL += p.kl / n
		l.Scorer = append(l.Scorer, p.scorer)
	}
	return l
}
