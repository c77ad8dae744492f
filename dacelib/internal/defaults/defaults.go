// Package defaults fills in the zero fields of settings, and checks them against
// the largest values that make sense.
package defaults

import "fmt"

// A Bound is a field of settings, its value, and the largest one allowed.
type Bound struct {
	Field       string
	Value, Most int
}

// AtMost returns an error that names the first field whose value is above its
// bound, nil if there is none. pkg is the package of the settings.
func AtMost(pkg string, bounds ...Bound) error {
	for _, b := range bounds {
		if b.Value > b.Most {
			return fmt.Errorf("%s: %s is %d; it must be at most %d", pkg, b.Field, b.Value, b.Most)
		}
	}
	return nil
}

// Set sets *field to value if *field is zero. In all settings of dacelib, zero
// means the default.
func Set[T int | float64](field *T, value T) {
	if *field == 0 {
		*field = value
	}
}
