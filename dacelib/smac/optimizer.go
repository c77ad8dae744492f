package smac

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"dace.local/dacelib/forest"
	"dace.local/dacelib/run"
)

// An Optimizer is a run that returns configurations to evaluate (Ask) and
// receives their costs (Tell). Make one with [New], or restore one with
// json.Unmarshal.
//
// Configurations come in batches of Settings.RefitEvery. The first batch has
// the default configuration and random ones; each later batch is chosen with a
// model of all earlier costs. So the queries of a batch may be evaluated in any
// order, or concurrently, without changing the run.
//
// Beyond Settings.RefitFrom configurations, the model is fitted anew ever more
// rarely. Between fits, configurations are added to the leaves of its trees,
// and of those evaluated before the fit only the most promising are predicted
// again. (SMAC fits the model at every batch, which takes time that grows with
// the square of the trials.)
//
// With several instances the configurations of a batch race against the best
// one so far, the incumbent. Each is run on one instance, then on two more, on
// four more and so on. These are always instances on which the incumbent was
// run, in an order drawn once. A configuration is dropped as soon as its mean
// is worse than the incumbent's on the same instances. The best of those that
// reach the end becomes the incumbent if it is better. With each configuration
// that is tried, the incumbent is run on one more instance until it has been
// run on all. (SMAC races the configurations of a batch one after the other;
// here they race side by side, against the incumbent of the previous batch.)
// The model learns the mean cost of each configuration over the instances on
// which it was run.
//
// An Optimizer is not safe for use from several goroutines at once.
type Optimizer struct {
	s       Settings
	state   state
	order   []int          // the instances, in the order of the races
	seen    map[string]int // from a configuration to its index in state.Tried
	handed  int            // queries of the stage that Ask has returned
	told    int            // queries of the stage that are done
	best    float64        // lowest cost of a trial, for events
	model   model
	scratch scratch
}

// state is the part of a run that is saved, besides its settings.
type state struct {
	// Tried holds the configurations in the order of their batches.
	Tried []tried `json:"tried"`
	// Log holds the trials before the current stage.
	Log []trialRef `json:"log"`
	// Batches is the number of batches drawn, Round the number of stages that
	// the race of the last batch has gone through.
	Batches int `json:"batches"`
	Round   int `json:"round"`
	// Incumbent is the index of the best configuration.
	Incumbent int `json:"incumbent"`
	// Racing holds the configurations in the race, Through those that have
	// reached its end.
	Racing  []int `json:"racing"`
	Through []int `json:"through"`
	// Stage holds the trials of the current stage.
	Stage []pending `json:"stage"`
	// Fitted is the number of configurations at the last fit of the model,
	// FitBatch the number of batches before the fit.
	Fitted   int `json:"fitted"`
	FitBatch int `json:"fit_batch"`
	// Exhausted is true if every configuration of a finite space was tried.
	Exhausted bool `json:"exhausted"`
}

// A tried is a configuration that was tried, with its costs on the first
// instances in the order of the races.
type tried struct {
	Config []float64 `json:"config"`
	Origin Origin    `json:"origin"`
	Costs  []float64 `json:"costs"`
	// Seen is the number of costs whose mean the model contains.
	Seen int `json:"seen"`
}

// mean returns the mean of the first n costs.
func (t *tried) mean(n int) float64 {
	sum := 0.0
	for _, c := range t.Costs[:n] {
		sum += c
	}
	return sum / float64(n)
}

// A trialRef identifies a trial: by the configuration, and by the index of the
// instance in the order of the races.
type trialRef struct {
	Tried int `json:"tried"`
	Place int `json:"place"`
}

// A pending is a trial of the current stage.
type pending struct {
	trialRef
	Done bool    `json:"done"`
	Cost float64 `json:"cost"`
}

// New returns an optimiser at the start of a run.
func New(s Settings) (*Optimizer, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	o := &Optimizer{s: s, seen: make(map[string]int), best: math.Inf(1)}
	o.order = run.Rand(s.Seed, "smac: instances").Perm(s.Instances)
	// Fitting a forest to one point returns an error if its settings are
	// invalid.
	if _, err := forest.Fit(make([]float64, len(s.Space.Params)), []float64{0}, len(s.Space.Params), o.forestSettings()); err != nil {
		return nil, fmt.Errorf("smac: Settings.Forest: %w", err)
	}
	return o, nil
}

// Settings returns the settings of the run, with their defaults filled in.
func (o *Optimizer) Settings() Settings { return o.s }

// SetWorkers sets Settings.Workers and Settings.OnEvent of a restored run. They
// do not influence its result.
func (o *Optimizer) SetWorkers(workers int, onEvent func(run.Event)) {
	o.s.Workers = max(1, workers)
	o.s.OnEvent = onEvent
}

