package portfolio

import (
	"encoding/json"
	"fmt"

	"dace.local/dacelib/brkga"
)

// Members are configurations of BRKGA whose JSON has the paper's form: [[20,
// 70, 10, 0.7, false], ...].
type Members []brkga.Config

// MarshalJSON encodes the members.
func (m Members) MarshalJSON() ([]byte, error) {
	rows := make([][5]any, len(m))
	for i, c := range m {
		rows[i] = [5]any{c.Elites, c.Offspring, c.Mutants, c.Bias, c.Duplicates}
	}
	return json.Marshal(rows)
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (m *Members) UnmarshalJSON(b []byte) error {
	var rows [][]json.RawMessage
	if err := json.Unmarshal(b, &rows); err != nil {
		return fmt.Errorf("portfolio: members: %w", err)
	}
	var out Members
	for i, row := range rows {
		var c brkga.Config
		fields := []any{&c.Elites, &c.Offspring, &c.Mutants, &c.Bias, &c.Duplicates}
		if len(row) != len(fields) {
			return fmt.Errorf("portfolio: member %d has %d values; it must have elites, offspring, mutants, bias and duplicate elimination", i, len(row))
		}
		for k, f := range fields {
			if err := json.Unmarshal(row[k], f); err != nil {
				return fmt.Errorf("portfolio: member %d: %w", i, err)
			}
		}
		out = append(out, c)
	}
	*m = out
	return nil
}
