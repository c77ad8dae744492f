package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"time"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/problem"
	dacerun "dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	"dace.local/dacelib/solver/external"
)

var constructVerb = verb{
	name:  "construct",
	short: "build a portfolio from training instances, for minutes or for days",
	usage: `
Usage: dace construct -class CLASS -o DIR [flags]

Builds a portfolio of solvers' configurations for a class of problems, from a few
training instances, and writes it to DIR/portfolio.json.

Methods: best, the default, chooses from all solvers of the library: a race on the
training instances, then configurations near those that are left. It says whether
a portfolio pays. The others search BRKGA's configurations: dace, ceps, noreg,
global and parhydra are the paper's.
one searches on the training instances alone, one3 does so under three seeds of
the solver on every instance, fresh adds random instances of the class, and
greedy chooses from random configurations without a search.

Classes: ccp (contamination control, dimension 30), cimp (influence
maximisation, 80; "dace data fetch all" gets its networks first), caop
(compiler arguments, 80; needs GCC) and onemax (30). -dim is another one.

Scales: quick takes seconds to a minute, small minutes, tenth a tenth of the
paper's trials, paper all of them: on two cores, CEPS takes half an hour or less
and DACE, GLOBAL and PARHYDRA on ccp about one each. On caop an evaluation is a
compilation, and DACE's 500,000 take about five hours. "-scorer affine" makes DACE
two to three times as fast on the others, and "-stop enough" ends a search for a
hard instance when it has found one. best makes the same runs at every scale:
seconds on ccp.

Readings: written is the paper's text, published what the authors' public code
does, where the two differ.

DIR keeps a record of every step, so that a run may be ended at any time, also
by a kill or with the machine; "-resume" with the same flags goes on and loses
at most a minute's work. The outcome is that of a run without interruption.
Ctrl-C keeps the best portfolio so far. A folder in use, or one that holds a
construction of other flags, is refused.

  portfolio.json  the portfolio, as {"method": "DACE", "class": "ccp",
                  "dim": 30, "scale": "paper", "reading": "written",
                  "seed": 1, "members": [[20, 70, 10, 0.7, false], ...],
                  "runs": ..., "evaluations": ..., "seconds": ..., ...}:
                  elites, offspring, mutants, elite bias and duplicate
                  elimination of each member; runs of the solver, evaluations
                  of true instances, seconds by the clock
  journal.jsonl   the outcome of every step, with its costs
  trials.gz       every trial of every run of SMAC
  model.npz       the trained NIRs (best, dace, noreg)

In Go, construct.Read(DIR) returns the record as tables, and portfolio.Load
reads portfolio.json. "dace test DIR" tests the portfolio on unseen instances.

-seconds, -runs and -evaluations are budgets; what ran out is said. -target ends a
run at a value, "-measure anytime" prefers runs that are good early.
-solvers names those to choose from, also one that FILE.go registers.

-scenario FILE takes a program of your own as the solver: a scenario of irace
(scenario.txt, parameters.txt, a target-runner) or of SMAC (a wrapper, a .pcs
file), as they are. maxExperiments or the run-count limit is the budget, unless
-runs says another one, 600 if there is none. A failing run is shown with its
command, its exit status and the end of its standard error. The members are
printed as command lines, too.

-json prints portfolio.json in the end, instead of a text.

-farm JOIN has the work computed by the workers of a farm; the result is the
same. "dace worker -h" says how to start them.

Exit code: 0; 1 when the construction failed; 2 for wrong arguments; 130 when
interrupted.

Examples:
  dace construct -class ccp -evaluations 50000 -o ccp-best
  dace construct -method dace -class ccp -scale quick -o quick
  dace construct -method ceps -class ccp -scale paper -seed 1 -o ccp-ceps
  dace construct -method ceps -class ccp -scale paper -seed 1 -o ccp-ceps -resume
  dace construct -command "python3 eval.py" -instances data -dim 40 -solvers "ea, tabu" -o mine
  dace construct -scenario scenario.txt -o mine
`,
	run: runConstruct,
}

