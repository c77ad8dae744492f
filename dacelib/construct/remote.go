package construct

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// This file lets the parts of a construction run on a farm. Each part is a
// struct of plain data with a method run; here are the JSON of its fields and of
// its result, and the functions that workers call.

func init() {
	farm.Register("mining", mineUnit)
	farm.Register("race", raceUnit)
	farm.Register("runs", runsUnit)
}

// A remote computes on a farm, for a list of instances that the workers have. A
// nil remote stands for this process.
type remote struct {
	pool     farm.Pool
	problems string // the key of the blob that describes the instances
	solvers  string // of that of solvers that the workers do not have, or ""
	needs    []string
}

// remote sends the instances to the construction's farm; nil without a farm.
func (c *coevolution) remote(ctx context.Context, instances []problem.Problem) (*remote, error) {
	var names []string
	for _, s := range c.s.Solvers {
		names = append(names, s.Name())
	}
	return newRemote(ctx, c.s.Farm, instances, names)
}

// newRemote sends the instances, and the solvers of names that the workers do not have.
func newRemote(ctx context.Context, pool farm.Pool, instances []problem.Problem, solvers []string) (*remote, error) {
	if pool == nil {
		return nil, nil
	}
	pk := farm.NewPacker(ctx, pool)
	key, err := pk.Problems(instances)
	if err != nil {
		return nil, err
	}
	own, err := solver.Pack(pk, solvers)
	if err != nil {
		return nil, err
	}
	return &remote{pool, key, own, pk.Needs()}, nil
}

// concurrent returns how many of n units to ask for at the same time: all of
// them on a farm, where they wait for no processor of this machine.
func (f *remote) concurrent(workers, n int) int {
	if f == nil {
		return workers
	}
	return n
}

// judgeData holds the fields of a judge.
type judgeData struct {
	Evaluations int  `json:"evaluations"`
	Seeds       int  `json:"seeds"`
	Authentic   bool `json:"authentic"`
	limitsData
}

// limitsData holds what else a run ends by and is judged by.
type limitsData struct {
	Target  *float64 `json:"target,omitempty"`
	Measure Measure  `json:"measure,omitempty"`
}

func (j judge) data() judgeData {
	return judgeData{Evaluations: j.evaluations, Seeds: j.seeds, Authentic: j.authentic, limitsData: limitsData{j.target, j.measure}}
}

func (d judgeData) judge() judge {
	return judge{evaluations: d.Evaluations, seeds: d.Seeds, authentic: d.Authentic, target: d.Target, measure: d.Measure}
}

// searchData holds the fields of a mining or a race.
type searchData struct {
	Theta    theta           `json:"theta"`
	Problems string          `json:"problems"`
	Solvers  string          `json:"solvers,omitempty"`
	Judge    judgeData       `json:"judge"`
	Rest     farm.Floats     `json:"rest,omitempty"`
	Members  int             `json:"members,omitempty"`
	Given    []solver.Config `json:"given,omitempty"`
	Trials   int             `json:"trials"`
	Seed     uint64          `json:"seed"`
	RunSeed  uint64          `json:"run_seed"`
	Reading  run.Reading     `json:"reading"`
}

// searchResult is the outcome of a mining or a race.
type searchResult struct {
	Configs     []solver.Config `json:"configs"`
	Values      farm.Floats     `json:"values"` // of a race: the sum alone
	Runs        int             `json:"runs"`
	Evaluations int             `json:"evaluations"`
	Trials      []byte          `json:"trials"`
}

// pack encodes the outcome of a search with the trials of its report.
func (w *work) pack(configs []solver.Config, values []float64) ([]byte, error) {
	trials, err := packTrials(w.trials, true)
	if err != nil {
		return nil, err
	}
	return json.Marshal(searchResult{Configs: configs, Values: values, Runs: w.Runs, Evaluations: w.Evaluations, Trials: trials})
}

// search has a unit computed, adds its report to w and returns its outcome.
func (f *remote) search(ctx context.Context, kind string, d searchData, w *work) (searchResult, error) {
	d.Problems, d.Solvers = f.problems, f.solvers
	u, err := farm.NewUnit(kind, d, d.Trials, f.needs)
	if err != nil {
		return searchResult{}, err
	}
	u.Name = fmt.Sprintf("the %s with the seed %d", kind, d.Seed)
	var r searchResult
	if err := farm.Do1(ctx, f.pool, u, &r); err != nil {
		return r, err
	}
	if len(r.Configs) == 0 || len(r.Values) == 0 {
		return r, fmt.Errorf("construct: a worker's %s has no configuration", kind)
	}
	w.Runs, w.Evaluations = r.Runs, r.Evaluations
	w.trials, err = unpackTrials(r.Trials)
	return r, err
}

func (f *remote) mine(ctx context.Context, m mining, w *work) (mined, error) {
	r, err := f.search(ctx, "mining", searchData{
		Theta: m.theta, Judge: m.judge.data(), Rest: m.rest, Trials: m.trials, Seed: m.seed, RunSeed: m.runSeed, Reading: m.reading,
	}, w)
	if err != nil {
		return mined{}, err
	}
	w.whole = true
	m.keep.remove()
	return mined{r.Configs[0], r.Values}, nil
}

