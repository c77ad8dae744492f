package main

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/packages"
)

// branched are the packages and files whose branches of errors -branches counts: those
// that lose a user's work where they go wrong.
var branched = []string{
	"kernel/internal/jupyter/transport", "kernel/internal/jupyter/wire", "kernel/internal/jupyter/server",
	"dacelib/construct/journal.go", "dacelib/farm",
}

var branchesTable = table{
	file: "install/branches.md",
	head: `# Branches of errors that the packages' own tests run

Written by ` + "`go run ./install -branches`" + `. A branch of errors is a block of an if or a
switch that runs because something failed: its condition asks about an error, or it
returns a new one. One that begins with a panic does not count: it says what cannot be.

| package | branches | run |
|---|---|---|
`,
	total: func(run, of, _ int) string {
		return fmt.Sprintf("In all %d of %d are run.\n\n## What is not run\n\n", run, of)
	},
}

// countBranches counts the branches of errors of packages, or of files of them, and those
// that the package's own tests run, and writes them into the table.
func (in *installer) countBranches(ctx context.Context, root string, targets []string) error {
	if len(targets) == 0 {
		targets = branched
	}
	w, err := newMutants(ctx, root, in.err)
	if err != nil {
		return err
	}
	for _, t := range targets {
		t = filepath.ToSlash(filepath.Clean(t))
		all, err := branchesOf(ctx, root, t)
		if err != nil {
			return err
		}
		ran, err := w.cover(ctx, t)
		if err != nil {
			return err
		}
		var rest []string
		for _, b := range all {
			if !slices.ContainsFunc(ran, b.within) {
				rest = append(rest, fmt.Sprintf("%s:%d: %s", b.file, b.line, b.what))
			}
		}
		if err := branchesTable.renew(root, t, len(all), len(all)-len(rest), nil, rest); err != nil {
			return err
		}
		in.say("%s: %d of %d run", t, len(all)-len(rest), len(all))
	}
	in.say("See %s.", branchesTable.file)
	return nil
}

// A branch is a block of errors: the place of its first statement, and the condition.
type branch struct {
	file      string // path from the module's root
	line, col int
	what      string
}

// A covered block of a profile was run: from one place to another.
type covered struct {
	file                            string
	line, col, lastLine, lastCol, n int
}

func (b branch) within(c covered) bool {
	return b.file == c.file && (b.line > c.line || b.line == c.line && b.col >= c.col) &&
		(b.line < c.lastLine || b.line == c.lastLine && b.col < c.lastCol)
}

// cover runs the tests of a target and returns the blocks of its package that they ran.
func (w *mutants) cover(ctx context.Context, target string) (ran []covered, err error) {
	dir, err := os.MkdirTemp("", "dace-branches-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	profile := filepath.Join(dir, "profile")
	if out, err := w.test(ctx, target, slowest, "-short=false", "-coverprofile="+profile, "-coverpkg=./"+packageOf(target)); err != nil {
		return nil, fmt.Errorf("the tests of %s fail: %w\n%s", target, err, out)
	}
	text, err := os.ReadFile(profile)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		var c covered
		var statements int
		name, places, ok := strings.Cut(line, ":")
		if !ok || strings.HasPrefix(line, "mode:") {
			continue
		}
		if _, err := fmt.Sscanf(places, "%d.%d,%d.%d %d %d", &c.line, &c.col, &c.lastLine, &c.lastCol, &statements, &c.n); err != nil {
			return nil, fmt.Errorf("a profile of the go command has the line %q: %w", line, err)
		}
		if c.file = packageOf(target) + "/" + filepath.Base(name); c.n > 0 {
			ran = append(ran, c)
		}
	}
	return ran, nil
}