func runConstruct(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	var o objective
	o.flags(fs)
	var (
		method    = fs.String("method", "best", "`name` of the method: best, dace, ceps, noreg, global, parhydra, one, one3, fresh or greedy")
		className = fs.String("class", "", "`name` of the class: "+strings.Join(experiment.Classes(), ", "))
		dim       = fs.Int("dim", 0, "dimension of the training instances; 0 means the class's")
		instances = fs.String("instances", "5", "`number` of training instances, or with -command the folder of their files")
		scale     = fs.String("scale", "quick", "quick, small, tenth or paper")
		reading   = fs.String("reading", "written", "written or published")
		seed      = fs.Uint64("seed", 1, "seed of the training instances and of the construction")
		workers   = fs.Int("workers", 0, "`number` of threads; 0 means one per core; it does not change the result")
		farmJoin  = newFarmFlags(fs)
		out       = fs.String("o", "", "`folder` of the record and the portfolio")
		resume    = fs.Bool("resume", false, "go on with what the folder holds")
		scorer    = fs.String("scorer", "", "the NIR's scorer: leakyrelu or affine; default that of the reading")
		stop      = fs.String("stop", "authors", "`rule` that ends a search for a hard instance: authors, enough or never")
		margin    = fs.Float64("margin", 0, "how far below the hardest instance is enough")
		seeds     = fs.Int("seeds", 0, "`number` of seeds of the solver on every instance; 0 means 1, for one3 3, for best 12")
		share     = fs.Float64("share", 0, "`share` of a run's evaluations after which it ends in the construction; 0 means all, for best 0.8")
		checks    = fs.Int("checks", 0, "`number` of seeds for runs on the training instances themselves that decide between the configurations found on NIRs; 0 means none, for best 16 or what the budget allows; -1 means none for best, too")
		member    = fs.Int("member-evaluations", 0, "evaluations of a run of a member; 0 means 800")
		runs      = fs.Int("runs", 0, "budget of the whole construction in runs of the solver; 0 means none")
		evals     = fs.Int("evaluations", 0, "budget of the whole construction in evaluations of true instances; 0 means none. A run's are -member-evaluations")
		seconds   = fs.Float64("seconds", 0, "`time` of this call by the clock; when it is over, the best portfolio so far is the result; 0 means none")
		target    = fs.String("target", "", "a `value` at which a run ends; for best that of an instance, else a normalised one")
		measure   = fs.String("measure", "value", "what a run is judged by: value, its best value, or anytime, the area under the curve of the best values")
		asJSON    = fs.Bool("json", false, "print the portfolio as JSON, as it is in portfolio.json")
		solvers   = fs.String("solvers", "", "`names` of the solvers to choose from; by default all for best, brkga for other methods: "+strings.Join(familyNames(), ", "))
		scenario  = fs.String("scenario", "", "scenario `file` of irace or SMAC: its program is the solver, its instances are trained on")
	)
	if _, code, ok := v.parse(env, fs, args, true, 0, 0); !ok {
		return code
	}
	limits, err := constructLimits(*seconds, *target, *measure, o.minimise)
	if err != nil {
		return v.misuse(env, "%v", err)
	}
	if *scenario != "" {
		if *className != "" || o.given() || *method != "best" || *solvers != "" {
			return v.misuse(env, "-scenario has a program and instances of its own, for -method best: leave -class, -problem, -command, -method and -solvers out")
		}
		s := construct.Settings{Seed: *seed, Workers: *workers, Dir: *out, Budget: construct.Budget{Runs: *runs, Seconds: *seconds}}
		return v.scenario(env, *scenario, *resume, *asJSON, farmJoin, s)
	}
	o.dim = *dim
	var own problem.Class
	if o.given() {
		own.Name = o.name()
	}
	s, class, err := constructSettings(*method, *className, own, *dim, *scale, *reading, *scorer, *stop)
	number, numberErr := strconv.Atoi(*instances)
	switch {
	case *className == "" && !o.given():
		return v.misuse(env, "which class? -class NAME: %s; or your own problem by -problem FILE.go or -command PROGRAM", strings.Join(experiment.Classes(), ", "))
	case *className != "" && o.given():
		return v.misuse(env, "-class and an objective of your own are two problems: name one")
	case err != nil:
		return v.misuse(env, "%v", err)
	case *out == "":
		return v.misuse(env, "where to? -o FOLDER keeps the record and the portfolio")
	case o.wrongInstances(fs, *instances) != "":
		return v.misuse(env, "%s", o.wrongInstances(fs, *instances))
	case numberErr == nil && number < 1:
		return v.misuse(env, "%d training instances; there must be at least 1", number)
	case o.unused(fs) != "":
		return v.misuse(env, "%s", o.unused(fs))
	}
	s.Seed, s.Workers, s.Dir, s.PGPE.Margin = *seed, *workers, *out, *margin
	if *seeds != 0 {
		s.Seeds = *seeds
	}
	s.Share, s.Checks = *share, *checks
	s.Budget = construct.Budget{Runs: *runs, Evaluations: *evals, Seconds: *seconds}
	s.Target, s.Measure = limits.Target, limits.Measure
	if *member != 0 {
		s.Evaluations = *member
	}
	if err := checkFolder(*out, *resume); err != nil {
		return v.fail(env, err)
	}
	name := strings.Replace(strings.ToLower(*method), "one3", "onex3", 1)
	if o.given() {
		if o.command != "" && given(fs, "instances") {
			if o.instances, err = instanceFiles(*instances); err != nil {
				return v.fail(env, err)
			}
		}
		ctx, stop := untilSignal()
		training, end, err := o.problems(ctx, env, -1)
		stop()
		if err != nil {
			return v.fail(env, err)
		}
		defer end()
		class.TrainDim = training[0].Dim()
		if s.Solvers, err = namedSolvers(*solvers); err != nil { // FILE.go may have registered them
			return v.fail(env, err)
		}
		return v.construct(env, name, class, training, *scale, *asJSON, farmJoin, s)
	}
	set, err := class.NewSet(*seed, number, 0)
	if err != nil {
		return v.fail(env, err)
	}
	if s.Solvers, err = namedSolvers(*solvers); err != nil {
		return v.fail(env, err)
	}
	return v.construct(env, name, class, set.Training, *scale, *asJSON, farmJoin, s)
}

