package lower

import (
	"go/types"

	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/std"
)

// compiled returns the name of the compiled instance of a function of the
// standard library.
func compiled(o types.Object, args []types.Type) (string, bool) {
	if o.Pkg() == nil || check.PathOf(o.Pkg()) == "main" {
		return "", false
	}
	for _, a := range args {
		if _, isAlias := a.(*types.Alias); isAlias {
			return "", false
		}
	}
	return std.Instance(o.Pkg().Path() + "." + o.Name() + "[" + check.TypeList(args, nil) + "]")
}
