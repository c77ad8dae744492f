package pgpe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/dacelib/run"
)

// TestCheckpoint checks that a run killed at any moment continues from its
// checkpoint and ends like an uninterrupted run. The content of the file at a
// moment is what a run killed then leaves. A generation takes 7 s of the
// bubble's clock, so every fifth is saved.
func TestCheckpoint(t *testing.T) {
	for _, s := range updates {
		synctest.Test(t, func(t *testing.T) {
			name := fmt.Sprint(s.Reading, " ", s.Shaping)
			s.MaxIterations, s.Pairs, s.Seed = 23, 5, 9
			start := constant(6, -0.5)
			var f Objective = each(func(x []float64) float64 { return rosenbrock(x) / 1e4 })
			whole, err := Run(t.Context(), start, f, s)
			if err != nil {
				t.Fatal(err)
			}

			s.Checkpoint = filepath.Join(t.TempDir(), "state")
			var left [][]byte // content of the file before each generation
			kept, err := Run(t.Context(), start, func(ctx context.Context, dst []float64, candidates [][]float64) error {
				b, err := os.ReadFile(s.Checkpoint)
				if err != nil && !os.IsNotExist(err) {
					t.Error(err)
				}
				left = append(left, b)
				time.Sleep(7 * time.Second)
				return f(ctx, dst, candidates)
			}, s)
			if err != nil || !reflect.DeepEqual(whole, kept) {
				t.Errorf("%s: keeping the state changed the run (%v)", name, err)
			}
			if _, err := os.Stat(s.Checkpoint); !os.IsNotExist(err) {
				t.Errorf("%s: the file is there after the run: %v", name, err)
			}

			for i, b := range left {
				if (b == nil) != (i < 5) {
					t.Fatalf("%s: before generation %d the file has %d bytes", name, i+1, len(b))
				}
				if b == nil || i%5 > 0 {
					continue
				}
				if err := os.WriteFile(s.Checkpoint, b, 0o644); err != nil {
					t.Fatal(err)
				}
				generations := 0
				resumed, err := Run(t.Context(), start, func(ctx context.Context, dst []float64, candidates [][]float64) error {
					generations++
					return f(ctx, dst, candidates)
				}, s)
				if err != nil || !reflect.DeepEqual(whole, resumed) {
					t.Errorf("%s: killed in generation %d, resumed differs from uninterrupted (%v)", name, i+1, err)
				}
				if want := s.MaxIterations - i/5*5; generations != want {
					t.Errorf("%s: killed in generation %d, the rest took %d generations; want %d", name, i+1, generations, want)
				}
			}
		})
	}
}

// TestCheckpointInterrupted checks that a run that is cancelled, or whose
// objective fails, saves its last iteration at once. A run killed after its
// rule fired, and before the file was removed, ends again without another
// generation.
func TestCheckpointInterrupted(t *testing.T) {
	s := Settings{MaxIterations: 9, Pairs: 3, Seed: 4, Rule: Enough, Known: []float64{-1e9}}
	start := constant(3, 2)
	whole, err := Run(t.Context(), start, each(sphere), s)
	if err != nil {
		t.Fatal(err)
	}
	s.Checkpoint = filepath.Join(t.TempDir(), "state")
	ctx, cancel := context.WithCancel(t.Context())
	half := s
	half.OnEvent = func(e run.Event) {
		if e.Step == 4 {
			cancel()
		}
	}
	if r, err := Run(ctx, start, each(sphere), half); !errors.Is(err, context.Canceled) || r.Iterations != 4 {
		t.Fatalf("cancelled after 4: %d iterations, %v", r.Iterations, err)
	}
	failure, left := errors.New("no power"), 2
	failing := func(ctx context.Context, dst []float64, candidates [][]float64) error {
		if left--; left < 0 {
			return failure
		}
		return each(sphere)(ctx, dst, candidates)
	}
	if r, err := Run(t.Context(), start, failing, s); !errors.Is(err, failure) || r.Iterations != 6 {
		t.Fatalf("failed after 2 more: %d iterations, %v", r.Iterations, err)
	}
	r, err := Run(t.Context(), start, each(sphere), s)
	if err != nil || !reflect.DeepEqual(whole, r) {
		t.Errorf("resumed differs from uninterrupted (%v)", err)
	}

	ended := s
	ended.Known = []float64{math.MaxFloat64}
	r, err = Run(t.Context(), start, each(sphere), ended)
	if err != nil || r.Iterations != 1 || r.Status != run.Converged {
		t.Fatalf("%d iterations, %v, %v; want one", r.Iterations, r.Status, err)
	}
	b, err := encode(saved{s.withDefaults().identity(), start, r})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.Checkpoint, b, 0o644); err != nil {
		t.Fatal(err)
	}
	again, err := Run(t.Context(), start, func(context.Context, []float64, [][]float64) error { return failure }, ended)
	if err != nil || !reflect.DeepEqual(again, r) {
		t.Errorf("a run that had ended went on: %v", err)
	}
}

