// Package notebooks_test checks what the notebooks say against what they show.
package notebooks_test

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dace.local/dacelib/portfolio"
	"dace.local/kernel/notebook"
)

// each calls f with every notebook of this folder.
func each(t *testing.T, f func(t *testing.T, nb *notebook.Notebook)) {
	t.Helper()
	paths, err := filepath.Glob("*.ipynb")
	if err != nil || len(paths) < 5 {
		t.Fatalf("%v, %v", paths, err)
	}
	for _, path := range paths {
		if strings.HasSuffix(path, ".out.ipynb") {
			continue
		}
		t.Run(strings.TrimSuffix(path, ".ipynb"), func(t *testing.T) {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			nb, err := notebook.Read(b)
			if err != nil {
				t.Fatal(err)
			}
			f(t, nb)
		})
	}
}

// Every cell has been run and none has failed; none is too long to read, and
// errors are handled by must.
func TestCells(t *testing.T) {
	each(t, func(t *testing.T, nb *notebook.Notebook) {
		number := 0
		for _, c := range nb.Cells {
			if c.Type != notebook.Code {
				continue
			}
			number++
			if c.Count != number {
				t.Fatalf("cell %d has the execution count %d: run the notebook from top to bottom", number, c.Count)
			}
			if n := strings.Count(strings.TrimSpace(c.Source), "\n") + 1; n > 25 {
				t.Errorf("cell %d has %d lines; put what a reader need not see into the library", number, n)
			}
			if strings.Contains(c.Source, "func check") {
				t.Errorf("cell %d declares check; use must", number)
			}
			for _, o := range c.Outputs {
				if o.Type == notebook.Failure && !c.HasTag("raises-exception") {
					t.Errorf("cell %d failed: %s: %s", number, o.ErrorName, o.ErrorValue)
				}
			}
		}
	})
}

