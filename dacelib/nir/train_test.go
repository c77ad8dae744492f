package nir

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
)

// small returns settings of a training that takes a second.
func small() Settings {
	return Settings{Samples: 400, Batch: 32, Steps: 40, ValidateEvery: 10, NormaliseSample: 10_000, Seed: 4}
}

func TestTrain(t *testing.T) {
	for name, v := range variants() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			s.Input, s.Activation, s.BatchNorm, s.Latent = v.Input, v.Activation, v.BatchNorm, v.Latent
			var events []run.Event
			var records []Record
			s.OnEvent = func(e run.Event) {
				if e.Stage == "train" {
					events = append(events, e)
				}
			}
			s.OnRecord = func(r Record) { records = append(records, r) }
			ps := oneMaxes(2, 12)
			m, err := Train(bg, ps, s)
			if err != nil {
				t.Fatal(err)
			}
			h := m.History()
			if len(h) != 4 || len(records) != 4 || len(events) != 40 || h[3].Step != 40 {
				t.Fatalf("%d records, %d reported, %d events", len(h), len(records), len(events))
			}
			if last := events[39]; last.Step != 40 || last.Total != 40 || last.Value != h[3].Validation.Total {
				t.Errorf("last event %+v", last)
			}
			if !(h[3].Validation.Total < h[0].Validation.Total) {
				t.Errorf("the validation loss goes from %v to %v", h[0].Validation.Total, h[3].Validation.Total)
			}
			if l := m.Losses(); len(l.Scorer) != 2 || l.Total > h[0].Validation.Total {
				t.Errorf("losses of the kept parameters: %+v", l)
			}
			if m.Status() != run.BudgetSpent || m.Dim() != 12 || len(m.Embeddings()) != 2 || m.Names()[0] != ps[0].Name() {
				t.Errorf("%v, d = %d, %d embeddings, %v", m.Status(), m.Dim(), len(m.Embeddings()), m.Names())
			}
		})
	}
}

// One seed gives one model, whatever the number of workers, also with an
// interruption.
func TestTrainSameSeedAndResume(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, s := range []Settings{small(), func() Settings { s := small(); s.BatchNorm, s.Batch = true, 150; return s }()} {
		ps := oneMaxes(2, 12)
		s.Workers = 1
		whole, err := Train(bg, ps, s)
		if err != nil {
			t.Fatal(err)
		}
		same := func(what string, m *Model) {
			t.Helper()
			if !slices.Equal(m.params, whole.params) || !slices.Equal(m.stats, whole.stats) || fmt.Sprint(m.History()) != fmt.Sprint(whole.History()) {
				t.Errorf("%s: the model differs", what)
			}
		}
		s.Workers = 8
		again, err := Train(bg, ps, s)
		if err != nil {
			t.Fatal(err)
		}
		same("8 workers", again)

		ctx, cancel := context.WithCancel(bg)
		defer cancel()
		s.OnEvent = func(e run.Event) {
			if e.Step == 23 {
				cancel()
			}
		}
		part, err := Train(ctx, ps, s)
		if !errors.Is(err, context.Canceled) || part == nil || part.Status() != run.Cancelled || len(part.History()) != 2 {
			t.Fatalf("cancelled: %v", err)
		}
		// Continue from a file, as after a crash.
		path := t.TempDir() + "/model.npz"
		if err := part.Save(path); err != nil {
			t.Fatal(err)
		}
		if part, err = Load(path); err != nil {
			t.Fatal(err)
		}
		s.OnEvent, s.Resume = nil, part
		rest, err := Train(bg, ps, s)
		if err != nil {
			t.Fatal(err)
		}
		same("resumed", rest)

		s.Steps = 50
		if _, err := Train(bg, ps, s); err == nil || !strings.Contains(err.Error(), "must be the same") {
			t.Errorf("resumed with other settings: %v", err)
		}
		s.Steps, s.Resume = 40, rest
		if _, err := Train(bg, ps, s); err == nil || !strings.Contains(err.Error(), "has ended") {
			t.Errorf("resumed what has ended: %v", err)
		}
	}
}

