package portfolio

import (
	"encoding/json"

	"dace.local/dacelib/brkga"
	"dace.local/dacelib/solver"
)

// Members are configurations whose JSON has the paper's form where they are
// BRKGA's: [[20, 70, 10, 0.7, false], {"solver": "anneal", "start": 0.8}, ...].
type Members []solver.Config

// MarshalJSON encodes the members.
func (m Members) MarshalJSON() ([]byte, error) {
	rows := make([]any, len(m))
	for i, c := range m {
		rows[i] = c
		if own, err := brkga.From(c, 0); err == nil && len(c.Values()) == 5 {
			rows[i] = [5]any{own.Elites, own.Offspring, own.Mutants, own.Bias, own.Duplicates}
		}
	}
	return json.Marshal(rows)
}
