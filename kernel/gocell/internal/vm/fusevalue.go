package vm

import (
	"go/constant"
	"reflect"
	"runtime"
	"strings"
	"unsafe"
)

// Fused expressions compute in four types: all integers as int64, with the bits
// beyond their size cut off after each operation; float64, bool and string. The
// closures return false where the expression must not be fused.

// An integer is a fused expression of an integer type.
type integer struct {
	f     func(*runFrame) (int64, bool)
	kind  reflect.Kind
	local *variable // set if it is a variable of eight bytes in the frame itself
	fixed bool      // it is the constant c
	c     int64
}

type (
	float   func(*runFrame) (float64, bool)
	boolean func(*runFrame) (bool, bool)
	text    func(*runFrame) (string, bool)
)

const (
	integerKinds = 1<<reflect.Int | 1<<reflect.Int8 | 1<<reflect.Int16 | 1<<reflect.Int32 | 1<<reflect.Int64 |
		1<<reflect.Uint | 1<<reflect.Uint8 | 1<<reflect.Uint16 | 1<<reflect.Uint32 | 1<<reflect.Uint64 | 1<<reflect.Uintptr
	wideUnsigned = 1<<reflect.Uint | 1<<reflect.Uint64 | 1<<reflect.Uintptr
)

func isIn(k reflect.Kind, kinds uint) bool { return 1<<k&kinds != 0 }

// isConstant reports whether a node has a value that the interpreter knows.
func isConstant(n node) bool {
	v := n.rval()
	return v.IsValid() && !v.CanAddr()
}

// constantOf returns the value of a constant node, if it is a basic one.
func constantOf(n node) constant.Value {
	v := n.rval()
	switch {
	case !v.CanInterface():
		refuse()
	case v.CanInt():
		return constant.MakeInt64(v.Int())
	case v.CanUint():
		return constant.MakeUint64(v.Uint())
	case v.CanFloat():
		return constant.MakeFloat64(v.Float())
	case v.Kind() == reflect.String:
		return constant.MakeString(v.String())
	case v.Kind() == reflect.Bool:
		return constant.MakeBool(v.Bool())
	}
	c, ok := v.Interface().(constant.Value)
	if !ok {
		refuse()
	}
	return c
}

// fixed notes that the interpreter runs a constant node, if it does.
func (b *fuser) fixed(n node) {
	switch n.kind() {
	case "basicLit", "identExpr":
	case "parenExpr":
		c := n.children()
		b.fixed(c[len(c)-1])
		b.ran(n)
	case "selectorExpr":
		b.ran(n)
	default:
		// Its operands are constants that the interpreter runs, too.
		for _, c := range n.children() {
			if !isConstant(c) && n.kind() != "callExpr" {
				refuse()
			}
			if isConstant(c) {
				b.fixed(c)
			} else if c.kind() != "identExpr" {
				refuse()
			}
		}
		b.ran(n)
	}
}

// kindAs returns the kind of a node's type; that of a constant is the kind which
// the context has.
func kindAs(n node, context reflect.Kind) reflect.Kind {
	if isConstant(n) {
		return context
	}
	return typeOf(n).Kind()
}

// operandKind returns the kind of the operands of a comparison.
func operandKind(c []node) reflect.Kind {
	for _, x := range c {
		if !isConstant(x) {
			return typeOf(x).Kind()
		}
	}
	refuse()
	return 0
}

// integerAs fuses an integer expression; kind is that of a constant.
func (b *fuser) integerAs(n node, kind reflect.Kind) integer {
	if isConstant(n) {
		b.fixed(n)
		v := constant.ToInt(constantOf(n))
		if v.Kind() != constant.Int || !isIn(kind, integerKinds) {
			refuse()
		}
		c, exact := constant.Int64Val(v)
		if u, fits := constant.Uint64Val(v); !exact && fits {
			c = int64(u)
		} else if !exact {
			refuse()
		}
		return integer{f: func(*runFrame) (int64, bool) { return c, true }, kind: kind, fixed: true, c: c}
	}
	if typeOf(n).Kind() != kind {
		refuse()
	}
	return b.integer(n)
}

