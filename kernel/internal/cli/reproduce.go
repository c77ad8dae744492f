package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/figure"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/problem/onemax"
	dacerun "dace.local/dacelib/run"
	"dace.local/dacelib/stats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

var reproduceVerb = verb{
	name:  "reproduce",
	short: "make a table or a figure of the paper again",
	usage: `
Usage: dace reproduce II|III|IV|4|5|C|D|E|F [-class CLASS] [-fresh] [flags]

Makes a table or a figure of the paper again, beside the paper's numbers:

  II   times of the constructions, with their work
  III  means on unseen instances; IV  wins, draws and losses of DACE
  4    the distributions behind III, a figure
  5    the portfolio after each round, a figure
  C    the portfolios
  D    losses of the networks
  E    training instances of several dimensions, on ccp
  F    the instances of OneMax that networks are nearest to

Tests and constructions that are stored in -results (notebooks/results in a clone) are
read. What is not there, and everything with -fresh, -instances, -repeats,
-evaluations, -sample or -seed, is computed: portfolios of the paper are tested,
networks trained, DACE and the others construct at -scale. It is said first how long
that takes, about; what constructions and tests have done is kept in -keep, and the
same command goes on from there.

-reading published, the default for III, IV and 4, is what the authors' public code
does; written is the paper's text. Figures go to -o FILE.

Exit code: 0; 1 when something failed; 2 for wrong arguments; 130 when
interrupted.

Examples:
  dace reproduce III -class ccp
  dace reproduce IV -class ccp -fresh -instances 20
  dace reproduce 4 -class cimp -o fig4.pdf
`,
	run: runReproduce,
}

// reproduction is a table or figure that is being made.
type reproduction struct {
	env                                     *Env
	ctx                                     context.Context
	class                                   problem.Class
	fresh                                   bool
	results, keep, out, scale               string
	activation                              nir.Activation
	reading                                 dacerun.Reading
	instances, repeats, evaluations, sample int
	seed                                    uint64
}

// reproductions are the functions that make them, by name.
var reproductions = map[string]func(r *reproduction) error{
	"II": (*reproduction).times, "III": (*reproduction).means, "IV": (*reproduction).outcomes,
	"4": (*reproduction).distributions, "5": (*reproduction).rounds, "C": (*reproduction).portfolios,
	"D": (*reproduction).losses, "E": (*reproduction).mixed, "F": (*reproduction).oneMaxes,
}

func runReproduce(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	r := reproduction{env: env}
	class := fs.String("class", "ccp", "ccp, cimp or caop")
	fs.BoolVar(&r.fresh, "fresh", false, "compute everything, also what is stored")
	fs.StringVar(&r.results, "results", filepath.Join("notebooks", "results"), "`folder` of stored tests and constructions")
	fs.StringVar(&r.keep, "keep", "reproduced", "`folder` that keeps what is computed")
	fs.StringVar(&r.out, "o", "", "`file` of the figure, .png, .svg or .pdf (default figure-4-ccp.png or the like)")
	fs.StringVar(&r.scale, "scale", "paper", "scale of constructions and trainings: quick, small, tenth or paper")
	scorer := fs.String("scorer", "leakyrelu", "the NIR's scorer in constructions and trainings: leakyrelu, the text's, or affine, with which DACE takes a third of the time")
	reading := fs.String("reading", "published", "written or published")
	fs.IntVar(&r.instances, "instances", 50, "`number` of unseen instances of each dimension")
	fs.IntVar(&r.repeats, "repeats", 20, "`number` of runs on each")
	fs.IntVar(&r.evaluations, "evaluations", 800, "evaluations of each member in a run")
	fs.IntVar(&r.sample, "sample", 0, "`number` of solutions that normalise an instance; 0 means the reading's")
	fs.Uint64Var(&r.seed, "seed", 1, "seed of instances and runs")
	names, code, ok := v.parse(env, fs, args, true, 1, 1)
	if !ok {
		return code
	}
	name := strings.TrimPrefix(strings.TrimPrefix(strings.ToUpper(names[0]), "FIG"), "TABLE")
	run := reproductions[strings.Trim(name, " .")]
	if run == nil {
		return v.misuse(env, "there is no %q; the tables are II, III and IV, the figures 4 and 5, the appendices C, D, E and F; Figures 1 to 3 and 6 and the others are in the notebooks", names[0])
	}
	if r.instances < 1 || r.repeats < 1 || r.evaluations < 1 || r.sample < 0 {
		return v.misuse(env, "-instances, -repeats and -evaluations must be at least 1")
	}
	var err error
	if r.reading, err = dacerun.ParseReading(*reading); err != nil {
		return v.misuse(env, "%v", err)
	}
	if r.activation, err = scorerActivation(*scorer); err != nil {
		return v.misuse(env, "%v", err)
	}
	if r.class, err = experiment.Class(*class, 0); err != nil || len(experiment.PaperTable(r.class.Name, "DACE").Rows) == 0 {
		return v.misuse(env, "the paper has no table of the class %q; it has ccp, cimp and caop", *class)
	}
	// What the flags ask for is not among what is stored.
	fs.Visit(func(f *flag.Flag) {
		r.fresh = r.fresh || slices.Contains([]string{"instances", "repeats", "evaluations", "sample", "seed"}, f.Name)
	})
	ctx, stop := untilSignal()
	defer stop()
	r.ctx = ctx
	if err := run(&r); err != nil {
		var sig signalled
		if errors.As(context.Cause(ctx), &sig) {
			fmt.Fprintf(env.Stderr, "dace reproduce: %v; what is done is in %s, and the same command goes on from there\n", sig, r.keep)
			return sig.code()
		}
		return v.fail(env, err)
	}
	return exitOK
}

