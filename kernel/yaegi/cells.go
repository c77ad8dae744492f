package yaegi

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"log"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/traefik/yaegi/interp"
	"github.com/traefik/yaegi/stdlib/generic"
	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/internal/pieces"
)

// A program is a compiled part of a cell.
type program struct {
	code *interp.Program
	at   pieces.Place
}

// compile compiles a piece, and the functions that refer to one which it declares
// anew: they would go on to call the first.
func (s *Session) compile(p pieces.Piece, last bool) (list []program, err error) {
	n, err := p.Parse(token.NewFileSet())
	if err != nil {
		return nil, err
	}
	declared := pieces.Names(n)
	for name, text := range s.decls {
		isFunc, again := declared[name]
		switch {
		case text == "" && !again && p.Mentions(name):
			return nil, p.At.Errorf("%s was refused where it was declared", name)
		case again && !isFunc && text == p.Text:
			return nil, nil
		case again && !isFunc && text != "":
			return nil, p.At.Errorf("%s is declared already, and yaegi keeps the first declaration of a type or method: give it another name, or restart the kernel", name)
		}
	}
	show := last && !p.Semicolon && !printing.MatchString(p.Text)
	if list, err = s.compileOne(p, show); err != nil && show {
		if plain, err2 := s.compileOne(p, false); err2 == nil { // an expression without a value
			list, err = plain, nil
		}
	}
	for name := range declared {
		_, again := s.decls[name]
		for other, text := range maps.Clone(s.decls) {
			if err == nil && again && other != name && strings.HasPrefix(text, "func "+other) && (pieces.Piece{Text: text}).Mentions(name) {
				var more []program
				more, err = s.compileOne(pieces.Piece{Text: text, At: p.At}, false)
				list = append(list, more...)
			}
		}
		s.mu.Lock()
		if s.decls[name] = p.Text; err != nil {
			s.decls[name] = "" // yaegi would run what it has compiled
		}
		s.mu.Unlock()
	}
	return list, err
}

// printing matches a call whose results are of no interest.
var printing = regexp.MustCompile(`^fmt\.(Print|Fprint|Scan)`)

// compileOne compiles a piece, rewritten. What its calls of must evaluate in front of
// a declaration is a program of its own.
func (s *Session) compileOne(p pieces.Piece, show bool) (list []program, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = p.At.Errorf("yaegi's compiler fails at this: %v", panicValue(r))
		}
	}()
	n, err := p.Parse(s.in.FileSet())
	if err != nil {
		return nil, err
	}
	w := rewriter{made: &s.made, fset: s.in.FileSet()}
	astutil.Apply(n, w.enter, w.rewrite)
	if f, ok := n.(*ast.File); ok && len(f.Imports) > 0 {
		return nil, nil
	}
	stmts, nodes := w.before, []ast.Node{}
	if n, ok := n.(*ast.BlockStmt); ok {
		if x, ok := n.List[len(n.List)-1].(*ast.ExprStmt); ok && show && !w.shown {
			x.X = call("Show", x.X)
		}
		switch x := n.List[len(n.List)-1].(type) { // which would write to variables of the session
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt, *ast.SwitchStmt, *ast.TypeSwitchStmt, *ast.SelectStmt, *ast.BlockStmt, *ast.LabeledStmt:
			n.List = []ast.Stmt{&ast.ExprStmt{X: function(x.Pos(), n.List...)}}
		}
		stmts = n.List
	}
	for _, x := range stmts { // one by one: yaegi wants to know the types of those before
		nodes = append(nodes, &ast.BlockStmt{Lbrace: x.Pos(), List: []ast.Stmt{x}, Rbrace: x.End()})
	}
	if f, ok := n.(*ast.File); ok {
		nodes = append(nodes, f)
	}
	if w.err != "" {
		return nil, p.At.Errorf("%s", w.err)
	}
	for _, n := range nodes {
		code, err := s.in.CompileAST(n)
		if err != nil || code == nil {
			return nil, err
		}
		list = append(list, program{code, p.At})
	}
	return list, nil
}

