package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dace.local/dacelib/files"
	"dace.local/kernel/buildinfo"
)

// TestChecksFail checks that a check that fails fails the run after the others have
// run, is run once, and that its seed, its log and the machine's load are told.
func TestChecksFail(t *testing.T) {
	dir, logs := t.TempDir(), t.TempDir()
	fails := filepath.Join(dir, "fails")
	if err := files.WriteProgram(fails, []byte("#!/bin/sh\necho run >>runs\necho its words $1\nexit 3\n")); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	in := &installer{out: &out, err: &out}
	in.seed = 7
	err := in.runChecks(t.Context(), dir, [][]check{{{"one", fails + " SEED"}, {"two", "echo well"}}}, nil, logs)
	if err == nil || err.Error() != "failed: one" {
		t.Errorf("%v", err)
	}
	for _, want := range []string{"its words 7", "well\n", "seed 7", "load ", filepath.Join(logs, "one.log"), "one fails (exit status 3)", "\none    FAILS", "\ntwo    passes"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &out)
		}
	}
	for name, want := range map[string]string{filepath.Join(dir, "runs"): "run\n", filepath.Join(logs, "one.log"): "its words 7\n", filepath.Join(logs, "two.log"): "well\n"} {
		if text, err := os.ReadFile(name); err != nil || string(text) != want {
			t.Errorf("%s is %q, want %q (%v)", name, text, want, err)
		}
	}
	report, err := os.ReadFile(filepath.Join(logs, "report.txt"))
	if err != nil || !strings.Contains(out.String(), string(report)) {
		t.Errorf("the report is not what is printed (%v):\n%s", err, report)
	}
	// Lanes run beside one another: each of these waits for the other. What is for later
	// comes when they have ended, also if one fails.
	meet := filepath.Join(dir, "meet")
	if err := files.WriteProgram(meet, []byte("#!/bin/sh\ntouch $1\nuntil [ -e $2 ]; do sleep 0.01; done\necho of $1\nexit $3\n")); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	err = in.runChecks(t.Context(), dir, [][]check{{{"a", meet + " a b 0"}}, {{"b", meet + " b a 3"}}}, []check{{"night", "echo well"}}, logs)
	text := out.String()
	if err == nil || err.Error() != "failed: b" || !strings.Contains(text, "\nof a\n") || !strings.Contains(text, "\nof b\n") || strings.Index(text, "\n== night") < strings.Index(text, "b fails (exit status 3)") {
		t.Errorf("%v\n%s", err, text)
	}
	out.Reset()
	if err := in.runChecks(t.Context(), dir, nil, []check{{"two", "echo well"}}, logs); err != nil || !strings.HasSuffix(out.String(), "All tests pass.\n") {
		t.Errorf("%v\n%s", err, &out)
	}
}

// Without names -test runs every check: flag.Args gives a list of none, not nil.
func TestChoose(t *testing.T) {
	night := []check{{"soak", ""}}
	for _, tc := range []struct {
		names []string
		want  string
	}{
		{nil, "installed raceless jupyterlab race unraced plugins soak"},
		{[]string{}, "installed raceless jupyterlab race unraced plugins soak"},
		{[]string{"soak", "unraced", "race"}, "race unraced soak"},
		{[]string{"race", "day"}, "there is no check day among those of -test: installed, raceless, jupyterlab, race, unraced, plugins, soak (-all has more)"},
	} {
		lanes, later, err := choose(checks, night, tc.names)
		got := strings.Join(namesOf(slices.Concat(append(lanes, later)...)), " ")
		if err != nil {
			got = err.Error()
		}
		if got != tc.want {
			t.Errorf("%q: %s, want %s", tc.names, got, tc.want)
		}
	}
	in := &installer{out: io.Discard}
	if err := in.runChecks(t.Context(), t.TempDir(), nil, nil, t.TempDir()); err == nil {
		t.Error("all of no checks pass")
	}
}