func (r *reproduction) say(format string, a ...any) { fmt.Fprintf(r.env.Stderr, format+"\n", a...) }

func (r *reproduction) print(format string, a ...any) { fmt.Fprintf(r.env.Stdout, format, a...) }

// test returns the tests of portfolios: the stored ones, else new ones.
func (r *reproduction) test(paps []portfolio.Portfolio) ([]experiment.Record, error) {
	if !r.fresh {
		stored, err := experiment.Stored(filepath.Join(r.results, "tests", r.class.Name+".jsonl"), r.reading, paps)
		if err != nil || stored != nil {
			return stored, err
		}
	}
	return r.testAnew(paps)
}

func (r *reproduction) testAnew(paps []portfolio.Portfolio) ([]experiment.Record, error) {
	set, err := r.class.NewSet(r.seed, 0, r.instances)
	if err != nil {
		return nil, err
	}
	if err := r.estimate(set.Test, len(paps)); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(r.keep, 0o755); err != nil {
		return nil, err
	}
	return experiment.Test(r.ctx, set, experiment.Entries(paps), experiment.Settings{
		Reading: r.reading, Sample: r.sample, Evaluations: r.evaluations, Repeats: r.repeats, Seed: r.seed, Seeds: portfolio.SharedSeed,
		Baselines: experiment.NoBaselines, File: filepath.Join(r.keep, "tests-"+r.class.Name+".jsonl"), Ranges: filepath.Join(r.keep, "ranges.jsonl"),
	})
}

// estimate says how long a test takes, by the time of a run on the first instance.
func (r *reproduction) estimate(instances []problem.Problem, portfolios int) error {
	const looked = 20
	jobs := portfolio.BRKGAPAP()
	var began time.Time
	for range 2 { // the first run prepares the instance
		began = time.Now()
		if _, err := jobs.Run(r.ctx, instances[:1], portfolio.Settings{Reading: r.reading, Evaluations: looked, Repeats: 1, Workers: 1}); err != nil {
			return err
		}
	}
	each := time.Since(began).Seconds() / float64(looked*jobs.Size())
	sample := cmp.Or(r.sample, map[dacerun.Reading]int{dacerun.Written: 1_000_000, dacerun.Published: 100_000}[r.reading])
	evaluations := float64(len(instances)) * (float64(sample) + float64(portfolios*jobs.Size()*r.repeats*r.evaluations))
	r.say("%.3g million evaluations on %d instances; by the first %d they take at most about %s on %d cores",
		evaluations/1e6, len(instances), looked*jobs.Size(), dacerun.Seconds(evaluations*each/float64(runtime.GOMAXPROCS(0))), runtime.GOMAXPROCS(0))
	return nil
}

