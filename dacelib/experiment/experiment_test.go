package experiment_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/caop"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/run"
)

var quick = experiment.Settings{Sample: 2000, Evaluations: 300, Repeats: 8, Baselines: experiment.NoBaselines}

func set(t testing.TB) problem.Set {
	s, err := ccp.Class().NewSet(1, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func entries(t testing.TB) []experiment.Entry {
	weak, err := portfolio.Paper("ccp", "GLOBAL")
	if err != nil {
		t.Fatal(err)
	}
	return experiment.Entries([]portfolio.Portfolio{portfolio.BRKGAPAP(), weak})
}

// An interrupted test continues from its file to the same records.
func TestResume(t *testing.T) {
	want, err := experiment.Test(context.Background(), set(t), entries(t), quick)
	if err != nil || len(want) != 12 {
		t.Fatalf("%d records, %v", len(want), err)
	}
	file := filepath.Join(t.TempDir(), "records.jsonl")
	s := quick
	s.File, s.Ranges = file, filepath.Join(t.TempDir(), "ranges.jsonl")
	ctx, cancel := context.WithCancel(context.Background())
	s.OnEvent = func(e run.Event) {
		if e.Step == 5 {
			cancel()
		}
	}
	part, err := experiment.Test(ctx, set(t), entries(t), s)
	if !errors.Is(err, context.Canceled) || len(part) != 5 {
		t.Fatalf("%d records, %v", len(part), err)
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(f, `{"class":"c`) // as if the process had died here
	f.Close()
	events := 0
	s.OnEvent = func(run.Event) { events++ }
	got, err := experiment.Test(context.Background(), set(t), entries(t), s)
	if err != nil || !reflect.DeepEqual(got, want) || events != 7 {
		t.Errorf("%d events, %v:\n%v\nwant\n%v", events, err, got, want)
	}
	read, err := experiment.Read(file)
	if err != nil || !reflect.DeepEqual(read, want) {
		t.Errorf("read: %v, %v", read, err)
	}
}

// A file that ends with something else than a part of a record keeps it.
func TestOtherFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes.txt")
	set := problem.Set{Class: "ones", Test: []problem.Problem{problem.FromFunc("ones", 8, func(x []bool) float64 { return 1 })}}
	for text, wrong := range map[string]bool{"my notes": true, "{}": true, `{"class":"ones","se`: false, `{"cl`: false, "": false} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := experiment.Test(t.Context(), set, experiment.Entries([]portfolio.Portfolio{portfolio.BRKGAPAP()}), experiment.Settings{
			Sample: 10, Evaluations: 10, Repeats: 1, File: file, Baselines: experiment.NoBaselines,
		})
		after, _ := os.ReadFile(file)
		if (err != nil) != wrong || wrong && (string(after) != text || !strings.Contains(err.Error(), "notes.txt ends with no record")) {
			t.Errorf("%q: %v; the file is %q", text, err, after)
		}
	}
}

func TestTabulate(t *testing.T) {
	records, err := experiment.Test(context.Background(), set(t), entries(t), quick)
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
	if s := table.String(); !strings.Contains(s, "3-0-0") || !strings.Contains(table.LaTeX(), "& 3-0-0") {
		t.Errorf("\n%s\n%s", s, table.LaTeX())
	}
	if s := table.Markdown(); !strings.Contains(s, "|---|") || !strings.Contains(s, "| 3\u20110\u20110 |") {
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

// Ranges in a file are used by other tests, and a truncated file loses only the
// range that was cut off.
func TestRanges(t *testing.T) {
	s := quick
	s.Ranges = filepath.Join(t.TempDir(), "ranges.jsonl")
	want, err := experiment.Test(context.Background(), set(t), entries(t), s)
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(s.Ranges)
	if err != nil || strings.Count(string(b), "\n") != 6 {
		t.Fatalf("%v:\n%s", err, b)
	}
	// Change the first instance's range in the file to show that it is read.
	lines := strings.SplitAfter(string(b), "\n")
	lines[0] = strings.Replace(lines[0], `"min":-`, `"min":-9`, 1)
	if err := os.WriteFile(s.Ranges, []byte(strings.Join(lines[:5], "")+lines[5][:20]), 0o644); err != nil {
		t.Fatal(err)
	}
	got, err := experiment.Test(context.Background(), set(t), entries(t), s)
	if err != nil || got[0].Range.Min >= want[0].Range.Min || !reflect.DeepEqual(got[2:], want[2:]) {
		t.Errorf("%v: range %v, was %v", err, got[0].Range, want[0].Range)
	}
	s.Ranges = t.TempDir()
	if _, err := experiment.Test(context.Background(), set(t), entries(t), s); err == nil {
		t.Error("a folder for a file: no error")
	}
}

// Portfolios that share a name are distinguished by their constructions, and
// methods are compared over these.
func TestConstructions(t *testing.T) {
	ctx := context.Background()
	weak, err := portfolio.Paper("ccp", "GLOBAL")
	if err != nil {
		t.Fatal(err)
	}
	strong, err := portfolio.Paper("ccp", "DACE")
	if err != nil {
		t.Fatal(err)
	}
	one, two := strong, portfolio.BRKGAPAP()
	one.Name, two.Name, weak.Name = "DACE", "DACE", "GLOBAL"
	es := experiment.Entries([]portfolio.Portfolio{one, weak, two})
	records, err := experiment.Test(ctx, set(t), es, quick)
	if err != nil {
		t.Fatal(err)
	}
	table, err := experiment.Tabulate(records, "")
	if err != nil || fmt.Sprint(table.Methods) != "[DACE #1 GLOBAL DACE #2]" {
		t.Fatalf("%v, %v", table.Methods, err)
	}
	rows, err := experiment.Constructions(records, "DACE")
	if err != nil || len(rows) != 4 {
		t.Fatalf("%v, %v", rows, err)
	}
	dace, global := rows[0], rows[1]
	a, b := table.Rows[0].Cells[0].Mean, table.Rows[0].Cells[2].Mean
	if dace.Method != "DACE" || dace.Constructions != 2 || math.Abs(dace.Mean-(a+b)/2) > 1e-12 || math.Abs(dace.Std-math.Abs(a-b)/math.Sqrt2) > 1e-12 ||
		// t(0.975; 1) = 12.7062, SciPy 1.10.1
		math.Abs(dace.High-dace.Mean-12.706204736432095*dace.Std/math.Sqrt2) > 1e-9 {
		t.Errorf("%+v", dace)
	}
	if global.Pairs != 2 || global.Ahead != 2 || global.Constructions != 1 || !math.IsNaN(global.Low) {
		t.Errorf("%+v", global)
	}
	pair, err := experiment.Pair(records, "GLOBAL", "DACE #2")
	if err != nil || len(pair) != 2 || pair[0].B != b || pair[0].WDL.Loss != 3 {
		t.Errorf("%+v, %v", pair, err)
	}
	if _, err := experiment.Pair(records, "GLOBAL", "SGD"); err == nil {
		t.Error("an unknown method: no error")
	}
	es[2].Construction = 1
	if _, err := experiment.Test(ctx, set(t), es, quick); err == nil || !strings.Contains(err.Error(), "Construction") {
		t.Errorf("two alike: %v", err)
	}
	if _, err := experiment.Constructions(records, "SGD"); err == nil {
		t.Error("an unknown method: no error")
	}
}

// In the reading Published, eight of twenty repeats are duplicates, an instance
// on which a one-sided test at 0.05 finds a difference is no draw, and the
// standard deviation divides by n.
func TestPublished(t *testing.T) {
	s := experiment.Settings{Reading: run.Published, Evaluations: 100}
	published, err := experiment.Test(context.Background(), set(t), entries(t), s)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range published {
		if !slices.Equal(r.Values[12:], r.Values[:8]) || r.Sample != 100_000 || r.Reading != run.Published {
			t.Errorf("%s: sample %d, values %v", r.Instance, r.Sample, r.Values)
		}
	}
	record := func(reading run.Reading, method string, instance string, values ...float64) experiment.Record {
		sum := 0.0
		for _, v := range values {
			sum += v / float64(len(values))
		}
		return experiment.Record{Class: "c", Dim: 1, Reading: reading, Method: method, Instance: instance, Values: values, Mean: sum}
	}
	for reading, want := range map[run.Reading]struct {
		wins int
		std  float64
	}{run.Written: {0, math.Sqrt2}, run.Published: {2, 1}} {
		// z = (36 - 27.5) / sqrt(5*5*11/12) = 1.776: p = 0.0758 two-sided,
		// 0.0379 one-sided.
		table, err := experiment.Tabulate([]experiment.Record{
			record(reading, "A", "i", 2, 4, 6, 7, 8), record(reading, "B", "i", 0, 1, 3, 3.5, 5),
			record(reading, "A", "k", 4, 6, 8, 9, 10), record(reading, "B", "k", 2, 3, 5, 5.5, 7),
		}, "A")
		if err != nil {
			t.Fatal(err)
		}
		c := table.Rows[0].Cells
		if c[1].WDL.Win != want.wins || math.Abs(c[0].Std-want.std) > 1e-12 {
			t.Errorf("%v: %v, standard deviation %v", reading, c[1].WDL, c[0].Std)
		}
	}
}

var (
	paperInstances = flag.Int("instances", 5, "test instances of each dimension of TestPaperPAPs; 50 are the paper's")
	paperClass     = flag.String("class", "ccp", "class of TestPaperPAPs: ccp or cimp, whose networks must have been fetched")
)

// The paper's portfolios (Appendix C) under the authors' protocol have the
// means of the paper's table, in its order, and the same outcomes. On the
// paper's 50 + 50 instances every mean of CCP is within 0.015 and every mean of
// CIMP within 0.02; the paper's own standard error is 0.014. The command
//
//	go test ./dacelib/experiment -run TestPaperPAPs -v -args -instances 50
//
// takes a minute of processor time, with -class cimp two. Outcomes that are
// close in the paper are not tested, on CCP the one against CEPS: which
// differences are significant depends on the twelve seeds, which all instances
// share; see notebooks/results/readings.md.
func TestPaperPAPs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	class, err := experiment.Class(*paperClass, 0)
	if err != nil {
		t.Fatal(err)
	}
	set, err := class.NewSet(1, 0, *paperInstances)
	if err != nil {
		t.Fatal(err)
	}
	var portfolios []portfolio.Portfolio
	for _, name := range []string{"dace", "ceps", "brkga-pap", "parhydra", "global"} {
		p, err := experiment.Portfolio(class.Name, name)
		if err != nil {
			t.Fatal(err)
		}
		p.Name = strings.TrimSuffix(p.Name, " (paper)")
		portfolios = append(portfolios, p)
	}
	records, err := experiment.Test(context.Background(), set, experiment.Entries(portfolios), experiment.Settings{Reading: run.Published, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	table, err := experiment.Tabulate(records, "DACE")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%v\n%v", table, experiment.PaperTable(class.Name, "DACE"))
	paper := map[string]experiment.PaperMean{}
	for _, m := range experiment.PaperMeans() {
		if m.Class == class.Name {
			paper[fmt.Sprint(m.Dim, m.Method)] = m
		}
	}
	for _, row := range table.Rows {
		for k, c := range row.Cells {
			want := paper[fmt.Sprint(row.Dim, table.Methods[k])]
			// On fewer instances, three standard errors of their mean more.
			tolerance := map[string]float64{"ccp": 0.015, "cimp": 0.02}[*paperClass] + 3*want.Std*math.Sqrt(1/float64(row.Instances)-1/50.)
			if math.Abs(c.Mean-want.Mean) > tolerance {
				t.Errorf("d = %d, %s: %.4f, the paper %.4f (line %d); the tolerance is %.4f", row.Dim, table.Methods[k], c.Mean, want.Mean, want.Line, tolerance)
			}
			if k > 0 && c.Mean >= row.Cells[k-1].Mean {
				t.Errorf("d = %d: %s is not below %s", row.Dim, table.Methods[k], table.Methods[k-1])
			}
			if m := table.Methods[k]; k > 1 && (*paperClass == "ccp" || m != "BRKGA-PAP") && 2*c.WDL.Win <= row.Instances {
				t.Errorf("d = %d: DACE against %s is %v", row.Dim, m, c.WDL)
			}
		}
	}
}

// The paper's tables are consistent: 50 outcomes each, the mark at the largest
// mean, and W-D-L that agree with the order.
func TestPaper(t *testing.T) {
	for _, class := range []string{"ccp", "cimp", "caop"} {
		table := experiment.PaperTable(class, "DACE")
		if len(table.Rows) != 2 || len(table.Methods) < 5 {
			t.Fatalf("%s: %+v", class, table)
		}
		for _, r := range table.Rows {
			for k, c := range r.Cells {
				if c.WDL.Win+c.WDL.Draw+c.WDL.Loss != 50 || c.Mean > r.Cells[0].Mean || c.Best != (k == 0) {
					t.Errorf("%s, d = %d, %s: %+v", class, r.Dim, table.Methods[k], c)
				}
			}
		}
	}
	if n := len(experiment.PaperTimes()); n != 12 {
		t.Errorf("%d times", n)
	}
	targets := 0
	trained := map[string]bool{}
	for _, o := range experiment.PaperOneMaxes() {
		if o.NIRs == "trained" {
			trained[o.Target] = true
		}
		if o.NIRs == "generated" && trained[o.Target] {
			targets++
		}
		if len(o.Target) != 30 {
			t.Errorf("%s %d: target %q", o.NIRs, o.ID, o.Target)
		}
	}
	if targets != 9 { // the text below the paper's table says nine
		t.Errorf("%d generated NIRs have a training target, want 9", targets)
	}
}

func ExampleTable_LaTeX() {
	t := experiment.PaperTable("cimp", "DACE")
	t.Rows = t.Rows[1:]
	fmt.Print(t.LaTeX())
	// Output:
	// \begin{tabular}{lrrrrr}
	// \toprule
	// cimp, published & DACE & CEPS & GLOBAL & PARHYDRA & BRKGA-PAP \\
	// \midrule
	// $d = 100$ & $\mathbf{1.083} \pm 0.066$ & \underline{$1.080 \pm 0.072$} & $0.931 \pm 0.048$ & $0.936 \pm 0.047$ & $1.072 \pm 0.058$ \\
	// wins-draws-losses &  & 11-32-7 & 50-0-0 & 50-0-0 & 19-31-0 \\
	// \bottomrule
	// \end{tabular}
}

func TestClass(t *testing.T) {
	for _, c := range []struct {
		name    string
		dim, in int
	}{{"ccp", 30, 0}, {"ccp", 1, 1}, {"ccp", 31, 31}, {"onemax", 30, 0}, {"onemax", 1, 1}, {"cimp", 80, 0}} {
		class, err := experiment.Class(c.name, c.in)
		if err != nil || class.TrainDim != c.dim {
			t.Errorf("%s, %d: %d, %v", c.name, c.in, class.TrainDim, err)
			continue
		}
		if c.name == "cimp" {
			continue
		}
		p, err := class.Train(1, 0)
		if err != nil || p.Dim() != c.dim {
			t.Errorf("%s, %d: %v", c.name, c.in, err)
		}
	}
	// The class's own instances equal those for its dimension given explicitly.
	own, err := ccp.Class().Train(3, 2)
	if err != nil {
		t.Fatal(err)
	}
	class, err := experiment.Class("ccp", 30)
	if err != nil {
		t.Fatal(err)
	}
	p, err := class.Train(3, 2)
	if err != nil {
		t.Fatal(err)
	}
	a, errA := construct.Digest(context.Background(), own)
	b, errB := construct.Digest(context.Background(), p)
	if a != b || errA != nil || errB != nil {
		t.Errorf("another instance: %s and %s (%v, %v)", a, b, errA, errB)
	}
	for _, bad := range []struct {
		name string
		dim  int
	}{{"tsp", 0}, {"ccp", -1}} {
		if _, err := experiment.Class(bad.name, bad.dim); err == nil {
			t.Errorf("%+v: no error", bad)
		}
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
	entries := experiment.Entries([]portfolio.Portfolio{dace, portfolio.BRKGAPAP()})
	records, err := experiment.Test(ctx, set, entries, experiment.Settings{Sample: 20_000, Repeats: 5, Baselines: experiment.NoBaselines})
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

// The training instances of caop have the dimension that is asked for, on the
// programs for training.
func TestClassDimension(t *testing.T) {
	if _, err := exec.LookPath("gcc"); err != nil {
		t.Skip("this needs gcc, which is not here")
	}
	c, err := experiment.Class("caop", 12)
	if err != nil {
		t.Fatal(err)
	}
	programs, _ := caop.Split()
	for i := range 3 {
		p, err := c.Train(1, i)
		if err != nil {
			t.Fatal(err)
		}
		name := p.(*caop.Instance).Data().Program.Name
		if p.Dim() != 12 || c.TrainDim != 12 || !slices.ContainsFunc(programs, func(q caop.Program) bool { return q.Name == name }) {
			t.Errorf("instance %d: dimension %d, program %s", i, p.Dim(), name)
		}
	}
}
