package check

import "go/types"

// DeclaredOn returns the type of a cell that declares a method, and whether its
// receiver is a pointer; nil for methods of interfaces and of compiled types.
func DeclaredOn(f *types.Func) (t *types.Named, byPointer bool) {
	recv := f.Signature().Recv()
	if recv == nil {
		return nil, false
	}
	r := types.Unalias(recv.Type())
	p, byPointer := r.(*types.Pointer)
	if byPointer {
		r = types.Unalias(p.Elem())
	}
	n, ok := r.(*types.Named)
	if !ok || !OfCells(n.Obj()) || types.IsInterface(n) {
		return nil, false
	}
	return n, byPointer
}