// table prints a title, by what tests it is, and returns the table of the paper's
// portfolios.
func (r *reproduction) table(title string) (t experiment.Table, err error) {
	paps, err := experiment.PaperPortfolios(r.class.Name)
	if err != nil {
		return t, err
	}
	records, err := r.test(paps)
	if err != nil {
		return t, err
	}
	if t, err = experiment.Tabulate(records, ""); err != nil {
		return t, err
	}
	r.print("%s\n%s, reading %v; %d instances of each dimension, %d repeats, %d evaluations a member\n\n", title,
		strings.ToUpper(r.class.Name), r.reading, t.Rows[0].Instances, len(records[0].Values), records[0].Evaluations)
	return t, nil
}

func (r *reproduction) means() error {
	t, err := r.table("Table III: means ± standard deviations over the instances")
	if err != nil {
		return err
	}
	r.print("%s\n", experiment.BesidePaper(t).Text())
	r.print("\n%s\n", experiment.Agreement(t))
	return nil
}

func (r *reproduction) outcomes() error {
	t, err := r.table("Table IV: instances on which DACE's portfolio wins, draws and loses")
	if err != nil {
		return err
	}
	r.print("%4s  %-18s %-10s %s\n", "d", "against", "here", "paper")
	d := 0
	for _, row := range experiment.BesidePaper(t) {
		if row.OursWDL == "" {
			continue
		}
		dim := ""
		if row.Dim != d {
			if d > 0 {
				r.print("\n")
			}
			d, dim = row.Dim, fmt.Sprint(row.Dim)
		}
		r.print("%4s  %-18s %-10s %s\n", dim, row.Method, row.OursWDL, row.PaperWDL)
	}
	return nil
}

func (r *reproduction) distributions() error {
	paps, err := experiment.PaperPortfolios(r.class.Name)
	if err != nil {
		return err
	}
	published := len(paps)
	ours, err := r.stored("")
	if err != nil {
		return err
	}
	for _, c := range ours {
		paps = append(paps, c.Portfolio)
	}
	records, err := r.test(paps)
	if err != nil {
		return err
	}
	var boxes []*plot.Plot
	for _, d := range r.class.TestDims {
		var groups []figure.Group
		for i, p := range paps {
			kind := map[bool]string{true: "the paper's", false: "ours"}[i < published]
			if v := experiment.Means(records, p.Name, d); len(v) > 0 {
				groups = append(groups, figure.Group{Name: strings.TrimSuffix(p.Name, " (paper)"), Kind: kind, Values: v})
			}
		}
		if len(groups) > 0 {
			boxes = append(boxes, figure.HorizontalBoxes(fmt.Sprintf("%s, d = %d, reading %v", strings.ToUpper(r.class.Name), d, r.reading), "normalised quality", groups))
		}
	}
	return r.figure("4", boxes)
}

// figure writes plots side by side.
func (r *reproduction) figure(number string, plots []*plot.Plot) error {
	path := cmp.Or(r.out, fmt.Sprintf("figure-%s-%s.png", number, r.class.Name))
	columns := min(2, len(plots))
	rows := (len(plots) + columns - 1) / columns
	if err := figure.SaveSize(figure.Tiles(columns, plots), path, vg.Length(columns)*8.8*vg.Centimeter, vg.Length(rows)*7*vg.Centimeter); err != nil {
		return err
	}
	r.print("%s\n", path)
	return nil
}

// stored returns the constructions of the class in the folder of results, none if there
// is no such folder.
func (r *reproduction) stored(scale string) ([]experiment.Construction, error) {
	all, err := experiment.Constructed(r.results, r.class.Name, scale)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return all, err
}

