package shell_test

import (
	"fmt"

	"dace.local/kernel/shell"
)

// In a cell: names := !printf '%s\n' a.csv b.csv
func ExampleLines() {
	for _, name := range shell.Lines(`printf '%s\n' a.csv b.csv`) {
		fmt.Println(name)
	}
	// Output:
	// a.csv
	// b.csv
}
