package transport

import (
	"errors"
	"sync"
	"time"
)

// A budget is the memory of incoming messages, shared by all sockets: of those
// being read, and of those that wait to be received. When it is used up, the
// connection goes that reads the most and has not proved to know the key;
// clients that have wait for their turn.
type budget struct {
	max int64

	mu      sync.Mutex
	used    int64
	reading map[*peer]int64 // what of used is of incomplete messages
	freed   *sync.Cond
}

// errMemory ends a connection that the memory is not enough for.
var errMemory = errors.New("no memory left for its message")

// newBudget returns a budget of max bytes.
func newBudget(max int64) *budget {
	b := &budget{max: max, reading: make(map[*peer]int64)}
	b.freed = sync.NewCond(&b.mu)
	return b
}

// acquire takes n more bytes for the message that p is reading, possibly at
// the cost of another connection; a trusted p waits for at most patience.
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

// hog returns the untrusted connection that would hold the most if p had n
// more bytes, nil if there is none.
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

// finish says that the message that p was reading is complete and takes size
// bytes until release.
func (b *budget) finish(p *peer, size int64) {
	b.mu.Lock()
	b.used += size - b.reading[p]
	delete(b.reading, p)
	b.mu.Unlock()
	b.freed.Broadcast()
}

// drop gives back what the message that p was reading has taken.
func (b *budget) drop(p *peer) {
	b.mu.Lock()
	b.forget(p)
	b.mu.Unlock()
}

// forget is drop, with b.mu held.
func (b *budget) forget(p *peer) {
	b.used -= b.reading[p]
	delete(b.reading, p)
	b.freed.Broadcast()
}

// release gives back the size bytes of a finished message.
func (b *budget) release(size int64) {
	b.mu.Lock()
	b.used -= size
	b.mu.Unlock()
	b.freed.Broadcast()
}
