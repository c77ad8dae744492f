package limits

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"testing"
	"time"
)

func TestPercentFor(t *testing.T) {
	for live, want := range map[uint64]int{0: 400, 1 << 20: 400, 8 << 20: 400, 10 << 20: 300, 15 << 20: 150, 20 << 20: 100, 1 << 40: 100} {
		if got := percentFor(live); got != want {
			t.Errorf("%d bytes: %d, want %d", live, got, want)
		}
	}
}

// TestPace checks that the percentage follows the heap, until it is set by
// others.
func TestPace(t *testing.T) {
	t.Setenv("GOGC", "")
	defer debug.SetGCPercent(debug.SetGCPercent(usualPercent))
	current := func() int {
		s := []metrics.Sample{{Name: "/gc/gogc:percent"}}
		metrics.Read(s)
		return int(s[0].Value.Uint64())
	}
	until := func(want int) {
		t.Helper()
		for start := time.Now(); current() != want; time.Sleep(time.Millisecond) {
			if time.Since(start) > 5*time.Minute {
				t.Fatalf("%d, want %d", current(), want)
			}
			runtime.GC()
		}
	}
	Pace()
	until(mostPercent)
	held := make([]byte, heapGoal)
	until(usualPercent)
	runtime.KeepAlive(held)
	held = nil
	until(mostPercent)
	debug.SetGCPercent(70)
	held = make([]byte, heapGoal)
	for range 5 {
		runtime.GC()
		time.Sleep(time.Millisecond)
	}
	until(70)
	runtime.KeepAlive(held)
}
