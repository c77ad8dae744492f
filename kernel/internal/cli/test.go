package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	dacerun "dace.local/dacelib/run"
	"dace.local/kernel/buildinfo"
)

var testVerb = verb{
	name:  "test",
	short: "test portfolios on unseen instances: the paper's tables",
	usage: `
Usage: dace test DIR|NAME... -class CLASS [flags]
       dace test DIR... -problem FILE.go|-command PROGRAM [flags]
       dace test -list

Runs portfolios on unseen instances of a class, or of an objective of your own,
by the paper's protocol and prints its two tables: mean and standard deviation of
the normalised quality over the instances, and on how many of them the first
portfolio is significantly better than each other, not different, or worse: its
wins, draws and losses. A star marks the largest mean of a row, a tilde those that
do not differ from it significantly.

A DIR is a folder of "dace construct"; a file of Portfolio.Save will do. A NAME is
a portfolio of the paper: dace, ceps, global, parhydra, brkga-pap or, for caop,
smartest-pap; -list shows their members. A folder of such a name is given as
./NAME. Portfolios of several constructions by one method also get a table over
the constructions: a test over instances compares two portfolios, only one over
constructions compares two methods.

Readings: written is the paper's text: instances are normalised by 1,000,000
random solutions, tests are two-sided. published is what the authors' public
code does: 100,000 solutions, 20 repeats over 12 seeds, one-sided tests either
way, the standard deviation over n, one seed for all members of a portfolio in a
repeat, which -shared-seed gives them in written, too. both also prints one table in Markdown of
both and the paper's numbers, with a sentence for each row that changes.

Baselines are tested along, where evaluations cost little and the reading is
written: every solver of the library with nothing configured under as many seeds
as there are members, the best single configuration of a construction, and
BRKGA-PAP. A second table compares them with the first portfolio, with the
virtual best, the largest mean on each instance.

An objective of your own is given as to "dace construct", with instances that the
construction has not seen; -instances is the folder of a program's. They are
normalised by 1,000 random solutions unless -sample says another number, and
their ranges are kept only where -ranges names a file.
` + strings.TrimPrefix(objectiveUsage, "\n") + `
-json prints the records, a JSON line for each portfolio on each instance,
instead of the tables. -o FILE keeps them, so that a test that was interrupted
goes on there; after a change of your program or of its instances name another
file. The ranges of the instances are kept in dace/ranges.jsonl in the user's
cache; -ranges names another file, "none" keeps none.

Exit code: 0; 1 when the test failed; 2 for wrong arguments; 130 when
interrupted.

Examples:
  dace test dace ceps global parhydra brkga-pap -class ccp -reading published
  dace test ccp-dace brkga-pap -class ccp -dim 40 -instances 20 -o records.jsonl
  dace test mine -command "python3 eval.py" -instances unseen -dim 40 -repeats 5
`,
	run: runTest,
}

