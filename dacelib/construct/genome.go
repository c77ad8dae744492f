package construct

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
)

// A Genome is an embedding or the weights of a network. As JSON it is a list of
// numbers or, if longer than 1,024, the base64 encoding of its little-endian
// doubles, which takes half the space.
type Genome []float64

const longGenome = 1024

// MarshalJSON encodes the genome.
func (g Genome) MarshalJSON() ([]byte, error) {
	if len(g) <= longGenome {
		return json.Marshal([]float64(g))
	}
	b := make([]byte, 0, 8*len(g))
	for _, v := range g {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
	}
	return json.Marshal(base64.StdEncoding.EncodeToString(b))
}

// UnmarshalJSON decodes the output of MarshalJSON.
func (g *Genome) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		return json.Unmarshal(data, (*[]float64)(g))
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	b, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(b)%8 != 0 {
		return fmt.Errorf("construct: a genome is damaged")
	}
	out := make(Genome, len(b)/8)
	for i := range out {
		out[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i:]))
	}
	*g = out
	return nil
}
