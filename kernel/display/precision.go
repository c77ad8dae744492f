package display

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"sync/atomic"
)

// precision is the verb of package fmt by which floating-point values are
// shown, see SetPrecision; nil means the shortest text that reads back as the
// same value.
var precision atomic.Pointer[string]

var floatVerb = regexp.MustCompile(`^%[+# 0]*[0-9]*(\.[0-9]+)?[eEfFgG]$`)

// SetPrecision says how the floating-point values of last expressions are shown
// from now on: with a number of decimals ("3"), by a verb of package fmt
// ("%.3g"), or with "" in full. The magic %precision calls it.
func SetPrecision(format string) error {
	if format == "" {
		precision.Store(nil)
		return nil
	}
	if n, err := strconv.Atoi(format); err == nil && n >= 0 && n <= 100 {
		format = "%." + format + "f"
	}
	if !floatVerb.MatchString(format) {
		return fmt.Errorf("%q is neither a number of decimals nor a format of a float like %%.3g", format)
	}
	precision.Store(&format)
	return nil
}

// formatFloat formats a value of kind Float32 or Float64.
func formatFloat(v reflect.Value) string {
	if f := precision.Load(); f != nil {
		return fmt.Sprintf(*f, v.Float())
	}
	return strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits())
}

// formatComplex formats a value of kind Complex64 or Complex128.
func formatComplex(v reflect.Value) string {
	if f := precision.Load(); f != nil {
		return fmt.Sprintf("("+*f+"%+"+(*f)[1:]+"i)", real(v.Complex()), imag(v.Complex()))
	}
	return fmt.Sprint(v.Complex())
}

// Line returns a value as text on one line of at most this many characters. Of a
// reflect.Value that is what it holds, as in package fmt.
func Line(v any, most int) string {
	if held, ok := v.(reflect.Value); ok {
		return flat(held, most)
	}
	return flat(reflect.ValueOf(v), most)
}
