package lower

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/go/ast/astutil"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/mirror"
	"dace.local/kernel/gocell/internal/syntax"
)

// The interpreter's generics lack inference, constraints and methods, so it
// never sees a generic function or type. For each list of type arguments that
// the type checker finds, the text of the declaration is parsed again, checked
// in a scope where the type parameters name their arguments, and compiled as an
// ordinary declaration under a generated name. Generics of the standard library
// are treated alike: package check holds their bodies as text (prelude), and
// package std holds compiled instances for common types.

// An instance is a generic function or type with its type arguments.
type instance struct {
	obj   types.Object // the generic
	args  []types.Type
	name  string // in the interpreter
	depth int    // how many instances required each other to get here
}

// maxDepth bounds chains of instances that each require another one.
const maxDepth = 60

// instanceOf returns the name of an instance, and queues it if it is new.
func (l *lowerer) instanceOf(obj types.Object, args []types.Type, pos token.Pos) string {
	if o, ok := l.c.Next.Prelude.Canonical[obj]; ok {
		obj = o
	}
	for _, in := range l.state.instances {
		if in.obj == obj && slices.EqualFunc(in.args, args, types.Identical) {
			return in.name
		}
	}
	shown := obj.Name() + "[" + check.TypeList(args, check.ShortName) + "]"
	if obj.Pkg().Path() != "main" {
		shown = obj.Pkg().Name() + "." + shown
	}
	in := &instance{obj: obj, args: args, name: cell.Mark + "g" + strconv.Itoa(cell.NextNumber()) + "_" + obj.Name()}
	if l.instance != nil {
		in.depth = l.instance.depth + 1
	}
	cell.Show(in.name, shown)
	l.state.instances = append(l.state.instances, in)
	for _, a := range args {
		if bad := check.Inexpressible(a, map[types.Type]bool{}); bad != "" {
			l.refuse(pos, "%s cannot be instantiated with %s, which is not exported", obj.Name(), bad)
			return in.name
		}
	}
	switch _, ok := l.c.Next.GenericSource(obj); {
	case !ok:
		l.refuse(pos, "%s cannot be used in a cell: this generic of the standard library cannot be interpreted", shown)
	case in.depth > maxDepth:
		l.refuse(pos, "%s cannot be instantiated: it requires an endless chain of instances", obj.Name())
	default:
		l.queue = append(l.queue, in)
	}
	return in.name
}

// instantiateAt replaces a node that names an instance.
func instantiateAt[N ast.Expr](l *lowerer, c *astutil.Cursor, x N) verdict {
	var f ast.Expr = x
	switch x := f.(type) {
	case *ast.IndexExpr:
		f = x.X
	case *ast.IndexListExpr:
		f = x.X
	case *ast.Ident:
		if c.Name() == "Sel" {
			return goOn
		}
	}
	if l.instantiated(c, f, x.Pos()) {
		return skip
	}
	return goOn
}

// instantiated replaces the node at c if f names a generic that the checker has
// instantiated there.
func (l *lowerer) instantiated(c *astutil.Cursor, f ast.Expr, pos token.Pos) bool {
	id, ok := ast.Unparen(f).(*ast.Ident)
	if s, isSel := ast.Unparen(f).(*ast.SelectorExpr); isSel {
		id, ok = s.Sel, true
	}
	if !ok {
		return false
	}
	inst, ok := l.c.Info.Instances[id]
	if !ok {
		return false
	}
	o := l.c.Info.Uses[id]
	if _, ok := o.(*types.TypeName); ok {
		c.Replace(l.typeExpr(inst.Type, pos))
		return true
	}
	args := check.ListOf(inst.TypeArgs)
	if name, ok := compiled(o, args); ok {
		l.pkgs[check.StdPath] = true
		made := &ast.SelectorExpr{X: &ast.Ident{Name: cell.Alias(check.StdPath), NamePos: pos}, Sel: &ast.Ident{Name: name, NamePos: pos}}
		l.c.Info.Types[made] = variableOf(inst.Type)
		c.Replace(made)
		return true
	}
	made := &ast.Ident{Name: l.instanceOf(o, args, pos), NamePos: pos}
	l.c.Info.Types[made] = variableOf(inst.Type)
	if l.called(c) {
		c.Replace(made)
	} else {
		c.Replace(l.typeFunction(made, inst.Type))
	}
	return true
}

