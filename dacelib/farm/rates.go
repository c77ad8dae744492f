package farm

import "sync"

// Rates estimates how long the items of each kind of work take. Its zero value
// is ready to use. Pools embed it.
type Rates struct {
	mu sync.Mutex // guards of
	of map[string]float64
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
	if old := r.of[kind]; old > 0 {
		per = 0.8*old + 0.2*per
	}
	r.of[kind] = per
}
