package vm

import "reflect"

// The operators of fused expressions, each a closure of its own: a step that
// chose among them would cost more than the operation.

// narrow cuts off the bits of an integer that its kind does not have.
func narrow(x func(*runFrame) (int64, bool), k reflect.Kind) integer {
	f := x
	switch k {
	case reflect.Int8:
		f = func(f *runFrame) (int64, bool) { v, ok := x(f); return int64(int8(v)), ok }
	case reflect.Int16:
		f = func(f *runFrame) (int64, bool) { v, ok := x(f); return int64(int16(v)), ok }
	case reflect.Int32:
		f = func(f *runFrame) (int64, bool) { v, ok := x(f); return int64(int32(v)), ok }
	case reflect.Uint8:
		f = func(f *runFrame) (int64, bool) { v, ok := x(f); return int64(uint8(v)), ok }
	case reflect.Uint16:
		f = func(f *runFrame) (int64, bool) { v, ok := x(f); return int64(uint16(v)), ok }
	case reflect.Uint32:
		f = func(f *runFrame) (int64, bool) { v, ok := x(f); return int64(uint32(v)), ok }
	}
	return integer{f: f, kind: k}
}

// binaryInteger returns x op y. unsigned says that they are of a type of eight
// bytes without a sign.
func binaryInteger(op string, x, y integer, unsigned bool) func(*runFrame) (int64, bool) {
	switch {
	case y.fixed:
		return integerByConstant(op, x, y.c, unsigned)
	case x.local != nil && y.local != nil:
		if f := integerOfVariables(op, x.local, y.local); f != nil {
			return f
		}
	}
	a, b := x.f, y.f
	switch op {
	case "+":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); w, ok2 := b(f); return v + w, ok && ok2 }
	case "-":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); w, ok2 := b(f); return v - w, ok && ok2 }
	case "*":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); w, ok2 := b(f); return v * w, ok && ok2 }
	case "&":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); w, ok2 := b(f); return v & w, ok && ok2 }
	case "|":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); w, ok2 := b(f); return v | w, ok && ok2 }
	case "^":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); w, ok2 := b(f); return v ^ w, ok && ok2 }
	case "&^":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); w, ok2 := b(f); return v &^ w, ok && ok2 }
	case "<<", ">>":
		return shift(op == "<<", a, b, unsigned)
	case "/", "%":
		return divide(op == "/", a, b, unsigned)
	}
	refuse()
	return nil
}

// integerOfVariables returns the frequent operations on two variables.
func integerOfVariables(op string, x, y *variable) func(*runFrame) (int64, bool) {
	i, s, j, t := x.index, x.word, y.index, y.word
	switch op {
	case "+":
		return func(f *runFrame) (int64, bool) {
			p, q := at0(f, i, s), at0(f, j, t)
			if p == nil || q == nil {
				return 0, false
			}
			return *(*int64)(p) + *(*int64)(q), true
		}
	case "-":
		return func(f *runFrame) (int64, bool) {
			p, q := at0(f, i, s), at0(f, j, t)
			if p == nil || q == nil {
				return 0, false
			}
			return *(*int64)(p) - *(*int64)(q), true
		}
	case "*":
		return func(f *runFrame) (int64, bool) {
			p, q := at0(f, i, s), at0(f, j, t)
			if p == nil || q == nil {
				return 0, false
			}
			return *(*int64)(p) * *(*int64)(q), true
		}
	}
	return nil
}

// integerByConstant returns x op c.
func integerByConstant(op string, x integer, c int64, unsigned bool) func(*runFrame) (int64, bool) {
	if x.local != nil {
		if f := variableByConstant(op, x.local, c); f != nil {
			return f
		}
	}
	a := x.f
	switch op {
	case "+":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); return v + c, ok }
	case "-":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); return v - c, ok }
	case "*":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); return v * c, ok }
	case "&":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); return v & c, ok }
	case "|":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); return v | c, ok }
	case "^":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); return v ^ c, ok }
	case "&^":
		return func(f *runFrame) (int64, bool) { v, ok := a(f); return v &^ c, ok }
	case "<<", ">>":
		if c < 0 {
			refuse()
		}
		n := uint64(c)
		switch {
		case op == "<<":
			return func(f *runFrame) (int64, bool) { v, ok := a(f); return v << n, ok }
		case unsigned:
			return func(f *runFrame) (int64, bool) { v, ok := a(f); return int64(uint64(v) >> n), ok }
		}
		return func(f *runFrame) (int64, bool) { v, ok := a(f); return v >> n, ok }
	case "/", "%":
		switch {
		case c == 0:
			refuse()
		case unsigned && op == "/":
			return func(f *runFrame) (int64, bool) { v, ok := a(f); return int64(uint64(v) / uint64(c)), ok }
		case unsigned:
			return func(f *runFrame) (int64, bool) { v, ok := a(f); return int64(uint64(v) % uint64(c)), ok }
		case op == "/":
			return func(f *runFrame) (int64, bool) { v, ok := a(f); return v / c, ok }
		}
		return func(f *runFrame) (int64, bool) { v, ok := a(f); return v % c, ok }
	}
	refuse()
	return nil
}

