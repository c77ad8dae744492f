// Package run holds what all long computations of dacelib share: progress
// events, the status with which a run ends, and random streams that make
// results independent of the number of workers.
//
// Start with [Rand]: a run takes one Seed in its settings and gives every
// purpose and every index a stream of its own.
package run

import (
	"math/rand/v2"
)

// An Event is a report of progress. It is a value, which a receiver may keep.
// Events of one run arrive one at a time, in order; the receiver decides how
// often to show them.
type Event struct {
	// Stage names the current stage of the run: "train", "pgpe", "round 2:
	// mining".
	Stage string
	// Step is the number of steps done, of Total steps. Total is 0 if it is not
	// known.
	Step, Total int
	// Value is the stage's figure of merit (a loss, a best value), Best the
	// best of it so far. Both are NaN if there is none.
	Value, Best float64
	// Detail is a short text for people; it may be empty.
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
	// TargetReached: a known optimum or the requested value was found.
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

// Seed derives a seed from a run's seed, a purpose and indices. Equal arguments
// give equal seeds, different ones unrelated seeds.
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

// Rand returns the random stream of a purpose and its indices: a PCG seeded by
// [Seed]. Streams with different arguments are independent, so work may be
// divided among workers in any way without changing a result.
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
