package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// metrics returns the values of a metric that a measurement printed, of the benchmarks
// whose names a pattern matches.
func metrics(text, pattern, metric string) (list []float64, err error) {
	names, values := results(text)
	for _, name := range names {
		if v, ok := values[name][metric]; ok && regexp.MustCompile(pattern).MatchString(name) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		err = fmt.Errorf("no benchmark %s was measured in %s", pattern, metric)
	}
	return list, err
}

// digits returns a number with two significant digits.
func digits(v float64) string {
	if v == 0 {
		return "0"
	}
	unit := math.Pow(10, math.Floor(math.Log10(math.Abs(v)))-1)
	return strconv.FormatFloat(math.Round(v/unit)*unit, 'f', max(0, -int(math.Round(math.Log10(unit)))), 64)
}

// span returns the smallest and the largest of some values, of which each is a multiple of
// the unit that is written.
func span(values []float64, unit float64) string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		low, high = min(low, v/unit), max(high, v/unit)
	}
	if digits(low) == digits(high) {
		return digits(low)
	}
	return digits(low) + " to " + digits(high)
}

// spans is a measurement's page: its format has a %s for each row, and one at its end for
// where it was made.
func spans(name, format string, rows ...row) func(func(string) (string, error)) (string, error) {
	return func(read func(string) (string, error)) (string, error) {
		text, err := read(name)
		if err != nil {
			return "", err
		}
		var args []any
		for _, r := range rows {
			values, err := metrics(text, r.pattern, r.metric)
			if err != nil {
				return "", err
			}
			args = append(args, span(values, cmp.Or(r.unit, 1)))
		}
		return fmt.Sprintf(format, append(args, made(text))...), nil
	}
}

// A row is a span of numbers: a metric of the benchmarks that a pattern matches, in
// multiples of a unit.
type row struct {
	pattern, metric string
	unit            float64
}

var profile = spans("profile", "It takes %s times as long, and a loop that does nothing but start goroutines %s times\n(`go test ./kernel/gocell -run xxx -bench Profile -benchtime 4x`). %s",
	row{"^(calls|loop|callback|defer)$", "profiled/plain", 0}, row{"^go$", "profiled/plain", 0})

var longcells = spans("longcells", "A cell of %s lines takes %s ms of processor time from its text to its first\nstatement, by what it consists of, and %s ms as the first of a session, which reads what it\nimports (`go test ./kernel/gocell -run xxx -bench LongCell -benchtime 20x`). %s",
	row{"/again$", "lines", 0}, row{"/again$", "cpu-ms", 0}, row{"/first$", "cpu-ms", 0})

var compiled = spans("compiled", `| a compiled cell | |
|---|---|
| built, what it imports being built already | %s s |
| loaded, where the kernel has built the same cell before | %s ms |
| a value of its objective of 30 bits, called by dacelib | %s us |
| the same interpreted | %s us |

%s`, row{"^new$", "ns/op", 1e9}, row{"^again$", "ns/op", 1e6}, row{"^dacelib/compiled$", "ns/solution", 1e3}, row{"^dacelib/interpreted$", "ns/solution", 1e3})

var rows = spans("rows", "A million rows of five columns are read in %s s of processor time and grouped in %s s. %s",
	row{"^read$", "cpu-ms", 1e3}, row{"^group$", "cpu-ms", 1e3})

var users = spans("users", "Twenty idle kernels, of as many users, take %s MB together. %s", row{"^Twenty$", "MB/20-kernels", 0})

var farm = spans("farm", `| | |
|---|---|
| an empty unit, there and back | %s ms |
| a bare request to the server | %s ms |
| share of the processor time of all that is within the units: runs of BRKGA, 40 and 800 evaluations | %s |
| a killed server is back, with the next result, after | %s s |
| a worker's first result after its start | %s s |
| an idle worker | %s %% of a core, %s MB |

%s`, row{"^RoundTrip$", "us/median", 1e3}, row{"^RoundTrip$", "us/request", 1e3}, row{"^runs of", "in-units", 0},
	row{"^Restart$", "s/median", 0}, row{"^WorkerStart$", "s/median", 0}, row{"^Idle$", "%core/worker", 0}, row{"^Idle$", "MB/worker", 0})

