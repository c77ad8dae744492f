package portfolio

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

func init() {
	farm.RegisterProblem("within", (*Instance)(nil), farm.Codec{Encode: encodeInstance, Decode: decodeInstance})
	farm.Register("test", testUnit)
	farm.Register("extremes", extremesUnit)
}

// instanceData describes an Instance.
type instanceData struct {
	Of    *farm.Spec  `json:"of"`
	Range farm.Floats `json:"range"`
}

func encodeInstance(pk *farm.Packer, p problem.Problem) ([]byte, error) {
	i := p.(*Instance)
	of, err := pk.Problem(i.p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(instanceData{of, farm.Floats{i.r.Min, i.r.Max}})
}

func decodeInstance(ctx context.Context, env *farm.Env, data []byte) (problem.Problem, error) {
	var d instanceData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	if len(d.Range) != 2 {
		return nil, fmt.Errorf("portfolio: a range of %d numbers", len(d.Range))
	}
	p, err := env.Problem(ctx, d.Of)
	if err != nil {
		return nil, err
	}
	return Within(p, Range{d.Range[0], d.Range[1]}), nil
}

// testData describes the runs of a portfolio on an instance.
type testData struct {
	Problems    string          `json:"problems"`
	Solvers     string          `json:"solvers,omitempty"`
	Index       int             `json:"index"`
	Configs     []solver.Config `json:"configs"`
	Reading     run.Reading     `json:"reading"`
	Evaluations int             `json:"evaluations"`
	Repeats     int             `json:"repeats"`
	Seed        uint64          `json:"seed"`
	Seeds       MemberSeeds     `json:"seeds,omitempty"`
}

// testResult holds the fields of a Result that are not computed from others.
type testResult struct {
	Problem     string        `json:"problem"`
	Dim         int           `json:"dim"`
	Members     []farm.Floats `json:"members"`
	Best        []bool        `json:"best"`
	BestMember  int           `json:"best_member"`
	Evaluations int           `json:"evaluations"`
}

func testUnit(ctx context.Context, env *farm.Env, data []byte) ([]byte, error) {
	var d testData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	p, err := env.Instance(ctx, d.Problems, d.Index)
	if err != nil {
		return nil, err
	}
	if ctx, err = solver.Unpack(ctx, env, d.Solvers); err != nil {
		return nil, err
	}
	s := Settings{Reading: d.Reading, Evaluations: d.Evaluations, Repeats: d.Repeats, Seed: d.Seed, Seeds: d.Seeds, Workers: 1}
	r, err := Portfolio{Members: d.Configs}.run(ctx, p, s)
	if err != nil {
		return nil, err
	}
	out := testResult{Problem: r.Problem, Dim: r.Dim, Best: r.Best, BestMember: r.BestMember, Evaluations: r.Evaluations}
	for _, m := range r.Members {
		out.Members = append(out.Members, m)
	}
	return json.Marshal(out)
}

// RemoteUnit returns the unit of a farm that runs p on the instance with an index
// among the problems of a blob, which pk has stored; see [farm.Packer.Problems].
func (p Portfolio) RemoteUnit(pk *farm.Packer, problems string, index int, s Settings) (farm.Unit, error) {
	s, err := s.withDefaults()
	if err != nil {
		return farm.Unit{}, err
	}
	var names []string
	for _, c := range p.Members {
		names = append(names, c.Solver())
	}
	own, err := solver.Pack(pk, names)
	if err != nil {
		return farm.Unit{}, err
	}
	return farm.NewUnit("test", testData{
		Problems: problems, Solvers: own, Index: index, Configs: p.Members, Reading: s.Reading,
		Evaluations: s.Evaluations, Repeats: s.Repeats, Seed: s.Seed, Seeds: s.Seeds,
	}, s.Repeats*len(p.Members), pk.Needs())
}

// RemoteResult returns the [Result] in what a worker returned for a unit of
// [Portfolio.RemoteUnit].
func (p Portfolio) RemoteResult(result []byte) (Result, error) {
	var d testResult
	if err := json.Unmarshal(result, &d); err != nil {
		return Result{}, fmt.Errorf("portfolio: the result of a worker: %w", err)
	}
	r := Result{
		Problem: d.Problem, Dim: d.Dim, Members: make([][]float64, len(d.Members)), Values: make([]float64, len(d.Members)),
		Best: d.Best, BestValue: math.Inf(-1), BestMember: d.BestMember, Evaluations: d.Evaluations,
	}
	for k, m := range d.Members {
		if len(m) != len(p.Members) {
			return r, fmt.Errorf("portfolio: a worker returned %d members of %d", len(m), len(p.Members))
		}
		r.Members[k], r.Values[k] = m, math.Inf(-1)
		for _, v := range m {
			r.Values[k] = max(r.Values[k], v)
			r.BestValue = max(r.BestValue, v)
			r.Runs++
		}
		r.Mean += r.Values[k] / float64(len(d.Members))
	}
	r.BestName = p.Members[r.BestMember].String()
	return r, nil
}

// runRemote is Run on a farm: a unit for each instance.
func (p Portfolio) runRemote(ctx context.Context, instances []problem.Problem, s Settings) ([]Result, error) {
	pk := farm.NewPacker(ctx, s.Farm)
	key, err := pk.Problems(instances)
	if err != nil {
		return nil, err
	}
	units := make([]farm.Unit, len(instances))
	for i := range units {
		if units[i], err = p.RemoteUnit(pk, key, i, s); err != nil {
			return nil, err
		}
		units[i].Name = instances[i].Name()
	}
	all, have := make([]Result, len(instances)), make([]bool, len(instances))
	best, next := math.Inf(-1), 0
	err = s.Farm.Do(ctx, units, func(i int, result []byte) error {
		r, err := p.RemoteResult(result)
		if err != nil {
			return err
		}
		all[i], have[i] = r, true
		for ; next < len(all) && have[next]; next++ {
			best = max(best, all[next].Mean)
			if s.OnEvent != nil {
				s.OnEvent(run.Event{Stage: "run " + p.Name, Step: next + 1, Total: len(instances), Value: all[next].Mean, Best: best, Detail: all[next].Problem})
			}
		}
		return nil
	})
	return all[:next], err
}

// extremesData describes the search for the range of an instance: in chunks
// From to To-1 of a sample of Sample solutions or, if Sample is 0, by two
// searches of BRKGA.
type extremesData struct {
	Problems    string `json:"problems"`
	Index       int    `json:"index"`
	Sample      int    `json:"sample,omitempty"`
	From        int    `json:"from,omitempty"`
	To          int    `json:"to,omitempty"`
	Evaluations int    `json:"evaluations,omitempty"`
	Seed        uint64 `json:"seed"`
}

// extremesResult is a range, and the number of evaluations that found it.
type extremesResult struct {
	Range       farm.Floats `json:"range"`
	Evaluations int         `json:"evaluations"`
}

func extremesUnit(ctx context.Context, env *farm.Env, data []byte) ([]byte, error) {
	var d extremesData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	p, err := env.Instance(ctx, d.Problems, d.Index)
	if err != nil {
		return nil, err
	}
	if d.From < 0 || d.To < d.From || d.To > 1<<30 || d.Sample < 0 {
		return nil, fmt.Errorf("portfolio: the range of an instance on chunks %d to %d of %d solutions", d.From, d.To, d.Sample)
	}
	counted := problem.Count(p, 0)
	var r Range
	if d.Sample > 0 {
		r, err = chunkRange(ctx, counted, d.Sample, d.From, d.To, 1, d.Seed, func(int) {})
	} else {
		var i *Instance
		if i, err = NormaliseBySearch(ctx, counted, d.Evaluations, d.Seed); err == nil || errors.Is(err, ErrNoRange) {
			r, err = i.r, nil // the caller checks it
		}
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(extremesResult{farm.Floats{r.Min, r.Max}, counted.Evaluations()})
}

// NormaliseOn is [Normalise] on a farm; nil means this process.
func NormaliseOn(ctx context.Context, pool farm.Pool, instances []problem.Problem, sample int, seed uint64) ([]problem.Problem, error) {
	if pool == nil || sample == 1 || sample < 0 {
		return Normalise(ctx, instances, sample, seed)
	}
	if sample == 0 {
		sample = 1_000_000
	}
	chunks := (sample + sampleChunk - 1) / sampleChunk
	var parts []extremesData
	for i := range instances {
		piece := farm.Piece(pool, "extremes", chunks*len(instances))
		for from := 0; from < chunks; from += piece {
			parts = append(parts, extremesData{Index: i, Sample: sample, From: from, To: min(from+piece, chunks), Seed: run.Seed(seed, "portfolio: normalise")})
		}
	}
	out, _, err := normaliseRemote(ctx, pool, instances, parts)
	if err != nil {
		return nil, err
	}
	for _, p := range out {
		i := p.(*Instance)
		if err := i.r.check(i.p, sample); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// NormaliseBySearchOn is [NormaliseBySearch] of several instances on a farm. It
// also returns the number of evaluations. Where instances have no range, it returns
// the others in their places, with nil for these, and an error that wraps
// [ErrNoRange].
func NormaliseBySearchOn(ctx context.Context, pool farm.Pool, instances []problem.Problem, evaluations int, seed uint64) ([]problem.Problem, int, error) {
	parts := make([]extremesData, len(instances))
	for i := range parts {
		parts[i] = extremesData{Index: i, Evaluations: evaluations, Seed: seed}
	}
	out, made, err := normaliseRemote(ctx, pool, instances, parts)
	for i, p := range out {
		n := p.(*Instance)
		if e := n.r.check(n.p, made/len(out)); e != nil {
			out[i], err = nil, cmp.Or(err, e)
		}
	}
	return out, made, err
}

// normaliseRemote has ranges found by a farm and returns the instances normalised
// by them.
func normaliseRemote(ctx context.Context, pool farm.Pool, instances []problem.Problem, parts []extremesData) ([]problem.Problem, int, error) {
	pk := farm.NewPacker(ctx, pool)
	key, err := pk.Problems(instances)
	if err != nil {
		return nil, 0, err
	}
	units := make([]farm.Unit, len(parts))
	for k, d := range parts {
		d.Problems = key
		if units[k], err = farm.NewUnit("extremes", d, max(1, d.To-d.From), pk.Needs()); err != nil {
			return nil, 0, err
		}
		units[k].Name = instances[d.Index].Name()
	}
	ranges := make([]Range, len(instances))
	for i := range ranges {
		ranges[i] = Range{math.Inf(1), math.Inf(-1)}
	}
	evaluations := 0
	err = pool.Do(ctx, units, func(k int, result []byte) error {
		var r extremesResult
		if err := json.Unmarshal(result, &r); err != nil {
			return err
		}
		if len(r.Range) != 2 {
			return fmt.Errorf("portfolio: a worker returned a range of %d numbers", len(r.Range))
		}
		at := &ranges[parts[k].Index]
		at.Min, at.Max = min(at.Min, r.Range[0]), max(at.Max, r.Range[1])
		evaluations += r.Evaluations
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	out := make([]problem.Problem, len(instances))
	for i, p := range instances {
		out[i] = Within(p, ranges[i])
	}
	return out, evaluations, nil
}
