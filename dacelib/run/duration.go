package run

import (
	"fmt"
	"math"
	"time"
)

// Duration formats a duration for people, in two units at most: 0.25 s, 3.2 s, 48 s,
// 5 min 10 s, 2 h 5 min. Whole seconds have no decimals.
func Duration(d time.Duration) string {
	switch s := d.Seconds(); {
	case d%time.Second == 0 && d < time.Minute:
		return fmt.Sprintf("%.0f s", s)
	case s < 0.995:
		return fmt.Sprintf("%.2f s", s)
	case s < 9.95:
		return fmt.Sprintf("%.1f s", s)
	case s < 59.5:
		return fmt.Sprintf("%.0f s", s)
	case s < 3599.5:
		n := int(math.Round(s))
		return fmt.Sprintf("%d min %d s", n/60, n%60)
	default:
		n := int(math.Round(s / 60))
		return fmt.Sprintf("%d h %d min", n/60, n%60)
	}
}

// Seconds formats a number of whole seconds as [Duration] does.
func Seconds(s float64) string {
	return Duration(time.Duration(min(s, 1e9) * float64(time.Second)).Round(time.Second))
}
