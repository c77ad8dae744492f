package farm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Policy is how a process has its units computed.
type Policy struct {
	// Verify is the share of units that are computed twice, on different workers,
	// on different machines if there are several. Which units these are depends on
	// their keys alone. If the results differ, a third worker decides, or a fourth,
	// and the error names the worker that is wrong. Below 1 the caller has had results by
	// then, and the call ends with the error; from 1 on a result is used when two
	// workers agree on it, the worker that is wrong gets no more units, and the
	// call goes on. Results that the farm has already are not computed again. The
	// default is 0.
	Verify float64
	// Limit is the longest that a unit may take; 0 means 20 times what units of its
	// kind took so far, and at least five minutes.
	Limit time.Duration
	// Priority decides between callers of a farm: while units of a caller with a
	// higher one wait for workers, others queue nothing. The default is 0.
	Priority int
	// Disk bounds the bytes that this process's blobs and results take in the farm;
	// the oldest results are removed. 0 means no bound.
	Disk int64
}

// Use sets the policy of the calls that follow.
func (d *Dispatcher) Use(p Policy) {
	d.mu.Lock()
	d.policy = p
	d.mu.Unlock()
}

// Policy returns what Use has set.
func (d *Dispatcher) Policy() Policy {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.policy
}

// A Differing is the error of a unit of which workers have found different
// results: a processor or a memory fails, or a kind of work is not
// deterministic.
type Differing struct {
	// Kind and Key identify the unit.
	Kind, Key string
	// Wrong is the worker whose result differs from that of two others, empty if it
	// is not known; Workers are all that have computed the unit.
	Wrong   string
	Workers []string
	// Dropped is the number of results of that worker that were removed from the
	// farm.
	Dropped int
}

// Error names the workers.
func (e *Differing) Error() string {
	if e.Wrong != "" {
		return fmt.Sprintf("farm: worker %s is wrong: its result of the unit %.12s of kind %s differs from that of two other workers (of %s); its processor or memory fails. It gets no more units from this process, and %d results of it were removed from the farm: what used them is to be computed again", e.Wrong, e.Key, e.Kind, strings.Join(e.Workers, ", "), e.Dropped)
	}
	return fmt.Sprintf("farm: workers %s have found different results of the unit %.12s: a processor or a memory of one of them fails, or a kind of work is not deterministic; no result of this farm is to be trusted until it is known which", strings.Join(e.Workers, " and "), e.Key)
}

// sampled reports whether the unit of a key belongs to a share of all.
func sampled(key string, share float64) bool {
	n, err := strconv.ParseUint(key[:min(8, len(key))], 16, 64)
	return share >= 1 || err == nil && float64(n)/(1<<32) < share
}

// checks are the units of a call that are computed twice and not decided.
type checks struct {
	of    map[string]*check // by key
	fresh []string          // keys that are to be computed once more
}

// A check is a unit that is computed twice.
type check struct {
	first *Result
	held  bool // the caller gets the result when two workers agree
	votes []vote
}

// A vote is the checksum that a worker found.
type vote struct{ worker, host, sum string }

func (k *checks) open() bool { return len(k.of) > 0 }

func (k *checks) add(r *Result, held bool) {
	if k.of == nil {
		k.of = map[string]*check{}
	}
	k.of[r.Key] = &check{first: r, held: held, votes: []vote{{r.Worker, r.Host, BlobKey(r.Data)}}}
	k.fresh = append(k.fresh, r.Key)
}

// check has units computed once more, those together that the same workers have
// computed.
func (d *Dispatcher) check(_ context.Context, c *call) error {
	fresh := c.checks.fresh
	c.checks.fresh = nil
	var last *sent
	seconds := 0.0
	for _, key := range fresh {
		k := c.checks.of[key]
		if k == nil {
			continue
		}
		u := c.units[c.index[key][0]]
		not, ok := d.elsewhere(Class(u.Needs), k)
		if !ok {
			switch {
			case len(k.votes) > 1:
				if err := d.conclude(c, key, k, ""); err != nil {
					return err
				}
			case k.held:
				c.checks.fresh = append(c.checks.fresh, key)
				d.Note("units wait to be computed a second time: another worker is needed for Verify")
			default:
				d.Note("a unit of kind %s was not computed twice: there is no other worker for Verify", u.Kind)
				delete(c.checks.of, key)
			}
			continue
		}
		t := d.Rate(u.Kind) * float64(u.Weight())
		if last == nil || last.Units[0].Kind != u.Kind || !slices.Equal(last.Units[0].Needs, u.Needs) || !slices.Equal(last.Not, not) || seconds+t > messageSeconds {
			last, seconds = &sent{Message: Message{Check: true, Not: not}, left: map[string]bool{}}, 0
			c.order = append(c.order, last)
		}
		last.Units = append(last.Units, u)
		last.left[key] = true
		seconds += t
		d.mu.Lock()
		d.counts.Waiting++
		d.mu.Unlock()
	}
	return nil
}

