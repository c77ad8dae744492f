// Package table holds the symbols of the packages that cells can import. The
// generated packages beside it register them, and package symbols reads them.
package table

import (
	"go/constant"
	"go/token"
	"reflect"
	"strings"
)

// A Package is a package that cells can import. The generated tables consist of
// nothing but data that the linker lays out: written as calls of
// reflect.ValueOf, they were five times as large.
type Package struct {
	Path, Name string
	// Untyped holds the untyped constants, one a line: a name, a kind and a
	// literal of Go, as in "Pi FLOAT 3.14".
	Untyped string
	Values  []Symbol // functions and typed constants; for each type T that is not generic, a nil *T
	Vars    []Symbol // pointers to the variables
}

// A Symbol is a name of a package with its value.
type Symbol struct {
	Name  string
	Value any
}

// Packages holds all packages by import path. It is filled by init functions
// and only read afterwards.
var Packages = map[string]*Package{}

// Register adds a package.
func Register(p *Package) { Packages[p.Path] = p }

// kinds are the kinds of untyped constants.
var kinds = map[string]token.Token{"STRING": token.STRING, "INT": token.INT, "FLOAT": token.FLOAT}

// Symbols returns a new map of the package's symbols in the form that yaegi
// takes; see symbols.Lookup.
func (p *Package) Symbols() map[string]reflect.Value {
	symbols := make(map[string]reflect.Value, len(p.Values)+len(p.Vars)+strings.Count(p.Untyped, "\n"))
	for line := range strings.Lines(p.Untyped) {
		name, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		kind, text, _ := strings.Cut(rest, " ")
		v := constant.MakeFromLiteral(text, kinds[kind], 0)
		if v.Kind() == constant.Unknown {
			panic("symbols: the table has no constant in " + line) // cannot happen: the tables are generated
		}
		symbols[name] = reflect.ValueOf(v)
	}
	for _, s := range p.Values {
		symbols[s.Name] = reflect.ValueOf(s.Value)
	}
	for _, s := range p.Vars {
		symbols[s.Name] = reflect.ValueOf(s.Value).Elem()
	}
	return symbols
}