// library is spans, beside what others' programs take.
func library(read func(string) (string, error)) (string, error) {
	elsewhere, err := read("elsewhere")
	if err != nil {
		return "", err
	}
	var others []any
	for _, who := range []string{"pymoo 0.6: a run of BRKGA, 800 evaluations of OneMax, 30 bits: ", "the authors' sampler: a value of influence on a network, 1,000 worlds: "} {
		_, took, ok := strings.Cut(elsewhere, who)
		if !ok {
			return "", fmt.Errorf("elsewhere.txt lacks %q", who)
		}
		took, _, _ = strings.Cut(took, "\n")
		others = append(others, took)
	}
	const format = `| | here | elsewhere |
|---|---|---|
| a run of BRKGA, 800 evaluations of OneMax, 30 bits | %%s us | %s: pymoo 0.6 |
| a value of influence on a network (CIMP), 1,000 worlds, processor time | %%s us, after %%s ms of preparation | %s: the authors' sampler |

%%s`
	return spans("library", fmt.Sprintf(format, others...),
		row{`^\[`, "best-us/run", 0}, row{`/n=1000$`, "cpu-us/eval", 0}, row{`^R=1000/`, "cpu-ms/setup", 0})(read)
}

var (
	testTable = regexp.MustCompile(`(?m)^ccp, published +(.*?) *$`)
	testMeans = regexp.MustCompile(`(?m)^d = (\d+) +(.*)$`)
	paperMean = regexp.MustCompile(`(?m)^\s*\{"ccp", (\d+), "([A-Z-]+)", ([\d.]+),`)
	testMean  = regexp.MustCompile(`([\d.]+) ?±`)
)

// agreement says how near the paper's portfolios, tested here on CCP, are to the paper's
// means.
func agreement(read func(string) (string, error)) (string, error) {
	text, err := read("paper")
	if err != nil {
		return "", err
	}
	paper := map[string]float64{}
	for _, m := range paperMean.FindAllStringSubmatch(text, -1) {
		if paper[m[1]+" "+m[2]], err = strconv.ParseFloat(m[3], 64); err != nil {
			return "", err
		}
	}
	tables := testTable.FindAllStringSubmatchIndex(text, -1)
	differences := map[string]float64{} // summed over the draws
	furthest, inOrder := 0.0, 0
	for _, table := range tables {
		names := regexp.MustCompile(` {2,}`).Split(text[table[2]:table[3]], -1)
		lines := testMeans.FindAllStringSubmatch(text[table[1]:], 2)
		ordered := len(lines) == 2
		for _, line := range lines {
			means := testMean.FindAllStringSubmatch(line[2], -1)
			if len(means) != len(names) {
				return "", fmt.Errorf("%q has %d means, and there are %q", line[0], len(means), names)
			}
			ours, theirs := map[string]float64{}, map[string]float64{}
			for i, name := range names {
				name, _, _ = strings.Cut(name, " (")
				name = line[1] + " " + name
				if paper[name] == 0 {
					return "", fmt.Errorf("the paper has no mean of %s", name)
				}
				theirs[name] = paper[name]
				if ours[name], err = strconv.ParseFloat(means[i][1], 64); err != nil {
					return "", err
				}
				differences[name] += ours[name] - theirs[name]
				furthest = max(furthest, math.Abs(ours[name]-theirs[name]))
			}
			ordered = ordered && slices.Equal(byValue(ours), byValue(theirs))
		}
		if ordered {
			inOrder++
		}
	}
	average := 0.0
	for _, d := range differences {
		average = max(average, math.Abs(d)/float64(len(tables)))
	}
	return fmt.Sprintf("The portfolios of the paper, tested again on %d draws of 50 instances of CCP of each dimension\n(seeds 1 to %d), have the paper's order in %d; the means over the draws are within %.3f of the\npaper's, and a single draw's within %.3f. %s",
		len(tables), len(tables), inOrder, average, furthest, made(text)), nil
}