// call returns a call of one of the kernel's functions.
func call(name string, arg ast.Expr) *ast.CallExpr {
	pos := arg.Pos()
	f := &ast.SelectorExpr{X: &ast.Ident{Name: kernel, NamePos: pos}, Sel: &ast.Ident{Name: name, NamePos: pos}}
	return &ast.CallExpr{Fun: f, Lparen: pos, Args: []ast.Expr{arg}, Rparen: arg.End()}
}

// function returns a call of a function literal.
func function(pos token.Pos, body ...ast.Stmt) *ast.CallExpr {
	lit := &ast.FuncLit{Type: &ast.FuncType{Func: pos, Params: &ast.FieldList{}}, Body: &ast.BlockStmt{Lbrace: pos, List: body, Rbrace: pos}}
	return &ast.CallExpr{Fun: lit, Lparen: pos, Rparen: pos}
}

// A rewriter puts must(f()) in front of its statement and has goroutines catch their
// panics, which would end the process.
type rewriter struct {
	made   *int
	fset   *token.FileSet
	before []ast.Stmt // to be put in front of the statement around
	outer  [][]ast.Stmt
	shown  bool // must shows the piece's value
	err    string
}

// hoist assigns an expression's values to new variables in front of the statement.
func (w *rewriter) hoist(x ast.Expr, n int) (vars []ast.Expr) {
	for range n {
		*w.made++
		vars = append(vars, &ast.Ident{Name: mark + strconv.Itoa(*w.made), NamePos: x.Pos()})
	}
	w.before = append(w.before, &ast.AssignStmt{Lhs: vars, Tok: token.DEFINE, TokPos: x.Pos(), Rhs: []ast.Expr{x}})
	return vars
}

func (w *rewriter) enter(c *astutil.Cursor) bool {
	if _, ok := c.Node().(ast.Stmt); ok && c.Index() >= 0 { // others can stand in front of it
		w.outer, w.before = append(w.outer, w.before), nil
	}
	return true
}

func (w *rewriter) rewrite(c *astutil.Cursor) bool {
	switch n := c.Node().(type) {
	case *ast.GoStmt:
		w.guard(n)
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); !ok || id.Name != "must" || len(n.Args) != 1 {
			break
		}
		if _, alone := c.Parent().(*ast.ExprStmt); alone {
			c.Replace(call("Must", n.Args[0]))
			w.shown = true
			break
		}
		vars := w.hoist(n.Args[0], 2)
		w.before = append(w.before, &ast.ExprStmt{X: call("Must", vars[1])})
		c.Replace(vars[0])
	}
	if _, loop := c.Node().(*ast.ForStmt); len(w.before) > 0 && (loop || c.Name() == "Else" && c.Node() != nil) {
		w.err = "must cannot stand in the header of a for or else statement in this engine"
	}
	if _, ok := c.Node().(ast.Stmt); ok && c.Index() >= 0 {
		for _, b := range w.before {
			c.InsertBefore(b)
		}
		w.before, w.outer = w.outer[len(w.outer)-1], w.outer[:len(w.outer)-1]
	}
	return true
}

// guard makes a goroutine catch its panic. The arguments are evaluated before.
func (w *rewriter) guard(n *ast.GoStmt) {
	x, _ := parser.ParseExprFrom(w.fset, interp.DefaultSourceName, "func() { defer func() { if r := recover(); r != nil { "+kernel+".Report(r) } }() }", 0)
	catch := x.(*ast.FuncLit).Body.List[0]
	if lit, ok := n.Call.Fun.(*ast.FuncLit); ok {
		lit.Body.List = slices.Insert(lit.Body.List, 0, catch)
		return
	}
	for i, a := range n.Call.Args {
		if _, literal := a.(*ast.BasicLit); !literal {
			n.Call.Args[i] = w.hoist(a, 1)[0]
		}
	}
	n.Call = function(n.Pos(), catch, &ast.ExprStmt{X: n.Call})
}

