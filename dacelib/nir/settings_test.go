package nir

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"

	vec "gonum.org/v1/gonum/floats"

	"dace.local/dacelib/nir/internal/kernel"
	"dace.local/dacelib/run"
)

// stepped returns a trainer on OneMax after one step.
func stepped(t *testing.T, instances int, s Settings) *trainer {
	t.Helper()
	s.Samples, s.Batch, s.Steps = 200, 16, 100
	var data []Data
	for i, p := range oneMaxes(instances, 12) {
		d, err := SampleData(bg, p, s.Samples, uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		data = append(data, d)
	}
	s = s.withDefaults(12)
	if err := s.check(); err != nil {
		t.Fatal(err)
	}
	tr, err := newTrainer(newModel(make([]string, instances), s), data, s)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.takeStep(s.LearningRate); err != nil {
		t.Fatal(err)
	}
	return tr
}

// After the first step the first moment is a tenth of the gradient plus the
// decay times the weights.
func TestWeightDecay(t *testing.T) {
	const lambda = 0.5
	base := Settings{HyperBias: true, Start: Torch}
	plain := stepped(t, 2, base)
	start := plain.model.params
	for name, tc := range map[string]struct {
		s     Settings
		decay func(tensor string) float64
	}{
		"everywhere":   {Settings{WeightDecay: lambda}, func(string) float64 { return lambda }},
		"hypernetwork": {Settings{WeightDecay: lambda, DecayHyperOnly: true, DecaySchedule: Constant}, func(n string) float64 { return map[bool]float64{true: lambda}[n[0] == 'h'] }},
		"none":         {Settings{WeightDecay: -1}, func(string) float64 { return 0 }},
		"fixed": {Settings{WeightDecay: lambda, FixedEmbeddings: true}, func(n string) float64 {
			if n == "embeddings" {
				return math.NaN()
			}
			return lambda
		}},
	} {
		s := tc.s
		s.HyperBias, s.Start = base.HyperBias, base.Start
		decayed := stepped(t, 2, s)
		for _, tn := range plain.model.shape.tensors {
			want := tc.decay(tn.name)
			for i := tn.off; i < tn.off+tn.rows*tn.cols; i++ {
				if math.IsNaN(want) {
					if decayed.params[i] != start[i] || decayed.first[i] != 0 {
						t.Fatalf("%s: %s has moved", name, tn.name)
					}
					continue
				}
				got := 10 * float64(decayed.first[i]-plain.first[i])
				if w := want * float64(start[i]); math.Abs(got-w) > 1e-5+1e-4*math.Abs(10*float64(plain.first[i])) {
					t.Fatalf("%s: %s[%d]: the decay adds %v to the gradient, want %v", name, tn.name, i-tn.off, got, w)
				}
			}
		}
	}
}

func TestSchedule(t *testing.T) {
	if Cosine.at(0, 100) != 1 || math.Abs(Cosine.at(100, 100)-0.01) > 1e-12 || math.Abs(Cosine.at(50, 100)-0.505) > 1e-12 {
		t.Errorf("Cosine: %v, %v, %v", Cosine.at(0, 100), Cosine.at(50, 100), Cosine.at(100, 100))
	}
	if Constant.at(99, 100) != 1 {
		t.Error("Constant is not")
	}
	for _, v := range []any{Duals, He, Torch, Cosine, Constant} {
		text, err := json.Marshal(v)
		if err != nil || strings.Contains(string(text), "(") {
			t.Errorf("%v: %s, %v", v, text, err)
		}
	}
	var start Start
	var schedule Schedule
	if json.Unmarshal([]byte(`"Torch"`), &start) != nil || start != Torch || json.Unmarshal([]byte(`"Constant"`), &schedule) != nil || schedule != Constant {
		t.Error("names are not read back")
	}
	if json.Unmarshal([]byte(`"torch"`), &start) == nil || json.Unmarshal([]byte(`"x"`), &schedule) == nil {
		t.Error("unknown names are taken")
	}
}

// A hidden unit of the hypernetwork is 1 at one training embedding and 0 at the
// others, as long as the embeddings are independent. With more instances, a
// unit still separates its own instances from the others.
func TestDuals(t *testing.T) {
	for _, tc := range []struct {
		instances, size int
		exact           bool
	}{{1, 64, true}, {5, 64, true}, {5, 12, true}, {20, 64, true}, {64, 64, true}, {20, 12, false}, {100, 64, false}, {3, 2, false}} {
		s := Settings{EmbeddingSize: tc.size, Seed: 3}.withDefaults(12)
		m := newModel(make([]string, tc.instances), s)
		h1 := m.shape.view(m.params, "h1.W")
		groups := min(tc.instances, hyperHidden)
		var own, others []float64
		for i, e := range m.Embeddings() {
			for u := range hyperHidden {
				var v, want float64
				for j, x := range e {
					v += x * float64(h1[j*hyperHidden+u])
				}
				if u%groups == i%groups {
					want, own = 1, append(own, v)
				} else {
					others = append(others, v)
				}
				if tc.exact && math.Abs(v-want) > 2e-3 {
					t.Fatalf("%d instances, embeddings of %d: unit %d is %v at embedding %d, want %v", tc.instances, tc.size, u, v, i, want)
				}
			}
		}
		mean := func(v []float64) float64 { return vec.Sum(v) / float64(max(1, len(v))) }
		if !(mean(own) > mean(others)+0.1) {
			t.Errorf("%d instances, embeddings of %d: %v at a unit's own embeddings, %v at others", tc.instances, tc.size, mean(own), mean(others))
		}
		// Without biases, weights are proportional to the embedding.
		e := m.Embeddings()[0]
		a, err := m.generate(e)
		if err != nil {
			t.Fatal(err)
		}
		vec.Scale(2, e)
		b, err := m.generate(e)
		if err != nil {
			t.Fatal(err)
		}
		for i := range a {
			if math.Abs(float64(b[i]-2*a[i])) > 1e-5*(1+math.Abs(float64(a[i]))) {
				t.Fatalf("weight %d: %v at an embedding, %v at twice that", i, a[i], b[i])
			}
		}
		// Generated weights have the same size for any number of instances.
		if tc.exact {
			w := m.shape.scorerView(a, "s2.W")
			if sd := math.Sqrt(float64(kernel.Dot(w, w))/float64(len(w))) / math.Sqrt(2.0/Hidden); sd < 0.6*dualScale || sd > 1.5*dualScale {
				t.Errorf("%d instances: weights begin at %v of He's, want %v", tc.instances, sd, dualScale)
			}
		}
	}
}

// PyTorch's Linear starts uniform within 1/sqrt(in).
func TestTorchStart(t *testing.T) {
	m := newModel(make([]string, 3), Settings{Reading: run.Published, Seed: 1}.withDefaults(30))
	for name, in := range map[string]int{"e1": 30, "e2": 128, "d1": 30, "h1": 30, "h2": 64} {
		for _, part := range []string{".W", ".b"} {
			var squares float64
			v := m.shape.view(m.params, name+part)
			bound := 1 / math.Sqrt(float64(in))
			for _, x := range v {
				if math.Abs(float64(x)) > bound {
					t.Fatalf("%s%s holds %v, beyond %v", name, part, x, bound)
				}
				squares += float64(x) * float64(x) / float64(len(v))
			}
			if got := squares / (bound * bound / 3); got < 0.5 || got > 1.5 {
				t.Errorf("%s%s: %v of the variance", name, part, got)
			}
		}
	}
}

func TestPublished(t *testing.T) {
	s := Settings{Reading: run.Published}.withDefaults(30)
	want := Settings{
		Reading: run.Published, Input: Sample, Activation: Identity, BatchNorm: true, Dim: 30, Latent: 30, EmbeddingSize: 30,
		Start: Torch, HyperBias: true, FixedEmbeddings: true, Samples: 100_000, Batch: 8192, Steps: 50_000, LearningRate: 5e-4,
		RateSchedule: Constant, HyperRate: 1, WeightDecay: 1e-5, DecaySchedule: Constant, ValidateEvery: 10, KeepFrom: 10_000,
		StopFactor: 5, PredictionWeight: 1, KLWeight: 5e-4, NormaliseSample: 10_000_000,
	}
	if d := differences(s, want); len(d) > 0 {
		t.Error(d)
	}
	small := Settings{Reading: run.Published, Samples: 400, Batch: 32, Steps: 40, ValidateEvery: 10, KeepFrom: 30, Seed: 4}
	m, err := Train(bg, oneMaxes(2, 12), small)
	if err != nil {
		t.Fatal(err)
	}
	fresh := newModel(m.names, small.withDefaults(12))
	if !slices.Equal(m.shape.view(m.params, "embeddings"), fresh.shape.view(fresh.params, "embeddings")) {
		t.Error("the embeddings have moved")
	}
	if len(m.Embeddings()[0]) != 12 || m.Settings().Reading != run.Published {
		t.Errorf("embeddings of %d, reading %v", len(m.Embeddings()[0]), m.Settings().Reading)
	}
}

// The best parameters are selected from KeepFrom on.
func TestKeepFrom(t *testing.T) {
	s := small()
	s.LearningRate, s.StopFactor = 0.02, 100 // the last loss is then not the smallest
	ps := oneMaxes(2, 12)
	var kept *Model
	for _, from := range []int{0, 40} {
		s.KeepFrom = from
		m, err := Train(bg, ps, s)
		if err != nil {
			t.Fatal(err)
		}
		if from == 40 && slices.Equal(m.params, kept.params) && kept.Losses().Total < m.History()[3].Validation.Total {
			t.Error("parameters of before KeepFrom are kept")
		}
		kept = m
	}
	last := kept.History()[3].Validation.Total
	if got := kept.Losses().Total; got != last {
		t.Errorf("losses of %v, kept are those of %v", got, last)
	}
}

func TestSettingsRefused(t *testing.T) {
	for want, s := range map[string]Settings{
		"Reading is 7":        {Reading: 7},
		"EmbeddingSize is -1": {EmbeddingSize: -1},
		"Start is 3":          {Start: 3},
		"DecaySchedule 2":     {DecaySchedule: 2},
		"KeepFrom is 12001":   {KeepFrom: 12_001},
		"WeightDecay +Inf":    {WeightDecay: math.Inf(1)},
	} {
		if _, err := Random(12, 1, s); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want an error with %q", err, want)
		}
	}
}

// A file of version 1 has no start; it loads with the hypernetwork of that
// version.
func TestLoadVersion1(t *testing.T) {
	m, err := Train(bg, oneMaxes(2, 12), func() Settings { s := small(); s.Start, s.HyperBias = He, true; return s }())
	if err != nil {
		t.Fatal(err)
	}
	var file bytes.Buffer
	if err := m.Write(&file); err != nil {
		t.Fatal(err)
	}
	newer := regexp.MustCompile(`(?m)^.*"(Reading|EmbeddingSize|Start|HyperBias|FixedEmbeddings|RateSchedule|WeightDecay|DecaySchedule|DecayHyperOnly|KeepFrom|data)":.*\n`)
	old := rewrite(t, file.Bytes(), func(name string, b []byte) []byte {
		if name == "meta.json" {
			b = newer.ReplaceAll(bytes.Replace(b, []byte(`"version": 2`), []byte(`"version": 1`), 1), nil)
		}
		return b
	})
	got, err := Read(bytes.NewReader(old), int64(len(old)))
	if err != nil {
		t.Fatal(err)
	}
	if d := differences(got.settings, m.settings); len(d) > 0 || !slices.Equal(got.params, m.params) {
		t.Errorf("read from a file of version 1: %v", d)
	}
}
