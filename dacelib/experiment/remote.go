package experiment

import (
	"context"
	"encoding/json"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/farm"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/cimp"
)

func init() {
	farm.RegisterProblem("noisy", (*noisy)(nil), farm.Codec{Encode: encodeNoisy, Decode: decodeNoisy})
}

// noisyData describes a noisy problem.
type noisyData struct {
	Of *farm.Spec  `json:"of"`
	SD farm.Floats `json:"sd"`
}

func encodeNoisy(pk *farm.Packer, p problem.Problem) ([]byte, error) {
	n := p.(*noisy)
	of, err := pk.Problem(n.p)
	if err != nil {
		return nil, err
	}
	return json.Marshal(noisyData{of, farm.Floats{n.sd}})
}

func decodeNoisy(ctx context.Context, env *farm.Env, data []byte) (problem.Problem, error) {
	var d noisyData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	of, err := env.Problem(ctx, d.Of)
	if err != nil {
		return nil, err
	}
	return &noisy{p: of.(*cimp.Instance), sd: d.SD[0]}, nil
}

// remote has all tests that are not known made by the farm, and adds their records
// to those known: the loop over the instances then finds them. Tests that end
// out of order are kept in the file all the same.
func (t *test) remote(ctx context.Context) error {
	type job struct {
		instance, entry int
		at              int // the index of the normalised instance
	}
	var jobs []job
	var wanted []problem.Problem
	for i, instance := range t.set.Test {
		at := -1
		for k, e := range t.entries {
			r := t.record(instance, k)
			if _, ok := t.known[r.key(t.s.Repeats)]; ok || !e.Portfolio.Travels() {
				continue // a solver is a function of this process
			}
			if at < 0 {
				p, err := t.evaluated(ctx, instance)
				if err != nil {
					return err
				}
				at = len(wanted)
				wanted = append(wanted, p)
			}
			jobs = append(jobs, job{i, k, at})
		}
	}
	if len(jobs) == 0 {
		return nil
	}
	normalised, err := t.ranges.normaliseOn(ctx, t.s.Farm, wanted, t.s.Sample, t.set.Seed)
	if err != nil {
		return err
	}
	ps := make([]problem.Problem, len(normalised))
	for i, p := range normalised {
		ps[i] = p
	}
	pk := farm.NewPacker(ctx, t.s.Farm)
	key, err := pk.Problems(ps)
	if err != nil {
		return err
	}
	units := make([]farm.Unit, len(jobs))
	for n, j := range jobs {
		if units[n], err = t.entries[j.entry].Portfolio.RemoteUnit(pk, key, j.at, t.settings()); err != nil {
			return err
		}
		units[n].Name = ps[j.at].Name()
	}
	finished, next := map[int]Record{}, 0
	err = t.s.Farm.Do(ctx, units, func(n int, result []byte) error {
		e := t.entries[jobs[n].entry]
		found, err := e.Portfolio.RemoteResult(result)
		if err != nil {
			return err
		}
		r := t.record(t.set.Test[jobs[n].instance], jobs[n].entry)
		r.finish(normalised[jobs[n].at].Range(), found)
		finished[n] = r
		t.report(len(finished)-1, r)
		for ; ; next++ { // the file has the order of the jobs
			r, ok := finished[next]
			if !ok {
				return nil
			}
			if err := t.keep(r); err != nil {
				return err
			}
		}
	})
	for n := next + 1; err != nil && n < len(jobs); n++ {
		if r, ok := finished[n]; ok {
			_ = t.keep(r) // the error that ended the test says more
		}
	}
	return err
}

// keep adds a record to those known and to the file.
func (t *test) keep(r Record) error {
	t.known[r.key(t.s.Repeats)] = r
	return t.write(r)
}

// normaliseOn is normalise for several instances on a farm.
func (r *ranges) normaliseOn(ctx context.Context, pool farm.Pool, ps []problem.Problem, sample int, seed uint64) ([]*portfolio.Instance, error) {
	out := make([]*portfolio.Instance, len(ps))
	keys := make([]rangeKey, len(ps))
	var unknown []problem.Problem
	var at []int
	for i, p := range ps {
		if r.file != nil {
			digest, err := construct.Digest(ctx, p)
			if err != nil {
				return nil, err
			}
			keys[i] = rangeKey{digest, sample, seed}
			if found, ok := r.known[keys[i]]; ok {
				out[i] = portfolio.Within(p, found)
				continue
			}
		}
		unknown, at = append(unknown, p), append(at, i)
	}
	if len(unknown) == 0 {
		return out, nil
	}
	found, err := portfolio.NormaliseOn(ctx, pool, unknown, sample, seed)
	if err != nil {
		return nil, err
	}
	for k, p := range found {
		i := at[k]
		out[i] = p.(*portfolio.Instance)
		if err := r.keep(keys[i], out[i].Range()); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// made returns the records that are known.
func (t *test) made() []Record {
	var out []Record
	for _, instance := range t.set.Test {
		for k := range t.entries {
			r := t.record(instance, k)
			if old, ok := t.known[r.key(t.s.Repeats)]; ok {
				out = append(out, old)
			}
		}
	}
	return out
}
