package cimp

import (
	_ "embed"
	"fmt"
	"strconv"
	"strings"

	"dace.local/dacelib/run"
)

// degrees holds the degrees of wiki-Vote's nodes.
//
//go:embed degrees.txt
var degrees string

// GenerateNetwork draws a network of 7,115 nodes and 103,689 directed edges in
// which each pair of indegree and outdegree occurs as often as in wiki-Vote,
// and which is uniform otherwise (a configuration model, whose loops and
// repeated edges are removed by swaps). [GeneratedNetwork] is the network of
// seed 1.
func GenerateNetwork(seed uint64) (*Graph, error) {
	in, out, err := readDegrees(degrees)
	if err != nil {
		return nil, err
	}
	rng := run.Rand(seed, "cimp network")
	// The assignment of degrees to nodes is random too, so that ids carry no
	// information.
	rng.Shuffle(len(in), func(i, j int) {
		in[i], in[j] = in[j], in[i]
		out[i], out[j] = out[j], out[i]
	})
	var from, to []int32
	for v := range in {
		for range out[v] {
			from = append(from, int32(v))
		}
		for range in[v] {
			to = append(to, int32(v))
		}
	}
	rng.Shuffle(len(to), func(i, j int) { to[i], to[j] = to[j], to[i] })
	edges := make([][2]int32, len(from))
	count := make(map[[2]int32]int, len(from))
	for i := range edges {
		edges[i] = [2]int32{from[i], to[i]}
		count[edges[i]]++
	}
	bad := func(e [2]int32) bool { return e[0] == e[1] || count[e] > 1 }
	for i := range edges {
		for bad(edges[i]) {
			j := rng.IntN(len(edges))
			a, b := edges[i], edges[j]
			c, d := [2]int32{a[0], b[1]}, [2]int32{b[0], a[1]}
			if c == d || c[0] == c[1] || d[0] == d[1] || count[c] > 0 || count[d] > 0 {
				continue
			}
			count[a]--
			count[b]--
			count[c]++
			count[d]++
			edges[i], edges[j] = c, d
		}
	}
	return NewGraph(len(in), edges)
}

// readDegrees reads lines of the form "indegree: outdegree outdegreexcount
// ...".
func readDegrees(text string) (in, out []int, err error) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		head, rest, _ := strings.Cut(line, ":")
		a, err := strconv.Atoi(head)
		if err != nil {
			return nil, nil, fmt.Errorf("cimp: degrees: %w", err)
		}
		for _, f := range strings.Fields(rest) {
			degree, times, many := strings.Cut(f, "x")
			b, err := strconv.Atoi(degree)
			n := 1
			if err == nil && many {
				n, err = strconv.Atoi(times)
			}
			if err != nil {
				return nil, nil, fmt.Errorf("cimp: degrees: %w", err)
			}
			for range n {
				in, out = append(in, a), append(out, b)
			}
		}
	}
	return in, out, nil
}
