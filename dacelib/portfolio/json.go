package portfolio

import (
	"encoding/json"

	"dace.local/dacelib/internal/jsonfloat"
)

// resultJSON is a Result in JSON. Its numbers may be -Inf, the value of a solution
// that must not be chosen.
type resultJSON struct {
	resultFields
	Members   []jsonfloat.Floats `json:"members"`
	Values    jsonfloat.Floats   `json:"values"`
	Mean      jsonfloat.Float    `json:"mean"`
	BestValue jsonfloat.Float    `json:"best_value"`
}

// resultFields has the fields of a Result and not its methods.
type resultFields Result

// MarshalJSON encodes the result; -Inf is the text "-Inf".
func (r Result) MarshalJSON() ([]byte, error) {
	return json.Marshal(resultJSON{resultFields(r), jsonfloat.Rows(r.Members), r.Values, jsonfloat.Float(r.Mean), jsonfloat.Float(r.BestValue)})
}

// UnmarshalJSON decodes what MarshalJSON wrote.
func (r *Result) UnmarshalJSON(b []byte) error {
	j := resultJSON{resultFields: resultFields(*r)}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*r = Result(j.resultFields)
	r.Members = jsonfloat.Matrix(j.Members)
	r.Values = j.Values
	r.Mean = float64(j.Mean)
	r.BestValue = float64(j.BestValue)
	return nil
}

// matrixJSON is a Matrix in JSON. Its numbers may be -Inf, the value of a solution
// that must not be chosen.
type matrixJSON struct {
	matrixFields
	Values []jsonfloat.Floats `json:"values"`
}

// matrixFields has the fields of a Matrix and not its methods.
type matrixFields Matrix

// MarshalJSON encodes the matrix; -Inf is the text "-Inf".
func (m Matrix) MarshalJSON() ([]byte, error) {
	return json.Marshal(matrixJSON{matrixFields(m), jsonfloat.Rows(m.Values)})
}

// UnmarshalJSON decodes what MarshalJSON wrote.
func (m *Matrix) UnmarshalJSON(b []byte) error {
	j := matrixJSON{matrixFields: matrixFields(*m)}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*m = Matrix(j.matrixFields)
	m.Values = jsonfloat.Matrix(j.Values)
	return nil
}
