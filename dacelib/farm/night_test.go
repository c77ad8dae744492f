package farm_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/dacelib/farm"
)

// bubble runs a test with a network, on false time.
func bubble(t *testing.T, f func(t *testing.T, n *network)) {
	t.Helper()
	farm.Self() // its first call reads files, which takes real time
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		n := newNetwork(ctx, 1)
		f(t, n)
		cancel()
		time.Sleep(time.Hour) // whatever goes on has an end
		synctest.Wait()
		for name, c := range n.callers {
			if k := c.Counts(); k.Waiting != 0 || k.Running != 0 {
				t.Errorf("%s has ended all calls, and of its units %d wait and %d run", name, k.Waiting, k.Running)
			}
		}
	})
}

// units returns units of work that read a blob.
func units(t testing.TB, c *caller, first, n int, seconds func(i int) float64) ([]farm.Unit, []string) {
	t.Helper()
	blob := []byte("a blob of " + c.name)
	key, err := c.Put(context.Background(), blob)
	if err != nil {
		t.Fatal(err)
	}
	var out []farm.Unit
	var want []string
	for i := first; i < first+n; i++ {
		d := work{Blob: key, Number: i, Seconds: seconds(i)}
		u, err := farm.NewUnit("night: work", d, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		u.Name = fmt.Sprintf("number %d of %s", i, c.name)
		out, want = append(out, u), append(want, string(d.result(blob)))
	}
	return out, want
}

// compute has units computed and compares their results.
func compute(ctx context.Context, c *caller, us []farm.Unit, want []string) error {
	n := 0
	err := c.Do(ctx, us, func(i int, b []byte) error {
		if n++; string(b) != want[i] {
			return fmt.Errorf("unit %d has the result %s, want %s", i, b, want[i])
		}
		return nil
	})
	if err == nil && n != len(us) {
		return fmt.Errorf("%d results of %d", n, len(us))
	}
	return err
}

func constant(seconds float64) func(int) float64 { return func(int) float64 { return seconds } }

var (
	nightLength = flag.Duration("night", 75*time.Minute, "false `time` that TestNight lasts; 25 faults an hour")
	nightSeed   = flag.Uint64("night-seed", 45, "`seed` of TestNight's faults")
)

// During a night of false time faults hit 64 workers and 3 callers: workers die,
// hang, lie and lose the net, the server starts again, its disk is full, blobs,
// messages and results are lost. Every result is right, and no call fails. A whole
// night with 200 faults: go test -run Night -v ./dacelib/farm -args -night 8h
func TestNight(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	const workers = 64
	night := *nightLength
	faults := int(25 * night.Hours())
	bubble(t, func(t *testing.T, n *network) {
		begun := time.Now()
		n.lose = 0.0005
		var lines []*line
		for range workers {
			lines = append(lines, n.worker(1))
		}
		counts := map[string]int{}
		rng := rand.New(rand.NewPCG(*nightSeed, 200))
		var at []time.Duration
		for range faults {
			at = append(at, time.Duration(rng.Int64N(int64(night-night/8))))
		}
		slices.Sort(at)
		var replaced sync.WaitGroup
		replaced.Go(func() {
			for _, when := range at {
				time.Sleep(time.Until(begun.Add(when)))
				i := rng.IntN(workers)
				w := lines[i]
				kind := rng.IntN(20)
				n.mu.Lock()
				gone := w.dead || w.dismissed
				n.mu.Unlock()
				if gone {
					lines[i] = n.worker(1)
					w = lines[i]
				}
				switch {
				case kind < 6:
					counts["died"]++
					w.die()
					lines[i] = n.worker(1) // as a scheduler does
				case kind < 9:
					counts["hung"]++
					n.mu.Lock()
					w.hangs++
					n.mu.Unlock()
				case kind < 10:
					counts["lied"]++
					n.mu.Lock()
					w.lies = true
					n.mu.Unlock()
				case kind < 14:
					counts["lost the net"]++
					w.lost(time.Duration(rng.Int64N(int64(12 * time.Minute))))
				case kind < 15:
					counts["servers"]++
					n.restart(time.Duration(rng.Int64N(int64(2 * time.Minute))))
				case kind < 16:
					counts["disks"]++
					n.mu.Lock()
					n.full = time.Now().Add(time.Duration(rng.Int64N(int64(20 * time.Minute))))
					n.mu.Unlock()
				case kind < 17:
					counts["callers' nets"]++
					n.mu.Lock()
					var names []string
					for name := range n.callers {
						names = append(names, name)
					}
					slices.Sort(names)
					c := n.callers[names[rng.IntN(len(names))]]
					d := time.Duration(rng.Int64N(int64(3 * time.Minute)))
					c.cut = time.Now().Add(d)
					n.mu.Unlock()
					time.AfterFunc(d, c.LookNow)
				case kind < 19:
					counts["blobs"]++
					n.mu.Lock()
					clear(n.blobs)
					n.mu.Unlock()
				default:
					counts["queues"]++ // what waits, and a third of the results
					n.mu.Lock()
					n.tasks, n.open = nil, map[string]bool{}
					k := 0
					for key := range n.results {
						if k++; k%3 == 0 {
							delete(n.results, key)
						}
					}
					n.mu.Unlock()
				}
			}
		})
		var all sync.WaitGroup
		var done atomic.Int64
		for k := range 3 {
			c := n.caller(fmt.Sprintf("caller%d", k), farm.Policy{Verify: 1, Priority: k / 2})
			all.Go(func() {
				for first := 0; time.Since(begun) < night; first += 150 {
					us, want := units(t, c, first, 150, func(i int) float64 { return 20 + float64(i*7919%40) })
					if err := compute(context.Background(), c, us, want); err != nil {
						t.Errorf("%v after the beginning, %s: %v", time.Since(begun), c.name, err)
						return
					}
					done.Add(150)
					if k == 2 { // with the others at times, alone at times
						time.Sleep(20 * time.Minute)
					}
				}
			})
		}
		all.Wait()
		replaced.Wait()
		total := 0
		for _, k := range counts {
			total += k
		}
		if total != faults {
			t.Errorf("%d faults", total)
		}
		n.mu.Lock()
		t.Logf("%v: %d units of 3 callers, each computed twice, %d computed; %d messages lost; faults %v",
			time.Since(begun).Round(time.Minute), done.Load(), n.computed, n.dropped, counts)
		n.mu.Unlock()
	})
}

// A unit that hangs is begun by another worker after its limit; one that hangs
// wherever it runs is set aside, and the error names its input.
func TestLimit(t *testing.T) {
	bubble(t, func(t *testing.T, n *network) {
		for range 4 {
			n.worker(2)
		}
		c := n.caller("caller", farm.Policy{})
		time.Sleep(time.Second)
		us, want := units(t, c, 0, 10, constant(10))
		ctx := context.Background()
		if err := compute(ctx, c, us, want); err != nil {
			t.Fatal(err)
		}
		n.mu.Lock()
		for _, w := range n.workers {
			w.hangs = 1
		}
		n.mu.Unlock()
		begun := time.Now()
		us, want = units(t, c, 100, 30, constant(10))
		if err := compute(ctx, c, us, want); err != nil {
			t.Fatal(err)
		}
		// The limit is five minutes, and units are computed twelve at a time.
		if took := time.Since(begun); took < 5*time.Minute || took > 8*time.Minute {
			t.Errorf("with a unit that hangs on each worker, 30 units of 10 s took %v", took)
		}
		us, want = units(t, c, 200, 5, func(i int) float64 { return map[bool]float64{true: 1e6, false: 10}[i == 202] })
		k := 0
		err := c.Do(ctx, us, func(i int, b []byte) error { k++; return nil })
		var f *farm.Failure
		if !errors.As(err, &f) || f.Late != 3 || k != 4 || !strings.Contains(err.Error(), "its input: number 202 of caller") || !strings.Contains(err.Error(), "3 times") {
			t.Errorf("after %d results: %v", k, err)
		}
		_ = want
	})
}

// Units of a worker that is stopped move on in less than 20 s, and it goes on
// when it is heard of again.
func TestSilent(t *testing.T) {
	bubble(t, func(t *testing.T, n *network) {
		w := n.worker(1)
		c := n.caller("caller", farm.Policy{})
		time.Sleep(time.Second)
		us, want := units(t, c, 0, 1, constant(30))
		time.AfterFunc(5*time.Second, func() {
			w.lost(time.Hour)
			n.worker(1)
		})
		begun := time.Now()
		if err := compute(context.Background(), c, us, want); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begun); took > (5+20+30)*time.Second {
			t.Errorf("a unit of 30 s whose worker was stopped after 5 s took %v", took)
		}
	})
}

