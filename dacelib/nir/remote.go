package nir

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// arithmetic is the trait on which scores depend: the processor's instructions.
const arithmetic = "arithmetic"

func init() {
	farm.Trait(arithmetic, checksum)
	farm.RegisterProblem("nir", (*Scorer)(nil), farm.Codec{Encode: encodeScorer, Decode: decodeScorer, Needs: []string{arithmetic}})
	farm.Register("ranges", rangesUnit)
	farm.Register("train", trainUnit)
}

// checksum is a hash of the scores that a small network with random weights
// gives to some solutions.
func checksum() string {
	m := newModel(nil, Settings{Seed: 1, Start: He, EmbeddingSize: 2}.withDefaults(30))
	s, err := m.Scorer([]float64{1, -0.5})
	if err != nil {
		return err.Error()
	}
	x := problem.Random(run.Rand(1, "nir: checksum"), 2*block, s.Dim())
	y := make([]float64, x.Len())
	if err := s.Evaluate(context.Background(), y, x); err != nil {
		return err.Error()
	}
	b, _ := farm.Floats(y).MarshalJSON()
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:6])
}

// file returns the model's file, made once.
func (m *Model) file() ([]byte, error) {
	m.packOnce.Do(func() {
		var b bytes.Buffer
		m.packErr = m.Write(&b)
		m.packed = b.Bytes()
	})
	return m.packed, m.packErr
}

// sharedModel returns the model in a blob as the units of a worker share it: it
// computes in one goroutine.
func sharedModel(ctx context.Context, env *farm.Env, key string) (*Model, error) {
	v, err := env.Object(ctx, "nir", key, func(b []byte) (any, error) {
		m, err := Read(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			return nil, fmt.Errorf("nir: the model of a unit: %w", err)
		}
		m.settings.Workers = 1
		return m, nil
	})
	if err != nil {
		return nil, err
	}
	return v.(*Model), nil
}

// scorerData describes a Scorer.
type scorerData struct {
	Model     string      `json:"model"`
	Name      string      `json:"name"`
	Embedding farm.Floats `json:"embedding,omitempty"`
	Weights   farm.Floats `json:"weights,omitempty"`
	Range     farm.Floats `json:"range,omitempty"`
}

func encodeScorer(pk *farm.Packer, p problem.Problem) ([]byte, error) {
	s := p.(*Scorer)
	d := scorerData{Name: s.name, Embedding: s.embedding}
	for _, w := range s.weights {
		d.Weights = append(d.Weights, float64(w))
	}
	if s.ranged {
		d.Range = farm.Floats{s.rng.Min, s.rng.Max}
	}
	var err error
	if d.Model, err = pk.Once(s.model, s.model.file); err != nil {
		return nil, err
	}
	return json.Marshal(d)
}

func decodeScorer(ctx context.Context, env *farm.Env, data []byte) (problem.Problem, error) {
	var d scorerData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, fmt.Errorf("nir: an NIR of a unit: %w", err)
	}
	m, err := sharedModel(ctx, env, d.Model)
	if err != nil {
		return nil, err
	}
	var s *Scorer
	if d.Weights != nil {
		s, err = m.ScorerOf(d.Weights)
	} else {
		s, err = m.Scorer(d.Embedding)
	}
	if err != nil {
		return nil, err
	}
	s = s.Named(d.Name)
	if len(d.Range) == 2 {
		s = s.Within(Range{Min: d.Range[0], Max: d.Range[1]})
	}
	return s, nil
}

// part returns a model that stands for n solutions of the normalising sample
// from chunk from on, and computes in one goroutine. It keeps no latents: a unit
// passes over its part of the sample once.
func (m *Model) part(from, n int) *Model {
	p := &Model{settings: m.settings, names: m.names, shape: m.shape, params: m.params, stats: m.stats, from: m.from + from}
	p.settings.NormaliseSample, p.settings.Workers = n, 1
	p.Normalisation = Normalisation{Exact: m.Normalisation.Exact, CacheBytes: -1}
	p.once.Do(func() { p.enc = m.encoder() })
	return p
}

// rangesData describes a unit of ranges: all scorers on some chunks of the
// normalising sample.
type rangesData struct {
	Model   string `json:"model"`
	Scorers string `json:"scorers"` // the key of their blob
	From    int    `json:"from"`    // the first chunk
	Samples int    `json:"samples"` // the number of solutions
	Exact   bool   `json:"exact,omitempty"`
}

func rangesUnit(ctx context.Context, env *farm.Env, data []byte) ([]byte, error) {
	var d rangesData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	m, err := sharedModel(ctx, env, d.Model)
	if err != nil {
		return nil, err
	}
	ps, err := env.Problems(ctx, d.Scorers)
	if err != nil {
		return nil, err
	}
	if d.From < 0 || d.Samples < 1 || d.Samples > m.settings.NormaliseSample {
		return nil, fmt.Errorf("nir: a unit of ranges has %d solutions from chunk %d", d.Samples, d.From)
	}
	part := m.part(d.From, d.Samples)
	part.Normalisation.Exact = d.Exact
	scorers := make([]*Scorer, len(ps))
	for i, p := range ps {
		s, ok := p.(*Scorer)
		if !ok {
			return nil, fmt.Errorf("nir: %s is no NIR", p.Name())
		}
		t := *s
		t.model = part
		scorers[i] = &t
	}
	ranges, err := part.wholeRanges(ctx, scorers)
	if err != nil {
		return nil, err
	}
	var out farm.Floats
	for _, r := range ranges {
		out = append(out, r.Min, r.Max)
	}
	return out.MarshalJSON()
}

