package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/portfolio"
)

// weighed writes a program that sums the numbers of its last argument's file at the
// ones, and a folder of two instances.
func weighed(t *testing.T) (command, folder string) {
	t.Helper()
	dir := t.TempDir()
	folder = filepath.Join(dir, "data")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		filepath.Join(dir, "eval.sh"): `
n=$(wc -w <"$1")
while read -r x; do
	if [ "$x" = dimension ]; then echo $((n)); continue; fi
	sum=0; rest=$x
	for w in $(cat "$1"); do
		case $rest in 1*) sum=$((sum + w)) ;; esac
		rest=${rest#?}
	done
	echo $sum
done
`,
		filepath.Join(folder, "a.txt"):   "1 -2 3 4\n",
		filepath.Join(folder, "b.txt"):   "5 -2 3 4 -9\n",
		filepath.Join(folder, ".hidden"): "",
	} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return "sh '" + filepath.Join(dir, "eval.sh") + "'", folder
}

func TestSolve(t *testing.T) {
	command, folder := weighed(t)
	values := filepath.Join(t.TempDir(), "values")
	for _, c := range []struct {
		args  []string
		value float64
		x     string
	}{
		{[]string{"-solvers", "ea, tabu"}, 8, "1011"},
		{[]string{"-solvers", "ea", "-values", values}, 8, "1011"},
		{[]string{"-solvers", "ea{}, brkga", "-values", values, "-minimise", "-target", "-2"}, -2, "0100"},
	} {
		args := append([]string{"solve", "-command", command, "-instance", filepath.Join(folder, "a.txt"), "-evaluations", "60"}, c.args...)
		got := dace(t, "", args...)
		var s solution
		if err := json.Unmarshal([]byte(got.out), &s); got.code != 0 || err != nil {
			t.Fatalf("%v: exit code %d, %v\n%s", args, got.code, err, got.err)
		}
		if float64(s.Value) != c.value || s.X != c.x || s.Problem != "a.txt" || s.Dim != 4 || s.Seed != 1 || len(s.Members) == 0 {
			t.Errorf("%v: %+v", c.args, s)
		}
		if !strings.Contains(got.err, fmt.Sprintf("best %v", c.value)) {
			t.Errorf("%v: no progress: %s", c.args, got.err)
		}
	}
	if b, _ := os.ReadFile(values); strings.Count(string(b), "\n") > 17 {
		t.Errorf("%d lines of values of 16 solutions", strings.Count(string(b), "\n"))
	}
	// A best value that is infinite is not shown without a word.
	for sign, want := range map[string]string{"-": "no solution that may be chosen was met: every value is -Inf", "": "-minimise seeks the smallest"} {
		file := filepath.Join(t.TempDir(), "inf.sh")
		if err := os.WriteFile(file, []byte("while read line; do echo "+sign+"inf; done"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := dace(t, "", "solve", "-command", "sh "+file, "-dim", "4", "-evaluations", "5", "-solvers", "ea")
		got.want(t, exitOK, `"value": "`, want)
		if sign == "" && !strings.Contains(got.out, `"status": "converged"`) {
			t.Errorf("status of a run that met +Inf: %s", got.out)
		}
	}
	// Zero has one form, also where a program says -0 or the sign is turned.
	for _, more := range [][]string{nil, {"-minimise"}} {
		file := filepath.Join(t.TempDir(), "zero.sh")
		if err := os.WriteFile(file, []byte("while read line; do echo -0; done"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := dace(t, "", append([]string{"solve", "-command", "sh " + file, "-dim", "4", "-evaluations", "5", "-solvers", "ea"}, more...)...)
		if got.code != exitOK || strings.Contains(got.out+got.err, "-0") {
			t.Errorf("%v: %s%s", more, got.out, got.err)
		}
	}
	all := dace(t, "", "solve", "-class", "onemax", "-dim", "12", "-evaluations", "50", "-workers", "1", "-json")
	var s solution
	if err := json.Unmarshal([]byte(all.out), &s); all.code != 0 || err != nil || len(s.Members) < 5 || len(s.X) != 12 {
		t.Errorf("exit code %d, %v\n%s\n%s", all.code, err, all.out, all.err)
	}
}

func TestSolveMisuse(t *testing.T) {
	for args, want := range map[string]string{
		"solve":                                     "which problem? -problem FILE.go, -command PROGRAM or -class NAME",
		"solve -class nk -command x":                "name one",
		"solve -class nk -evaluations 0":            "at least 1",
		"solve -class nk -target high":              "-target high is no number",
		"solve -class nk -solvers x -portfolio y":   "name one",
		"solve -class nk -minimise":                 "-minimise has no effect with -class",
		"solve -problem x.go -dim 5":                "-dim has no effect with -problem",
		"construct -class nk -noise 3 -o y":         "-noise has no effect with -class",
		"construct -problem x -instances 3 -o y":    "-instances has no effect with -problem",
		"construct -command x -class nk -o y":       "-class and an objective of your own are two problems",
		"construct -class nk -instances data -o y":  "-instances data is no number",
		"test x -class nk -instances data":          "-instances data is no number",
		"test x -class nk -minimise":                "-minimise has no effect with -class",
		"test x -class nk -command y":               "name one",
		"test x -problem y -instances 3":            "-instances has no effect with -problem",
		"test x -command y -instances 3":            "-instances 3: with -command it is the folder of the instances' files",
		"construct -command y -instances 3 -o z":    "-instances 3: with -command it is the folder of the instances' files",
		"test x -class nk -sample 1":                "at least 2",
		"test x -class nk -baselines -no-baselines": "name one",
	} {
		dace(t, "", strings.Fields(args)...).want(t, exitUsage, "", want)
	}
	command, folder := weighed(t)
	for want, args := range map[string][]string{
		`none is called "astrology"`:                {"-class", "nk", "-solvers", "astrology"},
		"numbered from 0, and none of the number 3": {"-command", command, "-dim", "4", "-number", "3"},
		"the quote ' is not closed":                 {"-command", "sh 'x"},
		"-command names no program":                 {"-command", " "},
		"ended without a value":                     {"-command", "false", "-dim", "4"},
		"this engine gives no values":               {"-problem", filepath.Join(folder, "a.txt")},
	} {
		dace(t, "", append([]string{"solve"}, args...)...).want(t, exitFailed, "", want)
	}
}

// A construction on a program's instances keeps their values.
func TestConstructCommand(t *testing.T) {
	command, folder := weighed(t)
	dir := t.TempDir()
	args := []string{"construct", "-method", "greedy", "-command", command, "-instances", folder, "-runs", "12", "-o", filepath.Join(dir, "out"), "-values", filepath.Join(dir, "values"), "-json"}
	got := dace(t, "", args...)
	if got.code != 0 {
		t.Fatalf("exit code %d\n%s\n%s", got.code, got.out, got.err)
	}
	var printed, kept construct.Summary
	b, err := os.ReadFile(filepath.Join(dir, "out", construct.SummaryName))
	if err = errors.Join(err, json.Unmarshal(b, &kept), json.Unmarshal([]byte(got.out), &printed)); err != nil || len(kept.Members) == 0 || !reflect.DeepEqual(printed, kept) {
		t.Errorf("-json prints %s\nand the file is %s: %v", got.out, b, err)
	}
	list, _ := os.ReadDir(filepath.Join(dir, "values"))
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	if !slices.Equal(names, []string{"a.txt.txt", "b.txt.txt"}) {
		t.Errorf("values in %v", names)
	}
}

// A portfolio is tested on a program's instances, beside baselines; what was tested is
// not run again.
func TestTestCommand(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	command, folder := weighed(t)
	dir := t.TempDir()
	file, records := filepath.Join(dir, "mine.json"), filepath.Join(dir, "records.jsonl")
	if err := portfolio.BRKGAPAP().Save(file); err != nil {
		t.Fatal(err)
	}
	args := []string{"test", file, "-command", command, "-instances", folder, "-minimise", "-repeats", "2", "-evaluations", "30", "-sample", "500"}
	class := command + " " + folder + " -minimise"
	dace(t, "", args...).want(t, 0, class+", written  BRKGA-PAP", "-baselines runs the untuned solvers, too")
	dace(t, "", append(args[:len(args):len(args)], "-values", filepath.Join(dir, "values"))...).want(t, 0, "BRKGA-PAP", "-baselines runs the untuned solvers, too")
	dace(t, "", append([]string{"test", "dace"}, args[2:]...)...).want(t, 1, "", `"dace" is neither a folder of dace construct`)
	dace(t, "", "test", file, "-command", command, "-instances", filepath.Join(dir, "nowhere")).want(t, 1, "", "nowhere: no such file or directory")
	args = append(args, "-baselines", "-o", records)
	got := dace(t, "", args...)
	got.want(t, 0, "ea x 4", "")
	kept, err := experiment.Read(records)
	if err != nil || len(kept) < 6 {
		t.Fatalf("%d records, %v", len(kept), err)
	}
	for _, r := range kept {
		// The least value of a.txt is -2, of b.txt -11; both are found in 30 evaluations.
		if least := map[string]float64{"a.txt": -2, "b.txt": -11}[r.Instance]; r.Class != class || r.Sample != 500 || r.Range.Max != -least || r.Mean != 1 {
			t.Errorf("%+v", r)
		}
	}
	before, _ := os.ReadFile(records)
	if again := dace(t, "", args...); again.out != got.out {
		t.Errorf("again it prints\n%s\nand first\n%s", again.out, got.out)
	}
	if after, _ := os.ReadFile(records); !bytes.Equal(before, after) {
		t.Errorf("the records were %s\nand are %s", before, after)
	}
	// The largest values are another test: what is known of the smallest is not taken for them.
	more := slices.DeleteFunc(slices.Clone(args), func(arg string) bool { return arg == "-minimise" })
	dace(t, "", more...).want(t, 0, command+" "+folder+", written", "")
	if all, err := experiment.Read(records); err != nil || len(all) != 2*len(kept) {
		t.Errorf("%d records of two tests, of %d each, %v", len(all), len(kept), err)
	}
}

func TestCommandWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                     nil,
		"python3 eval.py":      {"python3", "eval.py"},
		` a  "b c"d 'e "' '' `: {"a", "b cd", `e "`, ""},
	} {
		if got, err := commandWords(line); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
}

// TestPortfolioFiles checks that a portfolio's file is taken by its name, and what is said
// of a construction's folder without one.
func TestPortfolioFiles(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.json")
	if err := portfolio.BRKGAPAP().Save(file); err != nil {
		t.Fatal(err)
	}
	dace(t, "", "test", file, "-class", "onemax", "-instances", "1", "-repeats", "1", "-evaluations", "40", "-sample", "100", "-no-baselines", "-ranges", "none").want(t, 0, "BRKGA-PAP", "")
	if err := os.WriteFile(filepath.Join(dir, construct.JournalName), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const want = "has the steps of a construction, and not its portfolio"
	dace(t, "", "test", dir, "-class", "onemax").want(t, 1, "", want)
	dace(t, "", "solve", "-class", "onemax", "-portfolio", dir).want(t, 1, "", want)
}

func TestFlat(t *testing.T) {
	level := portfolio.Range{Min: 3, Max: 3}
	records := []experiment.Record{{Instance: "a", Sample: 500, Range: portfolio.Range{Max: 1}}}
	if note := flat(records); note != "" {
		t.Error(note)
	}
	records = append(records, experiment.Record{Instance: "b", Sample: 500, Range: level}, experiment.Record{Instance: "b", Sample: 500, Range: level})
	if note := flat(records); !strings.HasPrefix(note, "all 500 random solutions of b have the value 3: ") {
		t.Error(note)
	}
	if note := flat(append(records, experiment.Record{Instance: "c", Range: level})); !strings.Contains(note, "value 3, and so it is on 1 more: ") {
		t.Error(note)
	}
}
