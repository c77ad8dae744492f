package experiment_test

import (
	"context"
	"path/filepath"
	"reflect"
	"testing"

	"dace.local/dacelib/experiment"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/run"
)

// Stored returns what Test returned, of the portfolios and the reading asked
// for, and nothing where a portfolio was not tested.
func TestStored(t *testing.T) {
	file := filepath.Join(t.TempDir(), "onemax.jsonl")
	set, err := onemax.Class(20).NewSet(1, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	paps := []portfolio.Portfolio{portfolio.BRKGAPAP(), portfolio.BRKGAPAP()}
	paps[1].Name = "other"
	settings := experiment.Settings{Sample: 50, Evaluations: 20, Repeats: 2, File: file}
	want := map[run.Reading][]experiment.Record{}
	for _, r := range []run.Reading{run.Written, run.Published} {
		settings.Reading = r
		if want[r], err = experiment.Test(context.Background(), set, experiment.Entries(paps), settings); err != nil {
			t.Fatal(err)
		}
	}
	for r, records := range want {
		got, err := experiment.Stored(file, r, paps)
		if err != nil || !reflect.DeepEqual(got, records) {
			t.Errorf("%v: %d records, %v, want %d", r, len(got), err, len(records))
		}
	}
	if got, err := experiment.Stored(file, run.Written, paps[1:]); err != nil || len(got) != 3 || got[0].Method != "other" {
		t.Errorf("one portfolio: %v, %v", got, err)
	}
	third := portfolio.Portfolio{Name: "other", Configs: paps[0].Configs[:1]}
	if got, err := experiment.Stored(file, run.Written, []portfolio.Portfolio{third}); err != nil || got != nil {
		t.Errorf("other members: %v, %v", got, err)
	}
	if got, err := experiment.Stored(file+"x", run.Written, paps); err != nil || got != nil {
		t.Errorf("no file: %v, %v", got, err)
	}
	settings.Reading, settings.Repeats = run.Written, 3
	if _, err := experiment.Test(context.Background(), set, experiment.Entries(paps), settings); err != nil {
		t.Fatal(err)
	}
	if _, err := experiment.Stored(file, run.Written, paps); err == nil {
		t.Error("two tests of a portfolio on an instance")
	}
}
