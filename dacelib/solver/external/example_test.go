package external_test

import (
	"fmt"

	"dace.local/dacelib/solver/external"
)

// Example reads parameters of irace and writes a command line.
func Example() {
	p, err := external.ParseIrace(`
localsearch  "--ls "    o      (none, 2opt, 3opt)
ants         "--ants="  i,log  (5, 100)
nnls         "--nnls "  i      (5, 50)   | localsearch %in% c("2opt", "3opt")
[forbidden]
localsearch == "3opt" & ants > 50
`)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Arguments(p.Space.Default()))
	fmt.Println(p.Arguments([]float64{1, 10, 20}))
	// Output:
	// [--ls none --ants=22] <nil>
	// [--ls 2opt --ants=10 --nnls 20] <nil>
}
