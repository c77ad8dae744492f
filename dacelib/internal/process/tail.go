package process

import (
	"strings"
	"sync"
)

// A Tail keeps the last lines that are written to it.
type Tail struct {
	mu sync.Mutex // guards b
	b  []byte
}

// The most lines and bytes that a Tail keeps.
const (
	tailLines = 8
	tailBytes = 2048
)

// Write implements io.Writer.
func (t *Tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.b = append(t.b, b...)
	if n := len(t.b) - tailBytes; n > 0 {
		t.b = append(t.b[:0], t.b[n:]...)
	}
	return len(b), nil
}

// String returns the last lines, each indented.
func (t *Tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := strings.TrimRight(strings.ToValidUTF8(string(t.b), "?"), "\r\n ")
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-tailLines):]
	return "\t" + strings.Join(lines, "\n\t")
}