// constructed returns the constructions of the class: the stored ones of any scale,
// else new ones of the methods.
func (r *reproduction) constructed(methods ...string) ([]experiment.Construction, error) {
	if !r.fresh {
		if stored, err := r.stored(""); err != nil || len(stored) > 0 {
			return stored, err
		}
	}
	set, err := r.class.NewSet(r.seed, 5, 0)
	if err != nil {
		return nil, err
	}
	for _, m := range methods {
		s, err := r.settings(m)
		if err != nil {
			return nil, err
		}
		if _, err := construct.LoadSummary(s.Dir); err == nil {
			continue // it has ended
		}
		r.say("%s constructs on %s, scale %s, in %s: %s", m, r.class.Name, r.scale, s.Dir, r.took(m))
		result, err := construct.Build(r.ctx, m, r.class, set.Training, s)
		if err != nil {
			return nil, err
		}
		if err := result.Summary(r.class.Name, r.scale).Save(s.Dir); err != nil {
			return nil, err
		}
	}
	return experiment.Constructed(r.keep, r.class.Name, r.scale)
}

// settings are those of a construction, which is kept in a folder that is named after it.
func (r *reproduction) settings(method string) (construct.Settings, error) {
	s, err := construct.Scale(r.scale, method, r.class.Name, dacerun.Written)
	if err != nil {
		return s, err
	}
	s.NIR.Activation = r.activation
	s.Seed, s.Dir = r.seed, filepath.Join(r.keep, strings.ToLower(strings.ReplaceAll(r.class.Name+"-"+method+"-"+r.scale, " ", "-")))
	if r.activation == nir.Identity && method == "DACE" {
		s.Dir += "-affine"
	}
	return s, nil
}

// took says how long a construction takes, by the one that is stored.
func (r *reproduction) took(method string) string {
	stored, err := r.stored(r.scale)
	name := method
	if method == "DACE" && r.activation == nir.Identity {
		name += " (affine)"
	}
	if i := slices.IndexFunc(stored, func(c experiment.Construction) bool { return c.Portfolio.Name == name }); err == nil && i >= 0 {
		return fmt.Sprintf("the stored one took %s of processor time on %s", dacerun.Seconds(stored[i].CPUSeconds), stored[i].CPU)
	}
	paper := map[string]string{"ccp": "an hour or two of two cores", "cimp": "some hours of two cores", "caop": "five hours or more, as each evaluation is a compilation"}[r.class.Name]
	if method == "CEPS" && r.class.Name != "caop" {
		paper = "half an hour of two cores"
	}
	return map[string]string{"quick": "about a minute", "small": "minutes", "tenth": "up to an hour", "paper": paper + " (-scale quick is a smaller one)"}[r.scale]
}

func (r *reproduction) times() error {
	all, err := r.constructed("DACE", "CEPS", "GLOBAL", "PARHYDRA")
	if err != nil {
		return err
	}
	r.print("Table II, %s: hours of constructions, and millions of runs of the solver\n\n%-22s %12s %12s %12s %12s %12s\n", strings.ToUpper(r.class.Name),
		"portfolio", "paper: wall", "paper: CPU", "here: wall", "here: CPU", "here: runs")
	for _, c := range all {
		wall, cpu := "-", "-"
		for _, p := range experiment.PaperTimes() {
			if p.Class == r.class.Name && p.Method == c.Method {
				wall, cpu = fmt.Sprint(p.Wall), fmt.Sprint(p.CPU)
			}
		}
		r.print("%-22s %12s %12s %12.2f %12.2f %12.2f\n", c.Portfolio.Name, wall, cpu, c.Seconds/3600, c.CPUSeconds/3600, float64(c.Runs)/1e6)
	}
	return nil
}