func runTest(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	var o objective
	o.flags(fs)
	var (
		className = fs.String("class", "", "`name` of the class: "+strings.Join(experiment.Classes(), ", "))
		dim       = fs.Int("dim", 0, "dimension of the instances; 0 means those of the class's test instances, or what the program says")
		instances = fs.String("instances", "50", "`number` of instances of each dimension, or with -command the folder of their files")
		repeats   = fs.Int("repeats", 20, "`number` of runs on every instance")
		reading   = fs.String("reading", "written", "written, published or both")
		seed      = fs.Uint64("seed", 1, "seed of the instances and of the runs")
		shared    = fs.Bool("shared-seed", false, "all members of a portfolio have one seed in a repeat, as in -reading published")
		workers   = fs.Int("workers", 0, "`number` of threads; 0 means one per core; it does not change the result")
		farmJoin  = newFarmFlags(fs)
		evals     = fs.Int("evaluations", 800, "evaluations of each member in a run")
		sample    = fs.Int("sample", 0, "`number` of solutions that an instance is normalised by; 0 means the reading's, or 1,000 for an objective of your own")
		out       = fs.String("o", "", "`file` that keeps the records and is gone on with")
		rangeFile = fs.String("ranges", "", "`file` that keeps the ranges of instances")
		asJSON    = fs.Bool("json", false, "print records instead of tables")
		bare      = fs.Bool("no-baselines", false, "test the portfolios alone")
		always    = fs.Bool("baselines", false, "test baselines although evaluations are costly, and in -reading published, too")
		list      = fs.Bool("list", false, "list the paper's portfolios")
	)
	names, code, ok := v.parse(env, fs, args, true, 0, -1)
	number, numberErr := strconv.Atoi(*instances)
	switch {
	case !ok:
		return code
	case *list:
		return listPortfolios(env, v)
	case len(names) == 0:
		return v.misuse(env, "which portfolios? folders of dace construct, or names: %s", strings.Join(experiment.Portfolios(), ", "))
	case *className == "" && !o.given():
		return v.misuse(env, "which class? -class NAME: %s; or your own problem by -problem FILE.go or -command PROGRAM", strings.Join(experiment.Classes(), ", "))
	case *className != "" && o.given():
		return v.misuse(env, "-class and an objective of your own are two problems: name one")
	case o.wrongInstances(fs, *instances) != "":
		return v.misuse(env, "%s", o.wrongInstances(fs, *instances))
	case numberErr == nil && number < 1 || *repeats < 1 || *evals < 1 || *sample < 0:
		return v.misuse(env, "-instances, -repeats and -evaluations must be at least 1")
	case *sample == 1:
		return v.misuse(env, "-sample 1: an instance is normalised by at least 2 solutions")
	case *bare && *always:
		return v.misuse(env, "-baselines and -no-baselines: name one")
	case *dim < 0:
		return v.misuse(env, "a dimension of %d; it must be at least 1", *dim)
	case o.unused(fs) != "":
		return v.misuse(env, "%s", o.unused(fs))
	}
	var readings []dacerun.Reading
	if *reading == "both" {
		readings = []dacerun.Reading{dacerun.Written, dacerun.Published}
	} else {
		r, err := dacerun.ParseReading(*reading)
		if err != nil {
			return v.misuse(env, "%v; or both", err)
		}
		readings = append(readings, r)
	}
	var set problem.Set
	var err error
	if o.given() {
		if o.dim = *dim; o.command != "" && given(fs, "instances") {
			if o.instances, err = instanceFiles(*instances); err != nil {
				return v.fail(env, err)
			}
		}
		ctx, stop := untilSignal()
		own, end, err := o.problems(ctx, env, -1)
		stop()
		if err != nil {
			return v.fail(env, err)
		}
		defer end()
		slices.SortStableFunc(own, func(a, b problem.Problem) int { return a.Dim() - b.Dim() })
		set = problem.Set{Class: o.label(*instances), Seed: *seed, Test: own}
		if *sample == 0 {
			*sample = ownSample
		}
		if *rangeFile == "" {
			*rangeFile = "none"
		}
	} else {
		class, err := testClass(*className, *dim)
		if err != nil {
			return v.misuse(env, "%v", err)
		}
		if set, err = class.NewSet(*seed, 0, number); err != nil {
			return v.fail(env, err)
		}
	}
	paper := set.Class
	if o.given() {
		paper = "" // the paper has no portfolio for it
	}
	entries, err := testEntries(paper, names) // FILE.go may have registered their solvers
	if err != nil {
		return v.fail(env, err)
	}
	s := experiment.Settings{Sample: *sample, Evaluations: *evals, Repeats: *repeats, Seed: *seed, Workers: *workers, File: *out}
	switch {
	case *bare:
		s.Baselines = experiment.NoBaselines
	case *always:
		s.Baselines = experiment.WithBaselines
	}
	if *shared {
		s.Seeds = portfolio.SharedSeed
	}
	if s.Ranges, err = rangesFile(*rangeFile); err != nil {
		return v.fail(env, err)
	}
	ctx, stop := untilSignal()
	defer stop()
	if s.Farm, err = joinFarm(ctx, env, v, farmJoin); err != nil {
		return v.fail(env, err)
	}
	_, tty := descriptor(env.Stderr)
	total := len(entries) * len(set.Test) // without baselines, until the first event
	s.OnEvent = func(e dacerun.Event) {
		if total = e.Total; tty {
			fmt.Fprintf(env.Stderr, "\r\x1b[K%s", clip(fmt.Sprintf("%d of %d: %s %.4f", e.Step, e.Total, e.Detail, e.Value), width(env.Stderr)-1))
			if e.Step == e.Total {
				fmt.Fprint(env.Stderr, "\r\x1b[K")
			}
		}
	}
	var tables []experiment.Table
	for _, r := range readings {
		s.Reading = r
		records, err := experiment.Test(ctx, set, entries, s)
		if err != nil {
			var sig signalled
			if errors.As(context.Cause(ctx), &sig) {
				kept := "-o FILE would have kept the records"
				if *out != "" {
					kept = "the records are in " + *out + ", and the same command goes on from there"
				}
				fmt.Fprintf(env.Stderr, "dace test: %v after %d of %d; %s\n", sig, len(records), max(total, len(records)), kept)
				return sig.code()
			}
			return v.fail(env, err)
		}
		if *asJSON {
			enc := json.NewEncoder(env.Stdout)
			for _, r := range records {
				if err := enc.Encode(r); err != nil {
					return v.fail(env, err)
				}
			}
			continue
		}
		t, err := experiment.Tabulate(records, "")
		if err != nil {
			return v.fail(env, err)
		}
		if note := flat(records); note != "" {
			fmt.Fprintln(env.Stderr, "dace test: "+note)
		}
		if s.Baselines == experiment.BaselinesIfCheap && r == dacerun.Written && !*shared && !slices.ContainsFunc(records, func(r experiment.Record) bool { return r.Baseline }) {
			fmt.Fprintln(env.Stderr, "dace test: an evaluation may take long: -baselines runs the untuned solvers, too")
		}
		tables = append(tables, t)
		fmt.Fprintln(env.Stdout, t)
		if err := printConstructions(env, records); err != nil {
			return v.fail(env, err)
		}
	}
	if len(tables) == 2 {
		changes, err := experiment.SideBySide(tables[0], tables[1])
		if err != nil {
			return v.fail(env, err)
		}
		fmt.Fprintf(env.Stdout, "\n%s", experiment.ChangesMarkdown(changes))
	}
	return exitOK
}

