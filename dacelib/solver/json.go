package solver

import (
	"encoding/json"

	"dace.local/dacelib/internal/jsonfloat"
)

// resultJSON is a Result in JSON. Its numbers may be -Inf, the value of a solution
// that must not be chosen.
type resultJSON struct {
	resultFields
	Value jsonfloat.Float `json:"value"`
}

// resultFields has the fields of a Result and not its methods.
type resultFields Result

// MarshalJSON encodes the result; -Inf is the text "-Inf".
func (r Result) MarshalJSON() ([]byte, error) {
	return json.Marshal(resultJSON{resultFields(r), jsonfloat.Float(r.Value)})
}

// UnmarshalJSON decodes what MarshalJSON wrote.
func (r *Result) UnmarshalJSON(b []byte) error {
	j := resultJSON{resultFields: resultFields(*r)}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*r = Result(j.resultFields)
	r.Value = float64(j.Value)
	return nil
}

// pointJSON is a Point in JSON. Its value may be -Inf, as long as a run has found
// nothing else.
type pointJSON struct {
	Evaluations int             `json:"evaluations"`
	Best        jsonfloat.Float `json:"best"`
}

// MarshalJSON encodes the point; -Inf is the text "-Inf".
func (p Point) MarshalJSON() ([]byte, error) {
	return json.Marshal(pointJSON{p.Evaluations, jsonfloat.Float(p.Best)})
}

// UnmarshalJSON decodes what MarshalJSON wrote.
func (p *Point) UnmarshalJSON(b []byte) error {
	j := pointJSON{p.Evaluations, jsonfloat.Float(p.Best)}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*p = Point{j.Evaluations, float64(j.Best)}
	return nil
}
