package experiment

import (
	"encoding/json"

	"dace.local/dacelib/internal/jsonfloat"
)

// recordJSON is a Record in JSON. Its numbers may be -Inf, the value of a solution
// that must not be chosen.
type recordJSON struct {
	recordFields
	Values jsonfloat.Floats `json:"values"`
	Mean   jsonfloat.Float  `json:"mean"`
}

// recordFields has the fields of a Record and not its methods.
type recordFields Record

// MarshalJSON encodes the record; -Inf is the text "-Inf".
func (r Record) MarshalJSON() ([]byte, error) {
	return json.Marshal(recordJSON{recordFields(r), r.Values, jsonfloat.Float(r.Mean)})
}

// UnmarshalJSON decodes what MarshalJSON wrote.
func (r *Record) UnmarshalJSON(b []byte) error {
	j := recordJSON{recordFields: recordFields(*r)}
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*r = Record(j.recordFields)
	r.Values = j.Values
	r.Mean = float64(j.Mean)
	return nil
}