// integer fuses an integer expression.
func (b *fuser) integer(n node) integer {
	if isConstant(n) {
		return b.integerAs(n, reflect.Int)
	}
	k := typeOf(n).Kind()
	if !isIn(k, integerKinds) {
		refuse()
	}
	c := n.children()
	switch n.kind() {
	case "parenExpr":
		x := b.integer(c[len(c)-1])
		b.ran(n)
		return x
	case "binaryExpr":
		op := n.action()
		x := b.integerAs(c[0], k)
		var y integer
		if op == "<<" || op == ">>" {
			y = b.integer(c[1])
			if isIn(y.kind, wideUnsigned) && !y.fixed {
				y.f = capped(y.f)
				y.local = nil
			}
		} else {
			y = b.integerAs(c[1], k)
		}
		b.ran(n)
		return narrow(binaryInteger(op, x, y, isIn(k, wideUnsigned)), k)
	case "unaryExpr":
		x := b.integerAs(c[0], k).f
		b.ran(n)
		switch n.action() {
		case "-":
			return narrow(func(f *runFrame) (int64, bool) { v, ok := x(f); return -v, ok }, k)
		case "^":
			return narrow(func(f *runFrame) (int64, bool) { v, ok := x(f); return ^v, ok }, k)
		}
		refuse()
	case "callExpr":
		if x, ok := b.integerCall(n, k); ok {
			return x
		}
	case "indexExpr":
		if x, ok := b.byteOf(n); ok {
			return x
		}
	}
	if n.kind() == "identExpr" {
		if v := slotOf(n); v.level == 0 && v.typ.Size() == 8 {
			i, t := v.index, v.word
			return integer{kind: k, local: &v, f: func(f *runFrame) (int64, bool) {
				p := at0(f, i, t)
				if p == nil {
					return 0, false
				}
				return *(*int64)(p), true
			}}
		}
	}
	at, _ := b.addressed(n)
	return integer{f: loadInteger(at, k), kind: k}
}

// capped returns a shift count of an unsigned type as one that is not negative.
func capped(x func(*runFrame) (int64, bool)) func(*runFrame) (int64, bool) {
	return func(f *runFrame) (int64, bool) {
		v, ok := x(f)
		return int64(min(uint64(v), 64)), ok
	}
}

// integerCall fuses a conversion to an integer type, and len.
func (b *fuser) integerCall(n node, k reflect.Kind) (integer, bool) {
	c := n.children()
	switch {
	case n.action() == "convert" && len(c) == 2:
		if isConstant(c[1]) {
			refuse()
		}
		b.typeOperand(c[0])
		from := kindAs(c[1], k)
		switch {
		case isIn(from, integerKinds):
			x := b.integer(c[1])
			b.ran(n)
			if from == k || (k == reflect.Int || k == reflect.Int64) && !isIn(from, wideUnsigned) {
				x.kind = k
				return x, true
			}
			return narrow(x.f, k), true
		case from == reflect.Float64 && !isIn(k, wideUnsigned):
			// A value that does not fit is converted by the interpreter.
			x := b.float(c[1])
			b.ran(n)
			return narrow(func(f *runFrame) (int64, bool) { v, ok := x(f); return int64(v), ok && v > -1<<62 && v < 1<<62 }, k), true
		}
		refuse()
	case len(c) == 3 && runtimeName(c[0]) == "Which":
		return b.which(n), true
	case len(c) == 3 && extreme(c[0]) != "":
		b.ran(c[0])
		x, y := b.integerAs(c[1], k), b.integerAs(c[2], k)
		b.ran(n)
		return extremeInteger(extreme(c[0]) == "Min", x, y, isIn(k, wideUnsigned)), true
	case isBuiltin(n, "len") && len(c) == 2:
		switch of := typeOf(c[1]); of.Kind() {
		case reflect.Slice:
			at, _ := b.addressed(c[1])
			b.ran(n)
			return integer{kind: k, f: func(f *runFrame) (int64, bool) {
				p := at(f)
				if p == nil {
					return 0, false
				}
				return int64((*header)(p).len), true
			}}, true
		case reflect.String:
			s := b.text(c[1])
			b.ran(n)
			return integer{kind: k, f: func(f *runFrame) (int64, bool) { v, ok := s(f); return int64(len(v)), ok }}, true
		}
	}
	return integer{}, false
}

