// Package cimp implements the complementary influence maximisation problem: two
// items spread through a social network, and x selects, from d candidates, the
// first adopters (the seeds) of one of them, "the item", so that it reaches as
// many people as possible (the paper's Eq. 12, which calls the item B and the
// other one A). The model is Com-IC of Lu, Chen and Lakshmanan (2015):
//
//   - each edge (u, v) informs with a probability, here 1/indegree(v), and its
//     coin is flipped once for both items;
//   - a node has one uniform threshold for each item. When it is first
//     informed of an item it adopts it if the threshold is at most the item's
//     adoption probability: one ([GAPs]) for a node that has not adopted the
//     other item, one for a node that has. If it does not adopt, it is
//     suspended, and reconsiders when it adopts the other item later;
//   - adopters inform their neighbours at the next level; within a level the
//     nodes informed of the item come before those informed of the other.
//
// The value of x is the mean number of adopters of the item, seeds included, in
// R worlds. The worlds are drawn once for an instance, so the value is
// deterministic; the authors sample anew for each evaluation. A solution with
// more than K ones keeps its first K.
//
// Evaluations do not simulate the worlds. The first evaluation (or
// [Instance.Prepare]) collapses the sum over the worlds exactly into one
// integer polynomial in x: see [Info]. [Instance.Simulate] is the plain
// simulation of one world.
//
// Start with [Generate], or with [Class] for the instances of an experiment;
// both work without a download. [SNAPClass] is the paper's class, on the
// networks that package snap fetches.
package cimp

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// GAPs are the global adoption probabilities of Com-IC.
type GAPs struct {
	// Item is the probability that a node informed of the item adopts it if it
	// has not adopted the other item (the paper's q_{B|0}), ItemWith if it has
	// (q_{B|A}).
	Item     float64 `json:"item"`
	ItemWith float64 `json:"item_with"`
	// Other and OtherWith are the probabilities for the other item (q_{A|0},
	// q_{A|B}).
	Other     float64 `json:"other"`
	OtherWith float64 `json:"other_with"`
}

func (q GAPs) list() [4]float64 { return [4]float64{q.Item, q.ItemWith, q.Other, q.OtherWith} }

// Complementary and Competitive are the two settings of the paper.
func Complementary() GAPs { return GAPs{.5, .75, .5, .75} }
func Competitive() GAPs   { return GAPs{.5, .25, .5, .25} }

// Data defines an instance completely.
type Data struct {
	// Name identifies the instance.
	Name string `json:"name"`
	// Graph is the network.
	Graph *Graph `json:"graph"`
	// K is the largest number of seeds.
	K int `json:"k"`
	// GAPs are the adoption probabilities.
	GAPs GAPs `json:"gaps"`
	// Candidates holds the d nodes that x selects from, Others the first
	// adopters of the other item. A node may be in both.
	Candidates []int32 `json:"candidates"`
	Others     []int32 `json:"others"`
	// Worlds is the number R of worlds, and Seed the seed from which they are
	// drawn.
	Worlds int    `json:"worlds"`
	Seed   uint64 `json:"seed"`
}

// Settings are the settings for drawing an instance. The zero value follows the
// paper, on the generated network.
type Settings struct {
	// Network is the name of a network, see [Network]; empty means
	// [GeneratedNetwork]. Graph, if not nil, takes precedence.
	Network string
	Graph   *Graph
	// Dim is the number of candidates d; 0 means 80.
	Dim int
	// K is the largest number of seeds; 0 draws it uniformly from 0.2 d to 0.6
	// d. The other item has as many first adopters.
	K int
	// GAPs are the adoption probabilities; the zero value draws [Complementary]
	// or [Competitive] with equal probability.
	GAPs GAPs
	// Worlds is the number of worlds R; 0 means 1,000. With 10,000 an
	// evaluation costs nearly the same; only the set-up takes longer.
	Worlds int
	// Name is the instance's name; empty means cimp-network-d/seed.
	Name string
}

// maxWorlds is the largest R.
const maxWorlds = 1 << 20

// An Instance is a complementary influence maximisation problem. It is safe
// for use by several goroutines.
type Instance struct {
	data Data
	lazy *lazy
}

type lazy struct {
	mu    sync.Mutex // held while the model is made, so that it is made once
	model atomic.Pointer[model]
}