// Ask returns up to limit queries that it has not returned before; if limit is
// 0, all that can be evaluated now. It returns none while the next queries
// depend on costs not yet told, and none when the run is done.
func (o *Optimizer) Ask(limit int) []Query {
	o.next()
	var qs []Query
	for i := o.handed; i < len(o.state.Stage) && (limit <= 0 || len(qs) < limit); i++ {
		o.handed = i + 1
		p := &o.state.Stage[i]
		if !p.Done {
			qs = append(qs, Query{
				ID:       len(o.state.Log) + i,
				Config:   o.state.Tried[p.Tried].Config,
				Instance: o.order[p.Place],
			})
		}
	}
	return qs
}

// Tell reports the cost of a query that Ask returned. The cost must lie
// between -1e100 and 1e100.
func (o *Optimizer) Tell(q Query, cost float64) error {
	i := q.ID - len(o.state.Log)
	if i < 0 || i >= len(o.state.Stage) || o.state.Stage[i].Done {
		return fmt.Errorf("smac: query %d is not awaited: it was told before, or belongs to another run", q.ID)
	}
	if !(math.Abs(cost) <= 1e100) {
		return fmt.Errorf("smac: the cost of %s is %v; it must lie within +-1e100: for an evaluation that failed, tell one worse than all others",
			o.s.Space.Format(q.Config), cost)
	}
	p := &o.state.Stage[i]
	p.Done, p.Cost = true, cost
	o.told++
	o.best = min(o.best, cost)
	if o.s.OnEvent != nil {
		o.s.OnEvent(run.Event{
			Stage: "smac", Step: len(o.state.Log) + o.told, Total: o.s.Trials,
			Value: cost, Best: o.best, Detail: o.s.Space.Format(q.Config),
		})
	}
	if o.told == len(o.state.Stage) {
		o.absorb()
	}
	return nil
}

// Done reports whether the run is over: all trials are made and told, or no
// configurations are left to try.
func (o *Optimizer) Done() bool {
	o.next()
	return len(o.state.Stage) == 0
}

// absorb records the costs of the stage when all of them have been told.
func (o *Optimizer) absorb() {
	st := &o.state
	for _, p := range st.Stage {
		t := &st.Tried[p.Tried]
		t.Costs = append(t.Costs, p.Cost)
		st.Log = append(st.Log, p.trialRef)
	}
	st.Stage, o.handed, o.told = nil, 0, 0
	o.dropWorse()
	if len(st.Racing) == 0 || len(st.Log) == o.s.Trials {
		o.setIncumbent()
	}
}

// next sets up the next stage if there is none; when the run is done, it sets
// up none.
func (o *Optimizer) next() {
	st := &o.state
	left := o.s.Trials - len(st.Log)
	switch {
	case len(st.Stage) > 0 || left == 0:
		return
	case len(st.Racing) > 0:
		st.Round++
	case st.Exhausted:
		return
	default:
		o.propose(min(o.s.RefitEvery, left))
	}
	n := len(st.Tried[st.Incumbent].Costs) + len(st.Stage)
	for _, c := range st.Racing {
		from := len(st.Tried[c].Costs)
		for place := from; place < min(from+1<<st.Round, n); place++ {
			st.Stage = append(st.Stage, pending{trialRef: trialRef{Tried: c, Place: place}})
		}
	}
	st.Stage = st.Stage[:min(left, len(st.Stage))]
}

// dropWorse drops the configurations that are worse than the incumbent so far from
// the race, and moves those that were run on all of the incumbent's instances
// to its end.
func (o *Optimizer) dropWorse() {
	st := &o.state
	racing := st.Racing[:0]
	for _, c := range st.Racing {
		inc, t := &st.Tried[st.Incumbent], &st.Tried[c]
		switch n := len(t.Costs); {
		case n > 0 && t.mean(n) > inc.mean(n):
		case n == len(inc.Costs):
			st.Through = append(st.Through, c)
		default:
			racing = append(racing, c)
		}
	}
	st.Racing = racing
}

// setIncumbent makes the best configuration that has reached the end of the race the
// incumbent, if it is better than the incumbent.
func (o *Optimizer) setIncumbent() {
	st := &o.state
	for _, c := range st.Through {
		n := len(st.Tried[c].Costs)
		if st.Tried[c].mean(n) < st.Tried[st.Incumbent].mean(n) {
			st.Incumbent = c
		}
	}
	st.Through = st.Through[:0]
}

