package construct

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
)

// Packed trials are restored exactly; without whole, only the configurations
// that ran on the most instances are.
func TestPackTrials(t *testing.T) {
	rng := run.Rand(1, "trials")
	var trials []smac.Trial
	for i := range 500 {
		config := Space(2).Random(rng)
		for instance := range 1 + i%5 {
			trials = append(trials, smac.Trial{Config: config, Instance: instance, Cost: -1.05 + rng.Float64(), Origin: origins()[i%3]})
		}
	}
	for _, whole := range []bool{true, false} {
		b, err := packTrials(trials, whole)
		if err != nil {
			t.Fatal(err)
		}
		got, err := unpackTrials(b)
		if err != nil {
			t.Fatal(err)
		}
		want := trials
		if !whole {
			want = nil
			for i, tr := range trials {
				n := 0
				for _, other := range trials {
					if &other.Config[0] == &tr.Config[0] {
						n++
					}
				}
				if n < 5 {
					tr.Config = nil
				}
				want = append(want, tr)
				_ = i
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("whole %t: the trials differ", whole)
		}
		t.Logf("whole %t: %.1f bytes a trial", whole, float64(len(b))/float64(len(trials)))
	}
}

// Arbitrary bytes decode to trials or return an error.
func FuzzUnpackTrials(f *testing.F) {
	b, err := packTrials([]smac.Trial{{Config: []float64{1, 2}, Cost: 3, Origin: smac.FromModel}}, true)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add(b[:len(b)-3])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		trials, err := unpackTrials(b)
		if err == nil {
			if _, err := packTrials(trials, true); err != nil {
				t.Error(err)
			}
		}
	})
}

// Arbitrary text decodes to entries or returns an error that names the line;
// the end that is returned is that of a complete line.
func FuzzReadEntries(f *testing.F) {
	f.Add([]byte("{\"stage\":\"setup\"}\n{\"round\":1"))
	f.Add([]byte("{}\nx\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, end, err := readEntries(bytes.NewReader(b))
		if end < 0 || end > int64(len(b)) || end > 0 && b[end-1] != '\n' || err == nil && len(entries) != bytes.Count(b, []byte("\n")) {
			t.Errorf("%d entries, end %d of %d, %v", len(entries), end, len(b), err)
		}
	})
}

func TestGenome(t *testing.T) {
	for _, n := range []int{0, 3, longGenome, longGenome + 1} {
		g := make(Genome, n)
		for i := range g {
			g[i] = math.Sqrt(float64(i)) - 3
		}
		b, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		var back Genome
		if err := json.Unmarshal(b, &back); err != nil || !reflect.DeepEqual(back, g) {
			t.Errorf("%d numbers: %v", n, err)
		}
	}
	var g Genome
	for _, bad := range []string{`"AAAA"`, `"?"`, `{}`, `["x"]`} {
		if err := json.Unmarshal([]byte(bad), &g); err == nil {
			t.Errorf("%s: no error", bad)
		}
	}
}

// LeftOut names the runs whose trials have no room in the record, and those that
// are there without their configurations.
func TestLeftOut(t *testing.T) {
	dir := t.TempDir()
	config := []float64{20, 70, 10, 0.7, 0}
	other := []float64{21, 70, 10, 0.7, 0}
	packed, err := packTrials([]smac.Trial{
		{Config: config, Origin: smac.FromModel}, {Config: config, Instance: 1, Origin: smac.FromModel}, {Config: other, Origin: smac.FromModel},
	}, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, trialsName), packed, 0o644); err != nil {
		t.Fatal(err)
	}
	r := Record{dir: dir, entries: []entry{
		{step: step{Stage: setupStage}},
		{step: step{Stage: allMembersStage, Index: 3}, Trials: &span{0, int64(len(packed))}},
		{step: step{Round: 2, Stage: miningStage, Index: 7}},
		{step: step{Stage: memberStage(1), Index: 4}},
		{step: step{Round: 2, Stage: mutationStage, Index: 1}},
	}}
	got, err := r.LeftOut()
	want := []LeftOutRow{{"round 2: mining", 7, 0, 0}, {memberStage(1), 4, 0, 0}, {allMembersStage, 3, 3, 1}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
}
