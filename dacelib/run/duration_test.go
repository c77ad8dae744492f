package run_test

import (
	"testing"
	"time"

	"dace.local/dacelib/run"
)

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 s", 31 * time.Millisecond: "0.03 s", 997 * time.Millisecond: "1.0 s", 3210 * time.Millisecond: "3.2 s", 3 * time.Second: "3 s",
		9960 * time.Millisecond: "10 s", 59 * time.Second: "59 s", 59600 * time.Millisecond: "1 min 0 s", 310 * time.Second: "5 min 10 s",
		time.Hour - 300*time.Millisecond: "1 h 0 min", 125 * time.Minute: "2 h 5 min", 50 * time.Hour: "50 h 0 min",
	} {
		if got := run.Duration(d); got != want {
			t.Errorf("%v: %s, want %s", d, got, want)
		}
	}
	for s, want := range map[float64]string{0: "0 s", 2.6: "3 s", 59.7: "1 min 0 s", 1e12: "277777 h 47 min"} {
		if got := run.Seconds(s); got != want {
			t.Errorf("%v: %s, want %s", s, got, want)
		}
	}
}