// flat says on which instances all random solutions have one value, by which Eq. 11 cannot
// normalise; it is empty if there are none.
func flat(records []experiment.Record) string {
	values, sample := map[string]float64{}, 0
	first := ""
	for _, r := range records {
		if r.Range.Min == r.Range.Max {
			first, sample = cmp.Or(first, r.Instance), r.Sample
			values[r.Instance] = r.Range.Min
		}
	}
	if first == "" {
		return ""
	}
	others := ""
	if n := len(values) - 1; n > 0 {
		others = fmt.Sprintf(", and so it is on %d more", n)
	}
	return fmt.Sprintf("all %d random solutions of %s have the value %v%s: qualities there are differences from it, in the objective's unit, and 0 if nothing better was found; -sample takes more solutions",
		sample, first, values[first], others)
}

// ownSample is the number of random solutions by which an instance of one's own
// objective is normalised: a million, as in the paper, would take longer than the runs.
const ownSample = 1000

// testClass returns a class whose test instances have a dimension, its own if dim is 0.
func testClass(name string, dim int) (problem.Class, error) {
	class, err := experiment.Class(name, 0)
	switch {
	case err != nil:
	case dim > 0 && name == "onemax":
		class, err = experiment.Class(name, dim)
	case dim > 0:
		class.TestDims = []int{dim}
	}
	return class, err
}

// unfinished returns an error for a folder of a construction without its portfolio.
func unfinished(dir string) error {
	_, record := os.Stat(filepath.Join(dir, construct.JournalName))
	if _, err := os.Stat(filepath.Join(dir, construct.SummaryName)); err == nil || record != nil {
		return nil
	}
	return fmt.Errorf("%s has the steps of a construction, and not its portfolio: of one in a notebook the cell result.Portfolio.Save(\"mine.json\") writes it, dace construct -resume goes on with one that has not ended", dir)
}

