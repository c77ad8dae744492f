package farm

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"dace.local/dacelib/problem"
)

func init() { Register("evaluate", evaluateUnit) }

// Problem returns p with its batches evaluated by the workers of a pool, in
// parts that take about 0.4 s. It pays off for problems whose evaluation costs
// more than about 50 us, such as those of package caop.
//
// A problem that the cells of a notebook have made from a function travels with
// the function, and with the variables that this reads as they are at the call
// of Problem, if they are plain data. Workers compute it as a plugin that this
// process has built, else as built there, else interpreted; the farm's table
// says which. If p cannot travel, Evaluate returns an error that says why.
func Problem(pool Pool, p problem.Problem) problem.Problem {
	if r, ok := p.(*remote); ok && r.pool == pool || pool == nil {
		return p
	}
	return &remote{Problem: pack(context.Background(), p), pool: pool}
}

// Expensive reports whether the evaluations of a problem pay off on a farm, by
// its [Codec].
func Expensive(p problem.Problem) bool {
	for inner, _, _ := problem.Unwrap(p); inner != nil; inner, _, _ = problem.Unwrap(p) {
		p = inner
	}
	codecs.RLock()
	defer codecs.RUnlock()
	return codecs.of[codecs.names[reflect.TypeOf(p)]].Expensive
}

// remote is a problem that the workers of a pool evaluate.
type remote struct {
	problem.Problem
	pool Pool
}

func (r *remote) Optimum() (float64, bool) { return problem.Optimum(r.Problem) }

// evaluateData describes a batch of solutions.
type evaluateData struct {
	Problems string `json:"problems"`
	Dim      int    `json:"dim"`
	Words    []byte `json:"words"`
}

func (r *remote) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	if err := problem.CheckBatch(r.Problem, dst, x); err != nil {
		return err
	}
	pk := NewPacker(ctx, r.pool)
	key, err := pk.Problems([]problem.Problem{r.Problem})
	if err != nil {
		return err
	}
	n := x.Len()
	piece := min(Piece(r.pool, "evaluate", n), maxEvaluated)
	var units []Unit
	for i := 0; i < n; i += piece {
		part := x.Slice(i, min(i+piece, n))
		u, _ := NewUnit("evaluate", evaluateData{key, x.D, part.Bytes()}, part.Len(), pk.Needs()) // texts and numbers are JSON
		units = append(units, u)
	}
	return r.pool.Do(ctx, units, func(k int, result []byte) error {
		var v Floats
		if err := json.Unmarshal(result, &v); err != nil {
			return err
		}
		if want := min(piece, n-k*piece); len(v) != want {
			return fmt.Errorf("farm: a worker returned %d values of %d solutions", len(v), want)
		}
		copy(dst[k*piece:], v)
		return nil
	})
}

// maxEvaluated bounds the number of solutions in a unit.
const maxEvaluated = 1 << 14

func evaluateUnit(ctx context.Context, env *Env, data []byte) ([]byte, error) {
	var d evaluateData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	p, err := env.Instance(ctx, d.Problems, 0)
	if err != nil {
		return nil, err
	}
	x, err := problem.FromBytes(d.Dim, d.Words)
	if err != nil {
		return nil, err
	}
	y := make(Floats, x.Len())
	if err := p.Evaluate(ctx, y, x); err != nil {
		return nil, err
	}
	return y.MarshalJSON()
}