// imports makes the packages known that pieces of a cell import or name.
func (s *Session) imports(list []pieces.Piece) error {
	selected := map[string][]string{} // names -> what is selected from them
	for _, p := range list {
		words, _ := pieces.Lex(p.Text)
		for i := 0; i+2 < len(words); i++ {
			if words[i].Tok == token.IDENT && words[i+1].Tok == token.PERIOD && (i == 0 || words[i-1].Tok != token.PERIOD) {
				selected[words[i].Lit] = append(selected[words[i].Lit], words[i+2].Lit)
			}
		}
		n, err := p.Parse(token.NewFileSet())
		f, ok := n.(*ast.File)
		if err != nil || !ok {
			continue
		}
		for _, spec := range f.Imports {
			ipath, _ := strconv.Unquote(spec.Path.Value)
			name, _ := symbols.Name(ipath)
			if spec.Name != nil {
				name = spec.Name.Name
			}
			if err := s.use(name, ipath); err != nil {
				return p.At.Errorf("%s", err)
			}
		}
	}
	for name, members := range selected {
		if s.globals[name] != nil || s.names[name] != "" {
			continue
		}
		i := slices.IndexFunc(symbols.ByName()[name], func(ipath string) bool {
			pkg, err := s.types.Import(ipath)
			return err == nil && !slices.ContainsFunc(members, func(m string) bool { return pkg.Scope().Lookup(m) == nil })
		})
		if i >= 0 {
			if err := s.use(name, symbols.ByName()[name][i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// use imports a package into all cells, under a name.
func (s *Session) use(name, ipath string) error {
	if s.names[name] == ipath {
		return nil
	}
	switch {
	case ipath == "unsafe":
		return errors.New("this engine does not offer package unsafe")
	case s.used[ipath]:
	case ipath == "slices", ipath == "maps", ipath == "cmp": // which the interpreter has in source
		for i, name := range []string{"cmp", "maps", "slices"} {
			if _, err := s.in.Compile(generic.Sources[i]); err != nil {
				return err
			}
			s.used[name] = true
		}
	default:
		pkg, err := s.types.Import(ipath)
		if err != nil {
			return err
		}
		table, _ := symbols.Lookup(ipath, pkg)
		s.override(ipath, table)
		// The unusual path keeps yaegi from treating fmt as its own library's.
		exports := interp.Exports{ipath + "/./" + pkg.Name(): table}
		if ipath == "fmt" { // String methods of cells' types are called by these
			m := map[reflect.Value][]reflect.Type{}
			for name, f := range table {
				if strings.Contains(name, "rint") || name == "Errorf" {
					m[f] = []reflect.Type{reflect.TypeFor[fmt.Stringer]()}
				}
			}
			exports["."] = map[string]reflect.Value{"MapTypes": reflect.ValueOf(m)}
		}
		if err := s.in.Use(exports); err != nil {
			return err
		}
		s.used[ipath] = true
	}
	s.names[name] = ipath
	_, err := s.in.Eval("import " + name + ` "` + ipath + `"`)
	return err
}

// A stringer wraps a value of a cell's type for fmt.Stringer, as yaegi wants it. There
// are no wrappers for other interfaces of compiled code, but for error.
type stringer struct {
	IValue  any
	WString func() string
}

func (w stringer) String() string { return w.WString() }

// override replaces what would write beside the cell's outputs, end the process or
// outlive an interrupt.
func (s *Session) override(ipath string, table map[string]reflect.Value) {
	set := func(name string, f any) { table[name] = reflect.ValueOf(f) }
	out, errs := io.Writer(writer{s, stdout}), io.Writer(writer{s, stderr})
	switch ipath {
	case "fmt":
		set("Print", func(a ...any) (int, error) { return fmt.Fprint(out, a...) })
		set("Printf", func(f string, a ...any) (int, error) { return fmt.Fprintf(out, f, a...) })
		set("Println", func(a ...any) (int, error) { return fmt.Fprintln(out, a...) })
		set("Scan", func(a ...any) (int, error) { return fmt.Fscan(s.stdin(), a...) })
		set("Scanf", func(f string, a ...any) (int, error) { return fmt.Fscanf(s.stdin(), f, a...) })
		set("Scanln", func(a ...any) (int, error) { return fmt.Fscanln(s.stdin(), a...) })
		set("_Stringer", (*stringer)(nil))
	case "os":
		in := io.Reader(s.stdin())
		for name, p := range map[string]any{"Stdin": &in, "Stdout": &out, "Stderr": &errs, "Args": &s.args} {
			table[name] = reflect.ValueOf(p).Elem()
		}
		set("Exit", func(code int) { panic(exit(code)) })
	case "log":
		own := reflect.ValueOf(log.New(errs, "", log.LstdFlags))
		for name := range table {
			if m := own.MethodByName(name); m.IsValid() {
				table[name] = m
			}
		}
		table["Fatal"], table["Fatalf"], table["Fatalln"] = table["Panic"], table["Panicf"], table["Panicln"]
	case "time":
		set("Sleep", func(d time.Duration) {
			select {
			case <-time.After(d):
			case <-s.run().stop:
			}
		})
	}
}

func isLetter(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// nameBefore returns the name that ends at an offset, and the one that it is
// selected from.
func nameBefore(code string, at int) (from, name string) {
	before := strings.TrimRightFunc(code[:at], isLetter)
	name = code[len(before):at]
	if inner, ok := strings.CutSuffix(before, "."); ok {
		from = inner[len(strings.TrimRightFunc(inner, isLetter)):]
	}
	return from, name
}

// Complete returns the names that may stand at the cursor.
func (s *Session) Complete(code string, cursor int) engine.Completions {
	from, name := nameBefore(code, cursor)
	c := engine.Completions{Start: cursor - len(name), End: cursor}
	kinds := map[string]string{}
	s.mu.Lock()
	defer s.mu.Unlock()
	if from != "" {
		for _, p := range symbols.ByName()[from] {
			pkg, err := s.types.Import(p)
			for i := 0; err == nil && i < pkg.Scope().Len(); i++ {
				o := pkg.Scope().Lookup(pkg.Scope().Names()[i])
				if o.Exported() {
					kinds[o.Name()] = map[byte]string{'f': "function", 'v': "variable", 'c': "constant", 't': "type"}[o.String()[0]]
				}
			}
		}
	} else if !strings.HasSuffix(code[:c.Start], ".") {
		list, _ := pieces.Lex(code)
		for _, t := range list {
			if t.Tok == token.IDENT && t.At != c.Start {
				kinds[t.Lit] = "variable"
			}
		}
		for name := range symbols.ByName() {
			kinds[name] = "package"
		}
		for name := range s.globals {
			kinds[name] = "variable"
		}
		for name := range s.decls {
			kinds[name] = "function"
		}
	}
	for _, text := range slices.Sorted(maps.Keys(kinds)) {
		if strings.HasPrefix(text, name) {
			c.Matches = append(c.Matches, engine.Completion{Text: text, Type: kinds[text]})
		}
	}
	return c
}

// Inspect documents the name at the cursor.
func (s *Session) Inspect(code string, cursor, _ int) (engine.Bundle, bool) {
	cursor = len(code) - len(strings.TrimLeftFunc(code[cursor:], isLetter))
	from, name := nameBefore(code, cursor)
	s.mu.Lock()
	defer s.mu.Unlock()
	if from == "" {
		text := s.decls[name]
		if t := s.globals[name]; text == "" && t != nil {
			text = "var " + name + " " + t.String()
		} else if list := symbols.ByName()[name]; text == "" && len(list) > 0 {
			text = "package " + name + " // import " + list[0] + "\n\n" + symbols.Doc(list[0], "")
		}
		return engine.Text(text), text != ""
	}
	for _, p := range symbols.ByName()[from] {
		pkg, err := s.types.Import(p)
		if err == nil && token.IsExported(name) && pkg.Scope().Lookup(name) != nil {
			return engine.Text(pkg.Scope().Lookup(name).String() + "\n\n" + symbols.Doc(p, name)), true
		}
	}
	return engine.Bundle{}, false
}