// byValue returns the keys of a map in the order of their values.
func byValue(m map[string]float64) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Compare(m[a], m[b]) })
}

// costs is the processor time and the work of the constructions that are stored, beside
// the paper's time.
func costs(read func(string) (string, error)) (string, error) {
	text, err := read("paper")
	if err != nil {
		return "", err
	}
	methods := []string{"DACE", "CEPS", "GLOBAL", "PARHYDRA"}
	var b strings.Builder
	fmt.Fprintf(&b, "| processor time, and work | %s |\n|---|---|---|---|---|\n", strings.Join(methods, " | "))
	for _, class := range []string{"CCP", "CIMP"} {
		_, table, _ := strings.Cut(text, "Table II, "+class+":")
		var here, paper, work []string
		for _, method := range methods {
			m := regexp.MustCompile(`(?m)^` + method + ` +[\d.]+ +([\d.]+) +[\d.]+ +([\d.]+) +([\d.]+)$`).FindStringSubmatch(table)
			if m == nil {
				return "", fmt.Errorf("there is no row %s of %s", method, class)
			}
			hours, err := strconv.ParseFloat(m[1], 64)
			if err != nil {
				return "", err
			}
			runs, err := strconv.ParseFloat(m[3], 64)
			if err != nil {
				return "", err
			}
			if runs > 1000 { // the command printed runs, not millions of them
				runs /= 1e6
			}
			here, paper, work = append(here, m[2]), append(paper, number(math.Max(hours, 10))), append(work, fmt.Sprintf("%.2f", runs))
		}
		for _, row := range []struct {
			what  string
			cells []string
		}{{"hours here", here}, {"million runs of BRKGA here", work}, {"hours in the paper", paper}} {
			fmt.Fprintf(&b, "| %s, %s | %s |\n", class, row.what, strings.Join(row.cells, " | "))
		}
	}
	m := regexp.MustCompile(`(?m)^constructed on (.*)$`).FindStringSubmatch(text)
	if m == nil {
		return "", errors.New("nothing says where the portfolios were constructed")
	}
	return b.String() + "\nConstructed on " + m[1] + ".\n", nil
}

// shown is how long a committed notebook ran, as its cells say it.
func shown(file string) (string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	var nb struct {
		Cells []struct {
			Metadata struct {
				Execution map[string]time.Time `json:"execution"`
			} `json:"metadata"`
		} `json:"cells"`
	}
	if err := json.Unmarshal(text, &nb); err != nil {
		return "", err
	}
	total := time.Duration(0)
	for _, c := range nb.Cells {
		e := c.Metadata.Execution
		total += e["iopub.status.idle"].Sub(e["iopub.status.busy"])
	}
	if total <= 0 {
		return "", fmt.Errorf("%s does not say how long it ran", file)
	}
	if total > 2*time.Minute {
		return fmt.Sprintf("%.0f min", total.Minutes()), nil
	}
	return fmt.Sprintf("%.0f s", max(1, total.Seconds())), nil
}

var notebookRow = regexp.MustCompile(`(?m)^(\| \[[\w-]+\]\(([\w-]+\.ipynb)\) \| [^|]* \| )[^|]*( \|)`)

// timed returns the list of notebooks with the time that each took.
func timed(root, text string) (string, error) {
	var errs []error
	text = notebookRow.ReplaceAllStringFunc(text, func(s string) string {
		m := notebookRow.FindStringSubmatch(s)
		took, err := shown(filepath.Join(root, "notebooks", m[2]))
		errs = append(errs, err)
		return m[1] + took + m[3]
	})
	return text, errors.Join(errs...)
}
