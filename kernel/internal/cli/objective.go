package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"dace.local/dacelib/problem"
	"dace.local/kernel/engine"
)

// An objective holds the flags by which the verbs construct, solve and test take a
// problem of one's own.
type objective struct {
	file, command string
	instances     []string // files, for the command
	dim           int
	seeded        bool
	timeout       time.Duration
	noise         int
	minimise      bool
	values        string // a file, or a folder for several instances
}

// objectiveUsage is what the help of these verbs says of them.
const objectiveUsage = `
-problem FILE.go runs a file of Go as a cell does; it declares the variable
instances, of type []problem.Problem or problem.Problem.

-command "python3 eval.py" runs a program for each core. It reads solutions from
its standard input, one a line, as characters 0 and 1, and answers each with a
line that holds the value ("go doc problem.Command" has examples). The instance's
file is its last argument. The number of bits is -dim, or what the program answers
to the line "dimension".
`

func (o *objective) flags(fs *flag.FlagSet) {
	fs.StringVar(&o.file, "problem", "", "a `file` of Go that declares the variable instances")
	fs.StringVar(&o.command, "command", "", "a `program` that computes values, with its arguments")
	fs.BoolVar(&o.seeded, "seeded", false, "with -command: a seed stands behind each solution, for -noise")
	fs.DurationVar(&o.timeout, "timeout", 0, "with -command: the `time` that a value may take; a solution that takes longer, or on which the program fails twice, is infeasible; 0 is no limit, and a failure ends the run")
	fs.IntVar(&o.noise, "noise", 0, "values are random: a search sees the mean of this `number` of repeats, and ten times as many make the final choice")
	fs.BoolVar(&o.minimise, "minimise", false, "the smallest value is sought")
	fs.StringVar(&o.values, "values", "", "keep values in this `file`, a folder for several instances: a run that is started again evaluates nothing twice")
}

// sign returns -1 if the smallest value is sought, else 1.
func (o *objective) sign() float64 {
	if o.minimise {
		return -1
	}
	return 1
}

// given reports whether there is an objective.
func (o *objective) given() bool { return o.file != "" || o.command != "" }

// name returns what the class of the instances is called.
func (o *objective) name() string {
	if o.command != "" {
		return "command"
	}
	return strings.TrimSuffix(filepath.Base(o.file), ".go")
}

// label returns the class of a test's records. It has all that the command line says
// of the objective, so that a test does not go on with records of another one; and
// no class of the library is called so.
func (o *objective) label(instances string) string {
	words := []string{o.file}
	if o.command != "" {
		words = []string{o.command}
		if len(o.instances) > 0 {
			words = append(words, instances)
		}
	}
	if o.minimise {
		words = append(words, "-minimise")
	}
	if o.noise > 0 {
		words = append(words, fmt.Sprintf("-noise %d", o.noise))
	}
	if o.seeded {
		words = append(words, "-seeded")
	}
	if o.timeout > 0 {
		words = append(words, fmt.Sprintf("-timeout %v", o.timeout))
	}
	return strings.Join(words, " ")
}

// unused returns a flag that was set, but has no effect on the problem that others name.
func (o *objective) unused(fs *flag.FlagSet) (message string) {
	source, others := "class", "instance seeded timeout minimise noise values"
	switch {
	case o.file != "":
		source, others = "problem", "dim instance instances seeded timeout"
	case o.command != "":
		return ""
	}
	fs.Visit(func(f *flag.Flag) {
		if message == "" && slices.Contains(strings.Fields(others), f.Name) {
			message = fmt.Sprintf("-%s has no effect with -%s: leave it out", f.Name, source)
		}
	})
	return message
}

// wrongInstances says what is wrong with -instances: a number for a class, a folder,
// which may be called as a number, for a program.
func (o *objective) wrongInstances(fs *flag.FlagSet, instances string) (message string) {
	if _, err := strconv.Atoi(instances); (o.command == "") == (err == nil) || !given(fs, "instances") {
		return ""
	}
	if o.command == "" {
		return fmt.Sprintf("-instances %s is no number; a folder goes with -command", instances)
	}
	if _, err := os.Stat(instances); err == nil {
		return ""
	}
	return fmt.Sprintf("-instances %s: with -command it is the folder of the instances' files", instances)
}

// given reports whether a flag was set.
func given(fs *flag.FlagSet, name string) (set bool) {
	fs.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}

