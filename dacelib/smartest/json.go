package smartest

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
