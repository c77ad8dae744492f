package cimp

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"

	"dace.local/dacelib/problem/cimp/snap"
)

// A Graph is a social network: nodes 0 to n-1 and directed edges with influence
// probabilities. It is immutable and safe for use by several goroutines.
type Graph struct {
	network string
	start   []int32  // the edges of u are start[u] to start[u+1]-1
	head    []int32  // the end of each edge, ascending for each u
	coin    []uint32 // an edge is live with probability (coin+1) / 2^32
	uneven  []float64
	ids     []int64
}

// maxNodes is the largest number of nodes, so that a wrong number in a file
// causes an error instead of exhausting memory.
const maxNodes = 1 << 24

// NewGraph returns the network of n nodes with the given directed edges (u, v)
// and the probabilities of weighted cascade: 1/indegree(v). Loops and repeated
// edges are dropped.
func NewGraph(n int, edges [][2]int32) (*Graph, error) { return newGraph(n, edges, nil) }

// NewUndirectedGraph is NewGraph with both directions of every edge.
func NewUndirectedGraph(n int, edges [][2]int32) (*Graph, error) {
	both := make([][2]int32, 0, 2*len(edges))
	for _, e := range edges {
		both = append(both, e, [2]int32{e[1], e[0]})
	}
	return newGraph(n, both, nil)
}

// NewGraphProbabilities returns the network of n nodes with the given directed
// edges (u, v) and, for each edge, the probability in (0,1] that u informs v.
// Loops are dropped; a repeated edge is an error.
func NewGraphProbabilities(n int, edges [][2]int32, p []float64) (*Graph, error) {
	if len(p) != len(edges) {
		return nil, fmt.Errorf("cimp: %d probabilities for %d edges", len(p), len(edges))
	}
	for i, p := range p {
		if !(0 < p && p <= 1) {
			return nil, fmt.Errorf("cimp: the probability %v of edge %d (%d to %d) is not in (0,1]", p, i, edges[i][0], edges[i][1])
		}
	}
	if p == nil {
		p = []float64{}
	}
	return newGraph(n, edges, p)
}

func newGraph(n int, edges [][2]int32, p []float64) (*Graph, error) {
	if n < 1 || n > maxNodes {
		return nil, fmt.Errorf("cimp: a network of %d nodes; between 1 and %d are possible", n, maxNodes)
	}
	order := make([]int32, 0, len(edges))
	for i, e := range edges {
		for _, v := range e {
			if v < 0 || int(v) >= n {
				return nil, fmt.Errorf("cimp: edge %d leads from %d to %d, but the nodes are 0 to %d", i, e[0], e[1], n-1)
			}
		}
		if e[0] != e[1] {
			order = append(order, int32(i))
		}
	}
	slices.SortFunc(order, func(i, j int32) int {
		a, b := edges[i], edges[j]
		return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1]))
	})
	g := &Graph{start: make([]int32, n+1)}
	indegree := make([]uint64, n)
	for k, i := range order {
		e := edges[i]
		if k > 0 && e == edges[order[k-1]] {
			if p != nil {
				return nil, fmt.Errorf("cimp: two edges lead from %d to %d", e[0], e[1])
			}
			continue
		}
		g.start[e[0]+1]++
		g.head = append(g.head, e[1])
		indegree[e[1]]++
		if p != nil {
			g.uneven = append(g.uneven, p[i])
			g.coin = append(g.coin, uint32(max(math.Round(p[i]*(1<<32)), 1)-1))
		}
	}
	for u := range n {
		g.start[u+1] += g.start[u]
	}
	if p == nil {
		g.coin = make([]uint32, len(g.head))
		for k, v := range g.head {
			g.coin[k] = uint32(1<<32/indegree[v] - 1)
		}
	}
	return g, nil
}

// FromEdgeList returns the network of an edge list, with the probabilities of
// weighted cascade. If undirected is true, each line stands for both
// directions.
func FromEdgeList(l *snap.EdgeList, undirected bool) (*Graph, error) {
	f := NewGraph
	if undirected {
		f = NewUndirectedGraph
	}
	g, err := f(len(l.IDs), l.Edges)
	if err != nil {
		return nil, err
	}
	g.ids = slices.Clone(l.IDs)
	return g, nil
}

