package experiment_test

import (
	"context"
	"path/filepath"
	"reflect"
	"strings"
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
	settings := experiment.Settings{Sample: 50, Evaluations: 20, Repeats: 2, Baselines: experiment.NoBaselines, File: file}
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
	third := portfolio.Portfolio{Name: "other", Members: paps[0].Members[:1]}
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

// Records say whether the members of a portfolio shared a seed: tests of both
// kinds stand side by side in a file, whose folder is made, and not in one table.
func TestStoredSeeds(t *testing.T) {
	set, err := onemax.Class(20).NewSet(1, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "made", "tests.jsonl")
	paps := []portfolio.Portfolio{portfolio.BRKGAPAP()}
	s := experiment.Settings{Sample: 50, Evaluations: 20, Repeats: 2, Baselines: experiment.NoBaselines, File: file, Ranges: filepath.Join(t.TempDir(), "made", "ranges.jsonl")}
	var all []experiment.Record
	for _, c := range []struct {
		reading run.Reading
		seeds   portfolio.MemberSeeds
		own     bool
	}{
		{run.Published, portfolio.SeedsByReading, false},
		{run.Written, portfolio.SharedSeed, false},
		{run.Written, portfolio.SeedsByReading, true},
	} {
		s.Reading, s.Seeds = c.reading, c.seeds
		records, err := experiment.Test(context.Background(), set, experiment.Entries(paps), s)
		if err != nil {
			t.Fatal(err)
		}
		if records[0].OwnSeeds != c.own {
			t.Errorf("%v, %v: %+v", c.reading, c.seeds, records[0])
		}
		stored, err := experiment.Stored(file, c.reading, paps)
		if err != nil || !reflect.DeepEqual(stored, records) {
			t.Errorf("%v, %v: stored are %+v, %v", c.reading, c.seeds, stored, err)
		}
		if c.reading == run.Written {
			all = append(all, records...)
		}
	}
	all[1].Method = "other"
	if _, err := experiment.Tabulate(all, ""); err == nil || !strings.Contains(err.Error(), "shared a seed") {
		t.Errorf("a table of both: %v", err)
	}
}