// A training cancelled before the first validation has the parameters of its
// last step.
func TestTrainCancelEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(bg)
	s := small()
	s.OnEvent = func(e run.Event) {
		if e.Stage == "train" {
			cancel()
		}
	}
	m, err := Train(ctx, oneMaxes(1, 12), s)
	if !errors.Is(err, context.Canceled) || m == nil {
		t.Fatalf("%v, %v", m, err)
	}
	fresh, _ := Random(12, 1, s)
	if slices.Equal(m.params, fresh.params) || len(m.History()) != 0 {
		t.Error("the model has not learned from its first step")
	}
}

// Training through gorgonia gives the same losses as the hand-written pass.
func TestTrainGorgonia(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, s := range []Settings{small(), {Samples: 400, Batch: 32, BatchNorm: true, Input: Sample, Activation: Identity}} {
		s.Steps, s.ValidateEvery = 4, 4
		ps := oneMaxes(2, 12)
		a, err := Train(bg, ps, s)
		if err != nil {
			t.Fatal(err)
		}
		s.Gorgonia = true
		b, err := Train(bg, ps, s)
		if err != nil {
			t.Fatal(err)
		}
		x, y := a.Losses(), b.Losses()
		if math.Abs(x.Total-y.Total) > 1e-3*x.Total || math.Abs(x.Scorer[1]-y.Scorer[1]) > 1e-2*x.Scorer[1] {
			t.Errorf("after four steps: %v by hand, %v by gorgonia", x, y)
		}
	}
}

func TestTrainStops(t *testing.T) {
	s := small()
	s.Steps, s.ValidateEvery, s.LearningRate, s.StopFactor = 400, 1, 0.03, 1.01
	m, err := Train(bg, oneMaxes(1, 12), s)
	if err != nil {
		t.Fatal(err)
	}
	h := m.History()
	if m.Status() != run.Converged || len(h) == 400 || !(h[len(h)-1].Validation.Total > 1.01*m.Losses().Total) {
		t.Errorf("%v after %d steps", m.Status(), len(h))
	}
	s.LearningRate, s.StopFactor = 1e18, 1e30
	if _, err = Train(bg, oneMaxes(1, 12), s); err == nil || !strings.Contains(err.Error(), "diverged at step") {
		t.Errorf("a rate of 1e18: %v", err)
	}
}

// Instances of 11 to 13 bits make a model of 12 bits (App. E).
func TestMixedDimensions(t *testing.T) {
	var ps []problem.Problem
	for d := 11; d <= 13; d++ {
		ps = append(ps, onemax.Random(uint64(d), d))
	}
	if _, err := Train(bg, ps, small()); err == nil || !strings.Contains(err.Error(), "from 11 to 13: set Settings.Dim, for instance to 12") {
		t.Errorf("without Dim: %v", err)
	}
	mean := small()
	mean.Dim = 12
	m, err := Train(bg, ps, mean)
	if err != nil {
		t.Fatal(err)
	}
	if m.Dim() != 12 || len(m.Embeddings()) != 3 {
		t.Errorf("d = %d, %d embeddings", m.Dim(), len(m.Embeddings()))
	}
	s := small()
	s.Dim = 13
	if m, err = Train(bg, ps, s); err != nil || m.Dim() != 13 {
		t.Errorf("Settings.Dim = 13: %v", err)
	}
}

// Train a small model for seconds: its losses are far below those of a
// constant, and every target string is identified (App. F).
func ExampleTrain() {
	var instances []problem.Problem
	for i := range 3 {
		instances = append(instances, onemax.Random(uint64(i), 12))
	}
	m, err := Train(context.Background(), instances, Settings{
		Samples: 3000, Batch: 64, Steps: 300, NormaliseSample: 50_000, Seed: 1,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, e := range m.Embeddings() {
		s, err := m.Scorer(e)
		if err != nil {
			fmt.Println(err)
			return
		}
		closest, err := ClosestOneMax(context.Background(), s, OneMaxSettings{})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(slices.Equal(closest.Target, instances[i].(*onemax.Instance).Target()))
	}
	// Output:
	// true
	// true
	// true
}
