// Package external runs programs as solvers, by the conventions of algorithm
// configuration: irace's target-runner, SMAC's and AClib's wrappers.
//
// Start with [LoadScenario], which reads a scenario file of irace or SMAC, or with a
// [Runner]:
//
//	params, err := external.LoadParams("parameters.txt")
//	runner := external.Runner{Args: []string{"./target-runner"}, Params: params}
//	s, err := runner.Solver("mine")
//	solver.Register(s)
//
// The program is given a configuration, a seed and an instance on its command line,
// searches, and prints what the run has cost; the value of a run is the cost with
// the other sign, as solvers of this library maximise. Instances are [Instance], a
// text that the program knows how to read, or [InstanceOf], a problem that other
// solvers can evaluate, too, with the text by which the program knows it.
//
// A run of a program counts as all evaluations of its budget. The program finds the
// budget in the variable DACE_EVALUATIONS.
//
// This package is not for objectives that are programs: those are problem.Command.
package external

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dace.local/dacelib/internal/process"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// A Convention says how a program is called and how it answers.
type Convention int

const (
	// Irace calls
	//
	//	program CONFIGURATION INSTANCE-NUMBER SEED INSTANCE [BOUND] PARAMETERS
	//
	// and reads the cost, or the cost and a time, from standard output, which has
	// nothing else. "Inf" rejects the configuration.
	Irace Convention = iota
	// SMAC calls
	//
	//	program INSTANCE SPECIFICS CUTOFF LENGTH SEED -name value ...
	//
	// and reads a line "Result for SMAC: STATUS, RUNTIME, LENGTH, QUALITY, SEED",
	// or "Result for ParamILS: ...", from standard output. STATUS is SUCCESS, SAT,
	// UNSAT, TIMEOUT, CRASHED or ABORT.
	SMAC
	// AClib calls
	//
	//	program --instance INSTANCE [--cutoff CUTOFF] --seed SEED --config -name value ...
	//
	// and reads a line "Result of this algorithm run: {"status": "SUCCESS", "cost":
	// 1.5, "runtime": 0.2}".
	AClib
)

// String returns "irace", "SMAC" or "AClib".
func (c Convention) String() string {
	if c < Irace || c > AClib {
		return fmt.Sprintf("Convention(%d)", int(c))
	}
	return [...]string{"irace", "SMAC", "AClib"}[c]
}

// A Runner is a program that runs configurations of its parameters.
type Runner struct {
	// Args are the program, looked up in PATH unless it has a slash, and arguments
	// that stand before all others.
	Args []string `json:"args"`
	// Convention says how the program is called.
	Convention Convention `json:"convention,omitempty"`
	// Cmdline, for Irace, replaces what follows Args: a line with {configurationID},
	// {instanceID}, {seed}, {instance}, {bound}, {targetRunner} and
	// {targetRunnerArgs}, irace's targetCmdline.
	Cmdline string `json:"cmdline,omitempty"`
	// Target is {targetRunner} in Cmdline, where Args are a launcher.
	Target string `json:"target,omitempty"`
	// Params are the parameters.
	Params Params `json:"params"`
	// Starts are configurations with which a choice begins, beside the defaults:
	// texts of values by names of parameters.
	Starts []map[string]string `json:"starts,omitempty"`
	// Dir is the folder in which the program runs; "" is the present one. Env holds
	// variables, as KEY=value, beyond those of this process.
	Dir string   `json:"dir,omitempty"`
	Env []string `json:"env,omitempty"`
	// Timeout ends a run that takes longer; 0 is no limit.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Retries is the number of times that a run is tried again after a failure.
	Retries int `json:"retries,omitempty"`
	// Worst makes a run that fails or takes longer than Timeout the worst there is,
	// -Inf; otherwise it is an error.
	Worst bool `json:"worst,omitempty"`
	// Deterministic says that the seed does not matter: a configuration runs once on
	// an instance.
	Deterministic bool `json:"deterministic,omitempty"`
	// Cutoff is the time in seconds that the program is told to end after: SMAC's
	// cutoff time, irace's bound; 0 is none. Length is SMAC's cutoff length; 0 means
	// 2147483647.
	Cutoff float64 `json:"cutoff,omitempty"`
	Length int     `json:"length,omitempty"`
	// Runtime says that the time is minimised, not the quality: for SMAC and AClib.
	// A run that times out costs Penalty times the cutoff; 0 means 10.
	Runtime bool    `json:"runtime,omitempty"`
	Penalty float64 `json:"penalty,omitempty"`
}