// New returns the instance with the given data; it copies the slices.
func New(data Data) (*Instance, error) {
	fail := func(format string, args ...any) (*Instance, error) {
		return nil, fmt.Errorf("cimp: instance %q: "+format, append([]any{data.Name}, args...)...)
	}
	if data.Graph == nil || data.Graph.Nodes() < 1 {
		return fail("it has no network")
	}
	for _, q := range data.GAPs.list() {
		if !(0 <= q && q <= 1) {
			return fail("the adoption probability %v is not in [0,1]", q)
		}
	}
	for _, l := range []struct {
		what  string
		nodes []int32
	}{{"candidates", data.Candidates}, {"other item's seeds", data.Others}} {
		seen := map[int32]bool{}
		for _, v := range l.nodes {
			if v < 0 || int(v) >= data.Graph.Nodes() {
				return fail("node %d among the %s; the network has the nodes 0 to %d", v, l.what, data.Graph.Nodes()-1)
			}
			if seen[v] {
				return fail("node %d is twice among the %s", v, l.what)
			}
			seen[v] = true
		}
	}
	switch {
	case len(data.Candidates) == 0:
		return fail("no candidates")
	case data.K < 0:
		return fail("at most %d seeds", data.K)
	case data.Worlds < 1 || data.Worlds > maxWorlds:
		return fail("%d worlds; between 1 and %d are possible", data.Worlds, maxWorlds)
	}
	data.Candidates = slices.Clone(data.Candidates)
	data.Others = slices.Clone(data.Others)
	return &Instance{data, new(lazy)}, nil
}

// Generate draws an instance from a seed.
func Generate(seed uint64, s Settings) (*Instance, error) {
	if s.Dim == 0 {
		s.Dim = 80
	}
	if s.Worlds == 0 {
		s.Worlds = 1000
	}
	if s.Graph == nil {
		if s.Network == "" {
			s.Network = GeneratedNetwork
		}
		var err error
		if s.Graph, err = Network(s.Network); err != nil {
			return nil, err
		}
	}
	if s.Name == "" {
		network := s.Graph.Network()
		if network == "" {
			network = "own"
		}
		s.Name = fmt.Sprintf("cimp-%s-%d/%d", network, s.Dim, seed)
	}
	n := s.Graph.Nodes()
	if s.Dim < 1 || s.Dim > n {
		return nil, fmt.Errorf("cimp: cannot draw %d candidates from a network of %d nodes", s.Dim, n)
	}
	if s.K < 0 || s.K > n {
		return nil, fmt.Errorf("cimp: cannot draw %d seeds from a network of %d nodes", s.K, n)
	}
	if s.K == 0 {
		lo, hi := (s.Dim+4)/5, max(3*s.Dim/5, (s.Dim+4)/5)
		s.K = lo + run.Rand(seed, "cimp k").IntN(hi-lo+1)
	}
	if s.GAPs == (GAPs{}) {
		s.GAPs = Complementary()
		if run.Rand(seed, "cimp gaps").IntN(2) == 1 {
			s.GAPs = Competitive()
		}
	}
	draw := func(purpose string, k int) []int32 {
		rng := run.Rand(seed, purpose)
		seen := make(map[int32]bool, k)
		nodes := make([]int32, 0, k)
		for len(nodes) < k {
			if v := rng.Int32N(int32(n)); !seen[v] {
				seen[v] = true
				nodes = append(nodes, v)
			}
		}
		return nodes
	}
	return New(Data{
		Name: s.Name, Graph: s.Graph, K: s.K, GAPs: s.GAPs, Worlds: s.Worlds, Seed: run.Seed(seed, "cimp worlds"),
		Candidates: draw("cimp candidates", s.Dim), Others: draw("cimp others", s.K),
	})
}

// Class returns the class of instances on the generated network, which needs no
// download: training instances have d = 80, test instances d = 80 and 100.
func Class() problem.Class {
	return ClassOn(GeneratedNetwork, []string{GeneratedNetwork}, Settings{})
}

// SNAPClass returns the paper's class of instances: training instances are on
// wiki-Vote, test instances on wiki-Vote, ego-Facebook or soc-Epinions1 with
// equal probability. If a network has not been fetched, the error says how to
// fetch it.
func SNAPClass() problem.Class {
	return ClassOn("wiki", []string{"wiki", "facebook", "epinions"}, Settings{})
}

// ClassOn returns the class of instances with the given networks for training
// and test; each test instance gets one of the test networks with equal
// probability. Of s, only K, GAPs and Worlds are used.
func ClassOn(training string, test []string, s Settings) problem.Class {
	test = slices.Clone(test)
	draw := func(seed uint64, network string, d int, name string) (problem.Problem, error) {
		p, err := Generate(seed, Settings{Network: network, Dim: d, K: s.K, GAPs: s.GAPs, Worlds: s.Worlds, Name: name})
		if err != nil {
			return nil, err
		}
		return p, nil
	}
	return problem.Class{
		Name: "cimp", TrainDim: 80, TestDims: []int{80, 100},
		Train: func(seed uint64, i int) (problem.Problem, error) {
			return draw(run.Seed(seed, "cimp train", i), training, 80, fmt.Sprintf("cimp-train-80/%d", i))
		},
		Test: func(seed uint64, d, i int) (problem.Problem, error) {
			if len(test) == 0 {
				return nil, fmt.Errorf("cimp: the class has no networks for test instances")
			}
			network := test[run.Rand(seed, "cimp test network", d, i).IntN(len(test))]
			return draw(run.Seed(seed, "cimp test", d, i), network, d, fmt.Sprintf("cimp-test-%d/%d", d, i))
		},
		Decode: Decode,
	}
}

