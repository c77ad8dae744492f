// Package jsonfloat writes numbers to JSON that it has no form for: -Inf, which is
// the value of a solution that must not be chosen, +Inf and NaN become texts. Start
// with [Floats].
package jsonfloat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
)

// A Float is a number in JSON, or "-Inf", "+Inf" or "NaN".
type Float float64

// MarshalJSON encodes the number; a finite one as package json does.
func (f Float) MarshalJSON() ([]byte, error) {
	if v := float64(f); math.IsInf(v, 0) || math.IsNaN(v) {
		return json.Marshal(strconv.FormatFloat(v, 'g', -1, 64))
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON decodes what MarshalJSON wrote.
func (f *Float) UnmarshalJSON(b []byte) error {
	if !bytes.HasPrefix(b, []byte{'"'}) {
		return json.Unmarshal(b, (*float64)(f))
	}
	var text string
	if err := json.Unmarshal(b, &text); err != nil {
		return err
	}
	switch text {
	case "-Inf":
		*f = Float(math.Inf(-1))
	case "+Inf":
		*f = Float(math.Inf(1))
	case "NaN":
		*f = Float(math.NaN())
	default:
		return fmt.Errorf("%q is no number", text)
	}
	return nil
}

// Floats are numbers in JSON as a list of [Float].
type Floats []float64

// MarshalJSON encodes the numbers; finite ones as package json does.
func (f Floats) MarshalJSON() ([]byte, error) {
	if f == nil {
		return []byte("null"), nil
	}
	for _, v := range f {
		if math.IsInf(v, 0) || math.IsNaN(v) {
			list := make([]Float, len(f))
			for i, v := range f {
				list[i] = Float(v)
			}
			return json.Marshal(list)
		}
	}
	return json.Marshal([]float64(f))
}

// UnmarshalJSON decodes what MarshalJSON wrote.
func (f *Floats) UnmarshalJSON(b []byte) error {
	var list []Float
	if err := json.Unmarshal(b, &list); err != nil || list == nil {
		*f = nil
		return err
	}
	*f = make(Floats, len(list))
	for i, v := range list {
		(*f)[i] = float64(v)
	}
	return nil
}

// Rows returns the rows of a matrix as Floats, which share memory with it.
func Rows(m [][]float64) []Floats {
	if m == nil {
		return nil
	}
	out := make([]Floats, len(m))
	for i, r := range m {
		out[i] = r
	}
	return out
}

// Matrix returns rows as a matrix, which shares memory with them.
func Matrix(rows []Floats) [][]float64 {
	if rows == nil {
		return nil
	}
	out := make([][]float64, len(rows))
	for i, r := range rows {
		out[i] = r
	}
	return out
}
