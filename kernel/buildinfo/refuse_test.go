package buildinfo

import (
	"errors"
	"runtime"
	"testing"
)

// TestRefusal: it is one line, and says what to do.
func TestRefusal(t *testing.T) {
	got := Refusal(errors.Join(errors.New("\tthere is no Method"), errors.New("\tthere is no Imethod")))
	want := "dace does not work with " + runtime.Version() + " (there is no Method; there is no Imethod): build it with GOTOOLCHAIN=" + KnownGo + " in the environment."
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
