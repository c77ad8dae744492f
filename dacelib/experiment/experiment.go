// Package experiment implements the paper's protocol (section V): it tests
// portfolios on unseen instances, in either reading, and makes the paper's
// tables from the results. It also holds the paper's own numbers.
//
// Start with [Class] for a problem class, and with [Portfolio] for a portfolio
// of the paper or construct.Build for a new one. [Test] runs portfolios on the
// test instances of a problem.Set and keeps [Record]s in a file, so that an
// interrupted test continues where it stopped. [Tabulate] makes the paper's two
// tables from them. [Constructions] compares methods over construction seeds,
// which a test over instances cannot do, and [Pair] compares any two methods.
package experiment

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/files"
	"dace.local/dacelib/internal/defaults"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/cimp"
	"dace.local/dacelib/run"
)

// Portfolios returns the names that [Portfolio] accepts.
func Portfolios() []string {
	return []string{"dace", "ceps", "global", "parhydra", "brkga-pap", "smartest-pap"}
}

// Portfolio returns a portfolio of the paper (Appendix C): one that the authors
// constructed for the class, or a manual one. class is "ccp", "cimp" or "caop";
// name is "dace", "ceps", "global", "parhydra", "brkga-pap" or "smartest-pap",
// in lower or upper case.
func Portfolio(class, name string) (portfolio.Portfolio, error) {
	switch strings.ToLower(name) {
	case "brkga-pap":
		return portfolio.BRKGAPAP(), nil
	case "smartest-pap":
		return portfolio.SMARTESTPAP(), nil
	}
	return portfolio.Paper(class, name)
}

// An Entry is a portfolio to be tested.
type Entry struct {
	// Portfolio is tested under its Name.
	Portfolio portfolio.Portfolio
	// Construction distinguishes portfolios that share a name: it is the seed
	// of the construction, or 0 if there is only one.
	Construction uint64
}

// Entries returns one entry per portfolio. Portfolios that share a name are
// numbered from 1.
func Entries(portfolios []portfolio.Portfolio) []Entry {
	count := map[string]int{}
	for _, p := range portfolios {
		count[p.Name]++
	}
	out := make([]Entry, len(portfolios))
	number := map[string]uint64{}
	for i, p := range portfolios {
		out[i].Portfolio = p
		if count[p.Name] > 1 {
			number[p.Name]++
			out[i].Construction = number[p.Name]
		}
	}
	return out
}

// Settings of a test. The zero value is the paper's (section V-C).
type Settings struct {
	// Reading of the paper; default Written. Published changes the default of
	// Sample to 100,000, the seeds of the repeats (see portfolio.Settings),
	// the evaluations of CIMP, which become random samples (see [Sampled]), and
	// the statistics in the tables of the records (see [Tabulate]).
	Reading run.Reading
	// Sample is the number of uniform solutions by which an instance is
	// normalised (Eq. 11); default 1,000,000, in Published 100,000.
	Sample int
	// Evaluations is the budget of each member; default 800.
	Evaluations int
	// Repeats is the number of runs on every instance; default 20.
	Repeats int
	// Seed is that of the runs.
	Seed uint64
	// Seeds says whether the members of a portfolio share the seed of a repeat: see
	// portfolio.Settings.
	Seeds portfolio.MemberSeeds
	// Workers is the number of goroutines; 0 means one per core. It does not
	// change the result.
	Workers int
	// Farm, if not nil, has instances computed by the workers of a pool. It
	// does not change the result.
	Farm farm.Pool
	// File, if not empty, is a file of JSON lines to which the records are
	// written; its folder is made. Tests whose records it already holds are not
	// run again.
	File string
	// Ranges, if not empty, is a file that caches the ranges of instances, by
	// instance, sample and seed, for use by other tests.
	Ranges string
	// Baselines says whether baselines are tested beside the entries: the solvers
	// with nothing configured, the best single configuration, BRKGA-PAP; see
	// [BaselineEntries]. By default they are where that costs little.
	Baselines Baselines
	// OnEvent, if not nil, is called after every portfolio on every instance.
	OnEvent func(run.Event)
}

