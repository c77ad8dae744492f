// Package farmtest checks that a pool keeps the contract of farm.Pool. Start
// with [Run]. The workers of the pool must be programs that import this package,
// such as the test itself, started again.
package farmtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/dacelib/farm"
)

func init() {
	farm.Register("farmtest: double", func(_ context.Context, _ *farm.Env, data []byte) ([]byte, error) {
		var v farm.Floats
		if err := json.Unmarshal(data, &v); err != nil {
			return nil, err
		}
		for i := range v {
			v[i] *= 2
		}
		return v.MarshalJSON()
	})
	farm.Register("farmtest: blob", func(ctx context.Context, env *farm.Env, data []byte) ([]byte, error) {
		var key string
		if err := json.Unmarshal(data, &key); err != nil {
			return nil, err
		}
		b, err := env.Blob(ctx, key)
		if err != nil {
			return nil, err
		}
		other, err := env.Put(ctx, append([]byte("again "), b...))
		if err != nil {
			return nil, err
		}
		return json.Marshal(other)
	})
	farm.Register("farmtest: sleep", func(ctx context.Context, _ *farm.Env, data []byte) ([]byte, error) {
		var s Sleep
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(s.Time):
		}
		return json.Marshal(s.Number)
	})
	farm.Register("farmtest: spin", func(ctx context.Context, _ *farm.Env, data []byte) ([]byte, error) {
		var s Sleep
		if err := json.Unmarshal(data, &s); err != nil {
			return nil, err
		}
		for begun := time.Now(); time.Since(begun) < s.Time && ctx.Err() == nil; {
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return json.Marshal(s.Number)
	})
	farm.Register("farmtest: fail", func(_ context.Context, _ *farm.Env, data []byte) ([]byte, error) {
		return nil, fmt.Errorf("no such luck with %s", data)
	})
	farm.Register("farmtest: panic", func(context.Context, *farm.Env, []byte) ([]byte, error) {
		panic("on purpose")
	})
	farm.Register("farmtest: die", func(context.Context, *farm.Env, []byte) ([]byte, error) {
		self, err := os.FindProcess(os.Getpid())
		if err != nil {
			return nil, err
		}
		return nil, self.Kill()
	})
}

// A Sleep is the data of the kinds "farmtest: sleep" and "farmtest: spin",
// which wait or compute for a time and return a number.
type Sleep struct {
	Time   time.Duration
	Number int
}

// Unit returns a unit of one of this package's kinds.
func Unit(t testing.TB, kind string, v any) farm.Unit {
	t.Helper()
	u, err := farm.NewUnit("farmtest: "+kind, v, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// long bounds the tests that do not end by themselves where a pool is wrong.
const long = 5 * time.Minute

// Run checks a pool that has at least one worker.
func Run(t *testing.T, pool farm.Pool) {
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	t.Run("results", func(t *testing.T) { results(ctx, t, pool) })
	t.Run("blobs", func(t *testing.T) { blobs(ctx, t, pool) })
	t.Run("large", func(t *testing.T) { large(ctx, t, pool) })
	t.Run("failures", func(t *testing.T) { failures(ctx, t, pool) })
	t.Run("cancel", func(t *testing.T) { cancelled(ctx, t, pool) })
	t.Run("concurrent", func(t *testing.T) { concurrent(ctx, t, pool) })
	t.Run("done fails", func(t *testing.T) { doneFails(ctx, t, pool) })
	if n := pool.Slots(); n < 1 {
		t.Errorf("%d slots", n)
	}
	if r := pool.Rate("farmtest: double"); !(r > 0) {
		t.Errorf("after many units, one takes %v s", r)
	}
}

// Doubles has n units computed, which double numbers, and checks their results.
func Doubles(ctx context.Context, t testing.TB, pool farm.Pool, first, n int) error {
	t.Helper()
	var units []farm.Unit
	for i := range n {
		units = append(units, Unit(t, "double", farm.Floats{float64(first + i), math.Inf(-1), math.Pi}))
	}
	units = append(units, units[0]) // equal units are computed once
	got := make([]int, len(units))
	busy := false
	err := pool.Do(ctx, units, func(i int, b []byte) error {
		if busy {
			t.Error("done was called during a call of done")
		}
		busy = true
		defer func() { busy = false }()
		var v farm.Floats
		if err := json.Unmarshal(b, &v); err != nil {
			return err
		}
		if want := (farm.Floats{2 * float64(first+i%n), math.Inf(-1), 2 * math.Pi}); !reflect.DeepEqual(v, want) {
			t.Errorf("unit %d has the result %v, want %v", i, v, want)
		}
		got[i]++
		return nil
	})
	if err != nil {
		return err
	}
	for i, k := range got {
		if k != 1 {
			t.Errorf("unit %d had %d results", i, k)
		}
	}
	return nil
}

func results(ctx context.Context, t *testing.T, pool farm.Pool) {
	if err := pool.Do(ctx, nil, nil); err != nil {
		t.Errorf("no units: %v", err)
	}
	for _, n := range []int{1, 100} {
		if err := Doubles(ctx, t, pool, 1000*n, n); err != nil {
			t.Fatal(err)
		}
	}
	if err := Doubles(ctx, t, pool, 1000, 1); err != nil { // the same again
		t.Fatal(err)
	}
}

func blobs(ctx context.Context, t *testing.T, pool farm.Pool) {
	content := []byte("a blob of " + t.Name())
	for range 2 {
		key, err := pool.Put(ctx, content)
		if err != nil || key != farm.BlobKey(content) {
			t.Fatalf("key %q, %v", key, err)
		}
		var other string
		if err := farm.Do1(ctx, pool, Unit(t, "blob", key), &other); err != nil {
			t.Fatal(err)
		}
		if b, err := pool.Get(ctx, other); err != nil || string(b) != "again "+string(content) {
			t.Fatalf("a worker's blob: %q, %v", b, err)
		}
	}
	missing := farm.BlobKey([]byte("nobody has sent this"))
	if _, err := pool.Get(ctx, missing); err == nil || !strings.Contains(err.Error(), missing[:12]+" is missing from the farm") {
		t.Errorf("a missing blob: %v", err)
	}
	var out string
	if err := farm.Do1(ctx, pool, Unit(t, "blob", missing), &out); err == nil || !strings.Contains(err.Error(), missing[:12]+" is missing from the farm") {
		t.Errorf("a unit without its blob: %v", err)
	}
}

// large sends a blob of 12 MB and a result of 1 MB.
func large(ctx context.Context, t *testing.T, pool farm.Pool) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 750_000)
	key, err := pool.Put(ctx, content)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := pool.Get(ctx, key); err != nil || !bytes.Equal(b, content) {
		t.Fatalf("%d bytes of %d came back: %v", len(b), len(content), err)
	}
	in := make(farm.Floats, 100_000)
	for i := range in {
		in[i] = float64(i)
	}
	var out farm.Floats
	if err := farm.Do1(ctx, pool, Unit(t, "double", in), &out); err != nil || len(out) != len(in) || out[len(in)-1] != 2*in[len(in)-1] {
		t.Fatalf("%d numbers: %v", len(out), err)
	}
}

