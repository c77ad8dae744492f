package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// mutated are the packages, and files of packages, whose tests -mutants tries: those
// where a fault that no test sees costs most.
var mutated = []string{
	"kernel/internal/jupyter/transport", "kernel/internal/jupyter/wire", "kernel/internal/jupyter/server",
	"dacelib/construct/journal.go", "dacelib/farm", "dacelib/farm/natsfarm",
	"kernel/gocell/internal/code", "kernel/gocell/internal/compile", "kernel/gocell/internal/vm", "kernel/gocell/internal/check",
	"dacelib/brkga", "dacelib/smac", "dacelib/nir/references.go", "dacelib/portfolio", "dacelib/solver",
}

// cells are the tests of what cells reach, tried where a package's own pass.
var cells = []string{"-run=^(TestCells|TestPrograms)$", "./kernel/gocell"}

// testsOf are tests that are not all of the package's own and no others: arguments of
// go test, each tried where those before it pass.
var testsOf = map[string][][]string{
	"kernel/gocell/internal/check":   {{"./kernel/gocell/internal/check"}, cells},
	"kernel/gocell/internal/code":    {{"./kernel/gocell/internal/code"}, {"./kernel/gocell/internal/compile"}, cells},
	"kernel/gocell/internal/compile": {{"./kernel/gocell/internal/compile"}, cells},
	"kernel/gocell/internal/vm":      {{"./kernel/gocell/internal/vm"}, cells},
	// The others of their packages train and construct for longer.
	"dacelib/nir/references.go":    {{"-run=^(TestReference.*|TestFewReferences|TestNoReferences|TestDropUnfit|TestFlatPrediction)$", "./dacelib/nir"}},
	"dacelib/construct/journal.go": {{"-run=^Test(Torn.*|.*Fails|Clock.*|Journal.*|Resume|Kill|FullDisk|FolderInUse|OtherSettings|Read)$", "./dacelib/construct"}},
}

// packageOf returns the package of a target, which is one or a file of one.
func packageOf(target string) string {
	if strings.HasSuffix(target, ".go") {
		return path.Dir(target)
	}
	return target
}

// A mutant is a small change of a source file.
type mutant struct {
	file       string // path from the module's root
	line       int
	start, end int    // bytes that are replaced
	with, what string // what replaces them, and the change in words
}

func (m mutant) String() string { return fmt.Sprintf("%s:%d: %s", m.file, m.line, m.what) }

// fate is what became of a mutant.
type fate int

const (
	lives  fate = iota // the package's tests pass
	caught             // they fail
	unfit              // it does not compile
)

var mutantsTable = table{
	file: "install/mutants.md",
	head: `# Mutants that the packages' own tests catch

Written by ` + "`go run ./install -mutants`" + `. Small changes of each package's code are drawn with
a seed, and its tests of go test -short run with each: a change that makes them fail, or
run five times as long, is caught. TestCells and TestPrograms of gocell are among the tests
of check, code, compile and vm. With -living only the changes listed here are tried again.
"Equal: ..." after one, written by hand, says why no test could see it; it is kept.
Tests are written for what lives at first, so a seed that nobody has drawn finds fewer
caught: of seed 2's first 240 changes 139 were, of seed 3's 128 in eight packages 89, of
seed 5's 112 in the seven of the kernel 90, and of its 128 in those of dacelib, for whose
kinds of changes tests had been written first, 114. Of seed 6's 240, which nobody had
seen, 216 were.

| package | changes | caught | its tests take | seed |
|---|---|---|---|---|
`,
	total: func(caught, of, equal int) string {
		return fmt.Sprintf("In all %d of %d are caught; %d of the others change nothing that a test could see.\n\n## What lives\n\n", caught, of, equal)
	},
}

