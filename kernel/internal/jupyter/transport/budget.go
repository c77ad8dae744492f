package transport

import (
	"errors"
	"sync"
	"time"
)

// A budget bounds the memory of incoming messages over all sockets: of
// messages being read and of those waiting to be received. When it is used up,
// the untrusted connection that holds the most memory is closed; trusted
// clients (see guard.isTrusted) wait until memory is released.
type budget struct {
	max int64

	mu      sync.Mutex // guards used and reading
	used    int64
	reading map[*peer]int64 // the part of used that incomplete messages hold, by connection
	freed   *sync.Cond
}

// errMemory is why a connection is closed when the budget has no room for its
// message.
var errMemory = errors.New("no memory left for its message")

// newBudget returns a budget of at most max bytes.
func newBudget(max int64) *budget {
	b := &budget{max: max, reading: make(map[*peer]int64)}
	b.freed = sync.NewCond(&b.mu)
	return b
}

// acquire reserves n more bytes for the message that p is reading. If the budget
// is exhausted it closes the untrusted connections that hold the most, and fails
// if p is the next of these. If there are none left, p is trusted, and waits for
// at most patience.
func (b *budget) acquire(p *peer, n int64, patience time.Duration) error {
	var victims []*peer
	defer func() {
		for _, v := range victims {
			v.close(errMemory)
		}
	}()
	b.mu.Lock()
	defer b.mu.Unlock()
	deadline := time.Now().Add(patience)
	for b.used+n > b.max {
		if victim := b.hog(p, n); victim != nil && victim != p {
			b.forget(victim)
			victims = append(victims, victim)
			continue
		} else if victim == p {
			return errMemory
		}
		left := time.Until(deadline)
		if left <= 0 || p.closed.Load() {
			return errMemory
		}
		timer := time.AfterFunc(left, func() {
			b.mu.Lock()
			b.freed.Broadcast()
			b.mu.Unlock()
		})
		b.freed.Wait()
		timer.Stop()
	}
	b.used += n
	b.reading[p] += n
	return nil
}

// hog returns the untrusted connection that would hold the most memory if p
// had n more bytes, or nil if there is none.
func (b *budget) hog(p *peer, n int64) *peer {
	var hog *peer
	var most int64
	if !p.trusted.Load() {
		hog, most = p, b.reading[p]+n
	}
	for q, held := range b.reading {
		if held > most && !q.trusted.Load() {
			hog, most = q, held
		}
	}
	return hog
}

// finish records that p has read its message completely; the message counts as
// size bytes until release.
func (b *budget) finish(p *peer, size int64) {
	b.mu.Lock()
	b.used += size - b.reading[p]
	delete(b.reading, p)
	b.mu.Unlock()
	b.freed.Broadcast()
}

// drop releases the memory held by the message that p was reading.
func (b *budget) drop(p *peer) {
	b.mu.Lock()
	b.forget(p)
	b.mu.Unlock()
}

// forget does the work of drop; b.mu must be held.
func (b *budget) forget(p *peer) {
	b.used -= b.reading[p]
	delete(b.reading, p)
	b.freed.Broadcast()
}

// release returns the size bytes of a finished message to the budget.
func (b *budget) release(size int64) {
	b.mu.Lock()
	b.used -= size
	b.mu.Unlock()
	b.freed.Broadcast()
}