// elsewhere returns the workers that must not compute a unit again: those that
// have, with all of their machines if there are other machines. ok is false if
// nobody else can.
func (d *Dispatcher) elsewhere(class string, k *check) (not []string, ok bool) {
	var names, hosts []string
	for _, v := range k.votes {
		names = append(names, v.worker)
		if v.host != "" {
			hosts = append(hosts, v.host)
		}
	}
	if all := append(hosts, names...); d.others(class, all) > 0 {
		return all, true
	}
	return names, d.others(class, names) > 0
}

// vote takes the checksum of a unit that was computed once more.
func (d *Dispatcher) vote(c *call, m *sent, e event) error {
	if !m.Check || !m.left[e.key] {
		return nil
	}
	d.strike(c, m, e.key)
	return d.decide(c, e.key, vote{e.worker, e.host, e.sum})
}

// mostVotes is how many workers compute a unit of which no two find the same: two of
// them may fail at one time, and what is not deterministic always differs.
const mostVotes = 4

// decide adds a vote to those of a unit.
func (d *Dispatcher) decide(c *call, key string, v vote) error {
	k := c.checks.of[key]
	if k == nil || slices.ContainsFunc(k.votes, func(o vote) bool { return o.worker == v.worker && o.sum == v.sum }) {
		return nil
	}
	k.votes = append(k.votes, v)
	if k.votes[0].sum == v.sum && len(k.votes) == 2 {
		delete(c.checks.of, key)
		d.mu.Lock()
		d.counts.Verified++
		d.mu.Unlock()
		if k.held {
			return c.deliver(k.first)
		}
		return nil
	}
	for _, a := range k.votes {
		same := 0
		for _, b := range k.votes {
			if a.sum == b.sum && a.worker != b.worker {
				same++
			}
		}
		if same > 0 {
			return d.conclude(c, key, k, a.sum)
		}
	}
	if len(k.votes) == mostVotes {
		return d.conclude(c, key, k, "")
	}
	c.checks.fresh = append(c.checks.fresh, key)
	return nil
}

// conclude ends a check whose results differ. right is the checksum on which two
// workers agree, empty if none do.
func (d *Dispatcher) conclude(c *call, key string, k *check, right string) error {
	delete(c.checks.of, key)
	u := c.units[c.index[key][0]]
	e := &Differing{Kind: u.Kind, Key: key}
	for _, v := range k.votes {
		e.Workers = append(e.Workers, v.worker)
	}
	if right == "" {
		d.mu.Lock()
		d.conflict = e
		d.mu.Unlock()
		return e
	}
	for _, v := range k.votes {
		if v.sum == right {
			continue
		}
		e.Wrong, e.Dropped = v.worker, d.ban(c, v.worker)
		Remember(Failure{Worker: e.Wrong, Words: e.Error()}, u, d.env)
		if k.held {
			d.Note("%s", e.Error())
		}
	}
	if !k.held {
		return e
	}
	if k.votes[0].sum == right {
		d.mu.Lock()
		d.counts.Verified++
		d.mu.Unlock()
		return c.deliver(k.first)
	}
	return d.redo(c, key)
}

// ban gives a worker no more units, removes what it has found, and has what
// nobody has used yet computed again. It returns the number of results removed.
func (d *Dispatcher) ban(c *call, worker string) int {
	d.mu.Lock()
	d.banned[worker] = true
	var keys []string
	d.stored = slices.DeleteFunc(d.stored, func(r storedResult) bool {
		if r.worker == worker {
			keys = append(keys, r.key)
			d.used -= r.bytes
		}
		return r.worker == worker
	})
	d.mu.Unlock()
	d.drop(keys)
	if t, ok := d.t.(Dismisser); ok {
		t.Dismiss(worker, "its results differ from those of other workers")
	}
	for key, k := range c.checks.of {
		if k.first.Worker == worker {
			delete(c.checks.of, key)
			_ = d.redo(c, key) // never fails
		}
	}
	return len(keys)
}

// differs is called for a result that differs from the first.
func (d *Dispatcher) differs(c *call, old *Result, r Result) error {
	d.mu.Lock()
	all := d.policy.Verify >= 1
	banned := d.banned[r.Worker]
	d.mu.Unlock()
	switch {
	case banned:
	case !all:
		d.Conflict(r.Key, old.Worker, r.Worker)
	case c.checks.of[r.Key] != nil:
		return d.decide(c, r.Key, vote{r.Worker, r.Host, BlobKey(r.Data)})
	default: // two workers have agreed on the other
		e := &Differing{Kind: c.units[c.index[r.Key][0]].Kind, Key: r.Key, Wrong: r.Worker, Workers: []string{old.Worker, r.Worker}}
		e.Dropped = d.ban(c, r.Worker)
		d.Note("%s", e.Error())
	}
	return nil
}

// redo has a unit computed anew.
func (d *Dispatcher) redo(c *call, key string) error {
	d.mu.Lock()
	if c.first[key] != nil {
		delete(c.first, key)
		c.left++
		d.counts.Done--
		c.stage.Done--
	}
	d.counts.Waiting++
	d.mu.Unlock()
	if m := c.of[key]; m != nil {
		d.strike(c, m, key)
	}
	one := &sent{Message: Message{Units: []Unit{c.units[c.index[key][0]]}}, left: map[string]bool{key: true}}
	c.of[key] = one
	c.order = append(c.order, one)
	return nil
}
