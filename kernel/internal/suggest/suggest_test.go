package suggest_test

import (
	"slices"
	"testing"

	"dace.local/kernel/internal/suggest"
)

func TestNearest(t *testing.T) {
	names := []string{"Println", "Printf", "Print", "Sprint", "evaluations", "result", "fmt", "Seed", "seed", "x"}
	for _, c := range []struct{ name, want string }{
		{"Prinln", "Println"},
		{"println", "Println"}, // differs in letter case only
		{"reuslt", "result"},   // two letters are swapped
		{"evaluation", "evaluations"},
		{"fmtt", "fmt"},
		{"Sede", "Seed"},      // sorts before seed
		{"result", ""},        // a name is no suggestion for itself
		{"y", ""}, {"ab", ""}, // too short
		{"nothing", ""}, {"", ""},
	} {
		if got := suggest.Nearest(c.name, slices.Values(names)); got != c.want {
			t.Errorf("for %q: %q, want %q", c.name, got, c.want)
		}
	}
	slices.Reverse(names)
	if got := suggest.Nearest("Sede", slices.Values(names)); got != "Seed" {
		t.Errorf("in another order: %q", got)
	}
}
