// Package run holds what every long computation of dacelib shares: the events
// that report progress, the status a run ends with, and the random streams
// that make its result independent of the number of workers.
//
// Start with [Rand]: a run takes one Seed in its settings and gives every
// purpose and every index a stream of its own.
package run

import (
	"math/rand/v2"
)

// An Event is a report of progress. It is a value: a receiver may keep it.
// Events of one run arrive one at a time, in order; how often to show them is
// the receiver's business.
type Event struct {
	// Stage names what is going on: "train", "pgpe", "round 2: mining".
	Stage string
	// Step of Total are done. Total is 0 where the end is not known.
	Step, Total int
	// Value is the stage's figure of merit (a loss, a best value); Best is
	// the best so far. NaN where there is none.
	Value, Best float64
	// Detail is a short text for a person, possibly empty.
	Detail string
}

// A Status says why a run ended. It is not an error: a spent budget is a
// normal end.
type Status int

const (
	// NotRun is the zero value: nothing has been done.
	NotRun Status = iota
	// BudgetSpent: all evaluations, trials or iterations were used.
	BudgetSpent
	// Converged: the method's own stopping rule fired.
	Converged
	// TargetReached: a known optimum or a wanted value was found.
	TargetReached
	// Cancelled: the context ended first; the result is the best so far.
	Cancelled
)

// String returns the status in words.
func (s Status) String() string {
	switch s {
	case NotRun:
		return "not run"
	case BudgetSpent:
		return "budget spent"
	case Converged:
		return "converged"
	case TargetReached:
		return "target reached"
	case Cancelled:
		return "cancelled"
	}
	return "unknown status"
}

// Seed derives the seed of a purpose and its indices from a run's seed. Equal
// arguments give equal seeds; different ones give unrelated seeds.
func Seed(seed uint64, purpose string, index ...int) uint64 {
	h := mix(seed ^ 0x9e3779b97f4a7c15)
	for i := 0; i < len(purpose); i++ {
		h = mix(h ^ uint64(purpose[i]))
	}
	h = mix(h ^ uint64(len(purpose))<<32)
	for _, k := range index {
		h = mix(h ^ uint64(k))
	}
	return h
}

// Rand returns the random stream of a purpose and its indices: a PCG seeded
// by [Seed]. Two streams with different arguments are independent, so work
// may be cut among workers in any way without changing a result.
func Rand(seed uint64, purpose string, index ...int) *rand.Rand {
	s := Seed(seed, purpose, index...)
	return rand.New(rand.NewPCG(s, mix(s^0xda942042e4dd58b5)))
}

// mix is the finaliser of SplitMix64.
func mix(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