// typeOperand notes that the interpreter runs the nodes of a type, in a conversion.
func (b *fuser) typeOperand(n node) {
	switch n.kind() {
	case "identExpr":
	case "selectorExpr":
		b.ran(n)
	case "parenExpr":
		b.typeOperand(n.children()[0])
		b.ran(n)
	default:
		refuse()
	}
}

// extremeInteger returns min(x, y) or max(x, y).
func extremeInteger(least bool, x, y integer, unsigned bool) integer {
	v, w := x.f, y.f
	less := compareIntegers("<", integer{f: v}, integer{f: w}, unsigned)
	if unsigned {
		return integer{kind: x.kind, f: func(f *runFrame) (int64, bool) {
			a, _ := v(f)
			b, _ := w(f)
			before, ok := less(f)
			if before == least {
				return a, ok
			}
			return b, ok
		}}
	}
	if least {
		return integer{kind: x.kind, f: func(f *runFrame) (int64, bool) {
			a, ok := v(f)
			b, ok2 := w(f)
			return min(a, b), ok && ok2
		}}
	}
	return integer{kind: x.kind, f: func(f *runFrame) (int64, bool) {
		a, ok := v(f)
		b, ok2 := w(f)
		return max(a, b), ok && ok2
	}}
}

// isBuiltin reports whether a node calls a predeclared function.
func isBuiltin(n node, name string) bool {
	c := n.children()
	return len(c) > 0 && c[0].ident() == name && c[0].typ().p != nil && c[0].typ().cat() == "builtinT"
}

// byteOf fuses the index expression of a string.
func (b *fuser) byteOf(n node) (integer, bool) {
	c := n.children()
	if len(c) != 2 || kindAs(c[0], 0) != reflect.String {
		return integer{}, false
	}
	s, i := b.text(c[0]), b.integer(c[1]).f
	b.ran(n)
	return integer{kind: reflect.Uint8, f: func(f *runFrame) (int64, bool) {
		v, ok := s(f)
		k, ok2 := i(f)
		if !ok || !ok2 || uint64(k) >= uint64(len(v)) {
			return 0, false
		}
		return int64(v[k]), true
	}}, true
}

// float fuses an expression of type float64; a constant may be of any.
func (b *fuser) float(n node) float {
	if isConstant(n) {
		b.fixed(n)
		v := constant.ToFloat(constantOf(n))
		if v.Kind() != constant.Float {
			refuse()
		}
		c, _ := constant.Float64Val(v)
		return func(*runFrame) (float64, bool) { return c, true }
	}
	if typeOf(n).Kind() != reflect.Float64 {
		refuse()
	}
	c := n.children()
	switch n.kind() {
	case "parenExpr":
		x := b.float(c[len(c)-1])
		b.ran(n)
		return x
	case "binaryExpr":
		x, y := b.float(c[0]), b.float(c[1])
		b.ran(n)
		return binaryFloat(n.action(), x, y)
	case "unaryExpr":
		x := b.float(c[0])
		b.ran(n)
		if n.action() != "-" {
			refuse()
		}
		return func(f *runFrame) (float64, bool) { v, ok := x(f); return -v, ok }
	case "callExpr":
		if x, ok := b.floatCall(n); ok {
			return x
		}
	}
	at, _ := b.addressed(n)
	return func(f *runFrame) (float64, bool) {
		p := at(f)
		if p == nil {
			return 0, false
		}
		return *(*float64)(p), true
	}
}

