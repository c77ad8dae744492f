package smartest_test

import (
	"context"
	"fmt"

	"dace.local/dacelib/problem/onemax"
	"dace.local/dacelib/smartest"
)

func Example() {
	p := onemax.Random(1, 16)
	r, err := smartest.Run(context.Background(), p, smartest.Settings{Workers: 2})
	fmt.Println(r.Value, "of", p.Dim(), "in", r.Evaluations, "evaluations:", r.Status, err)
	// Output: 16 of 16 in 800 evaluations: budget spent <nil>
}
