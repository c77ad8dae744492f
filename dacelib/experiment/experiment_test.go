package experiment_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/run"
)

var scale = experiment.Scale{
	Training: 2, Test: 3, Sample: 2000,
	Run: portfolio.Settings{Evaluations: 300, Repeats: 5},
	Construct: construct.Settings{
		Members: 2, Rounds: 1, Configurations: 4, Minings: 2, Trials: 4, Evaluations: 50,
		NIR:  nir.Settings{Samples: 200, Batch: 8, Steps: 5, NormaliseSample: 200},
		PGPE: pgpe.Settings{Pairs: 2, MaxIterations: 1},
	},
}

func set(t testing.TB) problem.Set {
	s, err := ccp.Class().NewSet(1, scale.Training, scale.Test)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func portfolios(t testing.TB) []portfolio.Portfolio {
	weak, err := portfolio.Paper("ccp", "GLOBAL")
	if err != nil {
		t.Fatal(err)
	}
	return []portfolio.Portfolio{portfolio.BRKGAPAP(), weak}
}

// An interrupted test goes on from its file to the same records.
func TestResume(t *testing.T) {
	want, err := experiment.Test(context.Background(), set(t), portfolios(t), scale, "", nil)
	if err != nil || len(want) != 12 {
		t.Fatalf("%d records, %v", len(want), err)
	}
	file := filepath.Join(t.TempDir(), "records.jsonl")
	ctx, cancel := context.WithCancel(context.Background())
	part, err := experiment.Test(ctx, set(t), portfolios(t), scale, file, func(e run.Event) {
		if e.Step == 5 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) || len(part) != 5 {
		t.Fatalf("%d records, %v", len(part), err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `{"class":"c`) // the process died here
	f.Close()
	events := 0
	got, err := experiment.Test(context.Background(), set(t), portfolios(t), scale, file, func(run.Event) { events++ })
	if err != nil || !reflect.DeepEqual(got, want) || events != 7 {
		t.Errorf("%d events, %v:\n%v\nwant\n%v", events, err, got, want)
	}
	read, err := experiment.Read(file)
	if err != nil || !reflect.DeepEqual(read, want) {
		t.Errorf("read: %v, %v", read, err)
	}
}

func TestTabulate(t *testing.T) {
	records, err := experiment.Test(context.Background(), set(t), portfolios(t), scale, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := experiment.Tabulate(records, "BRKGA-PAP")
	if err != nil {
		t.Fatal(err)
	}
	if len(table.Rows) != 2 || table.Rows[0].Dim != 30 || table.Rows[1].Dim != 40 || len(table.Methods) != 2 {
		t.Fatalf("%+v", table)
	}
	for _, r := range table.Rows {
		if !r.Cells[0].Best || r.Cells[0].P != 1 || r.Cells[0].WDL.Draw != 3 || r.Cells[1].WDL.Win != 3 {
			t.Errorf("d = %d: %+v", r.Dim, r.Cells)
		}
	}
	sum := 0.0
	for _, m := range experiment.Means(records, "BRKGA-PAP", 30) {
		sum += m
	}
	if n := len(experiment.Means(records, "BRKGA-PAP", 0)); n != 6 {
		t.Errorf("%d means of all dimensions", n)
	}
	if math.Abs(sum/3-table.Rows[0].Cells[0].Mean) > 1e-12 {
		t.Errorf("mean %v, want %v", table.Rows[0].Cells[0].Mean, sum/3)
	}
	if s := table.String(); !strings.Contains(s, "3-0-0") || !strings.Contains(table.Markdown(), "|---|") {
		t.Errorf("\n%s", s)
	}
	t.Logf("\n%v", table)

	if _, err := experiment.Tabulate(records[1:], "BRKGA-PAP"); err == nil {
		t.Error("a missing record: no error")
	}
	if _, err := experiment.Tabulate(append(records, records[0]), "BRKGA-PAP"); err == nil {
		t.Error("a record twice: no error")
	}
	if _, err := experiment.Tabulate(records, "DACE"); err == nil {
		t.Error("an unknown method: no error")
	}
}

func TestBuild(t *testing.T) {
	for _, m := range experiment.Methods() {
		r, err := experiment.Build(context.Background(), m, ccp.Class(), set(t), scale.Construct)
		if err != nil || r.Portfolio.Name != m || r.Portfolio.Check() != nil {
			t.Errorf("%s: %v, %v", m, r.Portfolio, err)
		}
	}
	if _, err := experiment.Build(context.Background(), "SGD", ccp.Class(), set(t), scale.Construct); err == nil {
		t.Error("an unknown method: no error")
	}
}

func FuzzReadFrom(f *testing.F) {
	f.Add("{\"class\":\"ccp\",\"values\":[1]}\n")
	f.Add("{}\nx")
	f.Add("")
	f.Fuzz(func(t *testing.T, s string) {
		records, err := experiment.ReadFrom(strings.NewReader(s))
		if err == nil && len(records) > strings.Count(s, "\n") {
			t.Errorf("%d records of %q", len(records), s)
		}
	})
}

// Two portfolios of the paper on a few unseen instances.
func Example() {
	ctx := context.Background()
	set, err := ccp.Class().NewSet(1, 0, 3)
	if err != nil {
		fmt.Println(err)
		return
	}
	dace, err := portfolio.Paper("ccp", "DACE")
	if err != nil {
		fmt.Println(err)
		return
	}
	scale := experiment.Scale{Sample: 20_000, Run: portfolio.Settings{Repeats: 5}}
	records, err := experiment.Test(ctx, set, []portfolio.Portfolio{dace, portfolio.BRKGAPAP()}, scale, "", nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := experiment.Tabulate(records, dace.Name)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, row := range table.Rows {
		fmt.Println(row.Dim, row.Cells[0].Mean > row.Cells[1].Mean)
	}
	// Output:
	// 30 true
	// 40 true
}