// The gallery has every figure: each exported function of package figure that returns
// one, but for those that change one.
func TestGallery(t *testing.T) {
	b, err := os.ReadFile("gallery.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	paths, err := filepath.Glob("../dacelib/figure/*.go")
	if err != nil {
		t.Fatal(err)
	}
	figures := 0
	made := regexp.MustCompile(`(?m)^func ([A-Z]\w*)\((.*)\) \(?\*plot\.Plot`)
	for _, path := range paths {
		source, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range made.FindAllStringSubmatch(string(source), -1) {
			if strings.HasPrefix(m[2], "p *plot.Plot") {
				continue
			}
			if figures++; !strings.Contains(string(b), "figure."+m[1]+"(") {
				t.Errorf("the gallery lacks figure.%s", m[1])
			}
		}
	}
	if figures < 25 {
		t.Errorf("%d figures found", figures)
	}
}

// paperLines returns the lines of the paper's source that may be quoted; a test
// of package experiment holds them against the source.
func paperLines(t *testing.T) map[int]string {
	t.Helper()
	f, err := os.Open("../dacelib/experiment/testdata/paper.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	lines := map[int]string{}
	for s := bufio.NewScanner(f); s.Scan(); {
		number, line, _ := strings.Cut(s.Text(), "\t")
		n, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		lines[n] = line
	}
	return lines
}

var (
	quote  = regexp.MustCompile(`([^.(]*(?:[0-9][.,][0-9][^.(]*)*)\(dace\.tex:([0-9]+)\)`)
	number = regexp.MustCompile(`[0-9][0-9,]*(?:\.[0-9]+)?M?`)
)

// What a text quotes with the line of the paper's source, "1M solutions
// (dace.tex:742)", is on that line.
func TestQuotes(t *testing.T) {
	lines := paperLines(t)
	quotes := 0
	each(t, func(t *testing.T, nb *notebook.Notebook) {
		for _, c := range nb.Cells {
			if c.Type != notebook.Markdown {
				continue
			}
			for _, m := range quote.FindAllStringSubmatch(c.Source, -1) {
				quotes++
				n, _ := strconv.Atoi(m[2])
				line, ok := lines[n]
				if !ok {
					t.Errorf("line %d is not in testdata/paper.txt; add it to quoted in source_test.go", n)
				}
				numbers := number.FindAllString(m[1], -1)
				if len(numbers) == 0 {
					continue
				}
				last := strings.ReplaceAll(strings.TrimRight(numbers[len(numbers)-1], ","), ",", "")
				if !regexp.MustCompile(`(^|[^0-9.])` + regexp.QuoteMeta(last) + `($|[^0-9])`).MatchString(line) {
					t.Errorf("line %d of the paper's source has no %s: %q", n, last, strings.TrimSpace(m[0]))
				}
			}
		}
	})
	if quotes == 0 {
		t.Error("nothing is quoted")
	}
}

var (
	decimal = regexp.MustCompile(`[0-9]+\.[0-9]+(?:e[-+]?[0-9]+)?`)
	fenced  = regexp.MustCompile("(?s)```.*?```|`[^`]*`|\\]\\([^)]*\\)")
)

// Every number with a decimal point in a text is in the outputs, rounded, or in
// the code, or in a line of the paper that the text quotes; other numbers say
// where they are from, with a file of results/ in their paragraph.
func TestProse(t *testing.T) {
	lines := paperLines(t)
	each(t, func(t *testing.T, nb *notebook.Notebook) {
		var known []float64
		add := func(s string) {
			for _, n := range decimal.FindAllString(s, -1) {
				v, _ := strconv.ParseFloat(n, 64)
				known = append(known, v)
			}
		}
		for _, c := range nb.Cells {
			if c.Type == notebook.Code {
				add(c.Source)
			}
			for _, m := range quote.FindAllStringSubmatch(c.Source, -1) {
				n, _ := strconv.Atoi(m[2])
				add(lines[n])
			}
			for _, o := range c.Outputs {
				add(o.Text)
				for _, mime := range []string{"text/plain", "text/markdown"} {
					if s, ok := o.Data[mime].(string); ok {
						add(s)
					}
				}
			}
		}
		for _, c := range nb.Cells {
			if c.Type != notebook.Markdown {
				continue
			}
			for _, paragraph := range strings.Split(fenced.ReplaceAllString(c.Source, ""), "\n\n") {
				if strings.Contains(c.Source, "results/") && strings.Contains(paragraph, "results/") {
					continue
				}
				for _, n := range decimal.FindAllString(paragraph, -1) {
					if !among(n, known) {
						t.Errorf("%s is in no output: %q", n, short(paragraph, n))
					}
				}
			}
		}
	})
}

// among reports whether a number, as it is written, is one of the known ones
// rounded.
func among(written string, known []float64) bool {
	v, _ := strconv.ParseFloat(written, 64)
	mantissa, exponent, _ := strings.Cut(written, "e")
	_, decimals, _ := strings.Cut(mantissa, ".")
	e, _ := strconv.Atoi(exponent)
	unit := math.Pow(10, float64(e-len(decimals)))
	for _, k := range known {
		if math.Abs(math.Abs(k)-v) <= 0.51*unit {
			return true
		}
	}
	return false
}

// short returns what is around n in a paragraph.
func short(paragraph, n string) string {
	at := strings.Index(paragraph, n)
	return fmt.Sprintf("…%s…", strings.Join(strings.Fields(paragraph[max(0, at-40):min(len(paragraph), at+40)]), " "))
}

var program = regexp.MustCompile("(?s)```go\n(package main\n.*?)```")

// The programs that texts show run: each with a saved portfolio as its argument.
func TestPrograms(t *testing.T) {
	file := filepath.Join(t.TempDir(), "portfolio.json")
	if err := portfolio.BRKGAPAP().Save(file); err != nil {
		t.Fatal(err)
	}
	programs := 0
	each(t, func(t *testing.T, nb *notebook.Notebook) {
		for _, c := range nb.Cells {
			if c.Type != notebook.Markdown {
				continue
			}
			for _, m := range program.FindAllStringSubmatch(c.Source, -1) {
				programs++
				path := filepath.Join(t.TempDir(), "main.go")
				if err := os.WriteFile(path, []byte(m[1]), 0o644); err != nil {
					t.Fatal(err)
				}
				out, err := exec.CommandContext(t.Context(), "go", "run", path, file).CombinedOutput()
				if err != nil || !strings.Contains(string(out), " by [") {
					t.Errorf("%v\n%s", err, out)
				}
			}
		}
	})
	if programs == 0 {
		t.Error("there is no program")
	}
}

func TestAmong(t *testing.T) {
	for _, c := range []struct {
		written string
		known   []float64
		want    bool
	}{
		{"0.93", []float64{0.934}, true}, {"0.93", []float64{0.936}, false}, {"1.2e-3", []float64{0.00124}, true},
		{"1.2e-3", []float64{0.0013}, false}, {"0.03", []float64{-0.0333}, true}, {"0.5", nil, false},
	} {
		if got := among(c.written, c.known); got != c.want {
			t.Errorf("%s among %v: %v", c.written, c.known, got)
		}
	}
}
