// Package classic has the benchmark problems of the field. Their values are cheap,
// and most of them know the change of a value by one flip ([problem.Flips]).
//
// Start with [Class], which draws instances of a problem by its name for a
// construction or a table, or with [PBO], the functions of IOHprofiler by their
// numbers. [QUBO], [MaxCutOf], [MaxSat], [Knapsack], [NK] and others make a problem
// of your own data; [ReadCNF] and [ReadRudy] read files. The problems are not in the
// paper.
package classic

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"sync"

	"dace.local/dacelib/problem"
)

// An Instance is a problem of this package. It is safe for use by several
// goroutines, and is stored as JSON; [Decode] reads it.
type Instance struct {
	name string
	d    int
	f    function
	move *move // nil: none

	kind string
	data any // what the instance is made of, as JSON

	best func() (float64, bool)
}

// A function is what is maximised, before it is moved.
type function interface {
	value(row []uint64) float64
}

// A walker is a function with walks.
type walker interface {
	function
	walk() problem.Walk
}

// exhaustible is the largest dimension of an instance whose optimum is found by
// trying all solutions.
const exhaustible = 20

// newInstance returns an instance. If its optimum is not known, it is found by
// trying all solutions, when it is first asked for, if there are few.
func newInstance(name string, d int, f function, kind string, data any) *Instance {
	p := &Instance{name: name, d: d, f: f, kind: kind, data: data}
	p.best = sync.OnceValues(func() (float64, bool) {
		if p.d > exhaustible {
			return 0, false
		}
		return p.exhaust(), true
	})
	return p
}

// known sets the optimum, of the function before it is moved.
func (p *Instance) known(optimum float64) *Instance {
	p.best = func() (float64, bool) { return p.move.out(optimum), true }
	return p
}

// exhaust returns the largest value, by a walk in the order of a Gray code if there
// is one.
func (p *Instance) exhaust() float64 {
	w := p.Walk()
	row := []uint64{0}
	best := p.value(row, make([]uint64, 1))
	for k := uint64(1); k < 1<<p.d; k++ {
		j := bits.TrailingZeros64(k)
		row[0] ^= 1 << j
		// A walk may differ from value by rounding.
		if v := w.Flip(j); v > best-1e-9 {
			best = max(best, p.value(row, make([]uint64, 1)))
		}
	}
	return best
}

// value returns the value of a row; room is as long as it.
func (p *Instance) value(row, room []uint64) float64 {
	if p.move == nil {
		return p.f.value(row)
	}
	p.move.in(room, row)
	return p.move.out(p.f.value(room))
}

// Name returns the instance's name.
func (p *Instance) Name() string { return p.name }

// Dim returns d.
func (p *Instance) Dim() int { return p.d }

// Optimum returns the value of an optimal solution. It is known for some problems
// by their structure, and for all others up to 20 bits, where it takes up to a
// second when it is first asked for.
func (p *Instance) Optimum() (value float64, ok bool) { return p.best() }

// Evaluate sets dst[i] = f(x_i).
func (p *Instance) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	if err := problem.CheckBatch(p, dst, x); err != nil {
		return err
	}
	var room []uint64
	if p.move != nil {
		room = make([]uint64, problem.Stride(p.d))
	}
	for i := range x.Len() {
		dst[i] = p.value(x.Row(i), room)
		if i%1024 == 1023 && ctx.Err() != nil {
			break
		}
	}
	return ctx.Err()
}

// Walk returns a walk on p. Where the function has none of its own, every value is
// computed anew.
func (p *Instance) Walk() problem.Walk {
	if f, ok := p.f.(walker); ok {
		w := f.walk()
		if p.move != nil {
			w = &movedWalk{inner: w, move: p.move, row: make([]uint64, problem.Stride(p.d)), room: make([]uint64, problem.Stride(p.d)), peeks: make([]float64, p.d)}
		}
		w.Start(make([]uint64, problem.Stride(p.d)))
		return w
	}
	w := &plainWalk{p: p, room: make([]uint64, problem.Stride(p.d))}
	w.row = make([]uint64, problem.Stride(p.d))
	w.v = p.value(w.row, w.room)
	return w
}

// state is the part of a walk that all have.
type state struct {
	row []uint64
	v   float64
}

func (s *state) Row() []uint64  { return s.row }
func (s *state) Value() float64 { return s.v }

