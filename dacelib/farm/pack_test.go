package farm

import (
	"slices"
	"testing"
	"time"
)

// The traits that problems need are sorted, each once: the order of the problems does not
// make other units of them.
func TestNeeds(t *testing.T) {
	pk := &Packer{needs: []string{"b", "a", "b"}}
	if got := pk.Needs(); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("needs %q", got)
	}
}

// A worker process that has ended is forgotten when the next is started, so that nobody
// signals a process that has its number later.
func TestEndedWorkers(t *testing.T) {
	f := &Farm{s: Settings{Command: []string{"true"}}}
	ended := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.local[len(f.local)-1].ended
	}
	for range 3 {
		if _, err := f.process(1, 0, 0); err != nil {
			t.Fatal(err)
		}
		for end := time.Now().Add(5 * time.Minute); !ended(); time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatal("the process has ended, and its worker has not")
			}
		}
	}
	if n := len(f.local); n != 1 {
		t.Errorf("%d workers are known, want the last", n)
	}
}