// familyNames returns the names of the library's solvers.
func familyNames() (names []string) {
	for _, f := range solver.Families() {
		if _, program := f.(solver.Fitter); !program {
			names = append(names, f.Name())
		}
	}
	return names
}

// namedSolvers returns the solvers of a list of names, nil without names.
func namedSolvers(names string) (solvers []solver.Solver, err error) {
	if names == "" {
		return nil, nil
	}
	for name := range strings.SplitSeq(names, ",") {
		one, err := solver.Lookup(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		solvers = append(solvers, one)
	}
	return solvers, nil
}

// constructLimits converts the flags of what ends a run and what it is judged by.
func constructLimits(seconds float64, target, measure string, minimise bool) (s construct.Settings, err error) {
	if !(seconds >= 0) {
		return s, fmt.Errorf("-seconds %v must not be negative", seconds)
	}
	if s.Measure, err = construct.ParseMeasure(measure); err != nil {
		return s, err
	}
	if target == "" {
		return s, nil
	}
	t, err := strconv.ParseFloat(target, 64)
	if err != nil {
		return s, fmt.Errorf("-target %s is no number", target)
	}
	if minimise {
		t = -t
	}
	s.Target = &t
	return s, nil
}

// scenario builds a portfolio of a program's configurations, as a scenario file of
// irace or SMAC describes it. A run counts as one evaluation.
func (v *verb) scenario(env *Env, path string, resume, asJSON bool, farmJoin *farmFlags, s construct.Settings) int {
	if s.Dir == "" {
		return v.misuse(env, "where to? -o FOLDER keeps the record and the portfolio")
	}
	sc, err := external.LoadScenario(path)
	if err != nil {
		return v.fail(env, err)
	}
	if err := checkFolder(s.Dir, resume); err != nil {
		return v.fail(env, err)
	}
	words := sc.Runner.Args
	if sc.Runner.Target != "" {
		words = []string{sc.Runner.Target}
	}
	name := strings.TrimSuffix(filepath.Base(words[len(words)-1]), filepath.Ext(words[len(words)-1]))
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && (r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '-'
	}, name)
	if there, err := solver.Lookup(name); err == nil {
		if _, program := external.RunnerOf(there); !program {
			name += "-program" // a solver of this library is called so
		}
	}
	own, err := sc.Runner.Solver(name)
	if err != nil {
		return v.fail(env, err)
	}
	if len(sc.Unused) > 0 {
		fmt.Fprintf(env.Stderr, "not used: %s\n", strings.Join(sc.Unused, ", "))
	}
	if s.Budget.Runs == 0 {
		s.Budget.Runs = sc.Runs
	}
	if s.Budget.Seconds == 0 {
		s.Budget.Seconds = sc.Seconds
		if sc.Runner.Convention == external.Irace { // the time of all runs together
			s.Budget.Seconds /= float64(max(1, cmp.Or(s.Workers, runtime.GOMAXPROCS(0))))
		}
	}
	s.Evaluations, s.Solvers = 1, []solver.Solver{own}
	code := v.construct(env, "best", problem.Class{Name: name}, sc.Instances(), "", asJSON, farmJoin, s)
	if code != exitOK || asJSON {
		return code
	}
	if sum, err := construct.LoadSummary(s.Dir); err == nil {
		for _, c := range sum.Members {
			if line, err := sc.Runner.Command(c); err == nil {
				fmt.Fprintln(env.Stdout, strings.Join(line, " "))
			}
		}
	}
	return code
}

