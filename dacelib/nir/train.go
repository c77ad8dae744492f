package nir

import (
	"context"
	"fmt"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// Train draws [Settings].Samples distinct uniform solutions of every instance,
// evaluates them, and trains one NIR per instance on them: see [TrainOn].
func Train(ctx context.Context, instances []problem.Problem, s Settings) (*Model, error) {
	n := s.withDefaults(1).Samples
	data := make([]Data, len(instances))
	for i, p := range instances {
		var err error
		if data[i], err = SampleData(ctx, p, n, run.Seed(s.Seed, "nir: data", i)); err != nil {
			return nil, err
		}
	}
	return TrainOn(ctx, data, s)
}

// TrainOn trains one NIR per instance, jointly, on given solutions and values,
// by minimising Eq. 9 with Adam. The parameters of the smallest validation
// loss are kept. On the end of ctx it returns the model as it is then, with
// the best parameters so far, and ctx.Err(): see [Settings].Resume.
func TrainOn(ctx context.Context, data []Data, s Settings) (*Model, error) {
	if len(data) == 0 {
		return nil, fmt.Errorf("nir: training needs at least one instance")
	}
	sum := 0
	names := make([]string, len(data))
	for i, d := range data {
		if err := d.check(); err != nil {
			return nil, err
		}
		names[i] = d.Name
		sum += d.X.D
	}
	s = s.withDefaults((sum + len(data)/2) / len(data))
	if err := s.check(); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("nir: training comes with the next commit; use Random until then")
}

// A checkpoint is the state of an unfinished training.
type checkpoint struct{}
