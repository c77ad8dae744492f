package farm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"dace.local/dacelib/farm"
)

// A kind of work of one's own: units are data, and their results do not depend
// on the pool that computes them.
func ExampleRegister() {
	const kind = "example: squares"
	if !slices.Contains(farm.Kinds(), kind) {
		farm.Register(kind, func(_ context.Context, _ *farm.Env, data []byte) ([]byte, error) {
			var n int
			if err := json.Unmarshal(data, &n); err != nil {
				return nil, err
			}
			return json.Marshal(n * n)
		})
	}
	var units []farm.Unit
	for n := range 4 {
		u, err := farm.NewUnit(kind, n, 1, nil)
		if err != nil {
			panic(err)
		}
		units = append(units, u)
	}
	squares := make([]int, len(units))
	err := farm.Local(2).Do(context.Background(), units, func(i int, result []byte) error {
		return json.Unmarshal(result, &squares[i])
	})
	fmt.Println(squares, err)
	// Output: [0 1 4 9] <nil>
}
