package program

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/check"
)

// A cell may read results of earlier ones by IPython's names. In a program each is a
// variable: where cell 3 ends with f(), and a later one reads Out[3], the first ends with
//
//	out3 := f()
//	out3
//
// and the other reads out3. The cells are checked once to find what they read, and then
// made a program of with these edits.

// results finds the results that cells read. It implements [check.Recalled].
type results struct {
	m     *maker
	shown []shown               // the oldest first
	made  map[string]*types.Var // the variables that stand for results and texts
	names map[int]string        // of results that are read, by their cells
	uses  map[int][]edit        // by the cells that read
	outs  bool                  // results are read by numbers that are not constant
}

// shown is a result that a cell shows, its last expression.
type shown struct {
	number   int
	typ      types.Type // []any for several values
	from, to int
	values   int  // 0 for an expression list
	must     bool // an error that is not nil ends the cell
}

var anyType = types.Universe.Lookup("any").Type()

func (r *results) recalled() bool { return len(r.uses) > 0 || r.outs }

// Last implements check.Recalled, as the next ones.
func (r *results) Last(n int, at token.Pos) *types.Var {
	if n >= len(r.shown) {
		return nil
	}
	return r.variable(r.shown[len(r.shown)-1-n], at)
}

func (r *results) Out(number int, at token.Pos) *types.Var {
	i := slices.IndexFunc(r.shown, func(s shown) bool { return s.number == number })
	if i < 0 {
		return nil
	}
	return r.variable(r.shown[i], at)
}

func (r *results) In(at token.Pos) *types.Var {
	return r.make("In", types.NewMap(types.Typ[types.Int], types.Typ[types.String]), at)
}

func (r *results) Outs(at token.Pos) *types.Var {
	r.outs = true
	return r.make("Out", types.NewMap(types.Typ[types.Int], anyType), at)
}

func (r *results) OutOf(token.Pos) *types.Var { return nil } // an index of Outs

func (r *results) variable(s shown, at token.Pos) *types.Var {
	return r.make("_"+strconv.Itoa(s.number), s.typ, at)
}

func (r *results) make(name string, t types.Type, at token.Pos) *types.Var {
	if e := r.m.prog.Names[name]; e != nil {
		v, _ := e.Object.(*types.Var)
		return v
	}
	r.made[name] = types.NewVar(at, r.m.prog.Package, name, t)
	return r.made[name]
}

// recalledText is how a result of an earlier cell stands in a text.
var recalledText = regexp.MustCompile(`^(Out\s*\[\s*[0-9]+\s*\]|\w+)`)

// read parses the text of a cell and notes the results that it reads.
func (r *results) read(text string) (*check.Source, error) {
	m := r.m
	src, err := check.ParseCell(m.fset, m.number, "", text)
	if err != nil {
		return src, err
	}
	src.Recall(func(name string) bool { return m.isName(name) && r.made[name] == nil }, r)
	read := map[string]bool{}
	for _, v := range src.Recalled {
		read[v.Name()] = true
	}
	for _, s := range src.Body.List {
		ast.Inspect(s, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || !read[id.Name] {
				return true
			}
			at := m.at(id.Pos())
			if id.Name == "In" {
				at = m.at(s.Pos())
				read["In"] = false // once
				r.use(at, at, "In := "+r.inputs()+"\n")
			} else if number, err := strconv.Atoi(id.Name[1:]); err == nil {
				if r.names[number] == "" {
					r.names[number] = m.free("out" + strconv.Itoa(number))
				}
				r.use(at, at+len(recalledText.FindString(text[at:])), r.names[number])
			}
			return true
		})
	}
	return src, nil
}

func (r *results) use(from, to int, text string) { r.edit(r.m.number, from, to, text) }

func (r *results) edit(number, from, to int, text string) {
	r.uses[number] = append(r.uses[number], edit{from, to, func() (string, bool) { return text, true }})
}

// inputs returns the texts of the cells as an expression.
func (r *results) inputs() string {
	var b strings.Builder
	b.WriteString("map[int]string{")
	for _, n := range slices.Sorted(maps.Keys(r.m.texts)) {
		fmt.Fprintf(&b, "\n%d: %q,", n, r.m.texts[n])
	}
	return b.String() + "\n}"
}

// note notes the result of a checked cell, whose last statement stands in its text as
// given.
func (r *results) note(c *check.Checked, last ast.Stmt) {
	x, ok := last.(*ast.ExprStmt)
	if !ok || c.Source.Quiet {
		return
	}
	s := shown{number: r.m.number, from: r.m.at(x.X.Pos()), to: r.m.at(x.X.End()), values: len(c.Results), must: c.Fails}
	if list := c.List(); list != nil {
		args := x.X.(*ast.CallExpr).Args
		s.from, s.to, s.values = r.m.at(args[0].Pos()), r.m.at(args[len(args)-1].End()), 0
	} else if call, ok := ast.Unparen(x.X).(*ast.CallExpr); ok && hidesResults(c, call) {
		return
	} else if c.Fails {
		s.values--
	}
	switch {
	case len(c.Results) == 0, s.must && s.values == 0:
		return
	case s.values == 1:
		s.typ = c.Results[0]
		if b, ok := s.typ.(*types.Basic); ok && b.Kind() == types.UntypedNil {
			return
		}
	default:
		s.typ = types.NewSlice(anyType)
	}
	r.shown = append(r.shown, s)
}

// edits returns the changes of the cells' texts, by their numbers.
func (r *results) edits() map[int][]edit {
	for i, s := range r.shown {
		name := r.names[s.number]
		if name == "" && !r.outs {
			continue
		}
		if name == "" {
			name = r.m.free("out" + strconv.Itoa(s.number))
		}
		before, after := name+" := ", "\n"
		if s.must {
			before, after = before+"must(", ")\n"
		}
		switch {
		case s.values == 0:
			before, after = name+" := []any{", "}\n"
		case s.values > 1:
			var each []string
			for k := range s.values {
				each = append(each, r.m.free(name+string(rune('a'+k))))
			}
			before = strings.Replace(before, name, strings.Join(each, ", "), 1)
			after += name + " := []any{" + strings.Join(each, ", ") + "}\n"
		}
		if r.outs && i == 0 {
			before = "Out := map[int]any{}\n" + before
		}
		if r.outs {
			after += fmt.Sprintf("Out[%d] = %s\n", s.number, name)
		}
		if s.values == 1 {
			after += name
		} else {
			after += "display.Values(" + name + "...)"
		}
		r.edit(s.number, s.from, s.from, before)
		r.edit(s.number, s.to, s.to, after)
	}
	return r.uses
}