// tryMutants tries how many small changes of packages' code their own tests catch, two
// at a time, and writes what it finds of each package into the table.
func (in *installer) tryMutants(ctx context.Context, root string, packages []string) error {
	if len(packages) == 0 {
		packages = mutated
	}
	w, err := newMutants(ctx, root, in.err)
	if err != nil {
		return err
	}
	for _, p := range packages {
		p = filepath.ToSlash(filepath.Clean(p))
		pool, err := w.of(ctx, p)
		if err != nil {
			return err
		}
		seed, changes, before := max(1, in.seed), in.changes, score{}
		if in.living {
			if pool, before, err = mutantsTable.livingOf(root, p, pool); err != nil {
				return err
			}
			seed, changes = before.seed, len(pool)
		} else {
			rng := rand.New(rand.NewPCG(seed, 0))
			rng.Shuffle(len(pool), func(i, j int) { pool[i], pool[j] = pool[j], pool[i] })
		}
		row, living, err := w.mutate(ctx, p, pool, changes)
		if err != nil {
			return err
		}
		row.seed, row.changes, row.caught = seed, row.changes+before.caught, row.caught+before.caught
		more := []string{row.took.Round(time.Second).String(), strconv.FormatUint(row.seed, 10)}
		if err := mutantsTable.renew(root, p, row.changes, row.caught, more, living); err != nil {
			return err
		}
		in.say("%s: %s", p, row)
	}
	in.say("See %s.", mutantsTable.file)
	return nil
}

// A score is what the table says of a package.
type score struct {
	changes, caught int
	took            time.Duration
	seed            uint64
}

func (r score) String() string {
	return fmt.Sprintf("%d of %d changes caught, tests of %s, seed %d", r.caught, r.changes, r.took.Round(time.Second), r.seed)
}

// A table is a committed page: a row for each target (how many there are of something,
// how many of them are as they should be), and a list of the others.
type table struct {
	file, head string
	total      func(good, of, equal int) string // of all rows, and the list's with a reason
}

// reason separates an element of a table's list from what was written after it by hand.
const reason = ". Equal: "

var (
	rowLine    = regexp.MustCompile(`(?m)^\| (\S+/\S+|\.) \| (\d+) \| (\d+) \|.*\n`)
	lineNumber = regexp.MustCompile(`:\d+:`)
)

// livingOf returns those of a target's mutants that are in the table's list, and what
// the table says of the target.
func (t table) livingOf(root, target string, pool []mutant) (living []mutant, r score, err error) {
	text, err := os.ReadFile(filepath.Join(root, t.file))
	if err != nil {
		return nil, r, err
	}
	row := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(target) + ` \| (\d+) \| (\d+) \| \S+ \| (\d+) \|$`).FindStringSubmatch(string(text))
	if row == nil {
		return nil, r, fmt.Errorf("%s has no row for %s: try it without -living first", t.file, target)
	}
	r.changes, _ = strconv.Atoi(row[1])
	r.caught, _ = strconv.Atoi(row[2])
	r.seed, _ = strconv.ParseUint(row[3], 10, 64)
	for line := range strings.Lines(string(text)) {
		name, _, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "- ")), reason)
		if i := slices.IndexFunc(pool, func(m mutant) bool { return m.String() == name }); i >= 0 {
			living = append(living, pool[i])
		} else if file, _, ok := strings.Cut(name, ":"); ok && (file == target || path.Dir(file) == target) && strings.HasPrefix(line, "- ") {
			return nil, r, fmt.Errorf("%s names %s, which is not there any more: try %s without -living", t.file, name, target)
		}
	}
	return living, r, nil
}