// variableByConstant returns the frequent operations on a variable and a constant.
func variableByConstant(op string, x *variable, c int64) func(*runFrame) (int64, bool) {
	i, t := x.index, x.word
	switch op {
	case "+":
		return func(f *runFrame) (int64, bool) {
			p := at0(f, i, t)
			if p == nil {
				return 0, false
			}
			return *(*int64)(p) + c, true
		}
	case "-":
		return func(f *runFrame) (int64, bool) {
			p := at0(f, i, t)
			if p == nil {
				return 0, false
			}
			return *(*int64)(p) - c, true
		}
	case "*":
		return func(f *runFrame) (int64, bool) {
			p := at0(f, i, t)
			if p == nil {
				return 0, false
			}
			return *(*int64)(p) * c, true
		}
	case "&":
		return func(f *runFrame) (int64, bool) {
			p := at0(f, i, t)
			if p == nil {
				return 0, false
			}
			return *(*int64)(p) & c, true
		}
	}
	return nil
}

// shift returns a << b or a >> b, which is not fused where b is negative.
func shift(left bool, a, b func(*runFrame) (int64, bool), unsigned bool) func(*runFrame) (int64, bool) {
	switch {
	case left:
		return func(f *runFrame) (int64, bool) {
			v, ok := a(f)
			n, ok2 := b(f)
			return v << uint64(n), ok && ok2 && n >= 0
		}
	case unsigned:
		return func(f *runFrame) (int64, bool) {
			v, ok := a(f)
			n, ok2 := b(f)
			return int64(uint64(v) >> uint64(n)), ok && ok2 && n >= 0
		}
	}
	return func(f *runFrame) (int64, bool) {
		v, ok := a(f)
		n, ok2 := b(f)
		return v >> uint64(n), ok && ok2 && n >= 0
	}
}

// divide returns a / b or a % b, which is not fused where b is zero.
func divide(quotient bool, a, b func(*runFrame) (int64, bool), unsigned bool) func(*runFrame) (int64, bool) {
	return func(f *runFrame) (int64, bool) {
		v, ok := a(f)
		w, ok2 := b(f)
		switch {
		case !ok || !ok2 || w == 0:
			return 0, false
		case unsigned && quotient:
			return int64(uint64(v) / uint64(w)), true
		case unsigned:
			return int64(uint64(v) % uint64(w)), true
		case quotient:
			return v / w, true
		}
		return v % w, true
	}
}

// binaryFloat returns x op y.
func binaryFloat(op string, x, y float) float {
	switch op {
	case "+":
		return func(f *runFrame) (float64, bool) { v, ok := x(f); w, ok2 := y(f); return v + w, ok && ok2 }
	case "-":
		return func(f *runFrame) (float64, bool) { v, ok := x(f); w, ok2 := y(f); return v - w, ok && ok2 }
	case "*":
		return func(f *runFrame) (float64, bool) { v, ok := x(f); w, ok2 := y(f); return float64(v * w), ok && ok2 }
	case "/":
		return func(f *runFrame) (float64, bool) { v, ok := x(f); w, ok2 := y(f); return v / w, ok && ok2 }
	}
	refuse()
	return nil
}

// compareIntegers returns x op y.
func compareIntegers(op string, x, y integer, unsigned bool) boolean {
	if unsigned && op != "==" && op != "!=" {
		return compareUnsigned(op, x.f, y.f)
	}
	switch {
	case x.local != nil && y.local != nil:
		return compareVariables(op, x.local, y.local)
	case y.fixed:
		return compareConstant(op, x, y.c)
	}
	a, b := x.f, y.f
	switch op {
	case "==":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); w, ok2 := b(f); return v == w, ok && ok2 }
	case "!=":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); w, ok2 := b(f); return v != w, ok && ok2 }
	case "<":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); w, ok2 := b(f); return v < w, ok && ok2 }
	case "<=":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); w, ok2 := b(f); return v <= w, ok && ok2 }
	case ">":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); w, ok2 := b(f); return v > w, ok && ok2 }
	case ">=":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); w, ok2 := b(f); return v >= w, ok && ok2 }
	}
	refuse()
	return nil
}