// propose draws a batch of k configurations, fewer if the space has no more,
// and starts their race. It also queues runs of the incumbent on as many
// further instances, if there are any left.
func (o *Optimizer) propose(k int) {
	st := &o.state
	rng := run.Rand(o.s.Seed, "smac: batch", st.Batches)
	first := len(st.Tried)
	if first == 0 {
		o.enter(o.s.Space.Default(), FromDefault)
		k--
	}
	random := make([]bool, k)
	chosen := 0
	for i := range random {
		random[i] = first == 0 || rng.Float64() < o.s.RandomProb
		if !random[i] {
			chosen++
		}
	}
	var ranked [][]float64
	if chosen > 0 {
		ranked = o.rank(chosen, rng)
	}
	for _, r := range random {
		origin := FromModel
		var config []float64
		for len(ranked) > 0 && o.tried(ranked[0]) { // by a random one of this batch
			ranked = ranked[1:]
		}
		if !r && len(ranked) > 0 {
			config, ranked = ranked[0], ranked[1:]
		} else {
			config, origin = o.unseen(rng), FromRandom
		}
		if config == nil {
			st.Exhausted = true
			break
		}
		o.enter(config, origin)
	}
	if first == 0 {
		first = 1
	}
	st.Racing = st.Racing[:0]
	for c := first; c < len(st.Tried); c++ {
		st.Racing = append(st.Racing, c)
	}
	st.Batches++
	st.Round = 0
	ran := len(st.Tried[st.Incumbent].Costs)
	for place := ran; place < min(ran+max(1, len(st.Racing)), o.s.Instances); place++ {
		st.Stage = append(st.Stage, pending{trialRef: trialRef{Tried: st.Incumbent, Place: place}})
	}
}

// tried reports whether a configuration was tried.
func (o *Optimizer) tried(config []float64) bool {
	_, ok := o.seen[key(config)]
	return ok
}

// enter adds a configuration to those tried.
func (o *Optimizer) enter(config []float64, origin Origin) {
	o.seen[key(config)] = len(o.state.Tried)
	o.state.Tried = append(o.state.Tried, tried{Config: config, Origin: origin})
}

// unseen returns a random untried configuration, or nil if there is none.
func (o *Optimizer) unseen(rng *rand.Rand) []float64 {
	for range 100 {
		c := o.s.Space.Random(rng)
		if _, ok := o.seen[key(c)]; !ok {
			return c
		}
	}
	// After a hundred misses, most of a finite space has been tried: search it
	// in order, from a random start.
	size := o.s.Space.size()
	if size > 1<<40 {
		return nil
	}
	n := int(size)
	from := rng.IntN(n)
	for i := range n {
		c := o.s.Space.at((from + i) % n)
		if !o.s.Space.plain() {
			if c = o.s.Space.Canonical(c); o.s.Space.forbids(c) {
				continue
			}
		}
		if _, ok := o.seen[key(c)]; !ok {
			return c
		}
	}
	return nil
}

// key returns the bits of a configuration as a map key.
func key(config []float64) string {
	b := make([]byte, 0, 8*len(config))
	for _, v := range config {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v+0)) // +0 makes -0 equal to 0
	}
	return string(b)
}

// Result returns the outcome so far. Its Status is [run.NotRun] if the run has
// not ended.
func (o *Optimizer) Result() Result {
	st := &o.state
	var r Result
	d := len(o.s.Space.Params)
	values := make([]float64, 0, (len(st.Log)+o.told)*d) // the configurations, in one allocation
	ref := func(t trialRef, cost float64) {
		c := &st.Tried[t.Tried]
		values = append(values, c.Config...)
		r.History = append(r.History, Trial{Config: values[len(values)-d : len(values) : len(values)], Instance: o.order[t.Place], Cost: cost, Origin: c.Origin})
	}
	r.History = slices.Grow(r.History, len(st.Log)+o.told)
	for _, t := range st.Log {
		ref(t, st.Tried[t.Tried].Costs[t.Place])
	}
	for _, p := range st.Stage {
		if p.Done {
			ref(p.trialRef, p.Cost)
		}
	}
	if len(r.History) == 0 {
		return r
	}
	switch {
	case len(st.Log) == o.s.Trials:
		r.Status = run.BudgetSpent
	case st.Exhausted && len(st.Stage)+len(st.Racing) == 0:
		r.Status = run.Converged
	}
	best := func(t *tried, n int, cost float64) {
		r.Best, r.Cost, r.BestInstances = slices.Clone(t.Config), cost, n
	}
	inc := &st.Tried[st.Incumbent]
	if n := len(inc.Costs); n > 0 {
		best(inc, n, inc.mean(n))
	}
	// The current stage: with one instance, every cost counts at once; before
	// the first race has ended, at least one cost does.
	for _, p := range st.Stage {
		if p.Done && (r.Best == nil || o.s.Instances == 1 && p.Cost < r.Cost) {
			best(&st.Tried[p.Tried], 1, p.Cost)
		}
	}
	return r
}

// saved is the JSON form of an Optimizer.
type saved struct {
	Version  int      `json:"version"`
	Settings Settings `json:"settings"`
	State    state    `json:"state"`
}

