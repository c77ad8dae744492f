package gocell

import (
	"context"
	"go/ast"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/magic"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/internal/system/process"
)

// Cells of gonb mean something here too, see kernel/foreign/README.md.

// gonbMagics returns the magics that gonb's notebooks use.
func (g *fetched) gonbMagics() []magic.Magic {
	auto := func(on bool) func(*magic.Call) (engine.Result, error) {
		return func(*magic.Call) (engine.Result, error) {
			g.auto = on
			return engine.Result{}, nil
		}
	}
	return []magic.Magic{
		{Name: "%autoget", Usage: "%autoget", Short: "fetches the modules that cells import and that are missing, from now on", Doc: "A line %% or %main, which gonb's notebooks have, does the same.", Run: auto(true)},
		{Name: "%noautoget", Usage: "%noautoget", Short: "undoes %autoget", Run: auto(false)},
		{Name: "%gomod", Usage: "%gomod [freeze|COMMAND]", Short: "shows the session's go.mod, or runs a command in its folder", Doc: aboutGoMod, Run: g.goMod},
	}
}

// commandIn returns a command of the shell that runs in a folder.
func commandIn(dir, command string) process.Command {
	return process.Shell("cd '" + dir + "' && { " + command + "\n}")
}

// autoGet fetches the modules that a cell imports and the session lacks. What
// cannot be fetched is reported on stderr; then the cell does not compile.
func (g *fetched) autoGet(ctx context.Context, src *check.Source, out engine.Outputs) {
	var want []string
	for _, d := range src.File.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok {
			continue
		}
		for _, spec := range g.Specs {
			if i, ok := spec.(*ast.ImportSpec); ok {
				if path, err := strconv.Unquote(i.Path.Value); err == nil {
					want = append(want, path)
				}
			}
		}
	}
	uses := func(n ast.Node) bool {
		if x, ok := n.(*ast.SelectorExpr); ok {
			if id, ok := x.X.(*ast.Ident); ok && id.Name == "constraints" && len(g.prog.ByName("constraints")) == 0 {
				want = append(want, "golang.org/x/exp/constraints")
			}
		}
		return true
	}
	for _, d := range src.File.Decls {
		ast.Inspect(d, uses)
	}
	ast.Inspect(src.Body, uses)
	slices.Sort(want)
	for _, path := range slices.Compact(want) {
		first, _, _ := strings.Cut(path, "/")
		_, compiled := symbols.Name(path)
		if compiled || !strings.Contains(first, ".") || check.StandIn(path) != "" || g.prog.Importer.Source(path) != nil {
			continue
		}
		out.Stderr("%get " + path + "\n")
		if err := g.getOne(ctx, path, discard{}); err != nil {
			out.Stderr(err.Error() + "\n")
		}
	}
}

func (h host) Remove(names []string) (unknown, lost []string) {
	h.s.concurrent.compiling <- struct{}{}
	defer func() { <-h.s.concurrent.compiling }()
	drop := map[string]bool{}
	for _, n := range names {
		if !h.s.isName(n) || n == "ctx" && !h.s.declaresCtx() {
			unknown = append(unknown, n)
			continue
		}
		drop[n] = true
	}
	h.drop(slices.Collect(maps.Keys(drop)))
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	h.s.prog, lost = h.s.prog.Without(drop)
	return unknown, lost
}

// declaresCtx reports whether a cell has declared ctx.
func (k *known) declaresCtx() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.prog.Names["ctx"] != nil && k.prog.Names["ctx"].Cell != 0
}

func (h host) SetArgs(args []string) { h.s.library.SetArgs(args) }

// functions returns the names of the functions that cells have declared.
func (h host) functions() []string {
	h.s.mu.Lock()
	defer h.s.mu.Unlock()
	var names []string
	for n, e := range h.s.prog.Names {
		if _, ok := e.Object.(*types.Func); ok {
			names = append(names, n)
		}
	}
	return names
}