// branchesOf returns the branches of errors of a package or a file of it.
func branchesOf(ctx context.Context, root, target string) (all []branch, err error) {
	const mode = packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedSyntax |
		packages.NeedTypes | packages.NeedTypesInfo | packages.NeedImports | packages.NeedExportFile
	loaded, err := packages.Load(&packages.Config{Context: ctx, Dir: root, Mode: mode}, "./"+packageOf(target))
	if err != nil {
		return nil, err
	}
	for _, p := range loaded {
		if len(p.Errors) > 0 {
			return nil, fmt.Errorf("%s: %w", target, p.Errors[0])
		}
		for _, f := range p.Syntax {
			file := packageOf(target) + "/" + filepath.Base(p.Fset.Position(f.Pos()).Filename)
			if !ast.IsGenerated(f) && (file == target || packageOf(target) == target) {
				all = append(all, branchesIn(p.Fset, p.TypesInfo, f, file)...)
			}
		}
	}
	if len(all) == 0 {
		return nil, errors.New(target + " has no branches of errors")
	}
	return all, nil
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// branchesIn returns the branches of errors of a file.
func branchesIn(fset *token.FileSet, info *types.Info, f *ast.File, file string) (all []branch) {
	// asks reports whether a condition is about an error that there is.
	asks := func(cond ast.Expr) (found bool) {
		if cond == nil {
			return false
		}
		ast.Inspect(cond, func(n ast.Node) bool {
			if b, ok := n.(*ast.BinaryExpr); ok && b.Op == token.EQL {
				return !info.Types[b.Y].IsNil()
			}
			e, ok := n.(ast.Expr)
			found = found || ok && info.Types[e].IsValue() && types.Identical(info.TypeOf(e), types.Universe.Lookup("error").Type())
			return !found
		})
		return found
	}
	// isNew reports whether an expression can be nothing but an error.
	isNew := func(e ast.Expr) bool {
		if t := info.TypeOf(e); t == nil || info.Types[e].IsNil() || !types.Implements(t, errorType) {
			return false
		}
		switch e := ast.Unparen(e).(type) {
		case *ast.CallExpr:
			if info.Types[e.Fun].IsType() {
				return true
			}
			s, ok := e.Fun.(*ast.SelectorExpr)
			return ok && (types.ExprString(s) == "fmt.Errorf" || types.ExprString(s) == "errors.New")
		case *ast.Ident:
			v, ok := info.Uses[e].(*types.Var)
			return ok && v.Parent() == v.Pkg().Scope()
		case *ast.SelectorExpr:
			v, ok := info.Uses[e.Sel].(*types.Var)
			return ok && !v.IsField()
		case *ast.UnaryExpr, *ast.CompositeLit:
			return true
		}
		return false
	}
	add := func(body []ast.Stmt, cond ast.Expr) {
		if len(body) == 0 {
			return
		}
		if s, ok := body[0].(*ast.ExprStmt); ok {
			if c, ok := s.X.(*ast.CallExpr); ok && isPanic(c) {
				return
			}
		}
		is := asks(cond)
		for _, s := range body {
			if r, ok := s.(*ast.ReturnStmt); ok && len(r.Results) > 0 {
				is = is || isNew(r.Results[len(r.Results)-1])
			}
		}
		if !is {
			return
		}
		p, what := fset.Position(body[0].Pos()), "else"
		if cond != nil {
			what = strconv.Quote(types.ExprString(cond))
		}
		all = append(all, branch{file, p.Line, p.Column, what})
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.IfStmt:
			add(n.Body.List, n.Cond)
			if e, ok := n.Else.(*ast.BlockStmt); ok {
				// What is left where an error was asked about by == nil failed.
				b, ok := n.Cond.(*ast.BinaryExpr)
				if ok && b.Op == token.EQL && info.Types[b.Y].IsNil() {
					add(e.List, b.X)
				} else {
					add(e.List, nil)
				}
			}
		case *ast.CaseClause:
			var cond ast.Expr
			for _, e := range n.List {
				if cond == nil || asks(e) {
					cond = e
				}
			}
			add(n.Body, cond)
		}
		return true
	})
	return all
}