func failures(ctx context.Context, t *testing.T, pool farm.Pool) {
	for kind, want := range map[string]string{
		"fail": "no such luck with", "panic": "panic: on purpose", "unheard of": "no work of the kind",
	} {
		u := Unit(t, kind, t.Name())
		err := pool.Do(ctx, []farm.Unit{u}, func(int, []byte) error { t.Error("a result of a unit that fails"); return nil })
		var f *farm.Failure
		if !errors.As(err, &f) || f.Key != u.Key() || f.Kind != u.Kind || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		if err := farm.Again(f.Key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s again, here: %v", kind, err)
		}
		if n := farm.Failures(); len(n) == 0 || n[len(n)-1].Key != f.Key {
			t.Errorf("%s: the failure is not remembered: %v", kind, n)
		}
	}
	if err := farm.Again("0000"); err == nil {
		t.Error("a key that nobody knows")
	}
}

func cancelled(ctx context.Context, t *testing.T, pool farm.Pool) {
	ctx, cancel := context.WithCancel(ctx)
	var units []farm.Unit
	for i := range 50 {
		units = append(units, Unit(t, "sleep", Sleep{Time: time.Hour, Number: i}))
	}
	ended := make(chan error)
	go func() { ended <- pool.Do(ctx, units, func(int, []byte) error { return nil }) }()
	time.Sleep(100 * time.Millisecond) // whatever has begun by now
	cancel()
	select {
	case err := <-ended:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled call: %v", err)
		}
	case <-time.After(long):
		t.Fatal("a cancelled call does not return")
	}
	free, stop := context.WithTimeout(context.Background(), long)
	defer stop()
	if err := Doubles(free, t, pool, 7_000_000, 20); err != nil {
		t.Fatal("the workers are not free again: ", err)
	}
}

func concurrent(ctx context.Context, t *testing.T, pool farm.Pool) {
	var wg sync.WaitGroup
	for k := range 8 {
		wg.Go(func() {
			// The calls share some units.
			if err := Doubles(ctx, t, pool, 50_000+10*k, 25); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func doneFails(ctx context.Context, t *testing.T, pool farm.Pool) {
	var units []farm.Unit
	for i := range 20 {
		units = append(units, Unit(t, "double", farm.Floats{float64(90_000 + i)}))
	}
	enough := errors.New("enough")
	n := 0
	done := func(int, []byte) error {
		n++
		time.Sleep(20 * time.Millisecond) // other results come meanwhile
		return enough
	}
	if err := pool.Do(ctx, units, done); !errors.Is(err, enough) || n != 1 {
		t.Errorf("%v after %d calls of done", err, n)
	}
}