// A Record is the test of one portfolio on one instance. It holds everything
// that is needed to repeat the test except the instance itself.
type Record struct {
	// Class and Seed are those of the instance set, Instance and Dim the
	// instance's name and dimension.
	Class    string `json:"class"`
	Seed     uint64 `json:"seed"`
	Instance string `json:"instance"`
	Dim      int    `json:"dim"`
	// Method is the portfolio's name, Construction distinguishes portfolios
	// that share a name, and Portfolio lists the members.
	Method       string `json:"method"`
	Construction uint64 `json:"construction,omitempty"`
	Portfolio    string `json:"portfolio"`
	// Reading of the test.
	Reading run.Reading `json:"reading"`
	// Sample and Range describe the normalisation of Eq. 11, Evaluations and
	// RunSeed the runs.
	Sample      int             `json:"sample"`
	Range       portfolio.Range `json:"range"`
	Evaluations int             `json:"evaluations"`
	RunSeed     uint64          `json:"run_seed"`
	// OwnSeeds says that each member had its own seed in a repeat. Otherwise all
	// shared one.
	OwnSeeds bool `json:"own_seeds,omitempty"`
	// Baseline says that it is the record of a baseline: see [BaselineEntries].
	Baseline bool `json:"baseline,omitempty"`
	// Values are the normalised qualities of the repeats; Mean is their mean.
	Values []float64 `json:"values"`
	Mean   float64   `json:"mean"`
}

// key returns a string that identifies the test.
func (r Record) key(repeats int) string {
	return fmt.Sprint(r.Class, "|", r.Seed, "|", r.Instance, "|", r.Method, "|", r.Construction, "|", r.Portfolio, "|", r.Reading, "|", r.Sample, "|", r.Evaluations, "|", r.RunSeed, "|", repeats, "|", r.OwnSeeds)
}

func (s Settings) withDefaults() Settings {
	defaults.Set(&s.Evaluations, 800)
	defaults.Set(&s.Repeats, 20)
	if s.Reading == run.Published {
		defaults.Set(&s.Sample, 100_000)
	}
	defaults.Set(&s.Sample, 1_000_000)
	return s
}

// Test runs every portfolio on every test instance of the set, and baselines (see
// Settings.Baselines). On an error, or if ctx ends, it returns the records so far
// together with the error.
func Test(ctx context.Context, set problem.Set, entries []Entry, s Settings) ([]Record, error) {
	defer run.Report(&ctx, "test", &s.OnEvent)()
	s = s.withDefaults()
	type id struct {
		name         string
		construction uint64
	}
	seen := map[id]bool{}
	for _, e := range entries {
		if err := e.Portfolio.Check(); err != nil {
			return nil, err
		}
		i := id{e.Portfolio.Name, e.Construction}
		if seen[i] {
			return nil, fmt.Errorf("experiment: two portfolios are called %q; tell them apart by Entry.Construction (see Entries)", e.Portfolio.Name)
		}
		seen[i] = true
	}
	names := map[string]bool{}
	for _, p := range set.Test {
		if names[p.Name()] {
			return nil, fmt.Errorf("experiment: two test instances are called %q; give each a name of its own", p.Name())
		}
		names[p.Name()] = true
	}
	own := len(entries)
	for _, e := range s.baselines(entries, set.Test) {
		if i := (id{e.Portfolio.Name, e.Construction}); !seen[i] {
			seen[i] = true
			entries = append(entries[:len(entries):len(entries)], e)
		}
	}
	known := map[string]Record{}
	var out *os.File
	if s.File != "" {
		old, err := Read(s.File)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("%s: %w", s.File, err)
		}
		for _, r := range old {
			known[r.key(len(r.Values))] = r
		}
		if out, err = openLines(s.File); err != nil {
			return nil, err
		}
		defer out.Close()
	}
	ranges, err := openRanges(s.Ranges)
	if err != nil {
		return nil, err
	}
	defer ranges.close()
	t := &test{set: set, entries: entries, own: own, s: s, ranges: ranges, known: known, out: out}
	if s.Farm != nil {
		if err := t.remote(ctx); err != nil {
			return t.made(), err
		}
	}
	for i := range set.Test {
		if err := t.instance(ctx, i); err != nil {
			return t.records, err
		}
	}
	return t.records, nil
}

// A test is the state of Test.
type test struct {
	set     problem.Set
	entries []Entry // first own ones, then baselines
	own     int
	s       Settings
	ranges  *ranges
	known   map[string]Record // by Record.key
	out     *os.File          // nil if the records are not kept
	records []Record
}

// record returns the record of entry k on an instance, without its outcome.
func (t *test) record(instance problem.Problem, k int) Record {
	e := t.entries[k]
	p := e.Portfolio
	return Record{
		Class: t.set.Class, Seed: t.set.Seed, Instance: instance.Name(), Dim: instance.Dim(),
		Method: p.Name, Construction: e.Construction, Portfolio: members(p),
		Reading: t.s.Reading, Sample: t.s.Sample, Evaluations: t.s.Evaluations, RunSeed: t.s.Seed,
		OwnSeeds: t.s.Seeds.In(t.s.Reading) == portfolio.OwnSeeds, Baseline: k >= t.own,
	}
}