// Solver returns the program as a solver of a name, made of letters, digits and
// dashes.
func (r Runner) Solver(name string) (solver.Solver, error) {
	switch {
	case len(r.Args) == 0 || r.Args[0] == "":
		return nil, errors.New("external: a Runner needs a program: Runner.Args")
	case r.Convention < Irace || r.Convention > AClib:
		return nil, fmt.Errorf("external: Runner.Convention is %d; use Irace, SMAC or AClib", int(r.Convention))
	case r.Timeout < 0 || r.Retries < 0 || !(r.Cutoff >= 0) || math.IsInf(r.Cutoff, 0):
		return nil, fmt.Errorf("external: Runner.Timeout is %v, Retries %d and Cutoff %v; they must not be negative", r.Timeout, r.Retries, r.Cutoff)
	case r.Runtime && r.Convention == Irace:
		return nil, errors.New("external: Runner.Runtime is for SMAC and AClib: a target-runner of irace prints what is to be minimised")
	}
	if _, err := solver.New(name, nil); err != nil {
		return nil, err
	}
	if err := r.Params.Space.Check(); err != nil {
		return nil, fmt.Errorf("external: the parameters of %s: %w", name, err)
	}
	if r.Cmdline == "" {
		r.Cmdline = defaultCmdline
	}
	if len(r.Params.Order) == 0 {
		for _, p := range r.Params.Space.Params {
			r.Params.Order = append(r.Params.Order, p.Name)
		}
	}
	e := &family{Runner: r, name: name}
	for _, start := range r.Starts {
		p := r.Params
		p.Space.Params = slices.Clone(p.Space.Params)
		if err := p.Default(start); err != nil {
			return nil, fmt.Errorf("external: a configuration to begin with: %w", err)
		}
		c, err := solver.At(name, p.Space, p.Space.Canonical(p.Space.Default()))
		if err != nil {
			return nil, fmt.Errorf("external: a configuration to begin with: %w", err)
		}
		// The space of the solver has other defaults.
		if _, err := c.Point(r.Params.Space); err != nil {
			return nil, fmt.Errorf("external: a configuration to begin with: %w", err)
		}
		e.starts = append(e.starts, c)
	}
	return e, nil
}

// RunnerOf returns the Runner from which [Runner.Solver] has made s.
func RunnerOf(s solver.Solver) (r Runner, ok bool) {
	if e, is := s.(*family); is {
		return e.Runner, true
	}
	return r, false
}

// family is a Runner as a solver.
type family struct {
	Runner
	name   string
	starts []solver.Config

	files map[string][]byte // of a farm that are not here, by the words that name them
	place map[string]string // where they are, during runs

	mu   sync.Mutex // guards seen
	seen map[string]float64
}

// MarshalJSON describes the program, so that a construction goes on with the same.
func (e *family) MarshalJSON() ([]byte, error) { return json.Marshal(e.Runner) }

func (e *family) Name() string              { return e.name }
func (e *family) Space(d, n int) smac.Space { return e.Params.Space }

// Configs returns the configurations that a choice should begin with: those that
// the Runner has, and random ones.
func (e *family) Configs(d, n int) []solver.Config {
	return append(slices.Clone(e.starts), solver.Draw(e.name, e.Params.Space, max(0, 7-len(e.starts)))...)
}

// A text is a problem that programs know by a text, see [TextOf].
type text interface {
	problem.Problem
	instanceText() string
	instanceFiles() map[string][]byte // of a farm that are not here
}

// Instance returns a problem that only programs can read: text is what stands for
// it on their command lines, a file for instance, and its name. With spaces that are
// not within quotes it is several words; SMAC's specifics are those behind the first.
// It has no dimension of its own, and evaluating it is an error.
func Instance(text string) problem.Problem { return &opaque{text: text} }

