package nir

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
	"time"

	"gonum.org/v1/gonum/mat"

	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// Train draws [Settings].Samples distinct uniform solutions of every instance,
// evaluates them, and trains one NIR per instance on them: see [TrainOn].
func Train(ctx context.Context, instances []problem.Problem, s Settings) (*Model, error) {
	defer run.Report(&ctx, "training", &s.OnEvent)()
	dims := make([]int, len(instances))
	for i, p := range instances {
		dims[i] = p.Dim()
	}
	if err := s.checkDims(dims); err != nil {
		return nil, err
	}
	n := s.withDefaults(1).Samples
	data := make([]Data, len(instances))
	for i, p := range instances {
		x, err := s.solutions(n, p.Dim(), i)
		if err != nil {
			return nil, fmt.Errorf("nir: drawing solutions of %s: %w", p.Name(), err)
		}
		if data[i], err = sampleAt(ctx, problem.Parallel(p, s.Workers), x); err != nil {
			return nil, err
		}
		if s.OnEvent != nil {
			s.OnEvent(run.Event{Stage: "data", Step: i + 1, Total: len(instances), Value: math.NaN(), Best: math.NaN(), Detail: p.Name()})
		}
	}
	return TrainOn(ctx, data, s)
}

// TrainOn trains one NIR per instance, jointly, on the given solutions and
// values, by minimising Eq. 9 with Adam. It keeps the parameters with the
// smallest validation loss. If ctx ends, it returns the model with the best
// parameters so far and ctx.Err(): see [Settings].Resume.
func TrainOn(ctx context.Context, data []Data, s Settings) (*Model, error) {
	defer run.Report(&ctx, "training", &s.OnEvent)()
	if len(data) == 0 {
		return nil, fmt.Errorf("nir: training needs at least one instance")
	}
	dims := make([]int, len(data))
	names := make([]string, len(data))
	for i, d := range data {
		if err := d.check(); err != nil {
			return nil, err
		}
		names[i] = d.Name
		dims[i] = d.X.D
	}
	if err := s.checkDims(dims); err != nil {
		return nil, err
	}
	asked := s
	if s.HyperRate == 0 && s.Start == Duals && s.Reading == run.Written {
		s.HyperRate = min(max(0.1, 0.02*float64(len(data))), 1)
	}
	s = s.withDefaults(dims[0])
	if err := s.check(); err != nil {
		return nil, err
	}
	if s.Farm != nil && s.Resume == nil {
		if m, done, err := remoteTraining(ctx, data, asked); done || err != nil {
			return m, err
		}
	}
	var correlations *mat.SymDense
	if s.DistanceWeight > 0 {
		var err error
		if correlations, err = correlate(data); err != nil {
			return nil, err
		}
	}
	m := newModelAt(names, s, place(correlations, s))
	m.data = fingerprint(data)
	t, err := newTrainer(m, data, s)
	if err != nil {
		return nil, err
	}
	t.pass.correlations = correlations
	if s.Checkpoint != "" {
		if finished, err := t.resumeFile(); err != nil {
			return nil, err
		} else if finished {
			return m, nil
		}
	}
	return m, t.run(ctx)
}

// checkDims returns an error if instances of these dimensions need Settings.Dim.
func (s Settings) checkDims(dims []int) error {
	if s.DistanceWeight > 0 && len(dims) > 0 && slices.Min(dims) != slices.Max(dims) {
		return fmt.Errorf("nir: the instances have dimensions from %d to %d: Settings.DistanceWeight, which compares their values, needs one dimension", slices.Min(dims), slices.Max(dims))
	}
	if s.Dim != 0 || len(dims) == 0 {
		return nil
	}
	sum := 0
	for _, d := range dims {
		sum += d
	}
	if low, high := slices.Min(dims), slices.Max(dims); low != high {
		return fmt.Errorf("nir: the instances have dimensions from %d to %d: set Settings.Dim, for instance to %d, their mean as in App. E, and shorter solutions are padded with zeros and longer ones cut", low, high, (sum+len(dims)/2)/len(dims))
	}
	return nil
}

