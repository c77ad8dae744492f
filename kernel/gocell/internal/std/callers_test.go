package std

import "testing"

// A Frames that is collected late does not delete the entry of a later one at the same
// address.
func TestFramesAtOneAddress(t *testing.T) {
	const at = 8 // where no Frames is
	before, after := &framesLeft{at: at}, &framesLeft{at: at}
	frames.Store(before.at, before)
	frames.Store(after.at, after)
	before.forget()
	if x, _ := frames.Load(uintptr(at)); x != after {
		t.Errorf("the entry of the later Frames is %v", x)
	}
	after.forget()
	if x, ok := frames.Load(uintptr(at)); ok {
		t.Errorf("there is still an entry: %v", x)
	}
}
