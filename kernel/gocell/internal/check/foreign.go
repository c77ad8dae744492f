package check

import "dace.local/kernel/buildinfo"

// Notebooks of other Go kernels run as far as what they mean exists here.

// standIns maps import paths of other kernels' own packages to packages of this
// kernel that do the same.
var standIns = map[string]string{
	"github.com/janpfeifer/gonb/gonbui": buildinfo.Path("kernel/foreign/gonbui"),
}

// predeclared maps functions that other kernels predeclare to the packages that
// declare them here. A cell that uses such a name, which the session has not
// declared, imports the package with a dot.
var predeclared = map[string]string{
	"Display": buildinfo.Path("kernel/foreign/gophernotes"),
}

// StandIn returns the path of the package that is imported instead of one of
// another kernel, or "".
func StandIn(ipath string) string { return standIns[ipath] }
