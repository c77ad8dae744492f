package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/experiment"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	dacerun "dace.local/dacelib/run"
	"dace.local/dacelib/solver"
	_ "dace.local/dacelib/solver/all" // the families
)

var solveVerb = verb{
	name:  "solve",
	short: "search for the best solution of one instance",
	usage: `
Usage: dace solve -problem FILE.go|-command PROGRAM|-class NAME [flags]

Runs solvers side by side on one instance and prints the best solution as JSON:
all families of this library with their defaults, the members of a portfolio
(-portfolio, a file or a folder of dace construct), or those of -solvers. Each
has -evaluations of its own. Progress goes to stderr.
` + objectiveUsage + `
The answer is {"problem": ..., "dim": ..., "value": ..., "x": "0110...",
"solver": ..., "seed": ..., "evaluations": ..., "seconds": ..., "status": ...,
"members": [...]}, with the value of each member. An interrupted run prints the
best so far, with "status": "cancelled".

Exit code: 0; 1 when a value cannot be computed; 2 for wrong arguments; 130 when
interrupted.

Examples:
  dace solve -command "python3 eval.py" -instance data/a.txt -dim 40
  dace solve -problem mine.go -evaluations 20000 -values mine.values
  dace solve -problem mine.go -portfolio ccp-best -target 100
  dace solve -class labs -dim 40 -solvers "tabu, ea{swaps: 0.5}"
`,
	run: runSolve,
}

// solution is the answer of the verb solve.
type solution struct {
	Problem     string         `json:"problem"`
	Dim         int            `json:"dim"`
	Value       answerFloat    `json:"value"`
	X           string         `json:"x"`
	Solver      string         `json:"solver"`
	Seed        uint64         `json:"seed"`
	Evaluations int            `json:"evaluations"`
	Seconds     float64        `json:"seconds"`
	Status      string         `json:"status"`
	Members     []memberAnswer `json:"members"`
}

type memberAnswer struct {
	Solver      string      `json:"solver"`
	Value       answerFloat `json:"value"`
	Evaluations int         `json:"evaluations"`
	Status      string      `json:"status"`
}

// answerFloat is a number whose infinities are texts in JSON, which has none; -0 is 0.
type answerFloat float64

func (f answerFloat) MarshalJSON() ([]byte, error) {
	if math.IsInf(float64(f), 0) {
		return json.Marshal(fmt.Sprint(float64(f)))
	}
	return json.Marshal(float64(f) + 0)
}

func runSolve(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	var o objective
	o.flags(fs)
	var (
		instance  = fs.String("instance", "", "with -command: the instance's `file`")
		className = fs.String("class", "", "`name` of a class of which an instance is drawn: "+strings.Join(experiment.Classes(), ", "))
		number    = fs.Int("number", 0, "with -class or -problem: the `index` of the instance")
		folder    = fs.String("portfolio", "", "a portfolio's `file`, or a folder of dace construct")
		solvers   = fs.String("solvers", "", "configurations, as `name, name{parameter: value}, ...`")
		evals     = fs.Int("evaluations", 5000, "evaluations of each member")
		seed      = fs.Uint64("seed", 1, "seed of the runs, and of an instance that is drawn")
		workers   = fs.Int("workers", 0, "`number` of members that run at once; 0 means one per core; it does not change the result")
		target    = fs.String("target", "", "a `value` at which each member ends")
		_         = fs.Bool("json", false, "print JSON, as without it")
	)
	fs.IntVar(&o.dim, "dim", 0, "`number` of bits")
	if _, code, ok := v.parse(env, fs, args, true, 0, 0); !ok {
		return code
	}
	switch {
	case !o.given() && *className == "":
		return v.misuse(env, "which problem? -problem FILE.go, -command PROGRAM or -class NAME")
	case o.given() && *className != "":
		return v.misuse(env, "-class and an objective of your own are two problems: name one")
	case *evals < 1:
		return v.misuse(env, "-evaluations %d; there must be at least 1", *evals)
	case *folder != "" && *solvers != "":
		return v.misuse(env, "-portfolio and -solvers are two choices: name one")
	case *number < 0:
		return v.misuse(env, "-number %d is negative", *number)
	case o.unused(fs) != "":
		return v.misuse(env, "%s", o.unused(fs))
	}
	var end *float64
	if *target != "" {
		t, err := strconv.ParseFloat(*target, 64)
		if err != nil {
			return v.misuse(env, "-target %s is no number", *target)
		}
		if o.minimise {
			t = -t
		}
		end = &t
	}
	ctx, stop := untilSignal()
	defer stop()
	p, release, err := o.one(ctx, env, *instance, *className, *number, *seed)
	if err != nil {
		return v.fail(env, err)
	}
	defer release()
	members, err := solveMembers(*folder, *solvers) // FILE.go may have registered some
	if err != nil {
		return v.fail(env, err)
	}
	jobs := make([]solver.Job, len(members))
	for i, c := range members {
		jobs[i] = solver.Job{Problem: p, Config: c, Evaluations: *evals, Target: end, Seed: dacerun.Seed(*seed, "solve", i)}
	}
	begun := time.Now()
	results, err := solveAll(ctx, env, jobs, *workers, o.sign())
	s := answerOf(p, jobs, results, o.sign())
	s.Seed, s.Seconds = *seed, time.Since(begun).Seconds()
	if s.X == "" && err != nil {
		var sig signalled
		if errors.As(context.Cause(ctx), &sig) {
			fmt.Fprintf(env.Stderr, "dace solve: %v before the first value\n", sig)
			return sig.code()
		}
		return v.fail(env, err)
	}
	if code := v.printJSON(env, s); code != exitOK {
		return code
	}
	if why := o.doubt(float64(s.Value)); why != "" {
		fmt.Fprintln(env.Stderr, "dace solve: "+why)
	}
	var sig signalled
	switch {
	case err != nil && errors.As(context.Cause(ctx), &sig):
		fmt.Fprintf(env.Stderr, "dace solve: %v; the best so far is printed\n", sig)
		return sig.code()
	case err != nil:
		return v.fail(env, err)
	}
	return exitOK
}

