package run_test

import (
	"encoding/json"
	"testing"

	"dace.local/dacelib/run"
)

func TestReading(t *testing.T) {
	for _, r := range []run.Reading{run.Written, run.Published} {
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		var back run.Reading
		if err := json.Unmarshal(text, &back); err != nil || back != r {
			t.Errorf("%v read back from %s: %v, %v", r, text, back, err)
		}
	}
	if _, err := json.Marshal(run.Reading(7)); err == nil {
		t.Error("a reading that does not exist was encoded")
	}
	if _, err := run.ParseReading("Published"); err == nil {
		t.Error("ParseReading took a name that is not one")
	}
}
