package caop

import (
	"context"
	"fmt"
	"sync"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/problem"
)

// Instances travel to the workers of a farm as their JSON. Sizes depend on GCC:
// only workers with the same one compute them.
func init() {
	farm.Trait("compilers", func() string {
		id, err := ownCompiler()
		if err != nil {
			return ""
		}
		return id
	})
	farm.RegisterProblem("caop", (*Instance)(nil), farm.Codec{
		Encode: func(_ *farm.Packer, p problem.Problem) ([]byte, error) {
			if err := p.(*Instance).compiler.travels(); err != nil {
				return nil, err
			}
			return p.(*Instance).MarshalJSON()
		},
		Decode: func(_ context.Context, _ *farm.Env, data []byte) (problem.Problem, error) { return Decode(data) },
		Needs:  []string{"compilers"}, Expensive: true,
	})
}

// ownCompiler returns the ID of the compiler of the zero settings in this process.
var ownCompiler = sync.OnceValues(func() (string, error) { return compilerID(context.Background()) })

// travels returns an error unless the compiler is that of the zero settings: it is
// the only one that workers are sure to have, too.
func (c *Compiler) travels() error {
	id, err := ownCompiler()
	if err != nil {
		return fmt.Errorf("caop: workers compile with the gcc of their PATH, and there is none here: %w", err)
	}
	if id != c.id {
		return fmt.Errorf("caop: workers compile with the gcc of their PATH or of DACE_GCC, which here is %s and not %s, to which %s belongs: set DACE_GCC to it here and there, or compile in this process, without Farm", id, c.id, c.path)
	}
	return nil
}

// remote is Evaluate on the compiler's farm. Solutions whose sizes are remembered
// here are not sent; those of others are remembered when they come.
func (p *Instance) remote(ctx context.Context, dst []float64, x problem.Solutions, lists [][]string, failed float64) error {
	book, err := p.compiler.memo.book(p.compiler.id, p.hash)
	if err != nil {
		return err
	}
	var at []int // of the solutions that are sent
	some := problem.NewSolutions(x.Len(), x.D)
	for i, args := range lists {
		if size, ok := book.get(p.compiler.key(p.hash, args)); ok {
			p.compiler.stats.remembered.Add(1)
			dst[i] = value(size, failed)
			continue
		}
		copy(some.Row(len(at)), x.Row(i))
		at = append(at, i)
	}
	if len(at) == 0 {
		return ctx.Err()
	}
	values := make([]float64, len(at))
	if err := farm.Problem(p.compiler.farm, p).Evaluate(ctx, values, some.Slice(0, len(at))); err != nil {
		return err
	}
	for k, i := range at {
		dst[i] = values[k]
		if values[k] <= failed+1 {
			continue // perhaps a time-out, which is not remembered
		}
		size := int64(-values[k])
		if _, err := book.once(ctx, p.compiler.key(p.hash, lists[i]), func() (int64, bool, error) { return size, true, nil }); err != nil {
			return err
		}
	}
	return ctx.Err()
}
