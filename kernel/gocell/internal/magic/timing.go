package magic

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"math"
	"strconv"
	"strings"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/internal/system/process"
)

// A Watch adds up the time that a cell's code runs, without the time to check
// and compile it.
type Watch struct{ wall, user, system time.Duration }

type watchKey struct{}

// withWatch returns a context under which the session adds to a watch.
func withWatch(ctx context.Context, w *Watch) context.Context {
	return context.WithValue(ctx, watchKey{}, w)
}

// Start starts the watch of a context, if it has one. The session calls it
// before code runs, and stop after.
func Start(ctx context.Context) (stop func()) {
	w, ok := ctx.Value(watchKey{}).(*Watch)
	if !ok {
		return func() {}
	}
	user, system := process.Time()
	began := time.Now()
	return func() {
		w.wall += time.Since(began)
		u, s := process.Time()
		w.user += u - user
		w.system += s - system
	}
}

func (w *Watch) String() string {
	return fmt.Sprintf("CPU times: user %s, sys: %s, total: %s\nWall time: %s\n",
		seconds(w.user.Seconds(), 3), seconds(w.system.Seconds(), 3), seconds((w.user+w.system).Seconds(), 3), seconds(w.wall.Seconds(), 3))
}

func timeLine(c *Call) (engine.Result, error) {
	if c.Args == "" {
		return engine.Result{}, errors.New("%time wants a statement: %time f(x)")
	}
	return timed(c, c.Go())
}

func timeCell(c *Call) (engine.Result, error) { return timed(c, c.Body()) }

func timed(c *Call, code engine.Cell) (engine.Result, error) {
	var w Watch
	res, err := c.Run(withWatch(c.Ctx, &w), code, c.Out)
	if err == nil {
		c.Out.Stdout(w.String())
	}
	return res, err
}

// seconds returns a time as IPython writes it: 1.25 ms, 2min 3s.
func seconds(s float64, precision int) string {
	if s >= 60 {
		var parts []string
		for _, u := range []struct {
			name string
			size float64
		}{{"d", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}} {
			if n := math.Floor(s / u.size); n > 0 {
				parts = append(parts, fmt.Sprintf("%d%s", int(n), u.name))
				s -= n * u.size
			}
		}
		return strings.Join(parts, " ")
	}
	units, scale := []string{"s", "ms", "µs", "ns"}, []float64{1, 1e3, 1e6, 1e9}
	order := 3
	if s > 0 {
		order = min(-int(math.Floor(math.Floor(math.Log10(s))/3)), 3)
	}
	order = max(order, 0)
	return fmt.Sprintf("%.*g %s", precision, s*scale[order], units[order])
}