// peekAll is PeekAll by Peek.
func peekAll(w problem.Walk, dst []float64) {
	for j := range dst {
		dst[j] = w.Peek(j)
	}
}

// plainWalk computes every value anew.
type plainWalk struct {
	state
	p    *Instance
	room []uint64
}

func (w *plainWalk) Start(row []uint64) float64 {
	copy(w.row, row)
	w.v = w.p.value(w.row, w.room)
	return w.v
}

func (w *plainWalk) Peek(j int) float64 {
	w.row[j>>6] ^= 1 << (j & 63)
	v := w.p.value(w.row, w.room)
	w.row[j>>6] ^= 1 << (j & 63)
	return v
}

func (w *plainWalk) PeekAll(dst []float64) { peekAll(w, dst[:w.p.d]) }

func (w *plainWalk) Flip(j int) float64 {
	w.row[j>>6] ^= 1 << (j & 63)
	w.v = w.p.value(w.row, w.room)
	return w.v
}

// A move changes solutions before, and values after, a function is applied:
// bit i of what the function sees is x_{from[i]} xor the i-th bit of mask, and the
// value is scale f + shift.
type move struct {
	from         []int    // nil: the order stays
	to           []int    // its inverse
	mask         []uint64 // nil: none
	scale, shift float64
}

func newMove(from []int, mask []uint64, scale, shift float64) *move {
	m := &move{from: from, mask: mask, scale: scale, shift: shift}
	if from != nil {
		m.to = make([]int, len(from))
		for i, j := range from {
			m.to[j] = i
		}
	}
	return m
}

func (m *move) in(dst, row []uint64) {
	if m.from == nil {
		copy(dst, row)
	} else {
		clear(dst)
		for i, j := range m.from {
			dst[i>>6] |= (row[j>>6] >> (j & 63) & 1) << (i & 63)
		}
	}
	for i, w := range m.mask {
		dst[i] ^= w
	}
}

func (m *move) out(v float64) float64 {
	if m == nil {
		return v
	}
	return v*m.scale + m.shift
}

// at returns the bit that the function sees of bit j.
func (m *move) at(j int) int {
	if m.to == nil {
		return j
	}
	return m.to[j]
}

type movedWalk struct {
	inner     problem.Walk
	move      *move
	row, room []uint64
	peeks     []float64
}

func (w *movedWalk) Start(row []uint64) float64 {
	copy(w.row, row)
	w.move.in(w.room, row)
	return w.move.out(w.inner.Start(w.room))
}

func (w *movedWalk) Row() []uint64      { return w.row }
func (w *movedWalk) Value() float64     { return w.move.out(w.inner.Value()) }
func (w *movedWalk) Peek(j int) float64 { return w.move.out(w.inner.Peek(w.move.at(j))) }

func (w *movedWalk) PeekAll(dst []float64) {
	w.inner.PeekAll(w.peeks)
	for j := range w.peeks {
		dst[j] = w.move.out(w.peeks[w.move.at(j)])
	}
}

func (w *movedWalk) Flip(j int) float64 {
	w.row[j>>6] ^= 1 << (j & 63)
	return w.move.out(w.inner.Flip(w.move.at(j)))
}

// bit returns bit j of a row as 0 or 1.
func bit(row []uint64, j int) int { return int(row[j>>6] >> (j & 63) & 1) }

// each calls f with the index of every set bit of a row, in order.
func each(row []uint64, f func(j int)) {
	for i, w := range row {
		for ; w != 0; w &= w - 1 {
			f(i*64 + bits.TrailingZeros64(w))
		}
	}
}

// The largest dimension of an instance, and the largest number of its edges,
// clauses or terms.
const (
	mostBits  = 1 << 20
	mostTerms = 1 << 24
)

func checkDim(what string, d, least, most int) error {
	if d < least || d > most {
		return fmt.Errorf("classic: %s of dimension %d: want %d to %d", what, d, least, most)
	}
	return nil
}

// instanceJSON is an instance as it is stored.
type instanceJSON struct {
	Kind string          `json:"kind"`
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
}

// MarshalJSON encodes the instance with all its data.
func (p *Instance) MarshalJSON() ([]byte, error) {
	data, err := json.Marshal(p.data)
	if err != nil {
		return nil, fmt.Errorf("classic: %w", err)
	}
	return json.Marshal(instanceJSON{p.kind, p.name, data})
}