func (r *reproduction) rounds() error {
	all, err := r.constructed("DACE")
	if err != nil {
		return err
	}
	var plots []*plot.Plot
	for _, c := range all {
		record, err := construct.Read(c.Dir)
		if err != nil {
			return err
		}
		if c.Method == "GLOBAL" || c.Method == "PARHYDRA" || len(record.Rounds) < 2 {
			continue
		}
		var paps []portfolio.Portfolio
		for i, round := range record.Rounds {
			round.Portfolio.Name = fmt.Sprintf("%s, round %d", c.Portfolio.Name, i)
			paps = append(paps, round.Portfolio)
		}
		records, err := r.testRounds(paps)
		if err != nil {
			return err
		}
		var names []string
		var means, halves [][]float64
		for _, d := range r.class.TestDims {
			if len(experiment.Means(records, paps[0].Name, d)) == 0 {
				continue
			}
			var m, h []float64
			for _, p := range paps {
				mean, half := stats.Interval(experiment.Means(records, p.Name, d), 0.95)
				m, h = append(m, mean), append(h, half)
			}
			names, means, halves = append(names, fmt.Sprint("d = ", d)), append(means, m), append(halves, h)
			r.print("%-22s d = %3d: %.3f after each round\n", c.Portfolio.Name, d, m)
		}
		plots = append(plots, figure.Rounds(c.Portfolio.Name+" on "+strings.ToUpper(r.class.Name), "normalised quality", names, means, halves))
	}
	if len(plots) == 0 {
		return fmt.Errorf("no construction of %s in %s was made in rounds: -fresh makes one", r.class.Name, r.results)
	}
	return r.figure("5", plots)
}

// testRounds is test for the portfolios after the rounds, which are stored apart.
func (r *reproduction) testRounds(paps []portfolio.Portfolio) ([]experiment.Record, error) {
	if !r.fresh {
		stored, err := experiment.Stored(filepath.Join(r.results, "tests", r.class.Name+"-rounds.jsonl"), dacerun.Written, paps)
		if err != nil || stored != nil {
			return stored, err
		}
	}
	return r.testAnew(paps)
}

func (r *reproduction) portfolios() error {
	paps, err := experiment.PaperPortfolios(r.class.Name)
	if err != nil {
		return err
	}
	all, err := r.stored("")
	if err != nil {
		return err
	}
	for _, c := range all {
		c.Portfolio.Name += ", here"
		paps = append(paps, c.Portfolio)
	}
	for _, p := range paps {
		r.print("%v\n", p)
	}
	return nil
}

// networks are the settings of a training at the scale, which is kept in a file that is
// named after it.
func (r *reproduction) networks(name string) (nir.Settings, error) {
	s, took := nir.Settings{}, "some minutes of two cores"
	if r.scale != "paper" {
		s, took = nir.Quick(), "seconds"
	}
	if r.class.Name == "caop" && name == "caop" {
		took = "hours, as each of the solutions that they learn from is compiled"
	}
	s.Seed, s.Activation = r.seed, r.activation
	s.Checkpoint = filepath.Join(r.keep, fmt.Sprintf("networks-%s-%s-%s-%d.npz", name, r.scale, strings.ToLower(s.Activation.String()), r.seed))
	r.say("five instances are learned, scale %s, in %s: %s", r.scale, s.Checkpoint, took)
	return s, os.MkdirAll(r.keep, 0o755)
}

func (r *reproduction) losses() error {
	set, err := r.class.NewSet(r.seed, 5, 0)
	if err != nil {
		return err
	}
	s, err := r.networks(r.class.Name)
	if err != nil {
		return err
	}
	m, err := nir.Train(r.ctx, set.Training, s)
	if err != nil {
		return err
	}
	r.print("Appendix D, %s: validation losses\n\n%-6s %-55s %s\n", strings.ToUpper(r.class.Name), "", "scorers 1 to 5", "reconstruction")
	for _, p := range experiment.PaperLosses() {
		if p.Class == r.class.Name {
			r.print("%-6s %-55s %.4f\n", "paper", fmt.Sprintf("%.2e", p.Scorers), p.Reconstruction)
		}
	}
	r.print("%-6s %-55s %.4f\n", "here", fmt.Sprintf("%.2e", m.Losses().Scorer), m.Losses().Reconstruction)
	return nil
}

func (r *reproduction) mixed() error {
	if r.class.Name != "ccp" {
		return errors.New("the paper has mixed dimensions (Appendix E) for ccp alone")
	}
	mixed, err := r.constructedMixed()
	if err != nil {
		return err
	}
	all, err := r.constructed("DACE", "CEPS", "GLOBAL", "PARHYDRA")
	if err != nil {
		return err
	}
	paps := []portfolio.Portfolio{mixed}
	for _, c := range all {
		paps = append(paps, c.Portfolio)
	}
	records, err := r.test(append(paps, portfolio.BRKGAPAP()))
	if err != nil {
		return err
	}
	t, err := experiment.Tabulate(records, mixed.Name)
	if err != nil {
		return err
	}
	r.print("Appendix E, here:\n%v\nin the paper:\n%v\n", t, experiment.PaperTable("ccp", "DACE mixed"))
	return nil
}

