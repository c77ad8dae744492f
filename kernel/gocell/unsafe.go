package gocell

import (
	"go/ast"
	"go/types"
	"reflect"
	"runtime/debug"
	"unsafe"

	"golang.org/x/tools/go/ast/astutil"
)

// The interpreter knows nothing of package unsafe. Sizes and offsets are
// constants, which the checker knows: cells' types are laid out as the compiler
// does it (package rtype). Pointers are real ones, so that what is left are
// conversions, which are calls of the kernel here.

// An unsafeCall is a call of a function of package unsafe, or a conversion
// from or to unsafe.Pointer.
type unsafeCall struct {
	f string // the kernel's function
	t types.Type
}

// noteUnsafe notes at a call how package unsafe takes part in it; it reports
// whether nothing below the call is to be rewritten.
func (l *lowerer) noteUnsafe(c *astutil.Cursor, x *ast.CallExpr) bool {
	info := l.c.info
	tv := info.Types[x]
	name := ""
	if info.Types[x.Fun].IsType() {
		if len(x.Args) != 1 || tv.Type == nil {
			return false
		}
		from := info.Types[x.Args[0]]
		switch into, outOf := isUnsafePointer(tv.Type), isUnsafePointer(from.Type); {
		case from.IsNil(), into == outOf:
			return false
		case into:
			name = "Pointer"
		case isPointer(tv.Type):
			name = "At"
		default:
			name = "Address"
		}
	} else if name = unsafeBuiltin(info, x.Fun); name == "" {
		return false
	}
	if tv.Value != nil {
		c.Replace(l.constant(tv, x.Pos()))
		return true
	}
	if l.unsafe == nil {
		l.unsafe = map[*ast.CallExpr]unsafeCall{}
	}
	l.unsafe[x] = unsafeCall{"Unsafe" + name, tv.Type}
	x.Fun = l.rt("Unsafe"+name, x.Pos())
	return false
}

// unsafeBuiltin returns the name of the function of package unsafe that is
// called, or "".
func unsafeBuiltin(info *types.Info, f ast.Expr) string {
	if b, ok := info.Uses[calledName(f)].(*types.Builtin); ok && b.Pkg() == types.Unsafe {
		return b.Name()
	}
	return ""
}

func isUnsafePointer(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Kind() == types.UnsafePointer
}

func isPointer(t types.Type) bool {
	_, ok := t.Underlying().(*types.Pointer)
	return ok
}

// unsafeResult rewrites a call that noteUnsafe has noted: *(f(x, n).(*T)), where
// n is the number of T.
func (l *lowerer) unsafeResult(c *astutil.Cursor, x *ast.CallExpr) bool {
	u, ok := l.unsafe[x]
	if !ok {
		return false
	}
	m := maker{x.Pos()}
	x.Args = append([]ast.Expr{m.num(l.typeNumber(u.t, m.pos))}, x.Args...)
	c.Replace(&ast.StarExpr{Star: m.pos, X: &ast.TypeAssertExpr{X: x, Lparen: m.pos, Rparen: m.pos,
		Type: &ast.StarExpr{Star: m.pos, X: l.typeExpr(u.t, m.pos)}}})
	return true
}

// unsafeFuncs returns the kernel's side: each function returns a pointer to a
// value of the type of a number.
func (a *asserted) unsafeFuncs() map[string]reflect.Value {
	result := func(n int, set func(v reflect.Value)) any {
		v := reflect.New(a.types[n])
		set(v.Elem())
		return v.Interface()
	}
	pointer := func(n int, p unsafe.Pointer) any {
		return result(n, func(v reflect.Value) { *(*unsafe.Pointer)(v.Addr().UnsafePointer()) = p })
	}
	return map[string]reflect.Value{
		"UnsafePointer": reflect.ValueOf(func(n int, x any) any { return pointer(n, pointerOf(x)) }),
		"UnsafeAddress": reflect.ValueOf(func(n int, p any) any {
			return result(n, func(v reflect.Value) { v.SetUint(uint64(uintptr(pointerOf(p)))) })
		}),
		"UnsafeAt": reflect.ValueOf(func(n int, p any) any {
			// What it points to may not be there: that is a panic then, not the
			// end of the process.
			debug.SetPanicOnFault(true)
			return pointer(n, pointerOf(p))
		}),
		"UnsafeAdd": reflect.ValueOf(func(n int, p, by any) any { return pointer(n, unsafe.Add(pointerOf(p), length(by, ""))) }),
		"UnsafeSlice": reflect.ValueOf(func(n int, p, count any) any {
			return result(n, func(v reflect.Value) {
				v.Set(reflect.SliceAt(v.Type().Elem(), pointerOf(p), length(count, "Slice")))
			})
		}),
		"UnsafeSliceData": reflect.ValueOf(func(n int, s any) any { return pointer(n, pointerOf(s)) }),
		"UnsafeString": reflect.ValueOf(func(n int, p, count any) any {
			return result(n, func(v reflect.Value) { v.SetString(unsafe.String((*byte)(pointerOf(p)), length(count, "String"))) })
		}),
		"UnsafeStringData": reflect.ValueOf(func(n int, s any) any {
			return pointer(n, unsafe.Pointer(unsafe.StringData(reflect.ValueOf(s).String())))
		}),
	}
}

// pointerOf returns the pointer that x is: of any kind of pointer, the address
// that a uintptr holds, or the first element of a slice.
func pointerOf(x any) unsafe.Pointer {
	v := reflect.ValueOf(x)
	switch {
	case !v.IsValid():
		return nil
	case v.Kind() == reflect.Uintptr:
		u := uintptr(v.Uint())
		return *(*unsafe.Pointer)(unsafe.Pointer(&u))
	}
	return v.UnsafePointer()
}

// length returns an integer of any type as an int; one that does not fit is out
// of range for a function that counts elements.
func length(x any, f string) int {
	v := reflect.ValueOf(x)
	if v.CanInt() {
		return int(v.Int())
	}
	if n := v.Uint(); f == "" || int(n) >= 0 {
		return int(n)
	}
	panic(goError("unsafe." + f + ": len out of range"))
}