// renew replaces a target's row and its part of the list.
func (t table) renew(root, target string, of, good int, more, rest []string) error {
	at := filepath.Join(root, t.file)
	old, err := os.ReadFile(at)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	rows := map[string]string{}
	for _, m := range rowLine.FindAllStringSubmatch(string(old), -1) {
		rows[m[1]] = m[0]
	}
	reasons := map[string]string{} // by the element without its line, which changes
	for line := range strings.Lines(string(old)) {
		if l, why, ok := strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "- ")), reason); ok {
			reasons[lineNumber.ReplaceAllString(l, ":")] = reason + why
		}
	}
	for i, l := range rest {
		rest[i] += reasons[lineNumber.ReplaceAllString(l, ":")]
	}
	rows[target] = "| " + strings.Join(append([]string{target, strconv.Itoa(of), strconv.Itoa(good)}, more...), " | ") + " |\n"
	for line := range strings.Lines(string(old)) {
		file, _, _ := strings.Cut(strings.TrimPrefix(line, "- "), ":")
		if l, ok := strings.CutPrefix(line, "- "); ok && path.Dir(file) != target && file != target {
			rest = append(rest, strings.TrimSpace(l))
		}
	}
	slices.Sort(rest)
	allOf, allGood := 0, 0
	var b strings.Builder
	b.WriteString(t.head)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		m := rowLine.FindStringSubmatch(rows[name])
		n, _ := strconv.Atoi(m[2])
		k, _ := strconv.Atoi(m[3])
		allOf, allGood = allOf+n, allGood+k
		b.WriteString(rows[name])
	}
	equal := 0
	for _, l := range rest {
		equal += strings.Count(l, reason)
	}
	b.WriteString("\n" + t.total(allGood, allOf, equal))
	for _, l := range rest {
		fmt.Fprintf(&b, "- %s\n", l)
	}
	return os.WriteFile(at, []byte(b.String()), 0o644)
}

// mutants is what runs tests with changes.
type mutants struct {
	root     string
	env      []string // of the tests
	progress io.Writer
}

func newMutants(ctx context.Context, root string, progress io.Writer) (*mutants, error) {
	w := &mutants{root: root, env: os.Environ(), progress: progress}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} { // beside the tests' own home
		cmd := exec.CommandContext(ctx, "go", "env", name)
		cmd.Dir = root
		out, err := cmd.Output()
		if err != nil {
			return nil, fmt.Errorf("go env %s: %w", name, err)
		}
		w.env = append(w.env, name+"="+strings.TrimSpace(string(out)))
	}
	return w, nil
}

