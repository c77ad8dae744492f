package display

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/dacelib/run"
	"dace.local/kernel/engine"
)

func plainText(b engine.Bundle) string { return fmt.Sprint(b.Data["text/plain"]) }

// work is a run with this many steps, like those of dacelib's packages.
func work(ctx context.Context, steps int, each time.Duration, onEvent func(run.Event)) {
	defer run.Report(&ctx, "work", &onEvent)()
	for i := range steps {
		time.Sleep(each)
		if onEvent != nil {
			onEvent(run.Event{Step: i + 1, Total: steps, Best: float64(i), Value: 1})
		}
	}
}

// TestAutomaticProgress checks that a long call has a bar, which is redrawn at
// most ten times a second and ends with a final line, and that a short call or
// one with an OnEvent has no bar.
func TestAutomaticProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := WithProgress(context.Background())
		s := capture(t, func() { work(ctx, 19, 100*time.Millisecond, nil) })
		if len(s.bundles)+len(s.updates) > 0 {
			t.Errorf("a call of 1.9 s shows %v", s.bundles)
		}
		s = capture(t, func() { work(ctx, 700, 15*time.Millisecond, nil) })
		if len(s.bundles) != 1 || len(s.updates) < 70 || len(s.updates) > 82 {
			t.Fatalf("a call of 10 s shows %d bars, moved %d times", len(s.bundles), len(s.updates))
		}
		if text := plainText(s.bundles[0]); text != "work 133/700 (best 132, 66/s, 8.5 s left)" {
			t.Errorf("after two seconds: %s", text)
		}
		last := s.updates[len(s.updates)-1]
		if text := plainText(last); text != "work 700/700 (best 699, 66/s, in 10 s)" {
			t.Errorf("at the end: %s", text)
		}
		if page := fmt.Sprint(last.Data["text/html"]); strings.Contains(page, "width:") {
			t.Errorf("at the end there still is a bar: %s", page)
		}
		s = capture(t, func() { work(ctx, 100, 100*time.Millisecond, func(run.Event) {}) })
		if len(s.bundles) > 0 {
			t.Errorf("a call with OnEvent shows %v", s.bundles)
		}
		// The events are far apart: the bar appears on time, not with the next event.
		s = capture(t, func() { work(ctx, 2, 30*time.Second, nil) })
		if len(s.bundles) != 1 || plainText(s.bundles[0]) != "work (2 s)" {
			t.Errorf("%v", s.bundles)
		}
		Quiet()
		defer ShowProgress()
		s = capture(t, func() { work(ctx, 100, 100*time.Millisecond, nil) })
		if len(s.bundles) > 0 {
			t.Errorf("Quiet: %v", s.bundles)
		}
	})
}

// TestProgressEndsEarly checks the final line of a run that ends early.
func TestProgressEndsEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := capture(t, func() {
			for i := range Range("loop", 100) {
				time.Sleep(time.Second)
				if i == 4 {
					break
				}
			}
		})
		if text := plainText(s.updates[len(s.updates)-1]); text != "loop 4/100 (1.0/s, in 5 s)" {
			t.Errorf("%s", text)
		}
	})
}

func TestRange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sum := 0
		s := capture(t, func() {
			for i := range Range("sum", 10) {
				sum += i
				time.Sleep(time.Second)
			}
			for range Range("none", 0) {
				t.Error("a step of none")
			}
		})
		if sum != 45 || plainText(s.updates[len(s.updates)-1]) == "" {
			t.Errorf("the sum is %d", sum)
		}
		if text := plainText(s.bundles[0]); text != "sum 0/10 (0 s)" {
			t.Errorf("at first: %s", text)
		}
	})
}

// TestProgressStages checks that each stage has its own rate and estimated end.
func TestProgressStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := capture(t, func() {
			f := Progress("train")
			for _, stage := range []string{"data", "train"} {
				for i := range 3 {
					time.Sleep(time.Duration(1+len(stage)) * time.Second)
					f(run.Event{Stage: stage, Step: i + 1, Total: 3, Value: math.NaN(), Best: math.NaN(), Detail: "x"})
				}
			}
		})
		var texts []string
		for _, b := range append(s.bundles, s.updates...) {
			texts = append(texts, plainText(b))
		}
		if got, want := strings.Join(texts, "\n"), `train: data 1/3 (x, 5 s)
train: data 2/3 (x, 0.2/s, 5 s left)
train: data 3/3 (x, 0.2/s, in 15 s)
train 1/3 (x, 21 s)
train 2/3 (x, 0.2/s, 6 s left)
train 3/3 (x, 0.2/s, in 33 s)`; got != want {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	})
}

func TestRates(t *testing.T) {
	for r, want := range map[float64]string{0.01: "0.6 a minute", 2.34: "2.3/s", 12345: "12,345/s"} {
		if got := rate(r); got != want {
			t.Errorf("%v: %s, want %s", r, got, want)
		}
	}
}

// BenchmarkRange measures one step of a loop with a bar.
func BenchmarkRange(b *testing.B) {
	sum := 0
	for i := range Range("loop", b.N) {
		sum += i
	}
	if sum < 0 {
		b.Fatal(sum)
	}
}
