package notebook

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Parameter is a variable of a notebook that is set from outside.
type Parameter struct {
	Name string
	// Value is a plain value, or a Go expression if Raw is set.
	Value string
	Raw   bool
}

// ParseParameter parses "name=value" or, for a Go expression as the value,
// "name:=expression".
func ParseParameter(s string) (Parameter, error) {
	name, value, ok := strings.Cut(s, "=")
	if !ok {
		return Parameter{}, fmt.Errorf("%q is not of the form name=value", s)
	}
	p := Parameter{Name: name, Value: value}
	if strings.HasSuffix(name, ":") {
		p.Name, p.Raw = strings.TrimSuffix(name, ":"), true
		if _, err := parser.ParseExpr(value); err != nil {
			return Parameter{}, fmt.Errorf("parameter %s: %q is not a Go expression", p.Name, value)
		}
	}
	p.Name = strings.TrimSpace(p.Name)
	if !token.IsIdentifier(p.Name) || p.Name == "_" {
		return Parameter{}, fmt.Errorf("%q is not the name of a Go variable", p.Name)
	}
	return p, nil
}

// Declared returns those of the parameters that the cell tagged "parameters"
// declares.
func (nb *Notebook) Declared(params []Parameter) []Parameter {
	var known map[string]kind
	for _, c := range nb.Cells {
		if c.Type == Code && c.HasTag("parameters") {
			known = declarations(c.Source)
			break
		}
	}
	return slices.DeleteFunc(slices.Clone(params), func(p Parameter) bool {
		_, ok := known[p.Name]
		return !ok
	})
}

// Inject inserts a cell that sets the parameters after the cell tagged
// "parameters", or at the start if there is none. It replaces a cell injected
// earlier (tagged "injected-parameters") in its place. Values are converted to
// Go source: numbers, true and false, durations ("90s") and quoted strings
// stay values of these types, and everything else becomes a string. If the
// tagged cell declares a variable as a string or a duration, its value is
// converted to that type.
//
// Undeclared lists the parameters that the tagged cell does not declare. Known
// lists the variables that it does declare; it is nil if there is no tagged
// cell or if the cell cannot be parsed.
func (nb *Notebook) Inject(params []Parameter) (undeclared, known []string) {
	if len(params) == 0 {
		return nil, nil
	}
	tagged := slices.IndexFunc(nb.Cells, func(c *Cell) bool { return c.Type == Code && c.HasTag("parameters") })
	old := slices.IndexFunc(nb.Cells, func(c *Cell) bool { return c.Type == Code && c.HasTag("injected-parameters") })
	var declared map[string]kind
	if tagged >= 0 {
		declared = declarations(nb.Cells[tagged].Source)
	}
	assign := "="
	if tagged < 0 {
		assign = ":=" // no cell declares the names
	}
	var code strings.Builder
	code.WriteString("// Parameters\n")
	for i, p := range params {
		if slices.ContainsFunc(params[i+1:], func(q Parameter) bool { return q.Name == p.Name }) {
			continue // a later parameter of the same name takes precedence
		}
		k, ok := declared[p.Name]
		if declared != nil && !ok {
			undeclared = append(undeclared, p.Name)
		}
		fmt.Fprintf(&code, "%s %s %s\n", p.Name, assign, p.literal(k))
	}
	if declared != nil {
		known = slices.Sorted(maps.Keys(declared))
	}
	source := strings.TrimSuffix(code.String(), "\n")
	c := &Cell{Type: Code, Source: source, Metadata: map[string]any{"tags": []any{"injected-parameters"}}}
	if old >= 0 {
		c.ID = nb.Cells[old].ID
		nb.Cells[old] = c
		return undeclared, known
	}
	c.ID = nb.newID(tagged+1, source)
	nb.Cells = slices.Insert(nb.Cells, tagged+1, c)
	return undeclared, known
}

// A kind is the type of a variable as far as its declaration shows it without
// type-checking.
type kind int

const (
	unknown kind = iota
	text
	duration
)

// literal returns the value as Go source.
func (p Parameter) literal(k kind) string {
	v := strings.TrimSpace(p.Value)
	if p.Raw {
		return v
	}
	quoted := isToken(v, token.STRING)
	if k == text && !quoted {
		return strconv.Quote(p.Value)
	}
	if d, err := time.ParseDuration(v); err == nil && (k == duration || !isNumber(v)) {
		return durationLiteral(d)
	}
	switch {
	case v == "true", v == "false", quoted:
		return v
	case isNumber(v):
		return decimal(v)
	}
	return strconv.Quote(p.Value)
}