// Name returns the instance's name.
func (p *Instance) Name() string { return p.data.Name }

// Dim returns the number of candidates d.
func (p *Instance) Dim() int { return len(p.data.Candidates) }

// Data returns the data that define the instance, with copies of the slices.
func (p *Instance) Data() Data {
	d := p.data
	d.Candidates, d.Others = slices.Clone(d.Candidates), slices.Clone(d.Others)
	return d
}

// Prepare collapses the worlds, on all cores; otherwise the first evaluation
// does it. On the paper's instances it takes 10 to 80 ms of one core, and the
// result takes 20 to 40 KB. Meanwhile each core holds one world at a time, and
// worlds that do not collapse are kept.
func (p *Instance) Prepare(ctx context.Context) error {
	_, err := p.model(ctx)
	return err
}

func (p *Instance) model(ctx context.Context) (*model, error) {
	if m := p.lazy.model.Load(); m != nil {
		return m, nil
	}
	p.lazy.mu.Lock()
	defer p.lazy.mu.Unlock()
	if m := p.lazy.model.Load(); m != nil {
		return m, nil
	}
	m, err := newModel(ctx, &p.data)
	if err == nil {
		p.lazy.model.Store(m)
	}
	return m, err
}

// Evaluate sets dst[i] = f(x_i), the mean number of adopters.
func (p *Instance) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	if err := problem.CheckBatch(p, dst, x); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err := p.model(ctx)
	if err != nil {
		return err
	}
	return m.evaluate(ctx, dst, x)
}

// An Estimate is the value of a solution as the mean over a sample of worlds.
type Estimate struct {
	// Mean is the value, equal to Evaluate's.
	Mean float64
	// StandardError is the standard error of Mean as an estimate of the mean
	// over all possible worlds: the standard deviation among the R worlds
	// divided by the square root of R. It is NaN for R = 1.
	StandardError float64
}

// Estimate returns the values of the solutions with their standard errors. For
// every 64 solutions it simulates all worlds anew, on all cores, which takes
// some tens of milliseconds at R = 1,000.
func (p *Instance) Estimate(ctx context.Context, x problem.Solutions) ([]Estimate, error) {
	if err := problem.CheckBatch(p, make([]float64, x.Len()), x); err != nil {
		return nil, err
	}
	out := make([]Estimate, 0, x.Len())
	for lo := 0; lo < x.Len(); lo += 64 {
		e, err := estimate(ctx, &p.data, x.Slice(lo, min(lo+64, x.Len())))
		if err != nil {
			return nil, err
		}
		out = append(out, e...)
	}
	return out, ctx.Err()
}

// Info describes how an instance's worlds were collapsed. The sum over the
// worlds is
//
//	R k(x) + c + sum_i w_i [x_i = 0] + sum_T b_T [x_i = 0 for all i in T],
//
// where k(x) is the number of seeds, plus the adopters in the worlds that are
// simulated.
type Info struct {
	// Worlds is R. Simulated is the number of worlds that did not collapse,
	// because a node in them depends on too many candidates; they are simulated
	// in every evaluation, 64 solutions at once. If d > 128, no world
	// collapses.
	Worlds, Simulated int
	// Terms is the number of sets T.
	Terms int
	// Bytes is the memory that the instance takes in addition to its network.
	Bytes int
}

// Info returns the instance's Info; it collapses the worlds first if necessary.
func (p *Instance) Info(ctx context.Context) (Info, error) {
	m, err := p.model(ctx)
	if err != nil {
		return Info{}, err
	}
	return m.info(), nil
}

// MarshalJSON encodes the instance: its network by name if it has one, else in
// full, and the seed of its worlds.
func (p *Instance) MarshalJSON() ([]byte, error) { return json.Marshal(p.data) }

// UnmarshalJSON decodes an instance encoded by MarshalJSON.
func (p *Instance) UnmarshalJSON(b []byte) error {
	var d Data
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("cimp: %w", err)
	}
	q, err := New(d)
	if err != nil {
		return err
	}
	*p = *q
	return nil
}

// Decode reads an instance from its JSON.
func Decode(data []byte) (problem.Problem, error) {
	p := new(Instance)
	if err := p.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	return p, nil
}

// standardError returns the standard error of a mean, given the sum of n values
// and the sum of their squares.
func standardError(sum, squares int64, n int) float64 {
	if n < 2 {
		return math.NaN()
	}
	m := float64(n)
	spread := float64(squares) - float64(sum)*(float64(sum)/m)
	return math.Sqrt(max(spread, 0) / (m * (m - 1)))
}
