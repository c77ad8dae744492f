// Package table holds the symbols of the packages that cells can import. The
// generated packages beside it register them, and package symbols reads them.
package table

import "reflect"

// A Package is a package that cells can import. The generated tables consist of
// nothing but data that the linker lays out: written as calls of
// reflect.ValueOf, they were five times as large. Constants are with the types,
// but for those of a platform.
type Package struct {
	Path, Name string
	Values     []Symbol // functions, some typed constants; for each type T that is not generic, a nil *T
	Vars       []Symbol // pointers to the variables
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

// LinuxOnly reports whether a package has a table for linux/amd64 only, as it has
// other names elsewhere.
func LinuxOnly(path string) bool { return path == "syscall" || path == "golang.org/x/sys/unix" }

// Symbols returns a new map of the package's symbols without its constants; see
// symbols.Lookup.
func (p *Package) Symbols() map[string]reflect.Value {
	symbols := make(map[string]reflect.Value, len(p.Values)+len(p.Vars))
	for _, s := range p.Values {
		symbols[s.Name] = reflect.ValueOf(s.Value)
	}
	for _, s := range p.Vars {
		symbols[s.Name] = reflect.ValueOf(s.Value).Elem()
	}
	return symbols
}

// Type returns the type of a package by its name, or nil.
func (p *Package) Type(name string) reflect.Type {
	for _, s := range p.Values {
		if t := reflect.TypeOf(s.Value); s.Name == name && t.Kind() == reflect.Pointer {
			return t.Elem()
		}
	}
	return nil
}
