package display_test

import (
	"fmt"
	"os"

	"dace.local/kernel/display"
)

// In a cell a table is shown as one; a program shows it as text.
func ExampleTable() {
	display.ToText(os.Stdout)
	display.Table([]string{"method", "quality"}, [][]string{{"DACE", "0.94"}, {"CEPS", "0.9"}})
	// Output:
	// method  quality
	// DACE       0.94
	// CEPS        0.9
}

// A table as it goes into a paper.
func ExampleNewTable() {
	fmt.Print(display.NewTable([]string{"method", "quality"}, [][]string{{"DACE", "0.94"}}).Markdown())
	// Output:
	// | method | quality |
	// |---|--:|
	// | DACE | 0.94 |
}
