package smac

import (
	"syscall"
	"testing"
	"time"
)

// 1,600 trials cost at most 2 seconds of the optimiser's own time on one core:
// measured as this process's processor time, with the function's own, which is
// next to none.
func TestOwnTime(t *testing.T) {
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	start := used()
	benchmarkRun(t)
	spent := used() - start
	t.Logf("1,600 trials took %v", spent)
	if spent > 2*time.Second {
		t.Errorf("1,600 trials took %v of processor time; 2 s are allowed", spent)
	}
}