// A source makes an instance from its data.
type source interface {
	instance(name string) (*Instance, error)
}

// sources holds an empty source of each kind.
var sources = func() map[string]func() source {
	return map[string]func() source{
		"knapsack":       func() source { return new(knapsackData) },
		"qubo":           func() source { return new(quboData) },
		"maxcut":         func() source { return new(cutData) },
		"independentset": func() source { return new(independentData) },
		"ising":          func() source { return new(isingData) },
		"maxsat":         func() source { return new(satData) },
		"nk":             func() source { return new(nkData) },
		"nk ring":        func() source { return new(ringData) },
		"traps":          func() source { return new(trapData) },
		"wmodel":         func() source { return new(wmodelData) },
		"pbo":            func() source { return new(pboData) },
		"moved":          func() source { return new(movedData) },
	}
}()

// Decode reads an instance from its JSON.
func Decode(data []byte) (problem.Problem, error) {
	var j instanceJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return nil, fmt.Errorf("classic: %w", err)
	}
	empty := sources[j.Kind]
	if empty == nil {
		return nil, fmt.Errorf("classic: there is no kind of instance %q", j.Kind)
	}
	s := empty()
	if err := json.Unmarshal(j.Data, s); err != nil {
		return nil, fmt.Errorf("classic: the instance %q: %w", j.Name, err)
	}
	if j.Name == "" {
		return nil, errors.New("classic: an instance without a name")
	}
	p, err := s.instance(j.Name)
	if err != nil {
		return nil, err // not p, a nil *Instance
	}
	return p, nil
}

// movedData is another instance with its bits negated and reordered.
type movedData struct {
	Of   *instanceJSON `json:"of"`
	Mask string        `json:"mask,omitempty"` // d characters 0 or 1
	From []int         `json:"from,omitempty"`
}

func (m *movedData) instance(name string) (*Instance, error) {
	if m.Of == nil || m.Of.Kind == "moved" {
		return nil, errors.New("classic: an instance moved from none, or from one that is moved itself")
	}
	b, err := json.Marshal(m.Of)
	if err != nil {
		return nil, err
	}
	of, err := Decode(b)
	if err != nil {
		return nil, err
	}
	p := of.(*Instance)
	if p.move != nil {
		return nil, fmt.Errorf("classic: the bits of %s are moved already", p.name)
	}
	var mask []uint64
	if m.Mask != "" {
		if len(m.Mask) != p.d {
			return nil, fmt.Errorf("classic: a mask of %d characters for %d bits", len(m.Mask), p.d)
		}
		mask = make([]uint64, problem.Stride(p.d))
		for i, c := range m.Mask {
			switch c {
			case '1':
				mask[i>>6] |= 1 << (i & 63)
			case '0':
			default:
				return nil, fmt.Errorf("classic: the mask %q is not one of 0 and 1", m.Mask)
			}
		}
	}
	if m.From != nil {
		if err := permutation(m.From, p.d); err != nil {
			return nil, err
		}
	}
	q := newInstance(name, p.d, p.f, "moved", m)
	q.move = newMove(m.From, mask, 1, 0)
	q.best = p.best
	return q, nil
}

// permutation returns an error unless from holds 0 to d-1 in some order.
func permutation(from []int, d int) error {
	if len(from) != d {
		return fmt.Errorf("classic: an order of %d of %d bits", len(from), d)
	}
	seen := make([]bool, d)
	for _, j := range from {
		if j < 0 || j >= d || seen[j] {
			return fmt.Errorf("classic: an order that has bit %d twice or not at all", j)
		}
		seen[j] = true
	}
	return nil
}

// Moved returns p with bit i of what it sees being x_{from[i]}, negated where
// mask[i] is true. A nil from keeps the order, a nil mask the bits. The optimum
// stays the same, elsewhere. So one function becomes a class of instances.
func Moved(name string, p *Instance, from []int, mask []bool) (*Instance, error) {
	b, err := p.MarshalJSON()
	if err != nil {
		return nil, err
	}
	m := &movedData{Of: new(instanceJSON), From: append([]int(nil), from...)}
	if err := json.Unmarshal(b, m.Of); err != nil {
		return nil, err
	}
	if mask != nil {
		text := make([]byte, len(mask))
		for i, b := range mask {
			text[i] = '0'
			if b {
				text[i] = '1'
			}
		}
		m.Mask = string(text)
	}
	return m.instance(name)
}