type opaque struct {
	text  string
	files map[string][]byte
}

func (o *opaque) Name() string         { return o.text }
func (o *opaque) Dim() int             { return 1 }
func (o *opaque) instanceText() string { return o.text }

func (o *opaque) instanceFiles() map[string][]byte { return o.files }

// Opaque reports true: see problem.Opaque.
func (o *opaque) Opaque() bool { return true }

func (o *opaque) Evaluate(context.Context, []float64, problem.Solutions) error {
	return fmt.Errorf("problem %s: only programs can read it: solvers that evaluate solutions need external.InstanceOf(a problem, %q)", o.text, o.text)
}

// MarshalJSON identifies the instance, by its text and what the files have that it
// names.
func (o *opaque) MarshalJSON() ([]byte, error) {
	out := map[string]string{"instance": o.text}
	names, _ := words(o.text)
	for _, w := range names {
		if info, err := os.Stat(w); err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := os.Open(w)
		if err != nil {
			return nil, err
		}
		h := sha256.New()
		_, err = io.Copy(h, f)
		f.Close()
		if err != nil {
			return nil, err
		}
		out[w] = hex.EncodeToString(h.Sum(nil))
	}
	return json.Marshal(out)
}

// InstanceOf returns p as an instance that programs know by a text: see [Instance].
// Other solvers evaluate p. The cost that a program prints must be that of p with
// the other sign, -f(x) of its best solution.
func InstanceOf(p problem.Problem, text string) problem.Problem {
	return &known{Problem: p, text: text}
}

type known struct {
	problem.Problem
	text  string
	files map[string][]byte
}

func (k *known) instanceText() string { return k.text }

func (k *known) instanceFiles() map[string][]byte { return k.files }

// Costly and Optimum are those of the problem.
func (k *known) Costly() bool {
	c, ok := k.Problem.(problem.Costly)
	return ok && c.Costly()
}
func (k *known) Optimum() (float64, bool) { return problem.Optimum(k.Problem) }

// TextOf returns the text by which programs know an instance; ok is false if p has
// none.
func TextOf(p problem.Problem) (name string, ok bool) {
	if t, is := p.(text); is {
		return t.instanceText(), true
	}
	return "", false
}

// Run runs the program for each job.
func (e *family) Run(ctx context.Context, jobs []solver.Job, workers int) (results []solver.Result, err error) {
	e, remove, err := e.placed(jobs)
	if err != nil {
		return make([]solver.Result, len(jobs)), err
	}
	defer func() { err = errors.Join(err, remove()) }()
	return e.run(ctx, jobs, workers)
}

func (e *family) run(ctx context.Context, jobs []solver.Job, workers int) ([]solver.Result, error) {
	results := make([]solver.Result, len(jobs))
	add, end := run.Steps(&ctx, e.name, len(jobs))
	defer end()
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := run.Each(workers, len(jobs), func(i int) error {
		j := jobs[i]
		r := solver.Result{Problem: j.Problem.Name(), Status: run.NotRun, Value: math.Inf(-1)}
		v, err := e.value(ctx, j)
		if err != nil {
			cancel()
			if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
				r.Status = run.Cancelled
			} else {
				err = fmt.Errorf("solver: %s on %s: %w", e.name, j.Problem.Name(), err)
			}
		} else {
			r.Value, r.Evaluations, r.Status = v, j.Budget(), run.BudgetSpent
			r.History = []solver.Point{{Evaluations: j.Budget(), Best: v}}
			if j.Target != nil && v >= *j.Target {
				r.Status = run.TargetReached
			}
			add(1)
		}
		results[i] = r
		return err
	})
	if outer.Err() != nil {
		return results, outer.Err()
	}
	return results, err
}

// Fits returns an error for a problem that is no instance of programs.
func (e *family) Fits(p problem.Problem) error {
	if _, ok := p.(text); !ok {
		return errors.New("the program does not know this problem: make it an instance with a text for the program, by external.InstanceOf")
	}
	return nil
}

