package check

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"sync"
)

// stdText declares stdFuncs for the type checker.
const stdText = `package std

func Sort(x any)
func Pull(seq func(yield func() bool)) (next func() bool, stop func())
func Hash(h, v any)
func SortFunc(x, cmp any)
func SortStableFunc(x, cmp any)
func Weak(ptr any) any
func Strong(w, ptr any) any
func AddCleanup(ptr, cleanup, arg any) any
func Scan(dest, src any) error
func Must(err error)
func DriverValue(v any) (any, error)
`

// stdTypes returns the package of stdFuncs as the type checker sees it.
var stdTypes = sync.OnceValue(func() *types.Package {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "std.go", stdText, parser.SkipObjectResolution)
	if err != nil {
		panic(err)
	}
	conf := types.Config{Error: func(error) {}} // the functions have no bodies
	p, _ := conf.Check(StdPath, fset, []*ast.File{f}, nil)
	p.MarkComplete()
	return p
})