// doubt returns what is wrong with a best value that is infinite.
func (o *objective) doubt(value float64) string {
	switch {
	case math.IsInf(o.sign()*value, 1):
		return fmt.Sprintf("no other solution can be better than one of the value %v, and the search ended there; what must not be chosen has the value %v, and -minimise seeks the smallest", value, -value)
	case !math.IsInf(value, 0):
		return ""
	case o.timeout > 0:
		return fmt.Sprintf("no solution that may be chosen was met: every value is %v. That is also the value where the program fails twice or takes longer than -timeout, %v: run it by hand on a line, or without -timeout, to see which", value, o.timeout)
	}
	return fmt.Sprintf("no solution that may be chosen was met: every value is %v", value)
}

// one returns the problem that the flags name.
func (o *objective) one(ctx context.Context, env *Env, instance, className string, number int, seed uint64) (problem.Problem, func(), error) {
	if className != "" {
		class, err := experiment.Class(className, o.dim)
		if err != nil {
			return nil, nil, err
		}
		p, err := class.Train(seed, number)
		return p, func() {}, err
	}
	if instance != "" {
		o.instances = []string{instance}
	}
	ps, end, err := o.problems(ctx, env, number)
	if err != nil {
		return nil, nil, err
	}
	return ps[0], end, nil
}

// solveMembers returns the configurations that run.
func solveMembers(folder, solvers string) ([]solver.Config, error) {
	var members []solver.Config
	switch {
	case folder != "":
		path := folder
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			if err := unfinished(path); err != nil {
				return nil, err
			}
			path = filepath.Join(path, construct.SummaryName)
		}
		p, err := portfolio.Load(path)
		if err != nil {
			return nil, err
		}
		members = p.Members
	case solvers != "":
		for _, text := range splitConfigs(solvers) {
			c, err := solver.Parse(text)
			if err != nil {
				return nil, err
			}
			members = append(members, c)
		}
	default:
		for _, f := range solver.Families() {
			if _, program := f.(solver.Fitter); program {
				continue // it knows problems of its own only
			}
			c, err := solver.New(f.Name(), nil)
			if err != nil {
				return nil, err
			}
			members = append(members, c)
		}
	}
	if len(members) == 0 {
		return nil, errors.New("there is no solver to run")
	}
	for _, c := range members {
		if err := c.Check(); err != nil {
			return nil, err
		}
	}
	return members, nil
}

// splitConfigs splits at commas that are not within braces or brackets.
func splitConfigs(text string) []string {
	var parts []string
	depth, from := 0, 0
	for i, r := range text {
		switch r {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				parts = append(parts, strings.TrimSpace(text[from:i]))
				from = i + 1
			}
		}
	}
	return append(parts, strings.TrimSpace(text[from:]))
}

// solveAll runs the jobs and shows their progress, with values times sign. Jobs that an error ends have
// their best so far.
func solveAll(ctx context.Context, env *Env, jobs []solver.Job, workers int, sign float64) ([]solver.Result, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	_, tty := descriptor(env.Stderr)
	var (
		mu   sync.Mutex // guards the lines of progress
		best = math.Inf(-1)
		done int
		made int       // evaluations
		last time.Time // when they were told
		all  int
	)
	for _, j := range jobs {
		all += j.Budget()
	}
	last = time.Now()
	ctx = dacerun.WithProgress(ctx, func(string) (func(dacerun.Event), func()) {
		before := 0
		return func(e dacerun.Event) {
			mu.Lock()
			defer mu.Unlock()
			made, before = made+max(0, e.Step-before), max(before, e.Step)
			if time.Since(last) > 10*time.Second {
				last = time.Now()
				fmt.Fprintf(env.Stderr, "%d of %d evaluations\n", made, all)
			}
		}, func() {}
	})
	results := make([]solver.Result, len(jobs))
	err := dacerun.Each(workers, len(jobs), func(i int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		r, err := solver.Run(ctx, jobs[i])
		results[i] = r
		if err != nil {
			cancel()
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		done++
		best = max(best, r.Value)
		text := fmt.Sprintf("%d of %d: %v has %v after %d evaluations; best %v", done, len(jobs), jobs[i].Config, sign*r.Value+0, r.Evaluations, sign*best+0)
		if tty {
			text = clip(text, width(env.Stderr)-1)
		}
		fmt.Fprintln(env.Stderr, text)
		return nil
	})
	return results, err
}

// answerOf returns the answer of runs on p, with values times sign.
func answerOf(p problem.Problem, jobs []solver.Job, results []solver.Result, sign float64) solution {
	s := solution{Problem: p.Name(), Dim: p.Dim(), Value: answerFloat(math.Inf(-1))}
	for i, r := range results {
		s.Evaluations += r.Evaluations
		status := r.Status.String()
		if r.X != nil {
			s.Members = append(s.Members, memberAnswer{jobs[i].Config.String(), answerFloat(sign * r.Value), r.Evaluations, status})
			if s.X == "" || r.Value > float64(s.Value) {
				s.Value, s.Solver = answerFloat(r.Value), jobs[i].Config.String()
				s.X = problem.Pack(r.X).String()
			}
		}
		if s.Status == "" || r.Status == dacerun.TargetReached || r.Status == dacerun.Cancelled {
			s.Status = status
		}
	}
	s.Value *= answerFloat(sign)
	return s
}
