package landscape

import (
	"context"
	"encoding/json"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/problem"
)

func init() { farm.Register("landscape", curveUnit) }

// curveData describes the sampling of an instance.
type curveData struct {
	Problems  string `json:"problems"`
	Index     int    `json:"index"`
	Solutions int    `json:"solutions"`
	Pairs     int    `json:"pairs"`
	Seed      uint64 `json:"seed"`
}

// curveResult is a Curve with every bit.
type curveResult struct {
	Name      string      `json:"name"`
	Distance  farm.Floats `json:"distance"`
	Mean      farm.Floats `json:"mean"`
	Deviation farm.Floats `json:"deviation"`
	Pairs     []int       `json:"pairs"`
}

func curveUnit(ctx context.Context, env *farm.Env, data []byte) ([]byte, error) {
	var d curveData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	p, err := env.Instance(ctx, d.Problems, d.Index)
	if err != nil {
		return nil, err
	}
	c, err := Measure(ctx, p, Settings{Solutions: d.Solutions, Pairs: d.Pairs, Seed: d.Seed, Workers: 1})
	if err != nil {
		return nil, err
	}
	return json.Marshal(curveResult{c.Name, c.Distance, c.Mean, c.Deviation, c.Pairs})
}

// measureRemote is Measure of several instances on the farm of s.
func measureRemote(ctx context.Context, instances []problem.Problem, s Settings, add func(n int, name string)) ([]Curve, error) {
	pool := s.Farm
	pk := farm.NewPacker(ctx, pool)
	key, err := pk.Problems(instances)
	if err != nil {
		return nil, err
	}
	units := make([]farm.Unit, len(instances))
	for i := range units {
		if units[i], err = farm.NewUnit("landscape", curveData{key, i, s.Solutions, s.Pairs, s.Seed}, s.Pairs, pk.Needs()); err != nil {
			return nil, err
		}
		units[i].Name = instances[i].Name()
	}
	out := make([]Curve, len(instances))
	err = pool.Do(ctx, units, func(i int, result []byte) error {
		var r curveResult
		if err := json.Unmarshal(result, &r); err != nil {
			return err
		}
		out[i] = Curve{r.Name, r.Distance, r.Mean, r.Deviation, r.Pairs}
		add(s.steps(), r.Name)
		return nil
	})
	return out, err
}
