package farm

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Restorer is a [Transport] that can store a blob again that was lost or
// damaged.
type Restorer interface {
	Restore(ctx context.Context, blob []byte) error
}

// A Dropper is a [Transport] that can remove results.
type Dropper interface {
	Drop(keys []string)
}

// A Dismisser is a [Transport] that can end a worker.
type Dismisser interface {
	Dismiss(worker, why string)
}

// mostKept bounds the bytes of blobs that a process keeps to store them again.
const mostKept = 256 << 20

// mostHealed is how often a blob is stored again for a message.
const mostHealed = 5

// kept are the last blobs that a process has put.
type kept struct {
	blobs map[string][]byte
	order []string // their keys, the oldest first
	bytes int      // of those that are kept
	sent  int64    // of all that were sent
	known map[string]bool
}

// Keep records a blob that this process puts, and keeps it, to store it again if
// the farm loses it. It refuses a blob for which [Policy.Disk] has no room.
func (d *Dispatcher) Keep(key string, blob []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	b := &d.blobs
	if b.known[key] {
		return nil
	}
	n := int64(len(blob))
	if most := d.policy.Disk; most > 0 && b.sent+n > most {
		return fmt.Errorf("farm: a blob of %d bytes has no room in the %d bytes that this process may use in the farm, of which its blobs use %d: a larger Settings.Disk, or fewer or smaller instances", n, most, b.sent)
	}
	if b.known == nil {
		b.known, b.blobs = map[string]bool{}, map[string][]byte{}
	}
	b.known[key] = true
	b.sent += n
	if len(blob) > mostKept/4 {
		return nil
	}
	b.blobs[key] = blob
	b.order = append(b.order, key)
	for b.bytes += len(blob); b.bytes > mostKept; b.order = b.order[1:] {
		b.bytes -= len(b.blobs[b.order[0]])
		delete(b.blobs, b.order[0])
	}
	return nil
}

// heal stores a blob again, if this process has it.
func (d *Dispatcher) heal(ctx context.Context, key string) (bool, error) {
	d.mu.Lock()
	blob, ok := d.blobs.blobs[key]
	d.mu.Unlock()
	r, can := d.t.(Restorer)
	if !ok || !can {
		return false, nil
	}
	d.Note("the farm has lost the blob %.12s; it is stored again", key)
	return true, r.Restore(ctx, blob)
}

// A storedResult is a result that the farm keeps for this process.
type storedResult struct {
	key, worker string
	bytes       int64
}

// mostStored bounds the results that are remembered where no limit of disk asks
// for all.
const mostStored = 100_000

// keepWithin records a result, and removes the oldest that have no room.
func (d *Dispatcher) keepWithin(r Result) {
	d.mu.Lock()
	d.stored = append(d.stored, storedResult{r.Key, r.Worker, int64(len(r.Data))})
	d.used += int64(len(r.Data))
	most := d.policy.Disk
	var keys []string
	for len(d.stored) > 1 && (most > 0 && d.used+d.blobs.sent > most || most <= 0 && len(d.stored) > mostStored) {
		if most > 0 {
			keys = append(keys, d.stored[0].key)
			d.used -= d.stored[0].bytes
		}
		d.stored = d.stored[1:]
	}
	d.mu.Unlock()
	d.drop(keys)
}

func (d *Dispatcher) drop(keys []string) {
	if t, ok := d.t.(Dropper); ok && len(keys) > 0 {
		t.Drop(keys)
	}
}

// A peer is another caller, as it was when it was heard of.
type peer struct {
	Caller
	seen time.Time
}

// PeerEvery is how often callers show themselves, peerSilent how long one may be
// silent before others stop waiting for it.
const (
	PeerEvery  = 2 * time.Second
	peerSilent = 20 * time.Second
)

// Peer reports the state of another caller.
func (d *Dispatcher) Peer(c Caller) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.Name == d.caller {
		return
	}
	d.peers[c.Name] = peer{c, time.Now()}
	for name, p := range d.peers {
		if time.Since(p.seen) > peerSilent {
			delete(d.peers, name)
		}
	}
}

// wants reports whether units wait that workers could compute. The caller holds
// d.mu.
func (d *Dispatcher) wants() bool {
	if d.counts.Waiting <= 0 {
		return false
	}
	for _, w := range d.workers {
		for _, s := range d.stages {
			for _, class := range w.classes {
				if class == s.class {
					return true
				}
			}
		}
	}
	return false
}

// yields reports whether a caller of a higher priority has units that wait; what
// is queued is then taken back.
func (d *Dispatcher) yields(c *call) bool {
	higher := ""
	d.mu.Lock()
	for _, p := range d.peers {
		if p.Priority > d.policy.Priority && p.Wants && p.Build == Self().Build && time.Since(p.seen) <= peerSilent {
			higher = p.who()
		}
	}
	d.mu.Unlock()
	if higher == "" {
		return false
	}
	d.Note("units wait for those of %s, whose priority is higher", higher)
	var back []Message
	var waiting []*sent
	for _, m := range c.sent {
		if m.worker == "" && m.to == "" && !m.running {
			back, waiting = append(back, m.Message), append(waiting, m)
		}
	}
	for _, m := range waiting {
		d.unsend(c, m)
	}
	if len(back) > 0 {
		c.order = append(waiting, c.order...)
		d.t.Withdraw(back)
	}
	return true
}

// Working reports whether a call has not ended.
func (d *Dispatcher) Working() bool { return len(d.present()) > 0 }

// Cancel ends the calls of this process; why says who wants it.
func (d *Dispatcher) Cancel(why string) {
	for _, c := range d.present() {
		c.tell(event{cancel: why})
	}
}

// who names a caller for a person.
func (c Caller) who() string {
	text := fmt.Sprintf("process %d on %s", c.Process, c.Host)
	if c.User != "" {
		text = c.User + ", " + text
	}
	if c.Title != "" {
		text += " (" + c.Title + ")"
	}
	return text
}

// Who names this process for others.
func Who() string {
	c := Caller{Process: os.Getpid(), User: user(), Title: title()}
	c.Host, _ = os.Hostname()
	return c.who()
}

// user returns the name of the user who runs this process.
func user() string {
	for _, name := range []string{"USER", "LOGNAME"} {
		if u := os.Getenv(name); u != "" {
			return u
		}
	}
	return ""
}

// title says what this process is: the notebook, or the command line.
func title() string {
	if n := os.Getenv("JPY_SESSION_NAME"); n != "" {
		return n
	}
	args := append([]string{filepath.Base(os.Args[0])}, os.Args[1:]...)
	text := []rune(strings.Join(args, " "))
	return string(text[:min(80, len(text))])
}
