package construct

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"time"

	"dace.local/dacelib/pgpe"
)

// A generation evaluates a generation of PGPE's candidates in parts and saves
// the values after a part, because a generation may take minutes. A part takes
// about checkpointEvery.
type generation struct {
	keep     checkpoint
	hardness pgpe.Objective
	each     time.Duration // time per candidate, as last measured
}

// firstPart is the size of a part while the time per candidate is unknown.
const firstPart = 9

// partial is the saved state of an unfinished generation.
type partial struct {
	// Candidates is a digest of all candidates; Values are the values of the
	// first len(Values) candidates.
	Candidates string    `json:"candidates"`
	Values     []float64 `json:"values"`
}

// values is the objective. How the generation is cut does not change the
// values.
func (g *generation) values(ctx context.Context, dst []float64, candidates [][]float64) error {
	if g.keep.path == "" {
		return g.hardness(ctx, dst, candidates)
	}
	var p partial
	id := digestAll(candidates)
	if !g.keep.load(&p) || p.Candidates != id || len(p.Values) > len(candidates) {
		p = partial{Candidates: id}
	}
	done := copy(dst, p.Values)
	for done < len(candidates) {
		n := firstPart
		if g.each > 0 {
			n = int(checkpointEvery / g.each)
		}
		n = min(max(1, n), len(candidates)-done)
		began := time.Now()
		if err := g.hardness(ctx, dst[done:done+n], candidates[done:done+n]); err != nil {
			return err
		}
		g.each = max(1, time.Since(began)/time.Duration(n))
		done += n
		if done < len(candidates) && time.Since(g.keep.last) >= checkpointEvery/2 {
			p.Values = slices.Clone(dst[:done])
			if err := g.keep.save(p); err != nil {
				return err
			}
		}
	}
	return nil
}

// beside returns the path of the file for the values of an unfinished
// generation, next to path, the file of the search's state.
func beside(path string) string {
	if path == "" {
		return ""
	}
	return strings.TrimSuffix(path, ".json") + "-generation.json"
}

// digestAll identifies candidates by the bits of their coordinates.
func digestAll(candidates [][]float64) string {
	h := sha256.New()
	var b []byte
	for _, c := range candidates {
		b = b[:0]
		for _, v := range c {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
