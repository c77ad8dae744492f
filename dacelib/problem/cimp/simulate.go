package cimp

import "fmt"

// A Spread records how both items spread in one world.
type Spread struct {
	// Item and Other hold, for each node of the network, the level at which it
	// adopted the item and the other item: 0 for seeds, -1 if it did not adopt.
	Item, Other []int
}

// Adopters returns the number of nodes that adopted the item.
func (s Spread) Adopters() int {
	n := 0
	for _, level := range s.Item {
		if level >= 0 {
			n++
		}
	}
	return n
}

// Simulate lets both items spread in the given world, 0 to Worlds-1, step by
// step. Evaluate returns the mean of Adopters over all worlds.
func (p *Instance) Simulate(x []bool, world int) (Spread, error) {
	if len(x) != p.Dim() {
		return Spread{}, fmt.Errorf("cimp: instance %q: got a solution of dimension %d, want %d", p.Name(), len(x), p.Dim())
	}
	if world < 0 || world >= p.data.Worlds {
		return Spread{}, fmt.Errorf("cimp: instance %q: there is no world %d; there are 0 to %d", p.Name(), world, p.data.Worlds-1)
	}
	var seeds []int32
	for i, v := range p.data.Candidates {
		if x[i] && len(seeds) < p.data.K {
			seeds = append(seeds, v)
		}
	}
	o := newChance(p.data.Graph, p.data.GAPs, p.data.Seed, world)
	return simulate(p.data.Graph.Nodes(), o, seeds, p.data.Others), nil
}

// simulate defines the model directly, node by node.
func simulate(n int, o outcome, seeds, others []int32) Spread {
	const (
		idle = iota
		suspended
		adopted
	)
	s := Spread{make([]int, n), make([]int, n)}
	item, other := make([]uint8, n), make([]uint8, n)
	for v := range n {
		s.Item[v], s.Other[v] = -1, -1
	}
	level := 0
	var informed, informedOther []int32 // at the next level
	adopt := func(v int32) {
		item[v], s.Item[v] = adopted, level
		informed = o.live(v, informed)
	}
	adoptOther := func(v int32) {
		other[v], s.Other[v] = adopted, level
		informedOther = o.live(v, informedOther)
	}
	for _, v := range seeds {
		adopt(v)
	}
	for _, v := range others {
		adoptOther(v)
	}
	for len(informed)+len(informedOther) > 0 {
		level++
		now, nowOther := informed, informedOther
		informed, informedOther = nil, nil
		for _, v := range now {
			if item[v] != idle {
				continue
			}
			c, need := o.class(v), itemAlone
			if other[v] == adopted {
				need = itemWith
			}
			if c&need == 0 {
				item[v] = suspended
				continue
			}
			adopt(v)
			if other[v] == suspended && c&otherWith != 0 {
				adoptOther(v)
			}
		}
		for _, v := range nowOther {
			if other[v] != idle {
				continue
			}
			c, need := o.class(v), otherAlone
			if item[v] == adopted {
				need = otherWith
			}
			if c&need == 0 {
				other[v] = suspended
				continue
			}
			adoptOther(v)
			if item[v] == suspended && c&itemWith != 0 {
				adopt(v)
			}
		}
	}
	return s
}