// constructedMixed returns the portfolio that DACE makes of instances of 31 to 35 stages:
// the stored one of any scale, else a new one.
func (r *reproduction) constructedMixed() (p portfolio.Portfolio, err error) {
	const folder, name = "mixed", "DACE mixed"
	if !r.fresh {
		stored, err := experiment.Constructed(filepath.Join(r.results, folder), r.class.Name, "")
		if err == nil && len(stored) > 0 {
			stored[0].Portfolio.Name = name
			return stored[0].Portfolio, nil
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return p, err
		}
	}
	var training []problem.Problem
	for d := 31; d <= 35; d++ {
		instance, err := ccp.Generate(dacerun.Seed(r.seed, "mixed", d), ccp.Settings{Dim: d, Lambda: 1e-4})
		if err != nil {
			return p, err
		}
		training = append(training, instance)
	}
	s, err := r.settings("DACE")
	if err != nil {
		return p, err
	}
	s.Dir = filepath.Join(r.keep, folder, filepath.Base(s.Dir))
	s.NIR.Dim = 33 // the mean of the dimensions
	r.say("DACE constructs on several dimensions, scale %s, in %s: %s", r.scale, s.Dir, r.took("DACE"))
	result, err := construct.DACE(r.ctx, training, s)
	if err != nil {
		return p, err
	}
	result.Portfolio.Name = name
	return result.Portfolio, result.Summary(r.class.Name, r.scale).Save(s.Dir)
}

func (r *reproduction) oneMaxes() error {
	var ones []*onemax.Instance
	var training []problem.Problem
	for i := range 5 {
		p := onemax.Random(dacerun.Seed(r.seed, "onemax", i), 30)
		ones, training = append(ones, p), append(training, p)
	}
	s, err := r.networks("onemax")
	if err != nil {
		return err
	}
	m, err := nir.Train(r.ctx, training, s)
	if err != nil {
		return err
	}
	drawn := make([][]float64, 15) // as many as the paper's
	rng := dacerun.Rand(r.seed, "generated")
	for i := range drawn {
		drawn[i] = make([]float64, nir.EmbeddingSize)
		for j := range drawn[i] {
			drawn[i][j] = rng.NormFloat64()
		}
	}
	for _, part := range []struct {
		nirs       string
		embeddings [][]float64
	}{{"trained", m.Embeddings()}, {"generated", drawn}} {
		r.print("Appendix F, %s networks and the instance of OneMax that is nearest:\n\n%3s  %-30s  %-8s %8s   %-30s %8s\n", part.nirs, "", "target, here", "trained", "L1", "target, paper", "L1")
		var theirs []experiment.PaperOneMax
		for _, o := range experiment.PaperOneMaxes() {
			if o.NIRs == part.nirs {
				theirs = append(theirs, o)
			}
		}
		known := 0
		for i, e := range part.embeddings {
			s, err := m.Scorer(e)
			if err != nil {
				return err
			}
			found, err := nir.ClosestOneMax(r.ctx, s, nir.OneMaxSettings{Seed: r.seed})
			if err != nil {
				return err
			}
			which := "new"
			if k := slices.IndexFunc(ones, func(p *onemax.Instance) bool { return slices.Equal(p.Target(), found.Target) }); k >= 0 {
				which = fmt.Sprintf("(%d)", k+1)
				known++
			}
			paper := experiment.PaperOneMax{}
			if i < len(theirs) {
				paper = theirs[i]
			}
			r.print("%3d  %-30v  %-8s %8.1e   %-30s %8.1e\n", i+1, problem.Pack(found.Target), which, found.L1, paper.Target, paper.L1)
		}
		r.print("%d of %d have a training instance's target\n\n", known, len(part.embeddings))
	}
	return nil
}
