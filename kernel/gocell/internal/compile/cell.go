package compile

import (
	"go/ast"
	"go/types"
	"reflect"
	"weak"

	"dace.local/kernel/gocell/internal/code"
)

// A Cell is a cell of a session that has been checked.
type Cell struct {
	Info  *types.Info
	Decls []*ast.FuncDecl // functions and methods, also those that are compiled again with the cell
	Types []types.Type    // that it declares, and those that are declared again with them or made of them
	Body  []ast.Stmt
	// Vars are the variables that the statements define, as the session knows them,
	// by the variable of the statements' scope. Before has those that the session had by
	// their names: one with the same type keeps its memory.
	Vars   map[*types.Var]*types.Var
	Before map[*types.Var]*types.Var
	// Moved are variables of earlier cells whose type has been declared again, by
	// the variable with the new type. Their memory is kept where the types have one
	// layout.
	Moved map[*types.Var]*types.Var
	// Init are functions that are called after the statements before the one numbered
	// InitAt.
	Init   []*types.Func
	InitAt int
	// Last is the statement whose values Show gets, or nil.
	// List has its expressions if it is a list of several.
	Last ast.Stmt
	List []ast.Expr
	Show func(values []any)
	// Instead has what runs in place of statements, unless it returns false.
	Instead map[ast.Stmt]func() bool
	// Main is a function that is called in the end, or nil.
	Main *types.Func
	// Instance takes the place of the host's from this cell on, unless it is nil: the texts
	// of generic functions are those that the cell leaves.
	Instance InstanceFunc
}

// Cell compiles a cell. What it declares is known to later cells at once; run
// runs its statements.
func (c *Compiler) Cell(x *Cell) (run *code.Entry, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.refused(&err)
	for _, d := range x.Decls {
		o, ok := x.Info.Defs[d.Name].(*types.Func)
		if !ok {
			c.refuse(d.Pos(), "internal: a function that has not been checked")
		}
		info := *x.Info // see detach
		c.decls[o] = &declaration{syntax: d, info: &info}
		c.begun = append(c.begun, func() { delete(c.decls, o) })
	}
	if was := c.host.Instance; x.Instance != nil {
		c.host.Instance = x.Instance
		c.begun = append(c.begun, func() { c.host.Instance = was })
	}
	for _, t := range x.Types {
		c.renewed(t)
	}
	session := map[*types.Var]*code.Var{}
	for local, v := range x.Vars {
		was := x.Before[v]
		if old := c.known(was); old != nil && c.runtime(was.Type(), was.Pos()) == c.runtime(v.Type(), v.Pos()) {
			c.vars[weak.Make(v)] = old
		}
		session[local] = c.variable(v)
	}
	for v, old := range x.Moved {
		if g := c.known(old); g != nil && code.SameLayout(c.runtime(old.Type(), old.Pos()), c.runtime(v.Type(), v.Pos())) {
			c.vars[weak.Make(v)] = g
		}
	}
	file := &ast.File{Name: ast.NewIdent("main")}
	for _, d := range x.Decls {
		file.Decls = append(file.Decls, d)
	}
	body := &ast.BlockStmt{List: x.Body}
	c.noteLocals(file, x.Info)
	f := c.newFunction(x.Info, nil, body, uses(x.Info, body))
	f.name, f.session = "main.main", session
	var lines []code.Line
	for i, s := range x.Body {
		if i == x.InitAt {
			lines = append(lines, c.calls(x.Init)...)
		}
		if s == x.Last {
			lines = append(lines, f.stopBefore(s, code.Line{Do: f.show(s.(*ast.ExprStmt).X, x.List, x.Show), Pos: int32(s.Pos())}))
			continue
		}
		if by := x.Instead[s]; by != nil {
			lines = append(lines, f.instead(s, by))
			continue
		}
		lines = append(lines, f.line(s))
	}
	if x.InitAt >= len(x.Body) {
		lines = append(lines, c.calls(x.Init)...)
	}
	if len(x.Init) > 0 {
		f.body = code.Block(lines) // of declarations alone
	} else {
		f.body = f.sequence(x.Body, nil, lines)
	}
	if x.Main != nil {
		f.body = code.Sequence(f.body, code.Statement(code.CallStatic(c.entry(x.Main), nil, 0)))
	}
	fn := f.finish(code.SignatureOf(reflect.TypeFor[func()]()))
	for _, d := range x.Decls {
		if o := x.Info.Defs[d.Name].(*types.Func); o.Signature().TypeParams() == nil && o.Signature().RecvTypeParams() == nil && d.Name.Name != "_" {
			c.entry(o) // so that what cannot be compiled is refused by the cell that declares it
		}
	}
	c.finish()
	c.replace(x)
	clear(c.types)
	return &code.Entry{Fn: fn}, nil
}

// instead compiles a statement in whose place a function runs, unless that returns false.
func (f *function) instead(s ast.Stmt, by func() bool) code.Line {
	ran := false
	v := reflect.ValueOf(func() { ran = by() })
	call := code.CallLibrary(code.SignatureOf(v.Type()), code.Fixed(code.FuncPointer(v)), nil, nil, int32(s.Pos()))
	own := f.line(s)
	return f.stopBefore(s, code.Line{Pos: int32(s.Pos()), Do: func(fr *code.Frame) code.Ctl {
		if k := call(fr); k != code.Next || ran {
			return k
		}
		return own.Do(fr)
	}})
}

// calls compiles calls of functions without parameters.
func (c *Compiler) calls(all []*types.Func) []code.Line {
	var lines []code.Line
	for _, o := range all {
		lines = append(lines, code.Line{Do: code.Statement(code.CallStatic(c.entry(o), nil, 0))})
	}
	return lines
}

// show compiles the last expression of a cell, or a list of several, and hands
// the values on.
func (f *function) show(e ast.Expr, list []ast.Expr, show func([]any)) code.Do {
	if list == nil {
		list = []ast.Expr{e}
	}
	first := f.orderly(false, list...)
	var vals []code.Val
	empty := types.NewInterfaceType(nil, nil)
	for _, x := range list {
		tuple, ok := f.typ(x).(*types.Tuple)
		if !ok {
			vals = append(vals, f.exprTo(x, empty))
			continue
		}
		offs, call := f.tuple(x, tuple)
		first = append(first, call)
		for i, off := range offs {
			t := tuple.At(i).Type()
			vals = append(vals, f.assignable(f.load(code.Slot(off), t), t, empty))
		}
	}
	return after(first, code.Show(vals, show))
}