func mineUnit(ctx context.Context, env *farm.Env, data []byte) ([]byte, error) {
	ctx, d, ps, err := decodeSearch(ctx, env, data)
	if err != nil {
		return nil, err
	}
	if len(d.Rest) != len(ps)*d.Judge.Seeds {
		return nil, fmt.Errorf("construct: a mining on %d instances has the performance on %d", len(ps)*d.Judge.Seeds, len(d.Rest))
	}
	var w work
	m, err := mining{
		theta: d.Theta, judge: d.Judge.judge(), problems: ps, rest: d.Rest, trials: d.Trials, seed: d.Seed, runSeed: d.RunSeed,
		reading: d.Reading, workers: 1, keep: new(checkpoint),
	}.run(ctx, &w)
	if err != nil {
		return nil, err
	}
	return w.pack([]solver.Config{m.Config}, m.Values)
}

func (f *remote) race(ctx context.Context, r race, w *work) (candidate, error) {
	out, err := f.search(ctx, "race", searchData{
		Theta: r.theta, Judge: r.judge.data(), Members: r.members, Given: r.given, Trials: r.trials, Seed: r.seed, RunSeed: r.runSeed, Reading: r.reading,
	}, w)
	if err != nil {
		return candidate{}, err
	}
	r.keep.remove()
	return candidate{Configs: out.Configs, Sum: out.Values[0]}, nil
}

func raceUnit(ctx context.Context, env *farm.Env, data []byte) ([]byte, error) {
	ctx, d, ps, err := decodeSearch(ctx, env, data)
	if err != nil {
		return nil, err
	}
	var w work
	c, err := race{
		theta: d.Theta, judge: d.Judge.judge(), problems: ps, members: d.Members, given: d.Given, trials: d.Trials, seed: d.Seed, runSeed: d.RunSeed,
		reading: d.Reading, keep: new(checkpoint),
	}.run(ctx, &w)
	if err != nil {
		return nil, err
	}
	return w.pack(c.Configs, []float64{c.Sum})
}

func decodeSearch(ctx context.Context, env *farm.Env, data []byte) (context.Context, searchData, []problem.Problem, error) {
	var d searchData
	if err := json.Unmarshal(data, &d); err != nil {
		return ctx, d, nil, err
	}
	if d.Judge.Seeds < 1 {
		return ctx, d, nil, fmt.Errorf("construct: a unit with %d seeds", d.Judge.Seeds)
	}
	ps, err := env.Problems(ctx, d.Problems)
	if err == nil {
		ctx, err = solver.Unpack(ctx, env, d.Solvers)
	}
	return ctx, d, ps, err
}

// runsData describes runs: every configuration on every instance under its
// seeds. The runs are the product of the lists.
type runsData struct {
	Problems string          `json:"problems"`
	Solvers  string          `json:"solvers,omitempty"`
	From     int             `json:"from"` // instances From to To-1 of Problems
	To       int             `json:"to"`
	Configs  []solver.Config `json:"configs"`
	// Seeds are those of each configuration, or one list for all.
	Seeds       [][]uint64 `json:"seeds"`
	Evaluations int        `json:"evaluations"`
	limitsData
}

// runsResult holds the best values of the runs, by instance, configuration and
// seed, and the number of their evaluations.
type runsResult struct {
	Values      farm.Floats `json:"values"`
	Evaluations int         `json:"evaluations"`
}

func runsUnit(ctx context.Context, env *farm.Env, data []byte) ([]byte, error) {
	var d runsData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	ps, err := env.Problems(ctx, d.Problems)
	if err != nil {
		return nil, err
	}
	if ctx, err = solver.Unpack(ctx, env, d.Solvers); err != nil {
		return nil, err
	}
	if d.From < 0 || d.To > len(ps) || d.From > d.To || len(d.Seeds) != len(d.Configs) && len(d.Seeds) != 1 {
		return nil, fmt.Errorf("construct: runs on instances %d to %d of %d, of %d configurations with seeds of %d", d.From, d.To, len(ps), len(d.Configs), len(d.Seeds))
	}
	j := judge{evaluations: d.Evaluations, target: d.Target, measure: d.Measure}
	var jobs []solver.Job
	for _, p := range ps[d.From:d.To] {
		for i, c := range d.Configs {
			for _, seed := range d.Seeds[min(i, len(d.Seeds)-1)] {
				jobs = append(jobs, j.job(p, c, seed))
			}
		}
	}
	results, err := solver.RunAll(ctx, jobs, 1)
	if err != nil {
		return nil, err
	}
	var out runsResult
	for _, r := range results {
		out.Values = append(out.Values, j.measure.of(r, j.evaluations))
		out.Evaluations += r.Evaluations
	}
	return json.Marshal(out)
}

