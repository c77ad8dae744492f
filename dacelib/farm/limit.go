package farm

import (
	"context"
	"fmt"
	"slices"

	"dace.local/dacelib/run"
)

// What a unit may do to workers before it is set aside.
const (
	deathsAlone = 2 // deaths of workers after which it runs alone
	deathsAside = 3 // deaths of workers after which it is set aside
	// A network that fails often is no fault of the unit; one that makes machines
	// swap for ever is.
	silentAlone = 5
	silentAside = 10
	lateAside   = 3
	// lateTimes multiplies the limit each time that a unit has passed it: one
	// that is right but slow is done in the end.
	lateTimes = 4
)

// lost queues a message again whose worker has ended or fell silent. After two
// deaths its units run alone, each in a message of its own; after the third the
// unit is set aside.
func (d *Dispatcher) lost(ctx context.Context, c *call, m *sent, e event) error {
	if e.lost {
		m.Deaths++
		m.died = e.worker
	}
	if e.silent {
		m.silent++
	}
	if m.Deaths >= deathsAside || m.silent >= silentAside {
		words := e.words
		switch {
		case m.Deaths < deathsAside:
			words = fmt.Sprintf("%d workers fell silent while they computed it", m.silent)
		case words == "":
			words = "it said nothing before its end, as when a process is killed for its memory"
		}
		d.unsend(c, m)
		d.setAside(c, m, Failure{Worker: e.worker, Host: e.host, Deaths: max(m.Deaths, m.silent), Words: words})
		return nil
	}
	m.Alone = m.Deaths >= deathsAlone
	if !m.Alone && m.silent < silentAlone || len(m.left) == 1 {
		return d.queue(ctx, m)
	}
	d.split(c, m)
	return nil
}

// split replaces a message by one for each unit that it still has.
func (d *Dispatcher) split(c *call, m *sent) {
	d.unsend(c, m)
	for _, u := range m.Units {
		key := u.Key()
		if !m.left[key] {
			continue
		}
		one := &sent{Message: m.Message, left: map[string]bool{key: true}, died: m.died, silent: m.silent, late: m.late, healed: m.healed}
		one.Units = []Unit{u}
		if !m.Check {
			c.of[key] = one
		}
		c.order = append(c.order, one)
	}
	clear(m.left)
}

// setAside gives the units of a message up; the call goes on with the others.
// The message is not in the farm any more.
func (d *Dispatcher) setAside(c *call, m *sent, f Failure) {
	for _, u := range m.Units {
		key := u.Key()
		if !m.left[key] {
			continue
		}
		failure := Remember(f, u, d.env)
		if c.aside == nil {
			c.aside = failure
		}
		c.asides++
		d.mu.Lock()
		d.counts.Waiting--
		d.mu.Unlock()
		if m.Check {
			delete(c.checks.of, key)
		} else {
			c.first[key] = &Result{Key: key} // a result that comes yet is not waited for
			c.left--
		}
		d.Note("%s", failure.Error())
	}
	clear(m.left)
}

// overdue has a unit computed by another worker that has taken longer than its
// limit, in seconds by its worker's clock.
func (d *Dispatcher) overdue(c *call, m *sent, spent float64) error {
	d.mu.Lock()
	limit := d.policy.Limit.Seconds()
	d.mu.Unlock()
	if spent <= 0 || limit <= 0 && spent < limitLeast {
		return nil
	}
	i := slices.IndexFunc(m.Units, func(u Unit) bool { return m.left[u.Key()] })
	if i < 0 {
		return nil
	}
	u := m.Units[i] // units are computed in their order
	if limit <= 0 {
		limit = d.Limit(u.Kind, u.Weight())
		for range m.late {
			limit *= lateTimes
		}
	}
	if limit <= 0 || spent <= limit {
		return nil
	}
	worker, host := m.worker, m.host
	d.Note("a unit of kind %s takes longer on worker %s of %s than its limit of %s; another worker begins with it", u.Kind, worker, host, run.Seconds(limit))
	old := m.Message
	d.unsend(c, m)
	d.t.Withdraw([]Message{old})
	if len(m.left) > 1 { // the others have nothing to do with it
		rest := &sent{Message: m.Message, left: m.left, died: m.died, silent: m.silent, late: m.late, healed: m.healed}
		rest.Units = slices.Delete(slices.Clone(m.Units), i, i+1)
		m = &sent{Message: m.Message, left: map[string]bool{u.Key(): true}, died: m.died, silent: m.silent, late: m.late, healed: m.healed}
		m.Units = []Unit{u}
		delete(rest.left, u.Key())
		if !rest.Check {
			c.of[u.Key()] = m
			for key := range rest.left {
				c.of[key] = rest
			}
		}
		c.order = append(c.order, rest)
	}
	m.late++
	if m.late >= lateAside {
		d.setAside(c, m, Failure{Worker: worker, Host: host, Late: m.late, Words: fmt.Sprintf("it was not done after %s, its limit; Settings.Limit sets another", run.Seconds(limit))})
		return nil
	}
	if d.others(old.Class(), append(slices.Clone(m.Not), worker)) > 0 {
		m.Not = append(slices.Clone(m.Not), worker)
	}
	c.order = append([]*sent{m}, c.order...)
	return nil
}

// others returns the number of workers of a class that are none of those named.
func (d *Dispatcher) others(class string, not []string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for name, w := range d.workers {
		if slices.Contains(w.classes, class) && !d.banned[name] && !(Message{Not: not}).Refuses(name, w.Host) {
			n++
		}
	}
	return n
}
