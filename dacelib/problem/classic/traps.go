package classic

import (
	"fmt"
	"math/bits"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// blocks is a sum over blocks of bits of a table by the number of ones. A bit may be
// in several blocks, once in each.
type blocks struct {
	d      int
	blocks []block
	in     [][]int32 // the blocks of each bit
}

type block struct {
	mask  []uint64 // words first to first+len(mask)-1 of a row
	first int
	table []float64
}

// add adds a block of bits.
func (f *blocks) add(at []int, table []float64) {
	if f.in == nil {
		f.in = make([][]int32, f.d)
	}
	b := block{table: table, first: at[0] >> 6}
	last := b.first
	for _, j := range at {
		b.first, last = min(b.first, j>>6), max(last, j>>6)
	}
	b.mask = make([]uint64, last-b.first+1)
	for _, j := range at {
		b.mask[j>>6-b.first] |= 1 << (j & 63)
		f.in[j] = append(f.in[j], int32(len(f.blocks)))
	}
	f.blocks = append(f.blocks, b)
}

func (b *block) ones(row []uint64) int {
	n := 0
	for i, m := range b.mask {
		n += bits.OnesCount64(row[b.first+i] & m)
	}
	return n
}

func (f *blocks) value(row []uint64) float64 {
	sum := 0.0
	for i := range f.blocks {
		b := &f.blocks[i]
		sum += b.table[b.ones(row)]
	}
	return sum
}

func (f *blocks) walk() problem.Walk {
	return &blocksWalk{f: f, state: state{row: make([]uint64, problem.Stride(f.d))}, ones: make([]int, len(f.blocks))}
}

// blocksWalk knows the number of ones of every block.
type blocksWalk struct {
	state
	f     *blocks
	ones  []int
	flips int
}

func (w *blocksWalk) Start(row []uint64) float64 {
	copy(w.row, row)
	w.v, w.flips = 0, 0
	for i := range w.f.blocks {
		w.ones[i] = w.f.blocks[i].ones(w.row)
		w.v += w.f.blocks[i].table[w.ones[i]]
	}
	return w.v
}

func (w *blocksWalk) Peek(j int) float64 {
	change, s := 0.0, 1-2*bit(w.row, j)
	for _, i := range w.f.in[j] {
		t := w.f.blocks[i].table
		change += t[w.ones[i]+s] - t[w.ones[i]]
	}
	return w.v + change
}

func (w *blocksWalk) PeekAll(dst []float64) { peekAll(w, dst[:w.f.d]) }

func (w *blocksWalk) Flip(j int) float64 {
	v, s := w.Peek(j), 1-2*bit(w.row, j)
	w.row[j>>6] ^= 1 << (j & 63)
	if w.flips++; w.flips == fresh {
		return w.Start(w.row)
	}
	for _, i := range w.f.in[j] {
		w.ones[i] += s
	}
	w.v = v
	return v
}

// trapData is a concatenation of traps.
type trapData struct {
	Dim  int   `json:"dim"`
	Size int   `json:"size"`
	From []int `json:"from,omitempty"`
}

// Traps returns the concatenation of deceptive traps of the given size over d bits
// (Deb and Goldberg 1993): a block of k bits with u ones has the value k if u = k,
// and else k - 1 - u, which leads away from the optimum d, at the ones. The last
// block is shorter if size does not divide d. A nil from takes the bits in their
// order; otherwise bit i of the first definition is x_{from[i]}, so that blocks are
// scattered.
func Traps(name string, d, size int, from []int) (*Instance, error) {
	return (&trapData{d, size, append([]int(nil), from...)}).instance(name)
}

func (t *trapData) instance(name string) (*Instance, error) {
	if err := checkDim("traps", t.Dim, 1, mostBits); err != nil {
		return nil, err
	}
	if t.Size < 1 || t.Size > t.Dim {
		return nil, fmt.Errorf("classic: traps of size %d in %d bits", t.Size, t.Dim)
	}
	from := t.From
	if from == nil {
		for i := range t.Dim {
			from = append(from, i)
		}
	}
	if err := permutation(from, t.Dim); err != nil {
		return nil, err
	}
	f := &blocks{d: t.Dim}
	for i := 0; i < t.Dim; i += t.Size {
		k := min(t.Size, t.Dim-i)
		table := make([]float64, k+1)
		for u := range k {
			table[u] = float64(k - 1 - u)
		}
		table[k] = float64(k)
		f.add(from[i:i+k], table)
	}
	return newInstance(name, t.Dim, f, "traps", t).known(float64(t.Dim)), nil
}

// RandomTraps draws traps of five bits, in an order drawn at random.
func RandomTraps(seed uint64, d int) (*Instance, error) {
	if err := checkDim("traps of five bits", d, 5, mostBits); err != nil {
		return nil, err
	}
	return Traps(fmt.Sprintf("traps-%d/%d", d, seed), d, 5, run.Rand(seed, "traps", d).Perm(d))
}
