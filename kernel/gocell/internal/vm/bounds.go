package vm

import (
	"fmt"
	"go/constant"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"unsafe"
)

// Here are the texts of Go's errors about indices, bounds and lengths that are
// out of range.

// A bound is an index, or a bound of a slice, of any integer type.
type bound struct {
	n      uint64
	signed bool
}

func (b bound) String() string {
	if b.signed {
		return strconv.FormatInt(int64(b.n), 10)
	}
	return strconv.FormatUint(b.n, 10)
}

func (b bound) negative() bool { return b.signed && int64(b.n) < 0 }

// beyond reports whether b is negative or greater than another that is neither.
func (b bound) beyond(max bound) bool { return b.n > max.n }

// boundAt reads the operand of a node that is an index, a bound or a length.
func boundAt(n node, i int, f unsafe.Pointer) (b bound, ok bool) {
	v, ok := operand(n, i, f)
	switch {
	case !ok:
	case v.CanInt():
		return bound{uint64(v.Int()), true}, true
	case v.CanUint():
		return bound{v.Uint(), false}, true
	case v.CanInterface():
		if c, ok := v.Interface().(constant.Value); ok {
			k, ok := constant.Int64Val(constant.ToInt(c))
			return bound{uint64(k), true}, ok
		}
	}
	return b, false
}

// indexText returns Go's text for an index out of range, with the index and the
// length if they can be read.
func indexText(n node, f unsafe.Pointer) string {
	const text = "index out of range"
	if n.kind() != "indexExpr" || len(n.children()) != 2 {
		return text
	}
	x, ok := operand(n, 0, f)
	i, ok2 := boundAt(n, 1, f)
	if !ok || !ok2 || !hasLen(x) {
		return text
	}
	if i.negative() {
		return fmt.Sprintf("%s [%v]", text, i)
	}
	return fmt.Sprintf("%s [%v] with length %d", text, i, x.Len())
}

// sliceText returns Go's text for slice bounds out of range. Go checks x[a:b:c]
// for c first, then b, then a, and names only a bound that is negative.
func sliceText(n node, f unsafe.Pointer) string {
	const text = "slice bounds out of range"
	if n.kind() != "sliceExpr" {
		return text
	}
	x, ok := operand(n, 0, f)
	if !ok || !hasLen(x) {
		return text
	}
	b := []bound{}
	if n.action() == "slice0" {
		b = append(b, bound{})
	}
	for i := 1; i < len(n.children()); i++ {
		v, ok := boundAt(n, i, f)
		if !ok {
			return text
		}
		b = append(b, v)
	}
	limit, what := bound{n: uint64(x.Len())}, "length"
	if len(b) == 1 { // x[a:]
		b = append(b, limit)
	}
	if x.Kind() == reflect.Slice {
		limit, what = bound{n: uint64(x.Cap())}, "capacity"
	}
	say := func(x bound, format, negative string, more ...any) string {
		if x.negative() {
			format, more = negative, nil
		}
		return fmt.Sprintf(text+" ["+format, append([]any{x}, more...)...)
	}
	switch last := len(b) - 1; {
	case last == 2 && b[2].beyond(limit):
		return say(b[2], "::%v] with %s %v", "::%v]", what, limit)
	case last == 2 && b[1].beyond(b[2]):
		return say(b[1], ":%v:%v]", ":%v:]", b[2])
	case last == 2:
		return say(b[0], "%v:%v:]", "%v::]", b[1])
	case b[1].beyond(limit):
		return say(b[1], ":%v] with %s %v", ":%v]", what, limit)
	}
	return say(b[0], "%v:%v]", "%v:]", b[1])
}

// unhashable rewords an error about a key that cannot be hashed in an assignment
// to a map element: Go's text for a lookup has a colon, that for an assignment
// has none, and the interpreter looks the element up first.
func unhashable(n node, err runtime.Error) error {
	key, ok := strings.CutPrefix(err.Error(), "hash of unhashable type: ")
	if !ok || n.kind() != "indexExpr" {
		return err
	}
	if a := n.parent(); (a.kind() == "assignStmt" || a.kind() == "incDecStmt") && a.children()[0] == n {
		return RuntimeError("hash of unhashable type " + key)
	}
	return err
}