// mutate tries the first n mutants of a pool that compile. It returns the package's
// row, and the mutants that live.
func (w *mutants) mutate(ctx context.Context, pkg string, pool []mutant, n int) (r score, living []string, err error) {
	for range 2 { // the second time everything is compiled
		begun := time.Now()
		if out, err := w.test(ctx, pkg, slowest); err != nil {
			return r, nil, fmt.Errorf("the tests of %s fail without a change: %w\n%s", pkg, err, out)
		}
		r.took = time.Since(begun)
	}
	var (
		next atomic.Int64
		wg   sync.WaitGroup
		mu   sync.Mutex // guards r, living and err
	)
	for range min(2, runtime.NumCPU()) {
		wg.Go(func() {
			for {
				mu.Lock()
				enough := r.changes >= n || err != nil
				mu.Unlock()
				i := int(next.Add(1)) - 1
				if enough || i >= len(pool) || ctx.Err() != nil {
					return
				}
				m := pool[i]
				f, e := w.try(ctx, pkg, m, 5*r.took+20*time.Second)
				mu.Lock()
				if e != nil && err == nil {
					err = e
				}
				switch {
				case f == unfit || e != nil || r.changes == n:
				case f == caught:
					r.changes, r.caught = r.changes+1, r.caught+1
				default:
					r.changes++
					living = append(living, m.String())
				}
				fmt.Fprintf(w.progress, "%s: %s\n", m, [...]string{"lives", "caught", "does not compile"}[f])
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err == nil {
		err = ctx.Err()
	}
	return r, living, err
}

// try runs a package's tests with a mutant.
func (w *mutants) try(ctx context.Context, pkg string, m mutant, limit time.Duration) (fate, error) {
	dir, err := os.MkdirTemp("", "dace-mutant-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(dir)
	overlay, err := m.overlay(w.root, dir)
	if err != nil {
		return 0, err
	}
	for range 3 {
		out, err := w.test(ctx, pkg, limit, "-overlay="+overlay)
		switch {
		case err == nil:
			return lives, nil
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case !bytes.Contains(out, []byte("[build failed]")):
			return caught, nil
		case bytes.Contains(out, []byte(filepath.Base(m.file)+":")):
			return unfit, nil
		}
		// The compiler does not complain of the change: the machine has failed, for want
		// of memory or disk.
		fmt.Fprintf(w.progress, "%s: cannot be built now: %s\n", m, out)
	}
	return 0, fmt.Errorf("%s: cannot be built, three times", m)
}

// slowest is how long the tests of a package may take that nothing was changed of.
const slowest = 30 * time.Minute

// test runs the quick tests of a package, or of a file's, with bounds on what a wrong
// program can write, remove or use up.
func (w *mutants) test(ctx context.Context, target string, limit time.Duration, flags ...string) ([]byte, error) {
	stages := testsOf[target]
	if stages == nil {
		stages = [][]string{{"./" + packageOf(target)}}
	}
	for _, tests := range stages {
		if out, err := w.goTest(ctx, limit, slices.Concat(flags, tests)); err != nil {
			return out, err
		}
	}
	return nil, nil
}

func (w *mutants) goTest(ctx context.Context, limit time.Duration, args []string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "dace-mutant-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	argv := []string{"-c", `ulimit -v 12582912; exec go test "$@"`, "sh", "-short", "-count=1", "-failfast", "-vet=off", "-timeout=" + limit.String()}
	// The limit of go test does not end what a test has started.
	ctx, cancel := context.WithTimeout(ctx, limit+time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", slices.Concat(argv, args)...)
	cmd.Dir, cmd.Env = w.root, append(w.env, "HOME="+dir, "TMPDIR="+dir)
	return runGroup(cmd)
}

// overlay writes the changed file, and a file for go test's -overlay, into a folder.
func (m mutant) overlay(root, dir string) (name string, err error) {
	at := filepath.Join(root, m.file)
	src, err := os.ReadFile(at)
	if err != nil {
		return "", err
	}
	changed, name := filepath.Join(dir, filepath.Base(m.file)), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(changed, slices.Concat(src[:m.start], []byte(m.with), src[m.end:]), 0o600); err != nil {
		return "", err
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": {at: changed}})
	if err != nil {
		return "", err
	}
	return name, os.WriteFile(name, b, 0o600)
}

// of returns all mutants of a package, in the order of its files, or of one file.
func (w *mutants) of(ctx context.Context, target string) ([]mutant, error) {
	pkg := packageOf(target)
	cmd := exec.CommandContext(ctx, "go", "list", "-f", `{{range .GoFiles}}{{println .}}{{end}}{{range .CgoFiles}}{{println .}}{{end}}`, "./"+pkg)
	cmd.Dir, cmd.Stderr = w.root, w.progress
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s is no package here: %w", pkg, err)
	}
	var all []mutant
	for name := range strings.FieldsSeq(string(out)) {
		path := filepath.Join(pkg, name)
		if target != pkg && target != path {
			continue
		}
		src, err := os.ReadFile(filepath.Join(w.root, path))
		if err != nil {
			return nil, err
		}
		found, err := mutantsIn(path, src)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// swaps are operators and what replaces them.
var swaps = map[token.Token]token.Token{
	token.LSS: token.LEQ, token.LEQ: token.LSS, token.GTR: token.GEQ, token.GEQ: token.GTR,
	token.EQL: token.NEQ, token.NEQ: token.EQL, token.LAND: token.LOR, token.LOR: token.LAND,
	token.ADD: token.SUB, token.SUB: token.ADD, token.MUL: token.QUO, token.QUO: token.MUL, token.REM: token.MUL,
	token.AND: token.OR, token.OR: token.AND, token.SHL: token.SHR, token.SHR: token.SHL,
	token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN,
	token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN,
	token.INC: token.DEC, token.DEC: token.INC,
}

// mutantsIn returns the mutants of a file: operators swapped, conditions negated,
// whole numbers one larger, errors dropped, truths turned, and statements removed.
// Generated files, constants' declarations and panics have none.
func mutantsIn(path string, src []byte) ([]mutant, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, src, parser.ParseComments)
	if err != nil || ast.IsGenerated(file) {
		return nil, err
	}
	var all []mutant
	at := func(p token.Pos) int { return fset.Position(p).Offset }
	names := map[string]int{} // a list of what lives tells mutants by their names
	add := func(from, to token.Pos, with, what string) {
		m := mutant{path, fset.Position(from).Line, at(from), at(to), with, what}
		if names[m.String()]++; names[m.String()] > 1 {
			m.what = fmt.Sprintf("%s, occurrence %d", what, names[m.String()])
		}
		all = append(all, m)
	}
	text := func(n ast.Node) string {
		s := strings.Join(strings.Fields(string(src[at(n.Pos()):at(n.End())])), " ")
		if r := []rune(s); len(r) > 60 {
			s = string(r[:59]) + "…"
		}
		return s
	}
	swap := func(n ast.Node, pos token.Pos, op token.Token) {
		if to, ok := swaps[op]; ok {
			add(pos, pos+token.Pos(len(op.String())), to.String(), fmt.Sprintf("`%s` with %s", text(n), to))
		}
	}
	negate := func(cond ast.Expr) {
		if b, ok := cond.(*ast.BinaryExpr); cond != nil && (!ok || swaps[b.Op] != token.NEQ && swaps[b.Op] != token.EQL) {
			add(cond.Pos(), cond.End(), "!("+string(src[at(cond.Pos()):at(cond.End())])+")", fmt.Sprintf("`!(%s)`", text(cond)))
		}
	}
	remove := func(s ast.Stmt) { add(s.Pos(), s.End(), "", fmt.Sprintf("without `%s`", text(s))) }
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			return n.Tok != token.CONST && n.Tok != token.IMPORT
		case *ast.CallExpr:
			return !isPanic(n) // it says that the code is wrong
		case *ast.BinaryExpr:
			swap(n, n.OpPos, n.Op)
		case *ast.IncDecStmt:
			swap(n, n.TokPos, n.Tok)
		case *ast.AssignStmt:
			swap(n, n.TokPos, n.Tok)
		case *ast.IfStmt:
			negate(n.Cond)
		case *ast.ForStmt:
			negate(n.Cond)
		case *ast.BasicLit:
			if v, err := strconv.ParseInt(n.Value, 0, 64); err == nil && n.Kind == token.INT {
				add(n.Pos(), n.End(), strconv.FormatInt(v+1, 10), fmt.Sprintf("%d instead of %s", v+1, n.Value))
			}
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				if id, ok := r.(*ast.Ident); ok {
					if to := map[string]string{"err": "nil", "true": "false", "false": "true"}[id.Name]; to != "" {
						add(id.Pos(), id.End(), to, fmt.Sprintf("`%s` with %s", text(n), to))
					}
				}
			}
		case *ast.BlockStmt:
			for _, s := range n.List {
				switch s := s.(type) {
				case *ast.ExprStmt:
					if c, ok := s.X.(*ast.CallExpr); !ok || !isPanic(c) {
						remove(s)
					}
				case *ast.DeferStmt, *ast.GoStmt:
					remove(s)
				case *ast.AssignStmt:
					if s.Tok != token.DEFINE {
						remove(s)
					}
				case *ast.BranchStmt:
					if s.Tok != token.GOTO {
						remove(s)
					}
				}
			}
		}
		return true
	})
	slices.SortFunc(all, func(a, b mutant) int {
		return cmp.Or(a.start-b.start, a.end-b.end, strings.Compare(a.with, b.with))
	})
	return slices.Compact(all), nil // one change can be found in two ways
}

func isPanic(c *ast.CallExpr) bool {
	f, ok := c.Fun.(*ast.Ident)
	return ok && f.Name == "panic"
}
