package construct_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// TestOldBits replays a part of a record that was made when BRKGA was the only
// solver: the first configurations on all training instances give the recorded
// values, bit for bit.
func TestOldBits(t *testing.T) {
	const dir = "../../notebooks/results/ccp-ceps-paper"
	r, err := construct.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(dir + "/" + construct.JournalName)
	if err != nil {
		t.Fatal(err)
	}
	var instances []construct.Instance
	for line := range strings.Lines(string(b)) {
		var e struct {
			Stage string          `json:"stage"`
			Value json.RawMessage `json:"value"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Stage == "instances" {
			if err := json.Unmarshal(e.Value, &instances); err != nil {
				t.Fatal(err)
			}
		}
	}
	set, err := ccp.Class().NewSet(r.Setup.Settings.Seed, len(instances), 0)
	if err != nil {
		t.Fatal(err)
	}
	m := r.Rounds[0].Matrix
	seed := run.Seed(r.Setup.Settings.Seed, "construct: round", 0)
	var jobs []solver.Job
	const rows = 6
	for _, c := range m.Configs[:rows] {
		for i, p := range set.Training {
			if digest, err := construct.Digest(t.Context(), p); err != nil || digest != r.Setup.Training[i].Digest {
				t.Fatalf("instance %d is another one than that of the record: %v", i, err)
			}
			jobs = append(jobs, solver.Job{Problem: portfolio.Within(p, instances[i].Range), Config: c, Seed: seed})
		}
	}
	found, err := solver.RunAll(t.Context(), jobs, 0)
	if err != nil {
		t.Fatal(err)
	}
	for k, f := range found {
		if want := m.Values[k/len(instances)][k%len(instances)]; f.Value != want {
			t.Errorf("configuration %v on instance %d: %v, recorded %v", jobs[k].Config, k%len(instances), f.Value, want)
		}
	}
}