// problems returns the problems, or only the one of an index that is not negative,
// and a function that gives back what they hold.
func (o *objective) problems(ctx context.Context, env *Env, only int) (ps []problem.Problem, end func(), err error) {
	var ends []func()
	end = func() {
		for _, f := range ends {
			f()
		}
	}
	defer func() {
		if err != nil {
			end()
		}
	}()
	switch {
	case o.file != "" && o.command != "":
		return nil, end, errors.New("-problem and -command are two objectives: name one")
	case o.noise < 0:
		return nil, end, fmt.Errorf("-noise %d is negative", o.noise)
	case o.file != "":
		var stop func()
		if ps, stop, err = o.declared(ctx, env); err != nil {
			return nil, end, err
		}
		ends = append(ends, stop)
	default:
		if ps, err = o.commands(ctx); err != nil {
			return nil, end, err
		}
		for _, p := range ps {
			ends = append(ends, func() { problem.Release(p) })
		}
	}
	if only >= len(ps) {
		return nil, end, fmt.Errorf("there are %d instances, numbered from 0, and none of the number %d", len(ps), only)
	}
	if only >= 0 {
		ps = ps[only : only+1]
	}
	for i, p := range ps {
		if o.noise > 0 {
			p = problem.Noisy(p, problem.Noise{Repeats: o.noise})
		}
		if o.values != "" {
			path := o.values
			if len(ps) > 1 {
				if err := os.MkdirAll(o.values, 0o755); err != nil {
					return nil, end, err
				}
				path = filepath.Join(o.values, fileName(p.Name())+".txt")
			}
			k, err := problem.Keep(p, path)
			if err != nil {
				return nil, end, err
			}
			ends = append(ends, func() { _ = k.Close() })
			p = k
		}
		if o.minimise {
			p = problem.Negated(p)
		}
		ps[i] = p
	}
	return ps, end, nil
}

// fileName returns a name without characters that files cannot have.
func fileName(name string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|`, r) || r < ' ' {
			return '_'
		}
		return r
	}, name)
}

// declared runs the file of Go and returns the problems that it declares.
func (o *objective) declared(ctx context.Context, env *Env) (ps []problem.Problem, end func(), err error) {
	source, err := readScript(env, o.file)
	if err != nil {
		return nil, nil, err
	}
	eng, err := env.NewEngine("", []string{o.file}, Streams{})
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			eng.Close()
		}
	}()
	session, ok := eng.(interface {
		Values(ctx context.Context, expression string) ([]any, error)
	})
	if !ok {
		return nil, nil, errors.New("this engine gives no values")
	}
	out := &console{out: env.Stderr, err: env.Stderr, dir: filepath.Dir(o.file), base: "problem", input: func(context.Context, string, bool) (string, error) { return "", engine.ErrNoInput }}
	if _, err := eng.Execute(ctx, engine.Cell{Number: 1, Code: source}, out); err != nil {
		out.finish()
		var e *engine.Error
		if !errors.As(err, &e) {
			return nil, nil, fmt.Errorf("%s: %w", o.file, err)
		}
		message := inFile(e.Message, o.file, []int{0})
		if !strings.HasPrefix(message, o.file+":") {
			message = o.file + ": " + message
		}
		return nil, nil, errors.New(message)
	}
	out.finish()
	values, err := session.Values(ctx, "instances")
	if err != nil || len(values) != 1 {
		return nil, nil, fmt.Errorf("%s does not declare the variable instances: instances := []problem.Problem{...}", o.file)
	}
	switch v := values[0].(type) {
	case []problem.Problem:
		ps = append(ps, v...)
	case problem.Problem:
		ps = []problem.Problem{v}
	default:
		return nil, nil, fmt.Errorf("%s declares instances as a %T; it must be a []problem.Problem", o.file, v)
	}
	if len(ps) == 0 {
		return nil, nil, fmt.Errorf("%s declares no instances: the variable is empty", o.file)
	}
	for i, p := range ps {
		if p == nil {
			return nil, nil, fmt.Errorf("%s: instance %d is nil", o.file, i)
		}
	}
	return ps, func() { eng.Close() }, nil
}

// commands returns the problems that the program computes.
func (o *objective) commands(ctx context.Context) (ps []problem.Problem, err error) {
	words, err := commandWords(o.command)
	if err != nil {
		return nil, fmt.Errorf("-command: %w", err)
	}
	if len(words) == 0 {
		return nil, errors.New("-command names no program")
	}
	files := o.instances
	if len(files) == 0 {
		files = []string{""}
	}
	for _, file := range files {
		prog := problem.Program{Args: append([]string(nil), words...), Timeout: o.timeout, Infeasible: o.timeout > 0, Seeds: o.seeded}
		name := filepath.Base(words[len(words)-1])
		if file != "" {
			prog.Args = append(prog.Args, file)
			name = filepath.Base(file)
		}
		d := o.dim
		if d == 0 {
			if d, err = prog.Ask(ctx); err != nil {
				return nil, fmt.Errorf("%s: without -dim the program is asked: %w", name, err)
			}
		}
		if d < 1 || d > problem.MaxDim {
			return nil, fmt.Errorf("-dim %d: it must be from 1 to %d", d, problem.MaxDim)
		}
		ps = append(ps, prog.Problem(name, d))
	}
	return ps, nil
}

// commandWords splits a command line at spaces; single and double quotes keep them.
func commandWords(line string) (words []string, err error) {
	var word strings.Builder
	quote, in := rune(0), false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, in = r, true
		case quote == 0 && (r == ' ' || r == '\t' || r == '\n'):
			if in {
				words = append(words, word.String())
				word.Reset()
				in = false
			}
		default:
			word.WriteRune(r)
			in = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if in {
		words = append(words, word.String())
	}
	return words, nil
}

// instanceFiles returns the files of a folder, sorted, without hidden ones; a file
// is itself.
func instanceFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("-instances %s: %w", path, reason(err))
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	list, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range list {
		if !strings.HasPrefix(e.Name(), ".") && !e.IsDir() {
			files = append(files, filepath.Join(path, e.Name()))
		}
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("the folder %s holds no files", path)
	}
	return files, nil
}