// solversOf returns the names of the solvers of configurations.
func solversOf(configs []solver.Config) []string {
	var out []string
	for _, c := range configs {
		if !slices.Contains(out, c.Solver()) {
			out = append(out, c.Solver())
		}
	}
	return out
}

// product returns one list if all configurations have the same seeds.
func product(seeds [][]uint64) [][]uint64 {
	for _, s := range seeds[1:] {
		if !slices.Equal(s, seeds[0]) {
			return seeds
		}
	}
	return seeds[:1]
}

// runs makes the runs of configurations on instances, seeds[i] those of
// configuration i, which have the same length. values[m][i*k+s] is that of
// configuration i on instance m under its s-th of k seeds.
func (f *remote) runs(ctx context.Context, j judge, configs []solver.Config, instances int, seeds [][]uint64, spent *Cost) (values [][]float64, err error) {
	k := len(seeds[0])
	each := len(configs) * k // runs on an instance
	piece := farm.Piece(f.pool, "runs", instances*each)
	// Runs on one instance are evaluated together, so instances are separated
	// first, and configurations only where an instance has too many runs.
	wide, some := max(1, piece/each), max(1, min(len(configs), piece/k))
	var units []farm.Unit
	var parts []runsData
	for from := 0; from < instances; from += wide {
		to := min(from+wide, instances)
		for a := 0; a < len(configs); a += some {
			b := min(a+some, len(configs))
			d := runsData{Problems: f.problems, Solvers: f.solvers, From: from, To: to, Configs: configs[a:b], Seeds: product(seeds[a:b]), Evaluations: j.evaluations, limitsData: limitsData{j.target, j.measure}}
			u, err := farm.NewUnit("runs", d, (to-from)*(b-a)*k, f.needs)
			if err != nil {
				return nil, err
			}
			u.Name = fmt.Sprintf("instances %d to %d, %d configurations from %v", from+1, to, b-a, configs[a])
			units, parts = append(units, u), append(parts, d)
		}
	}
	starts := make([]int, len(parts)) // the first configuration of each part
	for i, at := 0, 0; i < len(parts); i++ {
		if i > 0 && parts[i].From != parts[i-1].From {
			at = 0
		}
		starts[i] = at
		at += len(parts[i].Configs)
	}
	values = make([][]float64, instances)
	for m := range values {
		values[m] = make([]float64, each)
	}
	err = f.pool.Do(ctx, units, func(i int, result []byte) error {
		var r runsResult
		if err := json.Unmarshal(result, &r); err != nil {
			return err
		}
		d := parts[i]
		n := len(d.Configs) * k
		if len(r.Values) != n*(d.To-d.From) {
			return fmt.Errorf("construct: a worker returned %d values of %d runs", len(r.Values), n*(d.To-d.From))
		}
		for m := d.From; m < d.To; m++ {
			copy(values[m][starts[i]*k:], r.Values[(m-d.From)*n:(m-d.From+1)*n])
		}
		spent.Runs += len(r.Values)
		if j.authentic {
			spent.Evaluations += r.Evaluations
		}
		return nil
	})
	return values, err
}

// seedsOf returns the seeds of each of n configurations, derived from seed(i).
func (j judge) seedsOf(n int, seed func(i int) uint64) [][]uint64 {
	out := make([][]uint64, n)
	for i := range out {
		for k := range j.seeds {
			out[i] = append(out[i], j.seed(seed(i), k))
		}
	}
	return out
}

// remoteEach is each on the judge's farm.
func (j judge) remoteEach(ctx context.Context, configs []solver.Config, instances []problem.Problem, seed uint64, spent *Cost) ([][]float64, error) {
	f, err := newRemote(ctx, j.farm, instances, solversOf(configs))
	if err != nil {
		return nil, err
	}
	values, err := f.runs(ctx, j, configs, len(instances), j.seedsOf(len(configs), func(int) uint64 { return seed }), spent)
	if err != nil {
		return nil, err
	}
	out := make([][]float64, len(configs))
	for i := range out {
		for m := range instances {
			for _, v := range values[m][i*j.seeds : (i+1)*j.seeds] {
				out[i] = append(out[i], j.quality(v))
			}
		}
	}
	return out, nil
}

// remotePortfolio is portfolio on the judge's farm.
func (j judge) remotePortfolio(ctx context.Context, configs []solver.Config, instances []problem.Problem, seed func(member int) uint64, spent *Cost) ([]float64, error) {
	f, err := newRemote(ctx, j.farm, instances, solversOf(configs))
	if err != nil {
		return nil, err
	}
	values, err := f.runs(ctx, j, configs, len(instances), j.seedsOf(len(configs), seed), spent)
	if err != nil {
		return nil, err
	}
	columns := make([]float64, len(instances)*j.seeds)
	for m := range columns {
		columns[m] = math.Inf(-1)
		for i := range configs {
			columns[m] = max(columns[m], j.quality(values[m/j.seeds][i*j.seeds+m%j.seeds]))
		}
	}
	return j.means(columns), nil
}