// A trainer holds the state of a training.
type trainer struct {
	model    *Model
	settings Settings
	data     []trainingData
	pass     *pass
	grad     gradienter
	parts    []trainedPart
	valid    []*shard
	kept     time.Time // time of the last attempt to write Settings.Checkpoint
	*checkpoint
}

// A trainedPart is a range of the parameters with its own learning rate and
// decay.
type trainedPart struct {
	end         int     // index after its last parameter
	rate, decay float64 // relative to those in Settings
}

// trainedParts returns the parts of a model's parameters, in order.
func trainedParts(sh shape, s Settings) []trainedPart {
	var out []trainedPart
	for _, t := range sh.tensors {
		part := trainedPart{t.off + t.rows*t.cols, 1, 1}
		switch {
		case t.name == "h2.W":
			part.rate = s.HyperRate
		case t.name == "h1.W" && s.Start == Duals:
			// Divide the step by d_e: a unit depends on d_e of these weights,
			// and with full steps the detectors would be lost in a few hundred
			// steps.
			part.rate = 1 / float64(s.EmbeddingSize)
		case t.name == "embeddings" && s.FixedEmbeddings, t.name[0] == 'h' && t.rows == 1 && !s.HyperBias:
			part.rate = 0
		case t.name == "embeddings" && s.DistanceWeight > 0 && s.Start == Duals:
			// The detectors are duals of the embeddings, which begin where they
			// shall be: full steps make the training unstable.
			part.rate = 1 / float64(s.EmbeddingSize)
		}
		if s.DecayHyperOnly && t.name[0] != 'h' {
			part.decay = 0
		}
		out = append(out, part)
	}
	return out
}

// A gradienter computes the losses of one batch and their gradient. It is
// either the hand-written pass or, with Settings.Gorgonia, a graphPass.
type gradienter interface {
	gradient(params []float32, fill filler, to sink) ([]partLoss, error)
}

// trainingData is Data in the form that training reads.
type trainingData struct {
	x     problem.Solutions
	y     []float32
	train int // the first train solutions are for training
}

func newTrainer(m *Model, data []Data, s Settings) (*trainer, error) {
	t := &trainer{model: m, settings: s, parts: trainedParts(m.shape, s)}
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
		if err := p.mismatch(m); err != nil {
			return nil, fmt.Errorf("nir: Settings.Resume belongs to another training (%w); instances and settings must be the same", err)
		}
		t.resume(p)
		return t, nil
	}
	t.checkpoint = &checkpoint{
		params: slices.Clone(m.params), stats: slices.Clone(m.stats),
		first: make([]float32, len(m.params)), second: make([]float32, len(m.params)),
		best: math.Inf(1),
	}
	return t, nil
}