func TestCheckpointRefused(t *testing.T) {
	dir := t.TempDir()
	start := constant(3, 2)
	s := Settings{MaxIterations: 5, Pairs: 3, Checkpoint: filepath.Join(dir, "state")}
	whole, err := Run(t.Context(), start, each(sphere), s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := encode(saved{s.withDefaults().identity(), start, whole})
	if err != nil {
		t.Fatal(err)
	}
	put := func(b []byte) {
		if err := os.WriteFile(s.Checkpoint, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	with := func(change func(*Settings)) Settings {
		s := s
		change(&s)
		return s
	}
	for _, tc := range []struct {
		name  string
		file  []byte
		start []float64
		s     Settings
		want  string
	}{
		{"other seed", b, start, with(func(s *Settings) { s.Seed = 1 }), "other settings"},
		{"other reading", b, start, with(func(s *Settings) { s.Reading = run.Published }), "other settings"},
		{"other start", b, constant(3, 1), s, "another start"},
		{"other dimension", b, constant(4, 2), s, "another start"},
		{"a file of the user's", []byte("elites,offspring\n200,700\n"), start, s, "no checkpoint of PGPE"},
		{"a later version", bytes.Replace(b, []byte("checkpoint 1"), []byte("checkpoint 2"), 1), start, s, "another version"},
		{"no such folder", b, start, with(func(s *Settings) { s.Checkpoint = dir }), "is a directory"},
	} {
		put(tc.file)
		_, err := Run(t.Context(), tc.start, each(sphere), tc.s)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", tc.name, err, tc.want)
		}
		if now, err := os.ReadFile(s.Checkpoint); err != nil || !bytes.Equal(now, tc.file) {
			t.Errorf("%s: the file that was refused has changed (%v)", tc.name, err)
		}
	}
	// A file that was cut off or has a flipped bit counts as a damaged
	// checkpoint of this run: the run starts anew and reports it.
	turned := bytes.Clone(b)
	turned[len(b)/2] ^= 1
	for _, damaged := range [][]byte{nil, b[:7], b[:len(b)/3], b[:len(b)-1], turned, append(bytes.Clone(b), "more"...)} {
		put(damaged)
		said := ""
		r, err := Run(t.Context(), start, each(sphere), with(func(s *Settings) {
			s.OnEvent = func(e run.Event) { said += e.Detail }
		}))
		if err != nil || !reflect.DeepEqual(r, whole) || !strings.Contains(said, "beginning anew") {
			t.Errorf("%d bytes of %d: %v, event %q; want a run from the beginning", len(damaged), len(b), err, said)
		}
	}
}

// TestCheckpointFails checks that a run whose state cannot be saved (full disk,
// removed folder) continues to its end, and reports it.
func TestCheckpointFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := Settings{MaxIterations: 12, Pairs: 2, Checkpoint: filepath.Join(t.TempDir(), "gone", "state")}
		var said []string
		s.OnEvent = func(e run.Event) {
			if e.Detail != "" {
				said = append(said, e.Detail)
			}
		}
		slow := func(ctx context.Context, dst []float64, candidates [][]float64) error {
			time.Sleep(11 * time.Second)
			return each(sphere)(ctx, dst, candidates)
		}
		r, err := Run(t.Context(), constant(2, 1), slow, s)
		if err != nil || r.Iterations != 12 {
			t.Errorf("%d iterations, %v", r.Iterations, err)
		}
		if len(said) != 4 || !strings.Contains(said[0], "no such file") {
			t.Errorf("said %q; want four times that there is no such folder", said)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
		defer cancel()
		if _, err = Run(ctx, constant(2, 1), slow, s); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "keeping iteration 3") {
			t.Errorf("interrupted: %v; want the deadline and that nothing was kept", err)
		}
	})
}

// FuzzDecode checks that, for any input, decode returns an error or a state
// from which a run can continue and which is encoded as it was read.
func FuzzDecode(f *testing.F) {
	for _, s := range updates {
		s.MaxIterations, s.Pairs = 2, 2
		r, err := Run(f.Context(), constant(2, 1), each(sphere), s)
		if err != nil {
			f.Fatal(err)
		}
		b, err := encode(saved{s.withDefaults().identity(), constant(2, 1), r})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b, true)
		f.Add(bytes.TrimSuffix(bytes.SplitN(b, []byte("\n"), 3)[2], []byte("\n")), false)
	}
	f.Fuzz(func(t *testing.T, b []byte, whole bool) {
		if !whole { // most inputs fail at the checksum: test the JSON decoding, too
			b = seal(b)
		}
		sv, err := decode(b)
		if err != nil {
			return
		}
		again, err := encode(*sv)
		if err != nil {
			t.Fatal(err)
		}
		if back, err := decode(again); err != nil || !reflect.DeepEqual(back, sv) {
			t.Fatalf("written and read again: %v\n%+v\n%+v", err, back, sv)
		}
		s := sv.Result.Settings
		if sv.Result.Iterations == 0 || s.Pairs > 100 || len(sv.Start) > 100 {
			return
		}
		s.Resume, s.MaxIterations = &sv.Result, sv.Result.Iterations+1
		_, _ = Run(t.Context(), sv.Start, each(sphere), s) // must not panic
	})
}
