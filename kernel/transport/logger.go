package transport

import (
	"log/slog"
	"sync"
	"time"
)

// A limiter logs a few lines in a while, whatever happens.
type limiter struct {
	log *slog.Logger

	mu      sync.Mutex
	since   time.Time
	lines   int
	skipped int
}

// At most logLines lines in logWindow.
const (
	logLines  = 10
	logWindow = 10 * time.Second
)

// newLimiter returns a limiter on log, which may be nil.
func newLimiter(log *slog.Logger) *limiter {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &limiter{log: log}
}

// warn logs a line, or counts it.
func (l *limiter) warn(text string, args ...any) {
	l.mu.Lock()
	now, skipped := time.Now(), 0
	if now.Sub(l.since) > logWindow {
		skipped = l.skipped
		l.since, l.lines, l.skipped = now, 0, 0
	}
	logged := l.lines < logLines
	if logged {
		l.lines++
	} else {
		l.skipped++
	}
	l.mu.Unlock()
	if skipped > 0 {
		l.log.Warn("more connections and messages were refused", "lines left out", skipped)
	}
	if logged {
		l.log.Warn(text, args...)
	}
}