// run trains until the end of the training or of ctx.
func (t *trainer) run(ctx context.Context) error {
	m, s := t.model, t.settings
	m.status = run.BudgetSpent
	last := math.NaN()
	if n := len(m.history); n > 0 {
		last = m.history[n-1].Validation.Total
	}
	t.kept = time.Now()
	between := max(1, s.ValidateEvery/10)
	for t.step < s.Steps {
		if err := ctx.Err(); err != nil {
			m.status, m.training = run.Cancelled, t.checkpoint
			if math.IsInf(t.best, 1) { // there was no validation yet
				copy(m.params, t.params)
				copy(m.stats, t.stats)
			}
			return errors.Join(err, t.keep(true))
		}
		if time.Since(t.kept) >= s.CheckpointEvery {
			if err := t.keep(true); err != nil {
				t.report(err.Error())
			}
		}
		rate := s.LearningRate * s.RateSchedule.at(t.step, s.Steps) * math.Pow(0.7, float64(t.setbacks()))
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
			if v.Total < t.best && t.step >= s.KeepFrom {
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
		if s.DistanceWeight > 0 && validated && last > setback*t.best && t.setbacks() <= maxSetbacks {
			// The next step begins at the best parameters. The second moments, now
			// large, keep it small.
			copy(t.params, m.params)
			copy(t.stats, m.stats)
			clear(t.first)
			last = t.best
		}
		if last > s.StopFactor*t.best {
			m.status = run.Converged
			break
		}
	}
	return t.keep(false)
}

// A training with DistanceWeight goes back to its best parameters where the
// validation loss exceeds setback times the smallest, at most maxSetbacks times, and
// continues at 0.7 times the rate. Without that, some of the trainings at [Quick]'s
// rate collapse in their first third: the latents no longer depend on the solution.
const setback, maxSetbacks = 1.25, 6

// setbacks returns how often the training has gone back.
func (t *trainer) setbacks() int {
	n, best := 0, math.Inf(1)
	if t.settings.DistanceWeight > 0 {
		for _, r := range t.model.history {
			if r.Validation.Total > setback*best && n <= maxSetbacks {
				n++
			}
			if r.Step >= t.settings.KeepFrom {
				best = min(best, r.Validation.Total)
			}
		}
	}
	return n
}

// String returns the losses in one line.
func (l Losses) String() string {
	return fmt.Sprintf("reconstruction %.3g, scorers %.3g, KL %.3g", l.Reconstruction, l.Scorer, l.KL)
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
	adam := &adamStep{trainer: t}
	c1 := 1 - math.Pow(adamB1, float64(step+1))
	c2 := math.Sqrt(1 - math.Pow(adamB2, float64(step+1)))
	adam.rate = func(of float64) float32 { return float32(rate * of * c2 / c1) }
	adam.epsilon = float32(1e-8 * c2)
	adam.decay = t.settings.WeightDecay * t.settings.DecaySchedule.at(step, t.settings.Steps)
	p.load(t.params, nil)
	losses, err := t.grad.gradient(t.params, fill, adam)
	p.moveStats(t.stats)
	t.step++
	return losses, err
}

// adamB1 and adamB2 are the decay rates of Adam's moments.
const adamB1, adamB2 = 0.9, 0.999

// An adamStep is the sink of one step of Adam.
type adamStep struct {
	*trainer
	rate    func(of float64) float32 // of a part, with the corrections of both moments
	decay   float64
	epsilon float32
}

// part returns the index of the part that holds the parameter.
func (a *adamStep) part(off int) int {
	return sort.Search(len(a.parts), func(i int) bool { return a.parts[i].end > off })
}

func (a *adamStep) add(off int, g []float32) {
	for at := a.part(off); len(g) > 0; at++ {
		part := a.parts[at]
		n := min(len(g), part.end-off)
		if part.rate > 0 {
			w := a.params[off : off+n]
			if d := a.decay * part.decay; d > 0 {
				kernel.Axpy(g[:n], float32(d), w)
			}
			kernel.Adam(w, a.first[off:off+n], a.second[off:off+n], g[:n], adamB1, adamB2, a.rate(part.rate), a.epsilon)
		}
		off, g = off+n, g[n:]
	}
}

func (a *adamStep) outer(off int, h []float32, ldh int, g []float32, ldg, k, n int) int {
	part := a.parts[a.part(off)]
	switch {
	case off+n > part.end:
		return 0
	case part.rate <= 0:
		return n
	}
	to := off + n
	return kernel.AdamOuter(a.params[off:to], a.first[off:to], a.second[off:to], h, ldh, g, ldg, k,
		float32(max(a.decay*part.decay, 0)), adamB1, adamB2, a.rate(part.rate), a.epsilon)
}

// moveStats moves the running statistics of the batch normalisations a tenth of
// the way towards those of each instance's batch, one instance after the other.
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

// validate returns the losses on the validation data, with the same noise at
// every call.
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