// floatCall fuses a conversion to float64, and calls of functions of package math.
func (b *fuser) floatCall(n node) (float, bool) {
	c := n.children()
	if n.action() == "convert" && len(c) == 2 && !isConstant(c[1]) {
		b.typeOperand(c[0])
		switch from := kindAs(c[1], 0); {
		case from == reflect.Float64:
			x := b.float(c[1])
			b.ran(n)
			return x, true
		case isIn(from, integerKinds&^wideUnsigned):
			x := b.integer(c[1]).f
			b.ran(n)
			return func(f *runFrame) (float64, bool) { v, ok := x(f); return float64(v), ok }, true
		}
		refuse()
	}
	if least := extreme(c[0]) == "Min"; least || extreme(c[0]) == "Max" {
		b.ran(c[0])
		x, y := b.float(c[1]), b.float(c[2])
		b.ran(n)
		return func(f *runFrame) (float64, bool) {
			v, ok := x(f)
			w, ok2 := y(f)
			if least {
				return min(v, w), ok && ok2
			}
			return max(v, w), ok && ok2
		}, true
	}
	if c[0].kind() != "selectorExpr" || c[0].action() != "." || !c[0].rval().IsValid() || !c[0].rval().CanInterface() {
		return nil, false
	}
	if sel := c[0].children(); len(sel) != 2 || !pureMath(c[0].rval()) {
		return nil, false
	}
	switch call := c[0].rval().Interface().(type) {
	case func(float64) float64:
		b.ran(c[0])
		x := b.float(c[1])
		b.ran(n)
		return func(f *runFrame) (float64, bool) {
			v, ok := x(f)
			if !ok {
				return 0, false
			}
			return call(v), true
		}, true
	case func(float64, float64) float64:
		b.ran(c[0])
		x, y := b.float(c[1]), b.float(c[2])
		b.ran(n)
		return func(f *runFrame) (float64, bool) {
			v, ok := x(f)
			w, ok2 := y(f)
			if !ok || !ok2 {
				return 0, false
			}
			return call(v, w), true
		}, true
	}
	return nil, false
}

// pureMath reports whether a function is one of package math: they have no
// effects.
func pureMath(f reflect.Value) bool {
	return f.Kind() == reflect.Func && !f.IsNil() && strings.HasPrefix(runtime.FuncForPC(f.Pointer()).Name(), "math.")
}

// text fuses a string expression.
func (b *fuser) text(n node) text {
	if isConstant(n) {
		b.fixed(n)
		v := constantOf(n)
		if v.Kind() != constant.String {
			refuse()
		}
		c := constant.StringVal(v)
		return func(*runFrame) (string, bool) { return c, true }
	}
	if typeOf(n).Kind() != reflect.String {
		refuse()
	}
	c := n.children()
	switch n.kind() {
	case "parenExpr":
		x := b.text(c[len(c)-1])
		b.ran(n)
		return x
	case "binaryExpr":
		x, y := b.text(c[0]), b.text(c[1])
		b.ran(n)
		return func(f *runFrame) (string, bool) {
			v, ok := x(f)
			w, ok2 := y(f)
			if !ok || !ok2 || len(v)+len(w) >= largeSize {
				return "", false
			}
			return v + w, true
		}
	}
	at, _ := b.addressed(n)
	return func(f *runFrame) (string, bool) {
		p := at(f)
		if p == nil {
			return "", false
		}
		return *(*string)(p), true
	}
}