// testEntries loads the portfolios that the arguments name: an argument is a
// name from the paper, a folder or a file. class is empty for an objective of
// one's own.
func testEntries(class string, names []string) ([]experiment.Entry, error) {
	var portfolios []portfolio.Portfolio
	var seeds []uint64
	for _, name := range names {
		p, paperErr := experiment.Portfolio(class, name)
		seed := uint64(0)
		if info, err := os.Stat(name); paperErr != nil && err == nil && info.Mode().IsRegular() && filepath.Base(name) != construct.SummaryName {
			if p, err = portfolio.Load(name); err != nil { // of Portfolio.Save
				return nil, err
			}
		} else if paperErr != nil {
			dir, file := filepath.Split(name)
			if file != construct.SummaryName {
				dir = name
			}
			if err := unfinished(dir); err != nil {
				return nil, err
			}
			summary, err := construct.LoadSummary(dir)
			if errors.Is(err, os.ErrNotExist) && class == "" {
				return nil, fmt.Errorf("%q is neither a folder of dace construct with a %s, nor a file of a portfolio (Portfolio.Save), nor brkga-pap or smartest-pap; the paper's other portfolios are for its classes: -class", name, construct.SummaryName)
			}
			if errors.Is(err, os.ErrNotExist) {
				there := slices.DeleteFunc(experiment.Portfolios(), func(n string) bool { _, err := experiment.Portfolio(class, n); return err != nil })
				return nil, fmt.Errorf("%q is neither a portfolio of the paper for %s (%s), nor a file of one (Portfolio.Save), nor a folder of dace construct with a %s", name, class, strings.Join(there, ", "), construct.SummaryName)
			}
			if err != nil {
				return nil, err
			}
			p, seed = portfolio.Portfolio{Name: summary.Method, Members: summary.Members, Single: summary.Single}, summary.Seed
		}
		portfolios, seeds = append(portfolios, p), append(seeds, seed)
	}
	entries := experiment.Entries(portfolios)
	// Number the constructions by their seeds if these are distinct and
	// known, because that says more than their order on the command line.
	type id struct {
		name string
		seed uint64
	}
	seen := map[id]bool{}
	for i, p := range portfolios {
		if k := (id{p.Name, seeds[i]}); seeds[i] == 0 || seen[k] {
			return entries, nil
		} else {
			seen[k] = true
		}
	}
	for i := range entries {
		entries[i].Construction = seeds[i]
	}
	return entries, nil
}

// printConstructions prints the table over constructions if a method has
// several.
func printConstructions(env *Env, records []experiment.Record) error {
	several := false
	rows, err := experiment.Constructions(records, records[0].Method)
	for _, r := range rows {
		several = several || r.Constructions > 1
	}
	if err != nil || !several {
		return err
	}
	fmt.Fprintf(env.Stdout, "\nover constructions: mean and standard deviation, 95 %% interval, for how many seeds %s is ahead\n", records[0].Method)
	for _, r := range rows {
		interval := ""
		if !math.IsNaN(r.Low) {
			interval = fmt.Sprintf("%.4f to %.4f", r.Low, r.High)
		}
		ahead := ""
		if r.Pairs > 0 {
			ahead = fmt.Sprintf("%d of %d (p = %.3g)", r.Ahead, r.Pairs, r.P)
		}
		fmt.Fprintf(env.Stdout, "d = %-4d %-14s n = %-3d %.4f±%.4f  %-18s  %s\n", r.Dim, r.Method, r.Constructions, r.Mean, r.Std, interval, ahead)
	}
	return nil
}

// rangesFile returns the path of the file of ranges, or "" if the ranges are
// not kept.
func rangesFile(flag string) (string, error) {
	switch flag {
	case "none":
		return "", nil
	case "":
		cache, err := buildinfo.CacheDir()
		if err != nil {
			return "", nil // no folder to keep the file in
		}
		flag = filepath.Join(cache, "ranges.jsonl")
		return flag, os.MkdirAll(filepath.Dir(flag), 0o755)
	}
	return flag, nil
}

// listPortfolios prints the paper's portfolios, sorted by problem class.
func listPortfolios(env *Env, v *verb) int {
	for _, class := range []string{"ccp", "cimp", "caop"} {
		for _, name := range experiment.Portfolios() {
			p, err := experiment.Portfolio(class, name)
			if err != nil {
				return v.fail(env, err)
			}
			if class != "caop" && p.Members[0].Solver() != "brkga" {
				continue // a portfolio for caop only
			}
			var members []string
			for _, c := range p.Members {
				members = append(members, c.String())
			}
			fmt.Fprintf(env.Stdout, "%-5s %-13s %s\n", class, name, strings.Join(members, " "))
		}
	}
	return exitOK
}
