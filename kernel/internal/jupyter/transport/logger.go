package transport

import (
	"log/slog"
	"sync"
	"time"
)

// A limiter limits the rate of log lines: it writes at most logLines lines per
// logWindow and counts the rest.
type limiter struct {
	log *slog.Logger

	mu      sync.Mutex // guards since, lines and skipped
	since   time.Time
	lines   int
	skipped int
}

// The limiter writes at most logLines lines per logWindow.
const (
	logLines  = 10
	logWindow = 10 * time.Second
)

// newLimiter returns a limiter that writes to log; nil discards the lines.
func newLimiter(log *slog.Logger) *limiter {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &limiter{log: log}
}

// warn logs a line, or counts it as skipped if the limit is reached.
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