func isNumber(v string) bool {
	v = decimal(unsigned(v))
	return isToken(v, token.INT) || isToken(v, token.FLOAT)
}

// unsigned returns a number without its sign.
func unsigned(v string) string {
	if v != "" && (v[0] == '+' || v[0] == '-') {
		return v[1:]
	}
	return v
}

// decimal removes leading zeros from digits, because Go would read them as
// octal.
func decimal(v string) string {
	digits := unsigned(v)
	if len(digits) > 1 && digits[0] == '0' && strings.Trim(digits, "0123456789_") == "" {
		trimmed := strings.TrimLeft(digits, "0_")
		if trimmed == "" {
			trimmed = "0"
		}
		return v[:len(v)-len(digits)] + trimmed
	}
	return v
}

// isToken reports whether v is a single well-formed Go token of the given
// kind.
func isToken(v string, want token.Token) bool {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", -1, len(v))
	s.Init(file, []byte(v), func(token.Position, string) {}, 0)
	_, tok, lit := s.Scan()
	return s.ErrorCount == 0 && tok == want && lit == v
}

func durationLiteral(d time.Duration) string {
	for _, u := range []struct {
		unit time.Duration
		name string
	}{{time.Hour, "Hour"}, {time.Minute, "Minute"}, {time.Second, "Second"}, {time.Millisecond, "Millisecond"}, {time.Microsecond, "Microsecond"}} {
		if d != 0 && d%u.unit == 0 {
			return fmt.Sprintf("%d * time.%s", d/u.unit, u.name)
		}
	}
	return fmt.Sprintf("time.Duration(%d)", d)
}

// declarations returns the variables that a cell declares at top level, or nil
// if the cell cannot be parsed.
func declarations(code string) map[string]kind {
	f, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc _() {\n"+code+"\n}", parser.SkipObjectResolution)
	var stmts []ast.Stmt
	if err == nil && len(f.Decls) == 1 {
		stmts = f.Decls[0].(*ast.FuncDecl).Body.List
	} else {
		f, err = parser.ParseFile(token.NewFileSet(), "", "package p\n"+code, parser.SkipObjectResolution)
		if err != nil {
			return nil
		}
		for _, d := range f.Decls {
			if g, ok := d.(*ast.GenDecl); ok {
				stmts = append(stmts, &ast.DeclStmt{Decl: g})
			}
		}
	}
	found := map[string]kind{}
	for _, s := range stmts {
		switch s := s.(type) {
		case *ast.AssignStmt:
			if s.Tok != token.DEFINE {
				continue
			}
			for i, l := range s.Lhs {
				if id, ok := l.(*ast.Ident); ok {
					var value ast.Expr
					if len(s.Rhs) == len(s.Lhs) {
						value = s.Rhs[i]
					}
					found[id.Name] = kindOfValue(nil, value)
				}
			}
		case *ast.DeclStmt:
			g := s.Decl.(*ast.GenDecl)
			if g.Tok != token.VAR {
				continue
			}
			for _, spec := range g.Specs {
				v := spec.(*ast.ValueSpec)
				for i, id := range v.Names {
					var value ast.Expr
					if len(v.Values) == len(v.Names) {
						value = v.Values[i]
					}
					found[id.Name] = kindOfValue(v.Type, value)
				}
			}
		}
	}
	return found
}

func kindOfValue(typ, value ast.Expr) kind {
	switch t := typ.(type) {
	case *ast.Ident:
		if t.Name == "string" {
			return text
		}
	case *ast.SelectorExpr:
		if isTime(t, "Duration") {
			return duration
		}
	}
	if typ != nil {
		return unknown
	}
	switch v := value.(type) {
	case *ast.BasicLit:
		if v.Kind == token.STRING {
			return text
		}
	case *ast.SelectorExpr:
		if isTime(v, "Hour", "Minute", "Second", "Millisecond", "Microsecond", "Nanosecond") {
			return duration
		}
	case *ast.CallExpr:
		if id, ok := v.Fun.(*ast.Ident); ok && id.Name == "string" {
			return text
		}
		if sel, ok := v.Fun.(*ast.SelectorExpr); ok && isTime(sel, "Duration") {
			return duration
		}
	case *ast.ParenExpr:
		return kindOfValue(nil, v.X)
	case *ast.BinaryExpr:
		return max(kindOfValue(nil, v.X), kindOfValue(nil, v.Y))
	}
	return unknown
}

func isTime(s *ast.SelectorExpr, names ...string) bool {
	id, ok := s.X.(*ast.Ident)
	return ok && id.Name == "time" && slices.Contains(names, s.Sel.Name)
}