// Nodes returns the number of nodes n.
func (g *Graph) Nodes() int { return len(g.start) - 1 }

// Edges returns the number of directed edges.
func (g *Graph) Edges() int { return len(g.head) }

// Network returns the name by which [Network] knows the graph; it is empty for
// a user's own graph.
func (g *Graph) Network() string { return g.network }

// ID returns the id that node v has in the file from which the network was
// read, or v itself if there was no file.
func (g *Graph) ID(v int) int64 {
	if g.ids == nil {
		return int64(v)
	}
	return g.ids[v]
}

// Successors returns copies of the list of nodes that v may inform, ascending,
// and of the probabilities with which it informs them.
func (g *Graph) Successors(v int) (nodes []int, probability []float64) {
	for k := g.start[v]; k < g.start[v+1]; k++ {
		nodes = append(nodes, int(g.head[k]))
		probability = append(probability, (float64(g.coin[k])+1)/(1<<32))
	}
	return nodes, probability
}

// graphFile is a graph in JSON: a network's name, or the complete graph.
type graphFile struct {
	Network       string     `json:"network,omitempty"`
	Nodes         int        `json:"nodes,omitempty"`
	Edges         [][2]int32 `json:"edges,omitempty"`
	Probabilities []float64  `json:"probabilities,omitempty"`
	IDs           []int64    `json:"ids,omitempty"`
}

// MarshalJSON writes the name of a graph that [Network] returned, and any
// other graph in full.
func (g *Graph) MarshalJSON() ([]byte, error) {
	f := graphFile{Network: g.network}
	if f.Network == "" {
		f.Nodes = g.Nodes()
		f.Probabilities = g.uneven
		f.IDs = g.ids
		for u := range g.Nodes() {
			for _, v := range g.head[g.start[u]:g.start[u+1]] {
				f.Edges = append(f.Edges, [2]int32{int32(u), v})
			}
		}
	}
	return json.Marshal(f)
}

// UnmarshalJSON decodes a graph encoded by MarshalJSON. A graph encoded by name
// becomes the one that [Network] returns.
func (g *Graph) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		return nil
	}
	var f graphFile
	if err := json.Unmarshal(b, &f); err != nil {
		return err
	}
	var (
		read *Graph
		err  error
	)
	switch {
	case f.Network != "":
		read, err = Network(f.Network)
	case f.Probabilities != nil:
		read, err = NewGraphProbabilities(f.Nodes, f.Edges, f.Probabilities)
	default:
		read, err = NewGraph(f.Nodes, f.Edges)
	}
	if err != nil {
		return err
	}
	*g = *read
	if f.Network != "" || f.IDs == nil {
		return nil
	}
	if len(f.IDs) != f.Nodes {
		return fmt.Errorf("cimp: %d ids for %d nodes", len(f.IDs), f.Nodes)
	}
	g.ids = f.IDs
	return nil
}

// GeneratedNetwork is the name of the network that needs no download.
const GeneratedNetwork = "generated"

// networks holds the networks in use, which are large and shared by all
// instances. Its mutex guards graphs.
var networks struct {
	sync.Mutex
	graphs map[string]*Graph
}

// Network returns a network by its name: name is "wiki", "facebook" or
// "epinions", the networks of package snap, or [GeneratedNetwork]. If a network
// has not been fetched, the error is a [*snap.MissingError]. Each network is
// read or made once per process.
func Network(name string) (*Graph, error) {
	networks.Lock()
	defer networks.Unlock()
	if g, ok := networks.graphs[name]; ok {
		return g, nil
	}
	g, err := makeNetwork(name)
	if err != nil {
		return nil, err
	}
	g.network = name
	if networks.graphs == nil {
		networks.graphs = map[string]*Graph{}
	}
	networks.graphs[name] = g
	return g, nil
}

func makeNetwork(name string) (*Graph, error) {
	if name == GeneratedNetwork {
		return GenerateNetwork(1)
	}
	d, err := snap.Find(name)
	if err != nil {
		return nil, fmt.Errorf("cimp: %w, and %s", err, GeneratedNetwork)
	}
	l, err := snap.Load(name)
	if err != nil {
		return nil, fmt.Errorf("cimp: %w", err)
	}
	return FromEdgeList(l, !d.Directed)
}
