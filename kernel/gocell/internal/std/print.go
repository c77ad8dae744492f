package std

import (
	"reflect"
	"strconv"
	"unsafe"
)

// print writes the arguments of print and println as Go's run time does:
// numbers and strings by value, everything else by its address. kinds has a
// letter for each argument: i for an interface, v for another value.
func (l *Library) print(ln bool, kinds string, args ...any) {
	var b []byte
	for i, x := range args {
		if ln && i > 0 {
			b = append(b, ' ')
		}
		b = appendPrinted(b, x, kinds[i] == 'i')
	}
	if ln {
		b = append(b, '\n')
	}
	_, _ = l.machine.Stderr().Write(b)
}

// appendPrinted appends x as print does; iface says that the operand is an
// interface.
func appendPrinted(b []byte, x any, iface bool) []byte {
	hex := func(p unsafe.Pointer) { b = strconv.AppendUint(append(b, "0x"...), uint64(uintptr(p)), 16) }
	words := *(*[2]unsafe.Pointer)(unsafe.Pointer(&x)) // pointer to the type, pointer to the value
	if iface {
		b = append(b, '(')
		hex(words[0])
		b = append(b, ',')
		hex(words[1])
		return append(b, ')')
	}
	switch v := reflect.ValueOf(x); v.Kind() {
	case reflect.Bool:
		b = strconv.AppendBool(b, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		b = strconv.AppendInt(b, v.Int(), 10)
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		b = strconv.AppendUint(b, v.Uint(), 10)
	case reflect.Float32, reflect.Float64:
		b = strconv.AppendFloat(b, v.Float(), 'g', -1, v.Type().Bits())
	case reflect.Complex64, reflect.Complex128:
		b = append(b, strconv.FormatComplex(v.Complex(), 'g', -1, v.Type().Bits())...)
	case reflect.String:
		b = append(b, v.String()...)
	case reflect.Slice:
		b = append(b, '[')
		b = append(strconv.AppendInt(b, int64(v.Len()), 10), '/')
		b = append(strconv.AppendInt(b, int64(v.Cap()), 10), ']')
		hex(v.UnsafePointer())
	default: // pointers of all kinds
		hex(words[1])
	}
	return b
}