// remoteRanges has the ranges computed by the workers of m.Farm. A unit is a part
// of the sample with all scorers, so that the latents, whose cost is that of
// one more scorer, are computed once.
func (m *Model) remoteRanges(ctx context.Context, scorers []*Scorer) ([]Range, error) {
	pk := farm.NewPacker(ctx, m.Farm)
	model, err := pk.Once(m, m.file)
	if err != nil {
		return nil, err
	}
	ps := make([]problem.Problem, len(scorers))
	for i, s := range scorers {
		t := *s
		t.ranged = false // the range does not depend on it
		ps[i] = &t
	}
	key, err := pk.Problems(ps)
	if err != nil {
		return nil, err
	}
	// The pass in bytes needs byteSample solutions.
	chunks, total := m.chunks(), m.settings.NormaliseSample
	piece := max(1, farm.Piece(m.Farm, "ranges", chunks*len(scorers))/len(scorers))
	if total >= byteSample && !m.Normalisation.Exact {
		piece = max(piece, (byteSample+sampleChunk-1)/sampleChunk)
	}
	parts := max(1, chunks/piece)
	var units []farm.Unit
	for k := range parts {
		from, to := k*chunks/parts, (k+1)*chunks/parts
		d := rangesData{Model: model, Scorers: key, From: from, Samples: min(to*sampleChunk, total) - from*sampleChunk, Exact: m.Normalisation.Exact}
		u, err := farm.NewUnit("ranges", d, (to-from)*len(scorers), pk.Needs())
		if err != nil {
			return nil, err
		}
		units = append(units, u)
	}
	out := make([]Range, len(scorers))
	for i := range out {
		out[i] = Range{Min: math.Inf(1), Max: math.Inf(-1)}
	}
	done := 0
	err = m.Farm.Do(ctx, units, func(i int, result []byte) error {
		var v farm.Floats
		if err := json.Unmarshal(result, &v); err != nil {
			return err
		}
		if len(v) != 2*len(out) {
			return fmt.Errorf("nir: a worker found %d ranges for %d NIRs", len(v)/2, len(out))
		}
		for k := range out {
			out[k].Min, out[k].Max = min(out[k].Min, v[2*k]), max(out[k].Max, v[2*k+1])
		}
		if done++; m.Normalisation.OnEvent != nil {
			m.Normalisation.OnEvent(run.Event{Stage: "normalise", Step: done * total / parts, Total: total, Value: math.NaN(), Best: math.NaN(), Detail: fmt.Sprintf("%d scorers on the farm", len(scorers))})
		}
		return nil
	})
	return out, err
}

// trainData describes a training.
type trainData struct {
	Data     string   `json:"data"` // the key of a blob of the solutions
	Settings Settings `json:"settings"`
}

// solutionsData is Data with every bit.
type solutionsData struct {
	Name  string      `json:"name"`
	Dim   int         `json:"dim"`
	Words []byte      `json:"words"`
	Y     farm.Floats `json:"y"`
}

func trainUnit(ctx context.Context, env *farm.Env, data []byte) ([]byte, error) {
	var d trainData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	b, err := env.Blob(ctx, d.Data)
	if err != nil {
		return nil, err
	}
	var packed []solutionsData
	if err := json.Unmarshal(b, &packed); err != nil {
		return nil, err
	}
	var in []Data
	for _, p := range packed {
		x, err := problem.FromBytes(p.Dim, p.Words)
		if err != nil {
			return nil, err
		}
		in = append(in, Data{Name: p.Name, X: x, Y: p.Y})
	}
	d.Settings.Workers = env.Cores()
	m, err := TrainOn(ctx, in, d.Settings)
	if err != nil {
		return nil, err
	}
	file, err := m.file()
	if err != nil {
		return nil, err
	}
	key, err := env.Put(ctx, file)
	if err != nil {
		return nil, err
	}
	return json.Marshal(key)
}

// remoteTraining has a training made by a worker of s.Farm. done is false if
// Settings.Checkpoint holds a training already, which goes on in this process.
func remoteTraining(ctx context.Context, data []Data, s Settings) (m *Model, done bool, err error) {
	if s.Checkpoint != "" {
		if _, err := os.Stat(s.Checkpoint); !errors.Is(err, fs.ErrNotExist) {
			return nil, false, nil
		}
	}
	var packed []solutionsData
	for _, d := range data {
		packed = append(packed, solutionsData{Name: d.Name, Dim: d.X.D, Words: d.X.Bytes(), Y: d.Y})
	}
	b, err := json.Marshal(packed)
	if err != nil {
		return nil, false, err
	}
	key, err := s.Farm.Put(ctx, b)
	if err != nil {
		return nil, false, err
	}
	u, err := farm.NewUnit("train", trainData{Data: key, Settings: s}, 1, []string{arithmetic})
	if err != nil {
		return nil, false, err
	}
	var model string
	if err := farm.Do1(ctx, s.Farm, u, &model); err != nil {
		return nil, true, err
	}
	file, err := s.Farm.Get(ctx, model)
	if err != nil {
		return nil, true, err
	}
	if m, err = Read(bytes.NewReader(file), int64(len(file))); err != nil {
		return nil, true, fmt.Errorf("nir: the model that a worker has trained: %w", err)
	}
	m.Normalisation, m.Farm, m.settings.Workers = s.Normalisation, s.Farm, s.Workers
	for _, r := range m.history {
		if s.OnRecord != nil {
			s.OnRecord(r)
		}
	}
	if n := len(m.history); s.OnEvent != nil && n > 0 {
		last := m.history[n-1]
		s.OnEvent(run.Event{Stage: "train", Step: last.Step, Total: last.Step, Value: last.Validation.Total, Best: math.NaN(), Detail: "trained by a worker"})
	}
	if s.Checkpoint != "" {
		return m, true, m.Save(s.Checkpoint)
	}
	return m, true, nil
}