func compareUnsigned(op string, a, b func(*runFrame) (int64, bool)) boolean {
	switch op {
	case "<":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); w, ok2 := b(f); return uint64(v) < uint64(w), ok && ok2 }
	case "<=":
		return func(f *runFrame) (bool, bool) {
			v, ok := a(f)
			w, ok2 := b(f)
			return uint64(v) <= uint64(w), ok && ok2
		}
	case ">":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); w, ok2 := b(f); return uint64(v) > uint64(w), ok && ok2 }
	case ">=":
		return func(f *runFrame) (bool, bool) {
			v, ok := a(f)
			w, ok2 := b(f)
			return uint64(v) >= uint64(w), ok && ok2
		}
	}
	refuse()
	return nil
}

func compareConstant(op string, x integer, c int64) boolean {
	a := x.f
	switch op {
	case "==":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); return v == c, ok }
	case "!=":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); return v != c, ok }
	case "<":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); return v < c, ok }
	case "<=":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); return v <= c, ok }
	case ">":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); return v > c, ok }
	case ">=":
		return func(f *runFrame) (bool, bool) { v, ok := a(f); return v >= c, ok }
	}
	refuse()
	return nil
}

func compareVariables(op string, x, y *variable) boolean {
	i, s, j, t := x.index, x.word, y.index, y.word
	switch op {
	case "==":
		return func(f *runFrame) (bool, bool) {
			p, q := at0(f, i, s), at0(f, j, t)
			if p == nil || q == nil {
				return false, false
			}
			return *(*int64)(p) == *(*int64)(q), true
		}
	case "!=":
		return func(f *runFrame) (bool, bool) {
			p, q := at0(f, i, s), at0(f, j, t)
			if p == nil || q == nil {
				return false, false
			}
			return *(*int64)(p) != *(*int64)(q), true
		}
	case "<":
		return func(f *runFrame) (bool, bool) {
			p, q := at0(f, i, s), at0(f, j, t)
			if p == nil || q == nil {
				return false, false
			}
			return *(*int64)(p) < *(*int64)(q), true
		}
	case "<=":
		return func(f *runFrame) (bool, bool) {
			p, q := at0(f, i, s), at0(f, j, t)
			if p == nil || q == nil {
				return false, false
			}
			return *(*int64)(p) <= *(*int64)(q), true
		}
	case ">":
		return func(f *runFrame) (bool, bool) {
			p, q := at0(f, i, s), at0(f, j, t)
			if p == nil || q == nil {
				return false, false
			}
			return *(*int64)(p) > *(*int64)(q), true
		}
	case ">=":
		return func(f *runFrame) (bool, bool) {
			p, q := at0(f, i, s), at0(f, j, t)
			if p == nil || q == nil {
				return false, false
			}
			return *(*int64)(p) >= *(*int64)(q), true
		}
	}
	refuse()
	return nil
}

func compareFloats(op string, x, y float) boolean {
	switch op {
	case "==":
		return func(f *runFrame) (bool, bool) { v, ok := x(f); w, ok2 := y(f); return v == w, ok && ok2 }
	case "!=":
		return func(f *runFrame) (bool, bool) { v, ok := x(f); w, ok2 := y(f); return v != w, ok && ok2 }
	case "<":
		return func(f *runFrame) (bool, bool) { v, ok := x(f); w, ok2 := y(f); return v < w, ok && ok2 }
	case "<=":
		return func(f *runFrame) (bool, bool) { v, ok := x(f); w, ok2 := y(f); return v <= w, ok && ok2 }
	case ">":
		return func(f *runFrame) (bool, bool) { v, ok := x(f); w, ok2 := y(f); return v > w, ok && ok2 }
	case ">=":
		return func(f *runFrame) (bool, bool) { v, ok := x(f); w, ok2 := y(f); return v >= w, ok && ok2 }
	}
	refuse()
	return nil
}

func compareTexts(op string, x, y text) boolean {
	switch op {
	case "==":
		return func(f *runFrame) (bool, bool) { v, ok := x(f); w, ok2 := y(f); return v == w, ok && ok2 }
	case "!=":
		return func(f *runFrame) (bool, bool) { v, ok := x(f); w, ok2 := y(f); return v != w, ok && ok2 }
	case "<":
		return func(f *runFrame) (bool, bool) { v, ok := x(f); w, ok2 := y(f); return v < w, ok && ok2 }
	case "<=":
		return func(f *runFrame) (bool, bool) { v, ok := x(f); w, ok2 := y(f); return v <= w, ok && ok2 }
	case ">":
		return func(f *runFrame) (bool, bool) { v, ok := x(f); w, ok2 := y(f); return v > w, ok && ok2 }
	case ">=":
		return func(f *runFrame) (bool, bool) { v, ok := x(f); w, ok2 := y(f); return v >= w, ok && ok2 }
	}
	refuse()
	return nil
}
