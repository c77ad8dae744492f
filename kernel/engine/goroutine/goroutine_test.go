package goroutine

import (
	"bytes"
	"context"
	"reflect"
	"runtime"
	"runtime/pprof"
	"sync"
	"testing"
)

func TestInherited(t *testing.T) {
	if v := Value(); v != nil {
		t.Fatalf("a goroutine without a value has %v", v)
	}
	var wg sync.WaitGroup
	var deep any
	With("a", func() {
		if Value() != "a" {
			t.Errorf("inside With the value is %v", Value())
		}
		With("b", func() {
			wg.Add(1)
			go func() {
				go func() {
					defer wg.Done()
					deep = Value()
				}()
			}()
		})
		if Value() != "a" {
			t.Errorf("after an inner With the value is %v", Value())
		}
	})
	wg.Wait()
	if deep != "b" {
		t.Errorf("a goroutine's goroutine has %v, want b", deep)
	}
	if v := Value(); v != nil {
		t.Errorf("after With the value is %v", v)
	}
}

func TestProfilerLabels(t *testing.T) {
	With(1, func() {
		pprof.Do(context.Background(), pprof.Labels("k", "v"), func(context.Context) {
			if v := Value(); v != nil {
				t.Errorf("under real labels the value is %v", v)
			}
		})
		// A profile reads the labels of every goroutine.
		var b bytes.Buffer
		if err := pprof.Lookup("goroutine").WriteTo(&b, 0); err != nil {
			t.Error(err)
		}
	})
}

// TestFalseLabels: labels of another form are seen.
func TestFalseLabels(t *testing.T) {
	if err := checkLabels(reflect.TypeFor[pprof.LabelSet]()); err != nil {
		t.Error(err)
	}
	for _, other := range []reflect.Type{
		reflect.TypeFor[struct{ list map[string]string }](), reflect.TypeFor[struct{ list []string }](), reflect.TypeFor[[]string](),
		reflect.TypeFor[struct {
			list []struct{ key, value, unit string }
		}](), reflect.TypeFor[struct {
			n    int
			list []struct{ key, value string }
		}](),
	} {
		if checkLabels(other) == nil {
			t.Errorf("%s is taken for a set of profiler labels", other)
		}
	}
}

func TestCollected(t *testing.T) {
	for range 100 {
		With(make([]byte, 1<<20), func() {})
	}
	for range 3 {
		runtime.GC()
	}
	n := 0
	live.Range(func(any, any) bool { n++; return true })
	if n > 50 {
		t.Errorf("%d of 100 values are still held", n)
	}
}

func BenchmarkValue(b *testing.B) {
	With(1, func() {
		for b.Loop() {
			Value()
		}
	})
}

// A label for profilers is inherited, and leaves the value as it is.
func TestLabel(t *testing.T) {
	With("value", func() {
		SetLabel("key", "one")
		done := make(chan string)
		go func() { done <- Label("key") + " " + Value().(string) }()
		if got := <-done; got != "one value" || Label("other") != "" {
			t.Errorf("a new goroutine has %q", got)
		}
		SetLabel("key", "two")
		if Label("key") != "two" {
			t.Errorf("the label is %q", Label("key"))
		}
	})
	if Label("key") != "" || Value() != nil {
		t.Error("the label stays")
	}
}