// value returns the value of a job's run.
func (e *family) value(ctx context.Context, j solver.Job) (float64, error) {
	if err := e.Fits(j.Problem); err != nil {
		return 0, err
	}
	t := j.Problem.(text)
	point, err := j.Config.Point(e.Params.Space)
	if err != nil {
		return 0, err
	}
	seed := 1 + run.Rand(j.Seed, "solver: "+e.name).Uint64()%(1<<31-2)
	if e.Deterministic {
		seed = 1
	}
	argv, err := e.command(j.Config, point, t.instanceText(), seed)
	if err != nil {
		return 0, err
	}
	key := fmt.Sprintf("%d %q", j.Budget(), argv)
	if e.Deterministic {
		e.mu.Lock()
		v, ok := e.seen[key]
		e.mu.Unlock()
		if ok {
			return v, nil
		}
	}
	var v float64
	for try := 0; ; try++ {
		v, err = e.once(ctx, argv, j.Budget())
		var fatal *abortError
		if err == nil || ctx.Err() != nil || try == e.Retries || errors.As(err, &fatal) {
			break
		}
	}
	var failed *failure
	if e.Worst && errors.As(err, &failed) && ctx.Err() == nil {
		v, err = math.Inf(-1), nil
	}
	if err == nil && e.Deterministic {
		e.mu.Lock()
		if e.seen == nil || len(e.seen) >= 1<<16 {
			e.seen = map[string]float64{}
		}
		e.seen[key] = v
		e.mu.Unlock()
	}
	return v, err
}

const defaultCmdline = "{configurationID} {instanceID} {seed} {instance} {bound} {targetRunnerArgs}"

// number returns a number of up to 15 digits that stands for a text.
func number(text string) string {
	h := fnv.New64a()
	_, _ = io.WriteString(h, text)
	return strconv.FormatUint(1+h.Sum64()%999_999_999_999_999, 10)
}

// command returns the words of a run's command line.
func (e *family) command(c solver.Config, point []float64, instance string, seed uint64) ([]string, error) {
	params, err := e.Params.Arguments(point)
	if err != nil {
		return nil, err
	}
	where, err := words(instance)
	if err != nil {
		return nil, fmt.Errorf("the instance: %w", err)
	}
	if len(where) == 0 {
		where = []string{instance}
	}
	bound := ""
	if e.Cutoff > 0 {
		bound = strconv.FormatFloat(e.Cutoff, 'f', -1, 64)
	}
	at := func(w string) string { return cmp.Or(e.place[w], w) }
	var argv []string
	for _, w := range e.Args {
		argv = append(argv, at(w))
	}
	for i, w := range where {
		where[i] = at(w)
	}
	s := strconv.FormatUint(seed, 10)
	switch e.Convention {
	case SMAC:
		specifics := "0"
		if len(where) > 1 {
			specifics = strings.Join(where[1:], " ")
		}
		length := e.Length
		if length == 0 {
			length = math.MaxInt32
		}
		if bound == "" {
			bound = strconv.Itoa(math.MaxInt32)
		}
		return append(append(argv, where[0], specifics, bound, strconv.Itoa(length), s), params...), nil
	case AClib:
		argv = append(argv, "--instance", where[0])
		if bound != "" {
			argv = append(argv, "--cutoff", bound)
		}
		return append(append(argv, "--seed", s, "--config"), params...), nil
	}
	line, err := words(e.Cmdline)
	if err != nil {
		return nil, fmt.Errorf("the command line: %w", err)
	}
	for _, w := range line {
		switch w {
		case "{instance}":
			argv = append(argv, where...)
		case "{bound}":
			if bound != "" {
				argv = append(argv, bound)
			}
		case "{targetRunnerArgs}":
			argv = append(argv, params...)
		default:
			argv = append(argv, strings.NewReplacer(
				"{configurationID}", number(c.Text()+fmt.Sprint(point)), "{instanceID}", number(instance), "{seed}", s, "{instance}", instance,
				"{bound}", bound, "{targetRunner}", at(e.Target), "{targetRunnerArgs}", strings.Join(params, " ")).Replace(w))
		}
	}
	return argv, nil
}

// A failure is a run that has no result.
type failure struct{ error }