// withoutTypes returns the declarations without types and generics, which the
// interpreter does not see.
func withoutTypes(decls []check.Declared) []check.Declared {
	return slices.DeleteFunc(slices.Clone(decls), func(d check.Declared) bool {
		switch x := d.Decl.(type) {
		case *ast.FuncDecl:
			return check.HasParams(x)
		case *ast.GenDecl:
			return x.Tok == token.TYPE
		}
		return false
	})
}

// instantiate returns the declarations of the instances that the cell uses and
// the session does not have yet, and of those that they use.
func (l *lowerer) instantiate() []check.Declared {
	var out []check.Declared
	for len(l.queue) > 0 && len(l.errs.List) == 0 {
		in := l.queue[0]
		l.queue = l.queue[1:]
		l.instance = in
		for _, d := range l.instanceDecls(in) {
			out = append(out, check.Declared{Decl: d, Unit: &check.Unit{}})
		}
	}
	l.instance = nil
	return out
}

// instanceDecls returns the ordinary declarations that an instance is compiled
// as.
func (l *lowerer) instanceDecls(in *instance) []ast.Decl {
	src, _ := l.c.Next.GenericSource(in.obj)
	var out []ast.Decl
	add := func(pc check.Piece, make func(d ast.Decl) (ast.Decl, ast.Decl, []string)) {
		ds, err := pc.Parse(l.fset)
		if err != nil || len(ds) != 1 {
			l.errs.List.Add(token.Position{}, fmt.Sprintf("internal: cannot parse %s again: %v", in.obj.Name(), err))
			return
		}
		d, checking, params := make(ds[0])
		l.env.Checking(func() {
			if !l.c.Next.Recheck(l.fset, l.c.Info, checking, params, in.args, src.Lib, pc.File) {
				check.HideConstants(checking, params)
				l.c.Next.Recheck(l.fset, l.c.Info, checking, params, in.args, src.Lib, pc.File)
			}
		})
		l.noteLocals(in.args, d)
		if pc.File != nil {
			d = l.older(d, pc.File).(ast.Decl)
		}
		out = append(out, l.lower(d).(ast.Decl))
	}
	t, isType := in.obj.(*types.TypeName)
	if !isType {
		add(src.Decl, func(d ast.Decl) (ast.Decl, ast.Decl, []string) {
			f := d.(*ast.FuncDecl)
			params := check.FieldNames(f.Type.TypeParams)
			f.Name = &ast.Ident{Name: in.name, NamePos: f.Name.Pos()}
			f.Type.TypeParams = nil
			f.Doc = nil
			return f, f, params
		})
		return out
	}
	typ, err := types.Instantiate(nil, t.Type(), in.args, false)
	if err != nil {
		l.errs.List.Add(token.Position{}, fmt.Sprintf("internal: cannot instantiate %s: %v", in.obj.Name(), err))
		return nil
	}
	n := typ.(*types.Named)
	for _, m := range src.Methods {
		add(m, func(d ast.Decl) (ast.Decl, ast.Decl, []string) {
			f := d.(*ast.FuncDecl)
			params := check.ReceiverParams(f)
			l.methods = append(l.methods, methodOf{n, f.Name.Name})
			g := l.methodDecl(f, n)
			return g, g, params
		})
	}
	return out
}

// hideRepeated wraps a repeated constant key of a map literal in a call. The
// interpreter refuses equal keys: an instance of a generic may have them, and
// constants of different types only look equal as keys of an interface type.
func (l *lowerer) hideRepeated(x *ast.CompositeLit, t types.Type) {
	seen := map[string]bool{}
	for _, e := range x.Elts {
		kv := e.(*ast.KeyValueExpr)
		tv := l.c.Info.Types[kv.Key]
		if tv.Value == nil {
			continue
		}
		if s := tv.Value.ExactString(); !seen[s] {
			seen[s] = true
			continue
		}
		m := syntax.At(kv.Key.Pos())
		kv.Key = syntax.Call(m.FuncLit(nil, []*ast.Field{m.Field("", l.typeExpr(t, m.Pos))}, m.Return(kv.Key)), m.Pos)
	}
}

// typeName returns the name of a type for the interpreter.
func (l *lowerer) typeName(t types.Type) (string, error) {
	var b strings.Builder
	err := l.writeType(&b, t)
	return b.String(), err
}

