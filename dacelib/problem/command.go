package problem

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/dacelib/internal/process"
	"dace.local/dacelib/run"
)

// Command makes a problem from a program: argv[0] is run with the other
// arguments, once for each core. [Program] has more settings.
//
// The program reads solutions from its standard input, one a line, as d
// characters 0 or 1. It answers each line with a line on its standard output:
// the value, a number to be maximised, or -inf for a solution that must not be
// chosen. It writes its answer out (flushes) before it reads on, and ends when
// its input does. Its standard error is free; the last lines appear in messages.
// An empty line is no answer, and an error, unless a program writes one behind each
// value, or with the value that follows it.
//
// In Python:
//
//	import sys
//	for line in sys.stdin:
//	    x = [c == "1" for c in line.strip()]
//	    print(sum(x), flush=True)
//
// In C:
//
//	char x[1 << 16];
//	while (fgets(x, sizeof x, stdin)) {
//	    int ones = 0;
//	    for (char *c = x; *c; c++) ones += *c == '1';
//	    printf("%d\n", ones);
//	    fflush(stdout);
//	}
//
// In a shell:
//
//	while read x; do
//	    ones=$(printf %s "$x" | tr -d 0)
//	    echo ${#ones}
//	done
//
// A program that answers one line and ends works, too: it is started for each
// solution.
//
// A program must give a solution the same value whenever it is asked. If it ends
// without an answer, it is started again and asked once more; if it ends again,
// Evaluate returns an error with its exit status and what it wrote to standard
// error. When ctx ends, programs at work are killed with all that they have
// started, and also when this process ends, even by SIGKILL. Programs that are
// idle for half a minute end, and are started again when they are needed.
//
// Command panics if d is not positive or above MaxDim, or there is no program.
func Command(name string, d int, argv ...string) Problem {
	return Program{Args: argv}.Problem(name, d)
}

// A Program computes values of solutions, as [Command] describes it. Make a
// problem of it by [Program.Problem].
type Program struct {
	// Args are the program, looked up in PATH unless it has a slash, and its
	// arguments.
	Args []string `json:"args"`
	// Dir is the folder that it runs in; "" is the present one.
	Dir string `json:"dir,omitempty"`
	// Env holds variables, as KEY=value, beyond those of this process.
	Env []string `json:"env,omitempty"`
	// Workers is the number of programs that run at once; 0 means one per core.
	Workers int `json:"workers,omitempty"`
	// Timeout is the time that a program has for one solution; 0 is no limit. A
	// program that takes longer is killed.
	Timeout time.Duration `json:"timeout,omitempty"`
	// Seeds says that the program is random: a line has a space and a seed, a whole
	// number, behind the solution, which determine the value together. See [Noisy].
	Seeds bool `json:"seeds,omitempty"`
	// Constrained says that the program answers with two numbers: the value, and the
	// violation of constraints, 0 for a feasible solution. They become one number by
	// [Penalised], with Worst.
	Constrained bool    `json:"constrained,omitempty"`
	Worst       float64 `json:"worst,omitempty"`
	// Infeasible gives solutions on which the program ends twice, or takes
	// longer than Timeout, the value -Inf. Otherwise such a solution is an error.
	Infeasible bool `json:"infeasible,omitempty"`
}

// Problem returns the problem of dimension d that the program computes. It panics
// as [Command] does.
func (p Program) Problem(name string, d int) Problem {
	if d <= 0 {
		panic("problem: Command needs a positive dimension")
	}
	checkDim("Command", d)
	if len(p.Args) == 0 || p.Args[0] == "" {
		panic("problem: Command needs a program")
	}
	if p.Workers <= 0 {
		p.Workers = runtime.GOMAXPROCS(0)
	}
	c := &command{Program: p, name: name, d: d, slots: make(chan struct{}, p.Workers)}
	if p.Seeds {
		return seededCommand{c}
	}
	return c
}

// ProgramOf returns the program from which [Command] or [Program.Problem] has
// made p.
func ProgramOf(p Problem) (prog Program, ok bool) {
	c := commandOf(p)
	if c == nil {
		return Program{}, false
	}
	return c.Program, true
}

// Ask returns the program's answer to the line "dimension": the number of bits of its
// solutions. Programs need not know this line; it is for programs that are run for
// instances of several sizes.
func (p Program) Ask(ctx context.Context) (d int, err error) {
	p.Seeds, p.Constrained, p.Infeasible = false, false, false
	c := p.Problem("dimension", 1).(*command)
	defer Release(c)
	v, err := c.value(ctx, []byte("dimension\n"))
	if err != nil {
		return 0, fmt.Errorf("the program does not say its dimension when it reads the line \"dimension\": %w", err)
	}
	if v < 1 || v > MaxDim || v != math.Trunc(v) {
		return 0, fmt.Errorf("the program answers the line \"dimension\" with %v; it must be a whole number from 1 to %d", v, MaxDim)
	}
	return int(v), nil
}

