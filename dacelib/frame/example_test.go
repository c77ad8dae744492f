package frame_test

import (
	"fmt"
	"strings"

	"dace.local/dacelib/frame"
)

func Example() {
	text := strings.NewReader("method,d,value\nDACE,30,0.9\nCEPS,30,0.7\nDACE,40,0.8\nCEPS,40,0.6\n")
	runs, err := frame.ParseCSV(text, frame.CSVSettings{}) // frame.ReadCSV reads a file
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(runs.GroupBy("method").Mean("value"))
	// Output:
	// method  value
	// CEPS     0.65
	// DACE     0.85
	// 2 rows
}
