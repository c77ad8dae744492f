// Package table holds the symbols of the packages that cells can import. The
// generated packages beside it register them, and package symbols reads them.
package table

import (
	"go/constant"
	"go/token"
	"reflect"
	"strings"
)

// A Package is a package that cells can import.
type Package struct {
	Name string
	// Symbols returns a new map of the package's symbols in the form that yaegi
	// takes; see symbols.Lookup.
	Symbols func() map[string]reflect.Value
}

// Packages holds all packages by import path. It is filled by init functions
// and only read afterwards.
var Packages = map[string]Package{}

// Register adds a package.
func Register(path, name string, symbols func() map[string]reflect.Value) {
	Packages[path] = Package{name, symbols}
}

// kinds are the kinds of untyped constants.
var kinds = map[string]token.Token{"STRING": token.STRING, "INT": token.INT, "FLOAT": token.FLOAT}

// With adds untyped constants to a table and returns it. Each line of constants
// holds a name, a kind and a literal of Go: "Pi FLOAT 3.14". As text they take
// a tenth of the memory that a call for each constant would take as code.
func With(constants string, symbols map[string]reflect.Value) map[string]reflect.Value {
	for line := range strings.Lines(constants) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		kind, text, _ := strings.Cut(rest, " ")
		v := constant.MakeFromLiteral(text, kinds[kind], 0)
		if v.Kind() == constant.Unknown {
			panic("symbols: the table has no constant in " + line) // cannot happen: the tables are generated
		}
		symbols[name] = reflect.ValueOf(v)
	}
	return symbols
}
