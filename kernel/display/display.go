// Package display is what cells call to show things.
package display

import (
	"fmt"
	"strings"

	"dace.local/kernel/engine"
)

var out engine.Outputs

func SetOutputs(o engine.Outputs) { out = o }

// HTML shows HTML.
func HTML(s string) {}

// Result is
func Result(vs []any, names []string) engine.Bundle {
	var l []string
	for _, v := range vs {
		l = append(l, fmt.Sprintf("%+v", v))
	}
	return engine.Text(strings.Join(l, ", "))
}