// commandOf returns p if it is a program's problem, else nil.
func commandOf(p Problem) *command {
	switch p := p.(type) {
	case *command:
		return p
	case seededCommand:
		return p.command
	}
	return nil
}

// seededCommand is a command whose program takes seeds.
type seededCommand struct{ *command }

func (c seededCommand) EvaluateSeeded(ctx context.Context, dst []float64, x Solutions, seeds []uint64) error {
	return c.evaluate(ctx, dst, x, seeds)
}

// command is the problem that a program computes.
type command struct {
	Program
	name  string
	d     int
	slots chan struct{} // holds an element for each program at work

	mu   sync.Mutex // guards idle
	idle []*worker

	// spaced says that the program writes empty lines beside its values.
	spaced atomic.Bool
}

func (c *command) Name() string { return c.name }
func (c *command) Dim() int     { return c.d }

// Costly reports true: asking a program takes longer than looking a value up.
func (c *command) Costly() bool { return true }

func (c *command) Evaluate(ctx context.Context, dst []float64, x Solutions) error {
	return c.evaluate(ctx, dst, x, nil)
}

// evaluate evaluates a batch; nil seeds are zeros.
func (c *command) evaluate(ctx context.Context, dst []float64, x Solutions, seeds []uint64) error {
	if err := CheckBatch(c, dst, x); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := run.Each(c.Workers, x.Len(), func(i int) error {
		select {
		case c.slots <- struct{}{}:
			defer func() { <-c.slots }()
		case <-ctx.Done():
			return ctx.Err()
		}
		line := []byte(x.Slice(i, i+1).String())
		if c.Seeds {
			seed := uint64(0)
			if seeds != nil {
				seed = seeds[i] >> 1 // so that it is a signed number, too
			}
			line = strconv.AppendUint(append(line, ' '), seed, 10)
		}
		v, err := c.value(ctx, append(line, '\n'))
		if err != nil {
			cancel() // the others need not go on
			if !isCtx(err) {
				err = solutionError(c.name, x, i, err)
			}
			return err
		}
		dst[i] = v
		return nil
	})
	if outer.Err() != nil {
		return outer.Err()
	}
	return err
}

// value asks a program for the value of the solution on a line.
func (c *command) value(ctx context.Context, line []byte) (float64, error) {
	for ended, empty := false, false; ; {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		take := c.take
		if ended || empty { // an idle one may be about to end as that did
			take = c.start
		}
		w, err := take()
		if err != nil {
			return 0, err
		}
		v, err := w.ask(ctx, line, c)
		if err == nil {
			c.putBack(w)
			if empty {
				c.spaced.Store(true)
			}
			return v, nil
		}
		if errors.Is(err, errEmpty) && w.asked > 1 {
			empty = true // it may belong to the value before: a fresh program has none
			continue
		}
		var end *endError
		switch isEnd := errors.As(err, &end); {
		case isEnd && end.regular && w.asked > 1:
			continue // it answers one line and ends
		case isEnd && !ended:
			ended = true
			continue
		case isEnd || errors.Is(err, errTimeout):
			if c.Infeasible {
				return math.Inf(-1), nil
			}
		}
		if isCtx(err) {
			return 0, err
		}
		text := strings.Join(c.Args, " ") + " " + err.Error()
		if ended && end != nil {
			text += ", and so it did when it was started again"
		}
		if said := w.stderr.String(); said != "" {
			text += "; the end of its standard error:\n" + said
		}
		return 0, errors.New(text)
	}
}

// take returns an idle program, or starts one.
func (c *command) take() (*worker, error) {
	for {
		c.mu.Lock()
		n := len(c.idle)
		if n == 0 {
			c.mu.Unlock()
			return c.start()
		}
		w := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		if w.rest.Stop() {
			return w, nil
		}
	}
}

// rest is how long an idle program is kept.
const rest = 30 * time.Second

// putBack makes a program idle, for the next take.
func (c *command) putBack(w *worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.idle = append(c.idle, w)
	w.rest = time.AfterFunc(rest, func() {
		c.mu.Lock()
		for i, v := range c.idle {
			if v == w {
				c.idle = append(c.idle[:i], c.idle[i+1:]...)
				break
			}
		}
		c.mu.Unlock()
		w.end(time.Second)
	})
}

// A worker is a program that runs.
type worker struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	answers chan answer
	stderr  *process.Tail
	release func() // stops process.KillWithParent
	rest    *time.Timer
	asked   int // the number of solutions that it was asked for
}

// An answer is a line of a program's output.
type answer struct {
	text string // empty for empty lines
	more bool   // another line came with it
	err  error
}

func (c *command) start() (*worker, error) {
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	cmd.Dir = c.Dir
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.WaitDelay = time.Second // for what holds its standard error open
	process.Group(cmd)
	w := &worker{cmd: cmd, answers: make(chan answer, 1), stderr: new(process.Tail)}
	cmd.Stderr = w.stderr
	var err error
	if w.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("the program cannot be started: %w", err)
	}
	w.release = process.KillWithParent(cmd)
	go w.read(out)
	return w, nil
}

