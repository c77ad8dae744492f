package code

import "reflect"

// An Object is a value at an offset of the frame that may have to be locked.
type Object struct {
	Off  int32
	Type reflect.Type
}

// Locked runs a call while the objects among its receiver and arguments, which lie in
// the frame, are locked; fixed are objects that it uses beside them.
func Locked(objects []Object, fixed []reflect.Value, write bool, call Do) Do {
	return func(f *Frame) Ctl {
		if !f.shared() || f.G.M.Objects == nil {
			return call(f)
		}
		list := make([]reflect.Value, len(objects), len(objects)+len(fixed))
		for i, o := range objects {
			list[i] = reflect.NewAt(o.Type, at(f, o.Off)).Elem()
		}
		defer f.G.M.Objects(append(list, fixed...), write)()
		return call(f)
	}
}
