package experiment_test

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dace.local/dacelib/experiment"
	"dace.local/dacelib/portfolio"
)

var (
	paperSource = flag.String("paper-source", "", "the paper's source, dace.tex: compare testdata/paper.txt with it")
	updatePaper = flag.Bool("update-paper", false, "with -paper-source, write testdata/paper.txt anew")
)

// quoted are lines of the source that notebooks quote, beside those of the
// tables.
var quoted = []int{600, 619, 623, 655, 657, 737, 738, 741, 742, 749, 798, 826, 868, 869, 974, 977, 987, 1173}

// paperLines reads the lines of the paper's source that numbers are quoted from:
// testdata/paper.txt has the line's number, a tab, and the line.
func paperLines(t *testing.T) map[int]string {
	t.Helper()
	f, err := os.Open("testdata/paper.txt")
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

// A quote is a number as the paper prints it, or several ways to print it
// separated by |, and the line that it is on.
type quote struct {
	line int
	text string
}

// quotes returns all numbers of the paper that the library holds.
func quotes() (all []quote) {
	add := func(line int, format string, v ...any) { all = append(all, quote{line, fmt.Sprintf(format, v...)}) }
	for _, m := range experiment.PaperMeans() {
		pm := `\(\pm\)`
		if m.Line > 1000 {
			pm = "±"
		}
		add(m.Line, "%.4f%s%.4f", m.Mean, pm, m.Std)
	}
	for _, w := range experiment.PaperWDLs() {
		for _, n := range []int{w.WDL.Win, w.WDL.Draw, w.WDL.Loss} {
			add(w.Line, "%d", n)
		}
	}
	for _, h := range experiment.PaperTimes() {
		add(h.Line-1, "%v", h.Wall)
		add(h.Line, "%v", h.CPU)
	}
	for _, l := range experiment.PaperLosses() {
		for _, v := range l.Scorers {
			add(l.Line, "%s", strings.Replace(fmt.Sprintf("%.2e", v), "e-0", "e-", 1))
		}
		add(l.Line, "%.4f", l.Reconstruction)
	}
	for _, o := range experiment.PaperOneMaxes() {
		add(o.Line, "%s", o.Target)
		for _, v := range []float64{o.L1, o.L2} { // 4.9e-5, but 1e-2 and both 2e-3 and 2.0e-3
			long := strings.Replace(fmt.Sprintf("%.1e", v), "e-0", "e-", 1)
			add(o.Line, "%s|%s", long, strings.Replace(long, ".0e", "e", 1))
		}
	}
	for _, class := range []string{"cimp", "caop", "ccp"} {
		for _, method := range []string{"DACE", "CEPS", "GLOBAL", "PARHYDRA"} {
			p, err := portfolio.Paper(class, method)
			if err != nil {
				panic(err)
			}
			for _, c := range p.Members {
				add(map[string]int{"cimp": 1083, "caop": 1085, "ccp": 1087}[class], "%s", c)
			}
		}
	}
	return all
}

// Every number that the library quotes from the paper is on the line that it
// names. testdata/paper.txt holds these lines; -paper-source compares them with
// the source itself.
func TestPaperSource(t *testing.T) {
	if *updatePaper {
		writePaperLines(t)
	}
	lines := paperLines(t)
	used := map[int]bool{}
	for _, n := range quoted {
		used[n] = true
	}
	for _, q := range quotes() {
		used[q.line] = true
		line, ok := lines[q.line]
		if !ok || !slices.ContainsFunc(strings.Split(q.text, "|"), func(s string) bool { return strings.Contains(line, s) }) {
			t.Errorf("line %d has no %q: %q", q.line, q.text, line)
		}
	}
	for n := range lines {
		if !used[n] {
			t.Errorf("testdata/paper.txt: line %d is not quoted", n)
		}
	}
	if *paperSource == "" {
		return
	}
	source, err := os.ReadFile(*paperSource)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(string(source), "\n")
	for n, line := range lines {
		if n > len(all) || strings.TrimSpace(all[n-1]) != line {
			t.Errorf("line %d of the source is another: %q", n, line)
		}
	}
}

func writePaperLines(t *testing.T) {
	source, err := os.ReadFile(*paperSource)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(string(source), "\n")
	numbers := slices.Clone(quoted)
	for _, q := range quotes() {
		numbers = append(numbers, q.line)
	}
	slices.Sort(numbers)
	var b strings.Builder
	for _, n := range slices.Compact(numbers) {
		fmt.Fprintf(&b, "%d\t%s\n", n, strings.TrimSpace(all[n-1]))
	}
	if err := os.WriteFile("testdata/paper.txt", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