// boolean fuses an expression of a boolean type.
func (b *fuser) boolean(n node) boolean {
	if isConstant(n) || typeOf(n).Kind() != reflect.Bool {
		refuse()
	}
	c := n.children()
	switch n.kind() {
	case "parenExpr":
		x := b.boolean(c[len(c)-1])
		b.ran(n)
		return x
	case "landExpr", "lorExpr":
		return b.both(n, n.kind() == "landExpr")
	case "unaryExpr":
		if n.action() != "!" {
			refuse()
		}
		x := b.boolean(c[0])
		b.ran(n)
		return func(f *runFrame) (bool, bool) { v, ok := x(f); return !v, ok }
	case "binaryExpr":
		return b.comparison(n)
	}
	at, _ := b.addressed(n)
	if n.kind() == "identExpr" && n.fnext().p != nil {
		b.ran(n)
	}
	return func(f *runFrame) (bool, bool) {
		p := at(f)
		if p == nil {
			return false, false
		}
		return *(*bool)(p), true
	}
}

// both fuses && and ||.
func (b *fuser) both(n node, and bool) boolean {
	c := n.children()
	operand := func(x node) boolean {
		before := len(b.ops)
		v := b.boolean(x)
		if len(b.ops) == before && b.after != x {
			b.ran(x) // the interpreter runs a variable here
		}
		return v
	}
	x := operand(c[0])
	perhaps := b.perhaps
	b.perhaps = true
	y := operand(c[1])
	b.perhaps = perhaps
	b.ran(n)
	return func(f *runFrame) (bool, bool) {
		if v, ok := x(f); !ok || v != and {
			return v, ok
		}
		return y(f)
	}
}

// comparison fuses a comparison of basic types.
func (b *fuser) comparison(n node) boolean {
	c := n.children()
	op := n.action()
	switch k := operandKind(c); {
	case isIn(k, integerKinds):
		x, y := b.integerAs(c[0], k), b.integerAs(c[1], k)
		b.ran(n)
		return compareIntegers(op, x, y, isIn(k, wideUnsigned))
	case k == reflect.Float64:
		x, y := b.float(c[0]), b.float(c[1])
		b.ran(n)
		return compareFloats(op, x, y)
	case k == reflect.String:
		x, y := b.text(c[0]), b.text(c[1])
		b.ran(n)
		return compareTexts(op, x, y)
	}
	refuse()
	return nil
}

// loadInteger returns the integer of a kind at a place.
func loadInteger(at place, k reflect.Kind) func(*runFrame) (int64, bool) {
	load := loaders[k]
	if k == reflect.Int || k == reflect.Int64 || isIn(k, wideUnsigned) {
		return func(f *runFrame) (int64, bool) {
			p := at(f)
			if p == nil {
				return 0, false
			}
			return *(*int64)(p), true
		}
	}
	return func(f *runFrame) (int64, bool) {
		p := at(f)
		if p == nil {
			return 0, false
		}
		return load(p), true
	}
}

// loaders read integers, storers write them.
var (
	loaders = map[reflect.Kind]func(unsafe.Pointer) int64{
		reflect.Int8:   func(p unsafe.Pointer) int64 { return int64(*(*int8)(p)) },
		reflect.Int16:  func(p unsafe.Pointer) int64 { return int64(*(*int16)(p)) },
		reflect.Int32:  func(p unsafe.Pointer) int64 { return int64(*(*int32)(p)) },
		reflect.Uint8:  func(p unsafe.Pointer) int64 { return int64(*(*uint8)(p)) },
		reflect.Uint16: func(p unsafe.Pointer) int64 { return int64(*(*uint16)(p)) },
		reflect.Uint32: func(p unsafe.Pointer) int64 { return int64(*(*uint32)(p)) },
	}
	storers = map[uintptr]func(unsafe.Pointer, int64){
		1: func(p unsafe.Pointer, v int64) { *(*int8)(p) = int8(v) },
		2: func(p unsafe.Pointer, v int64) { *(*int16)(p) = int16(v) },
		4: func(p unsafe.Pointer, v int64) { *(*int32)(p) = int32(v) },
		8: func(p unsafe.Pointer, v int64) { *(*int64)(p) = v },
	}
)