// longestAnswer is the largest length of an answer, in bytes.
const longestAnswer = 4096

// read passes on the lines of the program's output, except empty ones that come together
// with others.
func (w *worker) read(out io.Reader) {
	defer close(w.answers)
	in := bufio.NewReaderSize(out, longestAnswer)
	for {
		line, err := in.ReadSlice('\n')
		text := strings.TrimSpace(string(line))
		rest, _ := in.Peek(in.Buffered())
		more := bytes.TrimSpace(rest)
		if text != "" || err == nil && len(more) == 0 {
			w.answers <- answer{text, len(more) > 0, err}
		}
		if len(more) == 0 { // empty lines behind it
			_, _ = in.Discard(len(rest))
		}
		if err != nil {
			return
		}
	}
}

// errEmpty is the error of a program that answers with an empty line.
var errEmpty = errors.New("wrote an empty line where a value is expected (its messages belong on standard error)")

// errTimeout is the error of a program that takes too long.
var errTimeout = errors.New("took too long")

// An endError says that a program ended without an answer.
type endError struct {
	regular bool // with status 0
	status  string
}

func (e *endError) Error() string {
	return fmt.Sprintf("ended without a value (%s)", e.status)
}

// ask returns the program's value for the solution on a line. After an error the
// program has ended.
func (w *worker) ask(ctx context.Context, line []byte, c *command) (v float64, err error) {
	defer func() {
		if err != nil {
			w.end(0)
		}
	}()
	w.asked++
	select {
	case a, ok := <-w.answers:
		if ok && a.text == "" {
			break // behind the value before
		}
		if ok {
			return 0, fmt.Errorf("wrote %q without being asked: one line for each solution is expected (its messages belong on standard error)", shortened(a.text))
		}
		return 0, w.ended()
	default:
	}
	var late <-chan time.Time
	if c.Timeout > 0 {
		t := time.NewTimer(c.Timeout)
		defer t.Stop()
		late = t.C
	}
	// A program that does not read its input keeps a long line waiting.
	go func() { _, _ = w.in.Write(line) }()
	for {
		select {
		case a, ok := <-w.answers:
			switch {
			case !ok:
				return 0, w.ended()
			case a.text == "" && c.spaced.Load():
				continue
			case a.text == "":
				return 0, errEmpty
			case a.more:
				return 0, fmt.Errorf("wrote %q and more: one line for each solution is expected (its messages belong on standard error)", shortened(a.text))
			}
			return c.number(a.text)
		case <-late:
			return 0, fmt.Errorf("gave no value within %v: it %w", c.Timeout, errTimeout)
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// number returns the value that an answer means.
func (c *command) number(text string) (float64, error) {
	fields, n, want := strings.Fields(text), 1, "a value is"
	if c.Constrained {
		n, want = 2, "a value and a violation are"
	}
	unexpected := fmt.Errorf("wrote %q where %s expected (its messages belong on standard error)", shortened(text), want)
	if len(fields) != n {
		return 0, unexpected
	}
	var v [2]float64
	for i, field := range fields {
		var err error
		if v[i], err = strconv.ParseFloat(field, 64); err != nil && !errors.Is(err, strconv.ErrRange) {
			return 0, unexpected
		}
		if math.IsNaN(v[i]) {
			return 0, errors.New("gave NaN, which cannot be compared; -inf is for a solution that must not be chosen")
		}
	}
	if c.Constrained {
		if v[1] <= 0 && v[0] < c.Worst {
			return 0, fmt.Errorf("gave the feasible value %v, below Worst, %v", v[0], c.Worst)
		}
		return Penalised(v[0], v[1], c.Worst), nil
	}
	return v[0], nil
}

// ended ends a program that has closed its output, and returns how it ended.
func (w *worker) ended() error {
	w.end(time.Second)
	s := w.cmd.ProcessState
	return &endError{s != nil && s.Success(), s.String()}
}

// end ends the program: its input ends at once, and it is killed with all that it
// has started when the patience is over.
func (w *worker) end(patience time.Duration) {
	if w.cmd.ProcessState != nil {
		return
	}
	w.in.Close()
	if patience == 0 {
		_ = process.Kill(w.cmd)
	} else {
		defer time.AfterFunc(patience, func() { _ = process.Kill(w.cmd) }).Stop()
	}
	go func() {
		for range w.answers { // the reader must not wait for ever
		}
	}()
	_ = w.cmd.Wait()
	_ = process.Kill(w.cmd) // what it has left behind
	w.release()
}

// shortened returns the beginning of a text.
func shortened(s string) string {
	if len(s) > 80 {
		return s[:80] + "..."
	}
	return s
}

// Release ends the idle programs of a problem of [Command] at once. They end by
// themselves after half a minute. It does nothing to other problems.
func Release(p Problem) {
	c := commandOf(p)
	if c == nil {
		return
	}
	c.mu.Lock()
	idle := c.idle
	c.idle = nil
	c.mu.Unlock()
	for _, w := range idle {
		if w.rest.Stop() {
			w.end(time.Second)
		}
	}
}