// A worker whose farm is gone for ten minutes ends by itself, also one that
// computes; an interruption that is shorter does not end it.
func TestWorkerEnds(t *testing.T) {
	bubble(t, func(t *testing.T, n *network) {
		idle, busy := n.worker(1), n.worker(1)
		c := n.caller("caller", farm.Policy{})
		time.Sleep(time.Second)
		us, _ := units(t, c, 0, 1, constant(1e6))
		ctx, cancel := context.WithCancel(context.Background())
		go func() { _ = c.Do(ctx, us, func(int, []byte) error { return nil }) }()
		time.Sleep(time.Second)
		for _, w := range []*line{idle, busy} {
			w.gone(9 * time.Minute)
		}
		time.Sleep(20 * time.Minute)
		for _, w := range []*line{idle, busy} {
			select {
			case <-w.ended:
				t.Errorf("%s has ended after nine minutes: %v", w.name, w.err)
			default:
				w.gone(time.Hour)
			}
		}
		begun := time.Now()
		for _, w := range []*line{idle, busy} {
			<-w.ended
			if took := time.Since(begun); took < 10*time.Minute || took > 11*time.Minute || w.err == nil || !strings.Contains(w.err.Error(), "has not answered for 10m") {
				t.Errorf("%s has ended after %v: %v", w.name, took, w.err)
			}
		}
		cancel()
	})
}

