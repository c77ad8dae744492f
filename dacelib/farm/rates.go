package farm

import "sync"

// Rates estimates how long the items of each kind of work take. Its zero value
// is ready to use. Pools embed it.
type Rates struct {
	mu   sync.Mutex // guards the fields below
	of   map[string]float64
	slow map[string]slowest
}

// slowest is the most seconds that an item of a kind has taken, and the number of
// units of the kind.
type slowest struct {
	seconds float64
	units   int
}

// Rate returns the seconds that an item of the kind takes; 0 if unknown.
func (r *Rates) Rate(kind string) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.of[kind]
}

// Observe records that a unit of the kind took some seconds for its items.
func (r *Rates) Observe(kind string, items int, seconds float64) {
	if seconds <= 0 || items < 1 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.of == nil {
		r.of = map[string]float64{}
	}
	per := seconds / float64(items)
	if r.slow == nil {
		r.slow = map[string]slowest{}
	}
	r.slow[kind] = slowest{max(r.slow[kind].seconds, per), r.slow[kind].units + 1}
	if old := r.of[kind]; old > 0 {
		per = 0.8*old + 0.2*per
	}
	r.of[kind] = per
}

const (
	limitUnits = 3   // units of a kind whose time must be known before others have a limit
	limitTimes = 20  // the limit in units of the slowest so far: machines differ, and may be busy
	limitLeast = 300 // the least limit in seconds
)

// Limit returns the seconds after which a unit of the kind with some items is
// taken to hang: 20 times what the slowest item took so far, and at least five
// minutes; 0 if fewer than three units of the kind are known.
func (r *Rates) Limit(kind string, items int) float64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.slow[kind]
	if s.units < limitUnits {
		return 0
	}
	return max(limitLeast, limitTimes*s.seconds*float64(items))
}