// version is the version of the JSON form.
const version = 2

// MarshalJSON encodes the run: its settings, all trials, and the current stage.
// OnEvent is not saved.
func (o *Optimizer) MarshalJSON() ([]byte, error) {
	return json.Marshal(saved{Version: version, Settings: o.s, State: o.state})
}

// UnmarshalJSON decodes a run encoded by MarshalJSON. Ask returns again the
// queries that were asked for and not told. The run continues exactly as the
// saved one would have.
func (o *Optimizer) UnmarshalJSON(b []byte) error {
	var sv saved
	if err := json.Unmarshal(b, &sv); err != nil {
		return fmt.Errorf("smac: this is no saved run: %w", err)
	}
	if sv.Version != version {
		return fmt.Errorf("smac: a saved run of version %d; this program reads version %d", sv.Version, version)
	}
	p, err := New(sv.Settings)
	if err != nil {
		return err
	}
	if err := p.restore(sv.State); err != nil {
		return err
	}
	*o = *p
	return nil
}

// restore adopts a saved state after checking that it is valid.
func (o *Optimizer) restore(st state) error {
	bad := func(what string) error { return errors.New("smac: the saved run is damaged: " + what) }
	for i, t := range st.Tried {
		if err := o.s.Space.CheckConfig(t.Config); err != nil {
			return fmt.Errorf("smac: the saved run is damaged: configuration %d: %w", i, err)
		}
		if _, ok := o.seen[key(t.Config)]; ok {
			return bad(fmt.Sprintf("configuration %d was tried before", i))
		}
		o.seen[key(t.Config)] = i
		if slices.ContainsFunc(t.Costs, func(c float64) bool { return !(math.Abs(c) <= 1e100) }) {
			return bad(fmt.Sprintf("a cost of configuration %d is out of range", i))
		}
		if len(t.Costs) > o.s.Instances {
			return bad(fmt.Sprintf("configuration %d has more costs than there are instances", i))
		}
	}
	exists := func(c int) bool { return c >= 0 && c < len(st.Tried) }
	if len(st.Tried) == 0 {
		if len(st.Log)+len(st.Stage)+len(st.Racing)+len(st.Through) > 0 {
			return bad("it has trials and no configurations")
		}
		o.state = state{}
		return nil
	}
	if !exists(st.Incumbent) || st.Batches < 1 || st.Round < 0 || st.Round > 32 || len(st.Log)+len(st.Stage) > o.s.Trials {
		return bad("its counts do not fit together")
	}
	// The log must contain each cost once, and the stage must continue where
	// the costs end.
	logged := make([]int, len(st.Tried))
	for _, t := range st.Log {
		if !exists(t.Tried) || t.Place != logged[t.Tried] || t.Place >= len(st.Tried[t.Tried].Costs) {
			return bad("a trial in the log has no cost")
		}
		logged[t.Tried]++
		o.best = min(o.best, st.Tried[t.Tried].Costs[t.Place])
	}
	for i, t := range st.Tried {
		if logged[i] != len(t.Costs) {
			return bad(fmt.Sprintf("a cost of configuration %d is not in the log", i))
		}
	}
	for _, p := range st.Stage {
		if !exists(p.Tried) || p.Place != logged[p.Tried] || p.Place >= o.s.Instances {
			return bad("a trial that is asked for does not follow the others")
		}
		logged[p.Tried]++
		if p.Done && !(math.Abs(p.Cost) <= 1e100) {
			return bad("a cost is out of range")
		}
		if p.Done {
			o.told++
			o.best = min(o.best, p.Cost)
		}
	}
	for _, c := range slices.Concat(st.Racing, st.Through) {
		if !exists(c) || logged[c] > logged[st.Incumbent] {
			return bad("a configuration in the race does not exist or is ahead of the incumbent")
		}
	}
	if logged[st.Incumbent] == 0 {
		return bad("its incumbent has no cost")
	}
	if st.Fitted < 0 || st.Fitted > len(st.Tried) || st.FitBatch < 0 || st.FitBatch > st.Batches {
		return bad("the last fit of its model does not fit its trials")
	}
	for i, t := range st.Tried {
		switch {
		case logged[i] == 0 && !slices.Contains(st.Racing, i):
			return bad(fmt.Sprintf("configuration %d has no cost and is not to be run", i))
		case t.Seen < 0 || t.Seen > len(t.Costs):
			return bad(fmt.Sprintf("the model has seen more costs of configuration %d than there are", i))
		case t.Seen == 0 && i < st.Fitted:
			return bad(fmt.Sprintf("its model was fitted to configuration %d, of which it has seen no cost", i))
		}
	}
	o.state = st
	if o.told > 0 && o.told == len(st.Stage) {
		o.absorb()
	}
	return nil
}