// constructSettings converts the flags whose values are names into the
// settings of a construction.
func constructSettings(method, className string, own problem.Class, dim int, scale, reading, scorer, stop string) (construct.Settings, problem.Class, error) {
	class, err := own, error(nil)
	if own.Name == "" {
		class, err = experiment.Class(className, dim)
	}
	if err != nil {
		return construct.Settings{}, class, err
	}
	r, err := dacerun.ParseReading(reading)
	if err != nil {
		return construct.Settings{}, class, err
	}
	s, err := construct.Scale(scale, strings.Replace(strings.ToLower(method), "one3", "onex3", 1), class.Name, r)
	if err != nil {
		return s, class, err
	}
	if s.NIR.Activation, err = scorerActivation(scorer); err != nil {
		return s, class, err
	}
	var rule pgpe.Rule
	if err := rule.UnmarshalText([]byte(stop)); err != nil {
		return s, class, err
	}
	s.PGPE.Rule = rule
	return s, class, nil
}

// checkFolder fails if dir holds a construction already and resume is false.
func checkFolder(dir string, resume bool) error {
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil // a missing folder starts a new construction
	case err != nil:
		return fmt.Errorf("cannot use %s: %w", dir, reason(err))
	case !info.IsDir():
		return fmt.Errorf("%s is a file; -o names a folder", dir)
	}
	if _, err := os.Stat(filepath.Join(dir, construct.JournalName)); err == nil && !resume {
		return fmt.Errorf("%s holds a construction already; add -resume to go on with it, or name another folder with -o", dir)
	}
	return nil
}

// inFlags replaces the fields of settings that messages of package construct name by
// the flags that set them.
var inFlags = strings.NewReplacer(
	"Settings.Budget.Seconds", "-seconds", "Budget.Seconds", "-seconds", "Budget.Evaluations", "-evaluations", "Budget.Runs", "-runs",
	"fewer Solvers", "fewer -solvers", "of Solvers", "of -solvers", "Settings.Solvers", "-solvers",
	"Settings.Evaluations", "-member-evaluations", "Settings.Seeds", "-seeds", "Settings.Share", "-share", "Settings.Checks", "-checks",
	"Settings.Workers", "-workers", "Settings.Target", "-target", "Settings.Farm", "-farm", "Settings.Dir", "-o",
)

