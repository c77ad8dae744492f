package main

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dace.local/kernel/docs/docstest"
)

// notRun has command lines of the guides and of the verbs' help that TestLines does not
// run, by patterns, each with the reason. The flags of all are checked by TestCommandLines
// of package cli.
var notRun = []struct{ pattern, why string }{
	{`\[-| \| |DIR dace`, "shows a form, not a command"},
	{`farm|^dace worker`, "starts servers and workers that go on: TestFarm of package cli, and the tests of dacelib/farm/natsfarm"},
	{`^(\./)?dace install`, "copies the command and registers it: TestAlone and TestInstallAgainAndUninstall of ./install"},
	{`^dace docs`, "writes a hundred pages of the clone: TestWrite of kernel/internal/site"},
	{`fetch`, "downloads: TestDownload of package snap, from a server of the test"},
	{`-scenario`, "wants a target-runner: TestScenario of package cli"},
	{`-method (dace|ceps)`, "takes minutes to hours: TestConstruct of package cli, at its smallest"},
	{`-fresh`, "takes minutes: TestReproduce of package cli"},
	{`^dace share`, "wants an installation: TestSharedCells of ./install"},
	{`-to module`, "builds with the go command: TestProgramModules of kernel/gocell"},
}

// smaller shortens what a line computes.
var smaller = []struct{ pattern, with string }{
	{`(-class ccp) -evaluations \d+`, "$1 -evaluations 20000"},
	{`^dace construct -command .*`, "$0 -evaluations 300"},
	{`^dace solve .*`, "$0 -evaluations 200"},
	{`^dace test .* -class .*`, "$0 -instances 1 -repeats 2 -sample 1000 -evaluations 50 -no-baselines -ranges none"},
	{`^dace test .* -command .*`, "$0 -repeats 2 -sample 1000 -evaluations 50"},
}

// lineFiles are the files that the lines name.
var lineFiles = map[string]string{
	"FILE.go": "fmt.Println(1 + 2)\n", "x.go": "fmt.Println(1 + 2)\n", "experiment.go": "fmt.Println(os.Args)\n",
	"count.go": "fmt.Println(strings.Count(string(must(io.ReadAll(os.Stdin))), `a`))\n", "data.txt": "banana\n",
	"eval.py":    "import sys\nfor line in sys.stdin:\n    print(line.count('1'), flush=True)\n",
	"data/a.txt": "a\n", "data/b.txt": "b\n", "unseen/d.txt": "d\n", "new.txt": "c\n",
	"mine.go": "instances := []problem.Problem{problem.FromFunc(`mine`, 40, func(x []bool) float64 { return float64(strings.Count(problem.Pack(x).String(), `10`)) })}\n",
}

// TestLines runs the command lines of the guides, of the README and of the verbs' help, in
// a folder with files of the names that they have.
func TestLines(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	for from, to := range map[string]string{exe: "bin/dace", absolute(t, "../notebooks/results"): "notebooks/results"} {
		_ = os.MkdirAll(filepath.Dir(filepath.Join(dir, to)), 0o755)
		if err := os.Symlink(from, filepath.Join(dir, to)); err != nil {
			t.Fatal(err)
		}
	}
	notebook := strings.Replace(cells("seed := 1\nscale := `quick`\ninstance := ``\nsizes := []int{1}", "fmt.Println(seed, scale, instance, sizes)"), `"metadata": {}`, `"metadata": {"tags": ["parameters"]}`, 1)
	files := maps.Clone(lineFiles)
	for _, name := range []string{"notebooks/quickstart", "notebooks/paper-tables", "quickstart", "search", "long", "analysis", "NB"} {
		files[name+".ipynb"] = notebook
	}
	for name, text := range files {
		_ = os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755)
		write(t, filepath.Join(dir, name), text)
	}
	env := append(os.Environ(), "DACE_BE_THE_COMMAND=1", "HOME="+dir, "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir+"/cache", "PATH="+dir+"/bin:"+os.Getenv("PATH"))
	shell := func(line string) ([]byte, error) {
		cmd := exec.CommandContext(t.Context(), "sh", "-c", line)
		cmd.Dir, cmd.Env = dir, env
		return cmd.CombinedOutput()
	}
	if out, err := shell("dace run notebooks/*.ipynb && for f in notebooks/*.out.ipynb; do mv $f ${f%.out.ipynb}.ipynb; done && cp notebooks/quickstart.ipynb . && cp notebooks/quickstart.ipynb search.ipynb && dace convert quickstart.ipynb && dace fmt analysis.ipynb"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	lines, unused := commandLines(t), map[string]bool{}
	for _, n := range notRun {
		unused[n.pattern] = true
	}
	lines = slices.DeleteFunc(lines, func(line string) bool {
		for _, n := range notRun {
			if regexp.MustCompile(n.pattern).MatchString(line) {
				delete(unused, n.pattern)
				return true
			}
		}
		return false
	})
	slices.SortStableFunc(lines, func(a, b string) int { // constructions first: others use what they write
		return strings.Compare(strings.Replace(a, "dace construct", "0", 1), strings.Replace(b, "dace construct", "0", 1))
	})
	if len(lines) < 35 || len(unused) > 0 {
		t.Errorf("%d lines; no line is of the kind %v", len(lines), unused)
	}
	for _, line := range lines {
		run := line
		for _, s := range smaller {
			run = regexp.MustCompile(s.pattern).ReplaceAllString(run, s.with)
		}
		run = strings.ReplaceAll(run, "ccp-dace", "ccp-best") // one construction will do
		if _, to, ok := strings.Cut(run, " -o "); ok && strings.HasPrefix(run, "dace construct") {
			_ = os.RemoveAll(filepath.Join(dir, strings.Fields(to)[0])) // of a line before
		}
		if out, err := shell(run); err != nil {
			t.Errorf("%s\n(as %s): %v\n%s", line, run, err, out)
		}
	}
}

// absolute returns a path from the root.
func absolute(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// commandLines returns the lines `dace ...` of indented blocks in the guides, and of the
// examples in the verbs' help, each once.
func commandLines(t *testing.T) (lines []string) {
	t.Helper()
	texts := ""
	for _, text := range docstest.Guides(t, "README.md", "*/docs/*.md", "dacelib/*.md", "notebooks/*.md") {
		texts += docstest.Unfenced(text)
	}
	_, overview, _ := dace(t, ".", "", "help")
	for _, verb := range regexp.MustCompile(`(?m)^  ([a-z]+) +\S`).FindAllStringSubmatch(overview, -1) {
		_, help, _ := dace(t, ".", "", verb[1], "-h")
		_, examples, _ := strings.Cut(help, "\nExamples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		texts += regexp.MustCompile("(?m)^ +").ReplaceAllString(examples, "    ") + "\n"
	}
	for _, m := range regexp.MustCompile(`(?m)^    +((?:\./)?dace .*)$`).FindAllStringSubmatch(texts, -1) {
		line, _, _ := strings.Cut(m[1], " # ")
		for _, one := range regexp.MustCompile(` {2,}`).Split(line, -1) {
			if one != "" && !slices.Contains(lines, one) {
				lines = append(lines, one)
			}
		}
	}
	return lines
}