// writeRuntimeType writes the name of a type that is made at run time.
func (l *lowerer) writeRuntimeType(b *strings.Builder, t types.Type) error {
	name, err := l.env.TypeSymbol(t)
	b.WriteString(cell.Alias(mirror.Path) + "." + name)
	return err
}

func (l *lowerer) writeType(b *strings.Builder, t types.Type) error {
	switch t := t.(type) {
	case *types.Basic:
		if t.Kind() == types.UnsafePointer {
			return l.writeRuntimeType(b, t)
		}
		b.WriteString(t.Name())
	case *types.Named:
		switch o := t.Obj(); {
		case check.IsSeq(o):
			return l.writeType(b, t.Underlying())
		case check.OfCells(o):
			l.requireMethods(t)
			return l.writeRuntimeType(b, t)
		case check.IsNative(o.Pkg()), o.Pkg() != nil && !o.Exported():
			return l.writeRuntimeType(b, t)
		case t.TypeArgs().Len() > 0:
			return fmt.Errorf("%s cannot be used in a cell: this generic cannot be interpreted", types.TypeString(t, check.ShortName))
		default:
			if o.Pkg() != nil {
				l.pkgs[check.PathOf(o.Pkg())] = true
				b.WriteString(cell.Alias(check.PathOf(o.Pkg())) + ".")
			}
			b.WriteString(o.Name())
		}
	case *types.Alias:
		return l.writeType(b, types.Unalias(t))
	case *types.Pointer:
		b.WriteString("*")
		return l.writeType(b, t.Elem())
	case *types.Slice:
		b.WriteString("[]")
		return l.writeType(b, t.Elem())
	case *types.Array:
		fmt.Fprintf(b, "[%d]", t.Len())
		return l.writeType(b, t.Elem())
	case *types.Map:
		b.WriteString("map[")
		if err := l.writeType(b, t.Key()); err != nil {
			return err
		}
		b.WriteString("]")
		return l.writeType(b, t.Elem())
	case *types.Chan:
		b.WriteString(map[types.ChanDir]string{types.SendRecv: "chan ", types.SendOnly: "chan<- ", types.RecvOnly: "<-chan "}[t.Dir()])
		if e, ok := t.Elem().(*types.Chan); ok && e.Dir() == types.RecvOnly {
			b.WriteString("(")
			defer b.WriteString(")")
		}
		return l.writeType(b, t.Elem())
	case *types.Signature:
		b.WriteString("func")
		return l.writeSignature(b, t)
	case *types.Struct:
		if t.NumFields() == 0 {
			b.WriteString("struct{}")
			return nil
		}
		l.requireMethods(t)
		return l.writeRuntimeType(b, t)
	case *types.Interface:
		if t.NumMethods() == 0 {
			b.WriteString("interface{}")
			return nil
		}
		l.requireMethods(t)
		return l.writeRuntimeType(b, t)
	default:
		return fmt.Errorf("a cell cannot use the type %s", types.TypeString(t, check.ShortName))
	}
	return nil
}

// requireMethods queues the instances that t is made of, so that their methods
// are compiled.
func (l *lowerer) requireMethods(t types.Type) {
	check.WalkType(t, func(t types.Type) {
		if n, ok := t.(*types.Named); ok && n.TypeArgs().Len() > 0 && check.OfCells(n.Obj()) && check.PackageLevel(n.Obj()) && !check.IsSeq(n.Obj()) {
			l.instanceOf(n.Obj(), check.ListOf(n.TypeArgs()), l.c.Source.Body.Pos())
		}
	}, map[types.Type]bool{})
}

func (l *lowerer) writeSignature(b *strings.Builder, s *types.Signature) error {
	b.WriteString("(")
	for i := range s.Params().Len() {
		p := s.Params().At(i)
		if i > 0 {
			b.WriteString(",")
		}
		t := p.Type()
		if s.Variadic() && i == s.Params().Len()-1 {
			b.WriteString("...")
			t = t.(*types.Slice).Elem()
		}
		if err := l.writeType(b, t); err != nil {
			return err
		}
	}
	b.WriteString(")")
	if s.Results().Len() == 0 {
		return nil
	}
	b.WriteString("(")
	for i := range s.Results().Len() {
		if i > 0 {
			b.WriteString(",")
		}
		if err := l.writeType(b, s.Results().At(i).Type()); err != nil {
			return err
		}
	}
	b.WriteString(")")
	return nil
}
