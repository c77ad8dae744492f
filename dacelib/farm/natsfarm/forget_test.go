package natsfarm

import (
	"testing"

	"dace.local/dacelib/farm"
)

// A worker holds a message until it has the result of its last unit; what computes the
// message ends then.
func TestForget(t *testing.T) {
	one, err := farm.NewUnit("one", 1, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	two, err := farm.NewUnit("two", 2, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	m, ended := farm.Message{ID: "ada-1", Units: []farm.Unit{one, two}}, 0
	s := &source{running: map[string]task{m.ID: {cancel: func() { ended++ }}, "ada-2": {cancel: func() { t.Error("another message ends") }}}}
	for i, u := range m.Units {
		s.computed(m, farm.Result{Key: u.Key(), Seconds: 1})
		if _, holds := s.running[m.ID]; holds != (i == 0) || ended != i {
			t.Errorf("after %d of 2 units the worker holds the message: %v; it was ended %d times", i+1, holds, ended)
		}
	}
	if len(s.running) != 1 {
		t.Errorf("holds %d messages, want the other", len(s.running))
	}
}