// The race detector runs with what starts goroutines or uses unsafe, in the code or in
// its tests.
func TestRaced(t *testing.T) {
	s, err := sortPackages(t.Context(), "..")
	if err != nil {
		t.Fatal(err)
	}
	all, err := goList(t.Context(), "..", nil, "./...")
	if both := slices.Sorted(slices.Values(slices.Concat(s.raced, s.unraced, []string{buildinfo.Path("install")}))); err != nil || !slices.Equal(both, slices.Sorted(slices.Values(strings.Fields(string(all))))) {
		t.Errorf("%v; of the packages are run %s", err, both)
	}
	for _, name := range longest {
		if path := buildinfo.Path(name); !slices.Contains(s.raced, path) && !slices.Contains(s.unraced, path) {
			t.Errorf("longest names %s, which is no package", name)
		}
	}
	if s.unraced[0] != buildinfo.Path(plugins) || s.raced[0] != buildinfo.Path("kernel") {
		t.Errorf("%s and %s come first, not the longest", s.unraced[0], s.raced[0])
	}
	for name, want := range map[string]bool{
		"kernel": true, "kernel/gocell": true, "kernel/gocell/rtype": true, "kernel/internal/jupyter/transport": true, "kernel/internal/jupyter/server": true,
		plugins: false, "kernel/gocell/symbols/pack": false, "kernel/internal/site": false, "kernel/shell": false,
	} {
		if slices.Contains(s.raced, buildinfo.Path(name)) != want {
			t.Errorf("%s runs with the race detector: %t, want %t", name, !want, want)
		}
	}
	for text, want := range map[string]bool{
		"\tgo run()": true, "go func() {": true, "wg.Go(f)": true, "import \"unsafe\"": true, "\t\"net/http/httptest\"": true,
		"// go there": false, "x := \"go \"": false, "sync.Mutex": false, "\tt.Parallel()": false,
	} {
		if concurrent.MatchString(text) != want {
			t.Errorf("%q starts a goroutine: %t, want %t", text, !want, want)
		}
	}
}

// TestNamedTests checks that the tests, packages and flags which checks name are
// there: of one that has another name now nothing would run.
func TestNamedTests(t *testing.T) {
	fuzz, err := fuzzTargets("..")
	if err != nil || len(fuzz) < 40 {
		t.Fatalf("%d fuzz targets, %v", len(fuzz), err)
	}
	var all strings.Builder
	for _, dir := range []string{"kernel", "dacelib"} {
		files, err := filepath.Glob(filepath.Join("..", dir, "*_test.go"))
		for depth := "*"; err == nil && len(depth) < 10; depth += "/*" {
			var more []string
			more, err = filepath.Glob(filepath.Join("..", dir, depth, "*_test.go"))
			files = append(files, more...)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	for _, skip := range raceless {
		name := testName(skip)
		if !strings.Contains(all.String(), "\nfunc "+name+"(") {
			t.Errorf("raceless names %s, which is no test", name)
		}
	}
	for code := range strings.SplitSeq(all.String(), "\nfunc ") {
		name, _, _ := strings.Cut(code, "(")
		skips := strings.Contains(code, "raceDetector") && strings.Contains(code, "t.Skip") || strings.Contains(code, "for -race mode")
		if strings.HasPrefix(name, "Test") && name != "TestNamedTests" && skips && !slices.Contains(raceless, "^"+name+"$") {
			t.Errorf("%s leaves something out with the race detector, and raceless does not name it: it would never run whole", name)
		}
	}
	for _, c := range flat(checks, append(nightly, fuzz...)) {
		if strings.HasSuffix(c.command, "/...") || ofPackages.MatchString(c.command) {
			continue
		}
		pkg := regexp.MustCompile(` (\./[\w/]+)`).FindStringSubmatch(c.command)[1]
		files, _ := filepath.Glob(filepath.Join("..", pkg, "*_test.go"))
		var own strings.Builder
		for _, name := range files {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			own.Write(text)
		}
		name := regexp.MustCompile(`=\^(\w+)\$`).FindStringSubmatch(c.command)[1]
		if !strings.Contains(own.String(), "\nfunc "+name+"(") {
			t.Errorf("%s: there is no %s in %s", c.name, name, pkg)
		}
		_, flags, _ := strings.Cut(c.command, pkg)
		for _, f := range strings.Fields(flags) {
			flag, _, _ := strings.Cut(strings.TrimLeft(f, "-"), "=")
			if !strings.Contains(own.String(), `("`+flag+`"`) {
				t.Errorf("%s: %s has no flag -%s", c.name, pkg, flag)
			}
		}
	}
}
