package vm

import (
	"reflect"
	"runtime"
	"unsafe"
)

// An assertionFields is a runtime.TypeAssertionError in memory.
type assertionFields struct {
	from, concrete, asserted unsafe.Pointer
	missing                  string
}

// knownAssertion reports whether a runtime.TypeAssertionError is laid out so.
var knownAssertion = func() bool {
	t, ours := reflect.TypeFor[runtime.TypeAssertionError](), reflect.TypeFor[assertionFields]()
	same := t.NumField() == ours.NumField()
	for i := 0; same && i < ours.NumField(); i++ {
		k := t.Field(i).Type.Kind()
		same = t.Field(i).Offset == ours.Field(i).Offset && (k == reflect.Pointer || k == reflect.String) && (k == reflect.String) == (i == 3)
	}
	return same
}()