// statistics returns the mean and the standard deviation (the population's, as
// IPython's) of runs, in seconds for each loop, and a note if they differ much.
func statistics(loops int, runs []float64, precision int) (text, note string) {
	mean, variance := 0.0, 0.0
	best, worst := math.Inf(1), 0.0
	for _, r := range runs {
		mean += r / float64(len(runs))
		best, worst = min(best, r), max(worst, r)
	}
	for _, r := range runs {
		variance += (r - mean) * (r - mean) / float64(len(runs))
	}
	plural := func(n int) string {
		if n == 1 {
			return ""
		}
		return "s"
	}
	if best > 0 && worst > 4*best && worst > 1e-6 {
		note = fmt.Sprintf("The slowest run took %.2f times longer than the fastest. This could mean that an intermediate result is being cached.\n", worst/best)
	}
	return fmt.Sprintf("%s ± %s per loop (mean ± std. dev. of %d run%s, %s loop%s each)\n", seconds(mean, precision), seconds(math.Sqrt(variance), precision),
		len(runs), plural(len(runs)), thousands(loops), plural(loops)), note
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// settings are the flags of %timeit.
type settings struct {
	loops, runs, precision int
	quiet                  bool
}

// timeitFlags parses the flags of %timeit, and returns how many bytes they take.
func timeitFlags(args string) (s settings, n int, err error) {
	fs := flag.NewFlagSet("", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.IntVar(&s.loops, "n", 0, "")
	fs.IntVar(&s.runs, "r", 7, "")
	fs.IntVar(&s.precision, "p", 3, "")
	fs.BoolVar(&s.quiet, "q", false, "")
	// Take words while they are flags, because the statement is no list of words.
	var flags []string
	rest := args
	for strings.HasPrefix(rest, "-") {
		word, after, _ := strings.Cut(rest, " ")
		if len(word) > 2 && word[1] >= 'a' && word[2] >= '0' && word[2] <= '9' { // -n100
			flags = append(flags, word[:2], word[2:])
		} else if flags = append(flags, word); word == "-n" || word == "-r" || word == "-p" {
			after = strings.TrimLeft(after, " ")
			word, after, _ = strings.Cut(after, " ")
			flags = append(flags, word)
		}
		rest = strings.TrimLeft(after, " ")
	}
	n = len(args) - len(rest)
	err = fs.Parse(flags)
	if err == nil && (s.loops < 0 || s.runs < 1 || s.precision < 1) {
		err = errors.New("-n, -r and -p want numbers from 1 on")
	}
	return s, n, err
}

func timeitLine(c *Call) (engine.Result, error) {
	s, n, err := timeitFlags(c.Args)
	if err != nil {
		return engine.Result{}, err
	}
	statement := c.Args[n:]
	if statement == "" {
		return engine.Result{}, errors.New("%timeit wants a statement: %timeit f(x)")
	}
	return timeit(c, s, statement, c.ArgsAt+n)
}

func timeitCell(c *Call) (engine.Result, error) {
	s, n, err := timeitFlags(c.Args)
	if err != nil {
		return engine.Result{}, err
	}
	if setup := c.Args[n:]; setup != "" {
		before := c.at(blank(c.Cell.Code[:c.ArgsAt+n]) + setup)
		if _, err := c.Run(c.Ctx, before, c.Out); err != nil {
			return engine.Result{}, err
		}
	}
	body := c.Text()
	if strings.TrimSpace(body) == "" {
		return engine.Result{}, errors.New("%%timeit wants statements below its line")
	}
	return timeit(c, s, body, len(c.Cell.Code)-len(body))
}

// timeit measures statements, which begin at an offset of the cell.
func timeit(c *Call, s settings, statements string, at int) (engine.Result, error) {
	loop, err := compileLoop(c, statements, at)
	if err != nil {
		return engine.Result{}, err
	}
	measure := func(loops int) (float64, error) {
		var spent time.Duration
		err := c.Call(c.Ctx, c.Out, func() {
			began := time.Now()
			loop(loops)
			spent = time.Since(began)
		})
		return spent.Seconds(), err
	}
	loops := s.loops
	for n := 1; loops == 0; n *= 10 {
		t, err := measure(n)
		if err != nil {
			return engine.Result{}, err
		}
		if t >= 0.2 || n >= 1e9 {
			loops = n
		}
	}
	runs := make([]float64, s.runs)
	for i := range runs {
		t, err := measure(loops)
		if err != nil {
			return engine.Result{}, err
		}
		runs[i] = t / float64(loops)
	}
	if text, note := statistics(loops, runs, s.precision); !s.quiet {
		c.Out.Stdout(note + text + howRun(c, statements))
	}
	return engine.Result{}, nil
}

// howRun says of the cells' functions that statements name which are compiled
// and which are interpreted; "" if they name none.
func howRun(c *Call, statements string) string {
	named := map[string]bool{}
	list, _, _ := cell.Tokens(statements)
	for _, t := range list {
		named[t.Text] = true
	}
	var parts []string
	for _, d := range c.Declared() {
		if d.Kind == "function" && named[d.Name] {
			parts = append(parts, d.Name+" is "+map[bool]string{true: "compiled", false: "interpreted"}[d.Compiled])
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return strings.Join(parts, ", ") + "\n"
}

// compileLoop compiles statements as the body of a loop, and returns it as a
// function of the number of loops.
func compileLoop(c *Call, statements string, at int) (func(loops int), error) {
	line, col := cell.LineCol(c.Cell.Code, at)
	compile := func(body string) (func(int), error) {
		n := cell.Mark + "n"
		text := strings.Repeat("\n", line-1) + "func(" + n + " int) { for range " + n + " {" + cell.LineDirective(line, col) + body + "\n}}"
		values, err := c.Values(c.Ctx, c.at(text), c.Out)
		if err != nil {
			return nil, err
		}
		f, ok := values[0].(func(int))
		if !ok {
			return nil, fmt.Errorf("internal: the loop is a %T", values[0])
		}
		return f, nil
	}
	x, notExpr := parser.ParseExpr(strings.TrimSuffix(strings.TrimSpace(statements), ";"))
	if notExpr != nil {
		return compile(statements + used(statements))
	}
	f, err := compile(statements)
	if err == nil {
		return f, nil
	}
	g, err2 := compile("_ = " + statements) // len(s), a + b
	if _, isCall := x.(*ast.CallExpr); err2 != nil && isCall {
		return nil, err
	}
	return g, err2
}

// used returns statements that use the variables which statements define, since
// Go demands a use.
func used(statements string) string {
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+statements+"\n}", parser.SkipObjectResolution)
	if err != nil || len(f.Decls) != 1 {
		return ""
	}
	body, ok := f.Decls[0].(*ast.FuncDecl)
	if !ok {
		return ""
	}
	var b strings.Builder
	for _, s := range body.Body.List {
		a, ok := s.(*ast.AssignStmt)
		if !ok || a.Tok != token.DEFINE {
			continue
		}
		for _, x := range a.Lhs {
			if id, ok := x.(*ast.Ident); ok && id.Name != "_" {
				b.WriteString("\n_ = " + id.Name)
			}
		}
	}
	return b.String()
}
