package gocell

import (
	"errors"
	"fmt"
	"go/ast"
	"slices"
	"strings"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/code"
	"dace.local/kernel/gocell/internal/compile"
)

// Functions, methods and loops of cells are compiled by layout (check/layout.go). A loop
// among a cell's statements takes the place of the other when a cell with the same loop
// runs again.

// layout returns a function, a method or a loop of cells as a compiled cell. The caller
// holds Session.mu.
func (a *automatic) layout(h *hotFunc, literals map[string]check.Piece) (n *check.Native, err error) {
	switch {
	case h.loop != nil:
		n, err = a.s.prog.LayoutLoop(a.s.machine.Files(), *h.loop, literals, a.s.compiled.Binds())
	case !a.current(h.fn):
		return nil, errors.New("it has been declared again")
	default:
		name, method := h.fn.Name(), ""
		if t := receiver(h.fn); t != nil {
			name, method = t.Name(), name
		}
		n, err = a.s.prog.Layout(a.s.machine.Files(), name, method, a.s.compiled.Binds())
	}
	if err != nil {
		return nil, firstMessage(err)
	}
	return n, a.fit(h, n)
}

// fit returns why a compiled cell by layout cannot take the place of what it is built for.
func (a *automatic) fit(h *hotFunc, n *check.Native) error {
	why := h.usesPackages(n)
	if why == "" {
		why = n.AsksIdentity()
	}
	if why == "" {
		why = a.unfit(n)
	}
	if why != "" {
		return errors.New(why)
	}
	return nil
}

// isLoop reports whether a statement of a cell is a loop that can be compiled apart, or one
// like it: a call of package sort or slices with a function literal, a goroutine of one.
func isLoop(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ForStmt, *ast.RangeStmt:
		return check.Leaves(s) == ""
	case *ast.GoStmt:
		_, ok := s.Call.Fun.(*ast.FuncLit)
		return ok
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		if !ok {
			return false
		}
		f, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		of, ok := f.X.(*ast.Ident)
		return ok && (of.Name == "sort" || of.Name == "slices") && slices.ContainsFunc(call.Args, func(x ast.Expr) bool {
			_, ok := x.(*ast.FuncLit)
			return ok
		})
	}
	return false
}

// noteLiterals notes the function literals that a cell's statements assign to variables of
// the session. The caller holds automatic.mu.
func (a *automatic) noteLiterals(c *check.Checked) {
	note := func(id *ast.Ident, x ast.Expr) {
		if lit, ok := x.(*ast.FuncLit); ok {
			pc := c.LiteralPiece(a.s.machine.Files(), id.Name, lit)
			a.literals[id.Name], a.literalAt[lit.Pos()] = pc, pc.Text
		}
	}
	for _, s := range c.Source.Body.List {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if id, ok := s.Lhs[0].(*ast.Ident); ok && len(s.Lhs) == 1 && len(s.Rhs) == 1 {
				note(id, s.Rhs[0])
			}
		case *ast.DeclStmt:
			for _, spec := range s.Decl.(*ast.GenDecl).Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && len(v.Names) == 1 && len(v.Values) == 1 {
					note(v.Names[0], v.Values[0])
				}
			}
		}
	}
}

// holds reports whether variables of the session hold the function literals that a compiled
// loop has in their place, by the variable's name. What the loop itself does to them the
// checker has seen.
func (a *automatic) holds(texts map[string]string) bool {
	for name, want := range texts {
		v, ok := a.s.global(name)
		if !ok || v.IsNil() || code.Captures(v) {
			return false
		}
		fn := code.FunctionOf(v)
		if fn == nil {
			return false
		}
		_, at, ok := compile.Origin(fn)
		a.mu.Lock()
		text := a.literalAt[at]
		a.mu.Unlock()
		if !ok || text != want {
			return false
		}
	}
	return true
}

// knowLoops notes the loops among a cell's statements, and returns the names by which the
// session counts their time. The caller holds automatic.mu.
func (a *automatic) knowLoops(c *check.Checked) (names []string) {
	for _, s := range c.Source.Body.List {
		if isLoop(s) {
			pc := c.Source.LoopPiece(a.s.machine.Files(), s)
			a.loops[pc.Text] = &pc
			names = append(names, pc.Text)
		}
	}
	return names
}

// considerLoop queues a loop.
func (a *automatic) considerLoop(name string, pc *check.Piece) {
	switch {
	case a.funcs[name] != nil:
	case a.built >= mostBuilt:
		h := refused(name, fmt.Errorf("there are %d compiled functions already", mostBuilt))
		h.loop = pc
		a.funcs[name] = h
	default:
		a.built++
		a.funcs[name] = &hotFunc{name: name, loop: pc}
		a.enqueue(a.funcs[name])
	}
}

// in reports whether a cell's text has the loop.
func (h *hotFunc) in(text string) bool {
	_, loop, _ := strings.Cut(h.loop.Text, "*/")
	return strings.Contains(text, strings.TrimSuffix(loop, "\n}"))
}

// compiledLoops returns what runs in place of loops among a cell's statements that have
// been built. The session's program is that after the cell when it is called.
func (a *automatic) compiledLoops(c *check.Checked) map[ast.Stmt]func() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	var all map[ast.Stmt]func() bool
	a.noteLiterals(c)
	if !a.on || a.s.debugger.Attached() {
		return nil
	}
	for _, s := range c.Source.Body.List {
		if !isLoop(s) {
			continue
		}
		pc := c.Source.LoopPiece(a.s.machine.Files(), s)
		h := a.funcs[pc.Text]
		if h == nil || h.native == nil || h.done == nil || h.why != nil {
			continue
		}
		select {
		case <-h.done:
		default:
			continue
		}
		a.s.mu.Lock()
		n, err := c.Next.LayoutLoop(a.s.machine.Files(), pc, a.literals, a.s.compiled.Binds())
		if err == nil {
			err = a.fit(h, n)
		}
		a.s.mu.Unlock()
		if err == nil {
			err = a.s.compiled.Aim(n)
		}
		if err == nil {
			err = a.s.compiled.Generate(n)
		}
		if err == nil && n.Path == h.path {
			n.Table = h.native.Table
			err = a.s.compiled.Bind(n)
		}
		if err != nil || n.Path != h.path { // what it uses has changed: count anew
			delete(a.funcs, pc.Text)
			a.spent[pc.Text] = 0
			continue
		}
		h.native, h.installed = n, true
		if all == nil {
			all = map[ast.Stmt]func() bool{}
		}
		texts := map[string]string{}
		for _, name := range n.Literals {
			texts[name] = a.literals[name].Text
		}
		all[s] = func() bool {
			if !a.holds(texts) {
				return false
			}
			a.s.compiled.Link(n).Interface().(func())()
			return true
		}
	}
	return all
}