// An abortError is a program's word that no further run should be made.
type abortError struct{ error }

// mostOutput bounds the standard output of a program, in bytes.
const mostOutput = 1 << 20

// once runs the program once.
func (e *family) once(ctx context.Context, argv []string, budget int) (float64, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir = e.Dir
	cmd.Env = append(append(os.Environ(), "DACE_EVALUATIONS="+strconv.Itoa(budget)), e.Env...)
	cmd.WaitDelay = time.Second
	process.Group(cmd)
	out := &limited{most: mostOutput}
	stderr := new(process.Tail)
	cmd.Stdout, cmd.Stderr = out, stderr
	begun := time.Now()
	if err := cmd.Start(); err != nil {
		if dir := e.Dir; dir != "" {
			if _, no := os.Stat(dir); no != nil {
				return 0, fmt.Errorf("the program cannot be started in the folder %s: %w", dir, no)
			}
		}
		return 0, fmt.Errorf("the program cannot be started: %w", err)
	}
	release := process.KillWithParent(cmd)
	defer release()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	var late <-chan time.Time
	if e.Timeout > 0 {
		t := time.NewTimer(e.Timeout)
		defer t.Stop()
		late = t.C
	}
	var err error
	select {
	case err = <-done:
		_ = process.Kill(cmd) // what it has left behind
	case <-late:
		_ = process.Kill(cmd)
		<-done
		return 0, e.failed(argv, fmt.Sprintf("took longer than %v and was ended", e.Timeout), out, stderr)
	case <-ctx.Done():
		_ = process.Kill(cmd)
		<-done
		return 0, ctx.Err()
	}
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		// A wrapper of SMAC may say why before it ends with an error.
		if e.Convention == Irace || !answer.Match(out.Bytes()) {
			return 0, e.failed(argv, "ended with "+cmd.ProcessState.String(), out, stderr)
		}
	}
	v, err := e.parse(out.String(), time.Since(begun).Seconds())
	if err != nil {
		return 0, e.failed(argv, err.Error(), out, stderr, err)
	}
	return v, nil
}

// failed returns the error of a run, with the command, what it printed and what it
// wrote to standard error.
func (e *family) failed(argv []string, why string, out *limited, stderr *process.Tail, cause ...error) error {
	quoted := make([]string, len(argv))
	for i, a := range argv {
		if quoted[i] = a; a == "" || strings.ContainsAny(a, " \t\n'\"$`\\*?") {
			quoted[i] = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
	}
	line := strings.Join(quoted, " ")
	if e.Dir != "" {
		line = "cd " + e.Dir + "; " + line
	}
	msg := fmt.Sprintf("the program %s. The call was\n\t%s", why, line)
	if said := shortened(out.String()); said != "" {
		msg += "\nIt printed\n\t" + strings.ReplaceAll(said, "\n", "\n\t")
	}
	if said := stderr.String(); said != "" {
		msg += "\nThe end of its standard error:\n" + said
	}
	for _, c := range cause {
		var fatal *abortError
		if errors.As(c, &fatal) {
			return &abortError{errors.New(msg)}
		}
	}
	return &failure{errors.New(msg)}
}

func shortened(s string) string {
	s = strings.TrimSpace(strings.ToValidUTF8(s, "?"))
	if len(s) > 1000 {
		s = s[:500] + "\n...\n" + s[len(s)-500:]
	}
	return s
}

// limited keeps the first bytes that are written to it.
type limited struct {
	bytes.Buffer
	most int
	over bool
}

func (l *limited) Write(b []byte) (int, error) {
	if n := l.most - l.Len(); len(b) > n {
		l.over = true
		l.Buffer.Write(b[:max(0, n)])
	} else {
		l.Buffer.Write(b)
	}
	return len(b), nil
}

// Command returns the words of the command line by which the program runs a
// configuration, with its parameters alone: no instance and no seed.
func (r Runner) Command(c solver.Config) ([]string, error) {
	point, err := c.Point(r.Params.Space)
	if err != nil {
		return nil, err
	}
	params, err := r.Params.Arguments(point)
	return append(slices.Clone(r.Args), params...), err
}
