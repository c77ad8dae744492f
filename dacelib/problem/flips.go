package problem

// Flips is a problem that computes the change of a value by the flip of one bit
// faster than a value anew, as local searches ask for it. Ask for it by
// [WalkOf], which looks through [Named], [Negated], [Parallel] and
// [WithOptimum].
//
// A value that a walk computes counts as an evaluation, as everywhere in this
// library, whatever it costs: that is how tables of local searches are
// compared. A comparison by time counts nothing.
type Flips interface {
	Problem
	// Walk returns a walk at the solution of zeros. Several walks may be used
	// at once, each by one goroutine.
	Walk() Walk
}

// A Walk is a solution that changes one bit at a time, with its value. Values
// equal those of Evaluate but for rounding: they are equal bit for bit where
// all terms of the value are whole numbers, and within 1e-9 (1 + |f|) for any
// number of flips otherwise.
type Walk interface {
	// Start moves to a solution, a row of [Solutions], which it copies, and
	// returns its value.
	Start(row []uint64) float64
	// Row returns the present solution, which must not be changed. It is valid
	// until the next Start or Flip.
	Row() []uint64
	// Value returns the present solution's value.
	Value() float64
	// Peek returns the value that the solution would have with bit j flipped.
	Peek(j int) float64
	// PeekAll sets dst[j] to Peek(j) for all d bits. It costs less than d calls
	// of Peek.
	PeekAll(dst []float64)
	// Flip flips bit j and returns the new value.
	Flip(j int) float64
}

// WalkOf returns a walk on p if p, or the problem of which it is [Named],
// [Negated], [Parallel] or [WithOptimum], has [Flips].
func WalkOf(p Problem) (w Walk, ok bool) {
	switch p := p.(type) {
	case Flips:
		return p.Walk(), true
	case named:
		return WalkOf(p.Problem)
	case parallel:
		return WalkOf(p.Problem)
	case withOptimum:
		return WalkOf(p.Problem)
	case negated:
		if w, ok := WalkOf(p.Problem); ok {
			return negatedWalk{w}, true
		}
	}
	return nil, false
}

type negatedWalk struct{ Walk }

func (w negatedWalk) Start(row []uint64) float64 { return -w.Walk.Start(row) }
func (w negatedWalk) Value() float64             { return -w.Walk.Value() }
func (w negatedWalk) Peek(j int) float64         { return -w.Walk.Peek(j) }
func (w negatedWalk) Flip(j int) float64         { return -w.Walk.Flip(j) }

func (w negatedWalk) PeekAll(dst []float64) {
	w.Walk.PeekAll(dst)
	for j := range dst {
		dst[j] = -dst[j]
	}
}
