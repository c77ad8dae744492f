package smac_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"dace.local/dacelib/smac"
)

// Example minimises a function of a whole number, a learning rate and a rule,
// in 150 trials.
func Example() {
	space := smac.Space{Params: []smac.Param{
		{Name: "layers", Kind: smac.Int, Lo: 1, Hi: 20},
		{Name: "rate", Lo: 1e-5, Hi: 1, Log: true},
		{Name: "rule", Kind: smac.Category, Choices: []string{"sgd", "adam", "rmsprop"}},
	}}
	cost := func(_ context.Context, c []float64) (float64, error) {
		return math.Abs(c[0]-6) + math.Abs(math.Log10(c[1])+3) + math.Abs(c[2]-1), nil
	}
	r, err := smac.Run(context.Background(), cost, smac.Settings{Space: space, Trials: 150})
	fmt.Printf("%.0f layers with %s, rate 10^%.0f: %v, error %v\n", r.Best[0], space.Params[2].Choices[int(r.Best[2])], math.Log10(r.Best[1]), r.Status, err)
	// Output: 6 layers with adam, rate 10^-3: budget spent, error <nil>
}

// ExampleOptimizer_Ask uses ask and tell, for costs that are computed
// elsewhere.
func ExampleOptimizer_Ask() {
	o, _ := smac.New(smac.Settings{Space: smac.Space{Params: []smac.Param{{Name: "x", Lo: -4, Hi: 4}}}, Trials: 60})
	for !o.Done() {
		for _, q := range o.Ask(0) { // a batch: evaluate its queries in any order
			if err := o.Tell(q, (q.Config[0]-1)*(q.Config[0]-1)); err != nil {
				panic(err)
			}
		}
	}
	fmt.Printf("x = %.1f after %d trials\n", o.Result().Best[0], len(o.Result().History))
	// Output: x = 1.0 after 60 trials
}

// ExampleOptimizer_MarshalJSON saves a run as JSON and continues it as if it
// had never stopped.
func ExampleOptimizer_MarshalJSON() {
	cost := func(_ context.Context, q smac.Query) (float64, error) { return math.Abs(q.Config[0] - 70), nil }
	o, _ := smac.New(smac.Settings{Space: smac.Space{Params: []smac.Param{{Name: "n", Kind: smac.Int, Lo: 1, Hi: 100}}}, Trials: 60})
	for _, q := range o.Ask(3) {
		c, _ := cost(context.Background(), q)
		_ = o.Tell(q, c)
	}
	saved, _ := json.Marshal(o)

	var restored smac.Optimizer
	err := json.Unmarshal(saved, &restored)
	fmt.Println(len(restored.Result().History), "trials so far, error", err)
	r, err := restored.Run(context.Background(), cost)
	fmt.Println(len(r.History), "trials, n =", r.Best[0], err)
	// Output:
	// 3 trials so far, error <nil>
	// 60 trials, n = 70 <nil>
}