// construct runs a construction and shows its progress.
func (v *verb) construct(env *Env, method string, class problem.Class, training []problem.Problem, scale string, asJSON bool, farmJoin *farmFlags, s construct.Settings) int {
	ctx, stop := untilSignal()
	defer stop()
	pool, err := joinFarm(ctx, env, v, farmJoin)
	if err != nil {
		return v.fail(env, err)
	}
	s.Farm = pool
	_, tty := descriptor(env.Stderr)
	p := &constructProgress{w: env.Stderr, tty: tty, width: width(env.Stderr)}
	var saved error
	s.OnRound = func(r construct.Result) {
		if len(r.Portfolio.Members) > 0 {
			saved = r.Summary(class.Name, scale).Save(s.Dir)
		}
	}
	r, err := construct.Watch(ctx, p.show, method, class, training, s)
	p.end()
	if len(r.Portfolio.Members) > 0 {
		saved = r.Summary(class.Name, scale).Save(s.Dir)
	}
	path := filepath.Join(s.Dir, construct.SummaryName)
	var sig signalled
	switch {
	case err != nil && errors.As(context.Cause(ctx), &sig):
		kept := "there is no portfolio yet"
		if len(r.Portfolio.Members) > 0 && saved == nil {
			kept = "the best portfolio so far is in " + path
		}
		fmt.Fprintf(env.Stderr, "dace construct: %v; %s; the same command with -resume goes on\n", sig, kept)
		return sig.code()
	case err != nil:
		return v.fail(env, errors.New(inFlags.Replace(err.Error())))
	case saved != nil:
		return v.fail(env, saved)
	}
	if asJSON {
		return v.printJSON(env, r.Summary(class.Name, scale))
	}
	fmt.Fprintf(env.Stdout, "%s\n\n%d runs, %d true evaluations, %s; processors %s\n%s\n", inFlags.Replace(r.String()), r.Cost.Runs, r.Cost.Evaluations,
		dacerun.Seconds(r.Cost.Seconds), dacerun.Seconds(r.Cost.CPU), path)
	return exitOK
}

// constructProgress shows the progress of a construction: in a terminal on one
// line that is redrawn, otherwise with a new line for every stage and every
// minute.
type constructProgress struct {
	w     io.Writer
	tty   bool
	width int

	mu    sync.Mutex // guards the fields below, and writes to w
	stage string
	last  time.Time
	drawn bool
	round int
}

func (p *constructProgress) show(view any) {
	v, ok := view.(construct.View)
	if !ok || v.Ended {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(v.Result.Rounds); n > p.round {
		p.clear()
		for ; p.round < n; p.round++ {
			r := v.Result.Rounds[p.round]
			sum := 0.0
			for _, f := range r.After {
				sum += f / float64(len(r.After))
			}
			fmt.Fprintf(p.w, "round %d: f = %.4f on %d instances\n", p.round, sum, len(r.After))
		}
	}
	if v.Event.Stage == "" {
		return
	}
	if p.tty {
		p.clear()
		fmt.Fprint(p.w, clip(v.Status(), p.width-1))
		p.drawn = true
		return
	}
	if v.Event.Stage != p.stage || time.Since(p.last) > time.Minute {
		p.stage, p.last = v.Event.Stage, time.Now()
		fmt.Fprintln(p.w, v.Status())
	}
}

func (p *constructProgress) clear() {
	if p.drawn {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.drawn = false
	}
}

func (p *constructProgress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.clear()
}

// scorerActivation returns the activation of an NIR's scorer, by its name in flags.
func scorerActivation(name string) (nir.Activation, error) {
	switch strings.ToLower(name) {
	case "", "leakyrelu":
		return nir.LeakyReLU, nil
	case "affine":
		return nir.Identity, nil
	}
	return 0, fmt.Errorf("no scorer is called %q: there are leakyrelu and affine", name)
}