// members returns the members of a portfolio as a record has them.
func members(p portfolio.Portfolio) string {
	return strings.TrimSpace(strings.TrimPrefix(p.String(), p.Name))
}

// evaluated returns an instance as the reading evaluates it.
func (t *test) evaluated(ctx context.Context, instance problem.Problem) (problem.Problem, error) {
	if c, ok := instance.(*cimp.Instance); ok && t.s.Reading == run.Published {
		return Sampled(ctx, c)
	}
	return instance, nil
}

// settings returns the settings of the runs.
func (t *test) settings() portfolio.Settings {
	return portfolio.Settings{
		Reading: t.s.Reading, Evaluations: t.s.Evaluations, Repeats: t.s.Repeats, Workers: t.s.Workers, Seed: t.s.Seed, Seeds: t.s.Seeds,
	}
}

// instance tests all entries on an instance; it skips those whose records are
// known.
func (t *test) instance(ctx context.Context, i int) error {
	var normalised *portfolio.Instance
	instance := t.set.Test[i]
	for k, e := range t.entries {
		r := t.record(instance, k)
		if old, ok := t.known[r.key(t.s.Repeats)]; ok {
			old.Baseline = r.Baseline
			t.records = append(t.records, old)
			continue
		}
		if normalised == nil {
			evaluated, err := t.evaluated(ctx, instance)
			if err != nil {
				return err
			}
			if normalised, err = t.ranges.normalise(ctx, evaluated, t.s.Sample, t.set.Seed); err != nil {
				return err
			}
		}
		found, err := e.Portfolio.Run(ctx, []problem.Problem{normalised}, t.settings())
		if err != nil {
			return err
		}
		r.finish(normalised.Range(), found[0])
		t.records = append(t.records, r)
		if err := t.write(r); err != nil {
			return err
		}
		t.report(i*len(t.entries)+k, r)
	}
	return nil
}

// finish sets the outcome of a test.
func (r *Record) finish(of portfolio.Range, found portfolio.Result) {
	r.Range, r.Values, r.Mean = of, found.Values, found.Mean
}

// write keeps a record in the file.
func (t *test) write(r Record) error {
	if t.out == nil {
		return nil
	}
	if err := writeLine(t.out, r); err != nil {
		return fmt.Errorf("experiment: writing %s: %w", t.s.File, err)
	}
	return nil
}

// report sends an event for test n.
func (t *test) report(n int, r Record) {
	if t.s.OnEvent != nil {
		t.s.OnEvent(run.Event{Stage: "test", Step: n + 1, Total: len(t.set.Test) * len(t.entries), Value: r.Mean, Best: math.NaN(), Detail: r.Method + " on " + r.Instance})
	}
}

func writeLine(f *os.File, v any) error {
	b, err := json.Marshal(v)
	if err == nil {
		_, err = f.Write(append(b, '\n'))
	}
	return err
}

// Read reads the records of a file. It ignores an incomplete last line.
func Read(file string) ([]Record, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return ReadFrom(f)
}

// ReadFrom reads records, a JSON line each.
func ReadFrom(r io.Reader) ([]Record, error) {
	var records []Record
	b := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := b.ReadBytes('\n')
		if err == io.EOF {
			return records, nil
		}
		if err != nil {
			return records, err
		}
		var rec Record
		if err := json.Unmarshal(line, &rec); err != nil {
			return records, fmt.Errorf("experiment: line %d is no record: %w", n, err)
		}
		if len(rec.Values) == 0 {
			return records, fmt.Errorf("experiment: line %d: a record without values", n)
		}
		records = append(records, rec)
	}
}

// recordStart is how the line of a record begins.
const recordStart = `{"class":`

// openLines opens a file of records, a line each, for appending, and removes an
// incomplete last one.
func openLines(file string) (*os.File, error) {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, fmt.Errorf("experiment: Settings.File: %w", err)
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	b, err := io.ReadAll(files.Reader(f, 2))
	if err == nil {
		end := bytes.LastIndexByte(b, '\n') + 1
		if rest := string(b[end:]); !strings.HasPrefix(rest, recordStart[:min(len(rest), len(recordStart))]) {
			err = fmt.Errorf("experiment: %s ends with no record, as the file of something else; name another", file)
		} else if err = f.Truncate(int64(end)); err == nil {
			_, err = f.Seek(int64(end), io.SeekStart)
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