// A blob that the farm has lost is stored again within the call.
func TestHealed(t *testing.T) {
	bubble(t, func(t *testing.T, n *network) {
		n.worker(3)
		c := n.caller("caller", farm.Policy{})
		us, want := units(t, c, 0, 50, constant(1))
		for k := range 5 {
			time.AfterFunc(time.Duration(k)*3*time.Second, func() {
				n.mu.Lock()
				defer n.mu.Unlock()
				clear(n.blobs)
			})
		}
		if err := compute(context.Background(), c, us, want); err != nil {
			t.Fatal(err)
		}
		// One that nobody has is an error.
		u, err := farm.NewUnit("night: work", work{Blob: farm.BlobKey([]byte("unheard of"))}, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := farm.Do1(context.Background(), c, u, new(string)); err == nil || !strings.Contains(err.Error(), "is missing from the farm") {
			t.Error(err)
		}
	})
}

// A worker whose results are wrong is named: where a part is computed twice the
// call fails, where all is, the call goes on without the worker.
func TestVerify(t *testing.T) {
	for _, share := range []float64{0.2, 1} {
		t.Run(fmt.Sprint(share), func(t *testing.T) {
			bubble(t, func(t *testing.T, n *network) {
				for range 5 {
					n.worker(1)
				}
				liar := n.worker(1)
				c := n.caller("caller", farm.Policy{Verify: share})
				time.Sleep(time.Second)
				us, want := units(t, c, 0, 100, constant(1))
				if err := compute(context.Background(), c, us, want); err != nil {
					t.Fatal(err)
				}
				if k := c.Counts().Verified; share == 1 && k != 100 || share < 1 && (k < 10 || k > 30) {
					t.Errorf("%d of 100 units were verified", k)
				}
				n.mu.Lock()
				liar.lies = true
				n.mu.Unlock()
				us, want = units(t, c, 1000, 200, constant(1))
				if share == 1 {
					if err := compute(context.Background(), c, us, want); err != nil {
						t.Fatal(err)
					}
				} else {
					err := c.Do(context.Background(), us, func(int, []byte) error { return nil })
					var d *farm.Differing
					if !errors.As(err, &d) || d.Wrong != liar.name || !strings.Contains(err.Error(), "worker "+liar.name+" is wrong") || d.Dropped == 0 {
						t.Fatal(err)
					}
					// What it has found is computed again.
					if err := compute(context.Background(), c, us, want); err != nil {
						t.Error(err)
					}
				}
				<-liar.ended
				if f := farm.Failures(); len(f) == 0 || f[len(f)-1].Worker != liar.name {
					t.Errorf("the failures do not name %s: %v", liar.name, f)
				}
			})
		})
	}
}

// Two workers whose results are wrong, each in its own way, are both named; of three,
// without a fourth, none is chosen.
func TestVerifyTwoWrong(t *testing.T) {
	for _, right := range []int{1, 2} {
		bubble(t, func(t *testing.T, n *network) {
			for i := range 2 + right {
				n.worker(1).lies = i < 2
			}
			c := n.caller("caller", farm.Policy{Verify: 1})
			time.Sleep(time.Second)
			us, want := units(t, c, 0, 20, constant(1))
			err := compute(context.Background(), c, us, want)
			var d *farm.Differing
			if right == 2 && err != nil || right == 1 && (!errors.As(err, &d) || d.Wrong != "" || len(d.Workers) != 3) {
				t.Errorf("%d workers are right: %v", right, err)
			}
		})
	}
}

// Of two workers whose results differ, without a third, none is chosen.
func TestVerifyTwo(t *testing.T) {
	bubble(t, func(t *testing.T, n *network) {
		n.worker(1)
		w := n.worker(1)
		w.lies = true
		c := n.caller("caller", farm.Policy{Verify: 1})
		time.Sleep(time.Second)
		us, want := units(t, c, 0, 4, constant(1))
		err := compute(context.Background(), c, us, want)
		var d *farm.Differing
		if !errors.As(err, &d) || d.Wrong != "" || !strings.Contains(err.Error(), "have found different results") || !strings.Contains(err.Error(), "w1") || !strings.Contains(err.Error(), "w2") {
			t.Error(err)
		}
	})
}

// A caller of a higher priority gets the workers within a unit's time, and those
// of a lower one go on when it needs them no more.
func TestPriority(t *testing.T) {
	bubble(t, func(t *testing.T, n *network) {
		for range 4 {
			n.worker(1)
		}
		low, high := n.caller("low", farm.Policy{}), n.caller("high", farm.Policy{Priority: 1})
		time.Sleep(time.Second)
		begun := time.Now()
		var all sync.WaitGroup
		all.Go(func() {
			us, want := units(t, low, 0, 100, constant(60))
			if err := compute(context.Background(), low, us, want); err != nil {
				t.Error(err)
			}
			if took := time.Since(begun); took > 35*time.Minute { // 30 units' times of four
				t.Errorf("low was done after %v", took)
			}
		})
		time.Sleep(2*time.Minute + 30*time.Second)
		us, want := units(t, high, 0, 16, constant(60))
		mine := time.Now()
		if err := compute(context.Background(), high, us, want); err != nil {
			t.Error(err)
		}
		if took := time.Since(mine); took > 6*time.Minute {
			t.Errorf("high waited %v for four rounds of a minute", took)
		}
		all.Wait()
	})
}

// A call is ended from elsewhere, and results that have no room are removed.
func TestShared(t *testing.T) {
	bubble(t, func(t *testing.T, n *network) {
		n.worker(1)
		c := n.caller("caller", farm.Policy{Disk: 200})
		us, want := units(t, c, 0, 30, constant(1))
		if err := compute(context.Background(), c, us, want); err != nil {
			t.Fatal(err)
		}
		n.mu.Lock()
		k := len(n.results)
		n.mu.Unlock()
		if k < 5 || k > 10 || c.Caller().Disk > 200 { // of 18 bytes, beside a blob of 16
			t.Errorf("%d results of %d bytes are kept in 200 bytes", k, c.Caller().Disk)
		}
		if _, err := c.Put(context.Background(), make([]byte, 201)); err == nil || !strings.Contains(err.Error(), "has no room in the 200 bytes") {
			t.Error(err)
		}
		us, want = units(t, c, 100, 1, constant(1e6))
		time.AfterFunc(time.Minute, func() { c.Cancel("ada, on host7") })
		if err := compute(context.Background(), c, us, want); err == nil || !strings.Contains(err.Error(), "ended from elsewhere: ada, on host7") {
			t.Error(err)
		}
		us, want = units(t, c, 200, 3, constant(1))
		if err := compute(context.Background(), c, us, want); err != nil {
			t.Error("the worker is not free again:", err)
		}
	})
}

// A unit that two calls of a process wait for is computed for the other when one ends.
func TestSharedUnit(t *testing.T) {
	bubble(t, func(t *testing.T, n *network) {
		n.worker(1)
		c := n.caller("caller", farm.Policy{})
		us, want := units(t, c, 0, 1, constant(60))
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		short, end := context.WithTimeout(ctx, 10*time.Second)
		defer end()
		var other error
		var both sync.WaitGroup
		both.Go(func() { other = compute(ctx, c, us, want) })
		if err := compute(short, c, us, want); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if both.Wait(); other != nil {
			t.Errorf("the call that goes on: %v", other)
		}
	})
}

// BenchmarkScale has 10,000 slots compute units of two seconds, on false time: the
// processor time is that of the caller and of the network and the workers that
// stand for the rest, busy the share of the slots' false time in units.
func BenchmarkScale(b *testing.B) {
	for _, c := range []struct{ workers, cores int }{{20, 50}, {200, 50}, {10_000, 1}} {
		b.Run(fmt.Sprintf("%dx%d", c.workers, c.cores), func(b *testing.B) {
			const each = 5
			slots, runs := c.workers*c.cores, 0
			seconds := func(i int) float64 { return 1 + float64(i*7919%2000)/1000 }
			busy := 0.0
			for b.Loop() {
				runs++
				synctest.Test(new(testing.T), func(t *testing.T) {
					ctx, cancel := context.WithCancel(context.Background())
					n := newNetwork(ctx, 1)
					for range c.workers {
						n.worker(c.cores)
					}
					p := n.caller("caller", farm.Policy{})
					time.Sleep(10 * time.Second)
					us, _ := units(b, p, 0, each*slots, seconds)
					begun := time.Now()
					busy = 0
					// Mid-run: from 2 s to 6 s after the beginning.
					err := p.Do(ctx, us, func(i int, _ []byte) error {
						end := time.Since(begun).Seconds()
						busy += max(0, min(end, 6)-max(end-seconds(i), 2))
						return nil
					})
					if err != nil {
						b.Error(err)
					}
					cancel()
					time.Sleep(time.Hour)
				})
			}
			b.ReportMetric(busy/float64(4*slots), "busy")
			b.ReportMetric(b.Elapsed().Seconds()*1e6/float64(each*slots*runs), "us/unit")
		})
	}
}
