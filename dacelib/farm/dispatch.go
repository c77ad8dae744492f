package farm

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"
)

// A Message is what a caller queues for workers: some units of one class.
type Message struct {
	// ID is unique; it begins with the caller's name and a dash.
	ID string `json:"id"`
	// Units are computed in one go.
	Units []Unit `json:"units"`
	// Deaths is the number of workers that died while they had the message.
	Deaths int `json:"deaths,omitempty"`
	// Alone asks the worker to compute nothing else meanwhile.
	Alone bool `json:"alone,omitempty"`
}

// Class returns the class that a worker needs for the message's units.
func (m Message) Class() string { return Class(m.Units[0].Needs) }

// A Result is a unit's result as it travels.
type Result struct {
	// Key is the unit's, Data its result.
	Key     string
	Data    []byte
	Seconds float64 // that the unit took
	// Worker and Host are the names of the process and machine that computed
	// it.
	Worker string
	Host   string
}

// A Worker describes a worker process to callers.
type Worker struct {
	// Name is unique; Host, Process and Cores say where the worker runs and on
	// how many cores, Identity with which program. Done and Failures count its
	// units.
	Name     string   `json:"name"`
	Host     string   `json:"host"`
	Process  int      `json:"process"`
	Cores    int      `json:"cores"`
	Identity Identity `json:"identity"`
	Done     int      `json:"done"`
	Failures int      `json:"failures"`
	// Made tells how the worker computes problems that notebooks have made,
	// see [Env.Made].
	Made map[string]string `json:"made,omitempty"`
	// Holds lists the IDs of the messages that the worker computes.
	Holds []string `json:"holds,omitempty"`
	// Seen is when the caller last heard of the worker, by the caller's clock.
	Seen time.Time `json:"-"`

	classes []string
}

// A Transport carries messages from a caller to workers. What comes back, it
// reports to the [Dispatcher].
type Transport interface {
	// Send queues a message; it may be queued again under the same ID.
	Send(ctx context.Context, m Message) error
	// Queued reports whether a message still waits for a worker.
	Queued(ctx context.Context, m Message) (bool, error)
	// Withdraw takes messages back, and stops the workers that compute them.
	Withdraw(messages []Message)
	// Look returns the results among keys that are known without waiting.
	Look(ctx context.Context, keys []string) ([]Result, error)
}

// A Hander is a [Transport] that can also hand a message to a worker past the
// queue, which is faster.
type Hander interface {
	// Hand hands a message to a worker without waiting, and reports whether it
	// could try to. If the message does not arrive or the worker is busy, Back is
	// called, or nothing happens: the dispatcher looks again.
	Hand(m Message, worker string) bool
}

// A Dispatcher is the caller's side of a pool, whatever carries its messages.
// It cuts the units of [Pool.Do] into messages, bounds how many are queued, and
// queues again what was lost: a fault of the transport delays, never changes, a
// result. Pools embed it.
type Dispatcher struct {
	Rates
	t      Transport
	caller string
	env    *Env
	// lookEvery is how long nothing comes before the dispatcher looks again.
	lookEvery time.Duration

	mu       sync.Mutex // guards the fields below
	sequence int
	calls    map[string]*call     // by message ID
	waiting  map[string][]*call   // by key
	open     int                  // messages that were sent and are not done
	handed   map[string]int       // those among them that Hand took, by worker
	handing  int                  // their number
	busy     map[string]time.Time // when a worker last sent a handed message back
	workers  map[string]*Worker
	gone     map[string]time.Time // workers that ended
	conflict error
	note     func(string)
	notes    map[string]time.Time
	counts   Counts
	stages   []*Stage
}

// A Stage is a call of [Pool.Do] that has not ended.
type Stage struct {
	// Kind is that of the units, such as "ranges" or "mining".
	Kind string `json:"kind"`
	// All and Done are numbers of units; Known of those done had a result
	// before the call.
	All   int `json:"all"`
	Done  int `json:"done"`
	Known int `json:"known"`
	// Seconds is how long the call lasts by now.
	Seconds float64 `json:"seconds"`
	since   time.Time
}

// A Caller is the state of a process that has work done.
type Caller struct {
	// Name, Host and Process identify the process.
	Name    string `json:"name"`
	Host    string `json:"host"`
	Process int    `json:"process"`
	// Counts are its units, Stages what it waits for, Failures its units that
	// failed, the latest last.
	Counts   Counts    `json:"counts"`
	Stages   []Stage   `json:"stages"`
	Failures []Failure `json:"failures"`
}

// Counts are the units of a pool since it was opened.
type Counts struct {
	// Done, Running and Waiting are numbers of units.
	Done, Running, Waiting int
	// Seconds is the time that workers have spent on those that are done.
	Seconds float64
	// Since is the time of the first unit.
	Since time.Time
}

// NewDispatcher returns a dispatcher. env gives blobs to [Again].
func NewDispatcher(t Transport, caller string, env *Env, lookEvery time.Duration) *Dispatcher {
	return &Dispatcher{
		t: t, caller: caller, env: env, lookEvery: lookEvery,
		calls: map[string]*call{}, waiting: map[string][]*call{}, handed: map[string]int{}, busy: map[string]time.Time{},
		workers: map[string]*Worker{}, gone: map[string]time.Time{}, notes: map[string]time.Time{},
	}
}

// OnNote sets the function that receives what a person should know, such as
// that there is no worker yet; each note comes at most once a minute.
func (d *Dispatcher) OnNote(f func(note string)) {
	d.mu.Lock()
	d.note = f
	d.mu.Unlock()
}

// Note passes a note on.
func (d *Dispatcher) Note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	d.mu.Lock()
	f := d.note
	if last, ok := d.notes[text]; ok && time.Since(last) < time.Minute {
		f = nil
	} else {
		d.notes[text] = time.Now()
	}
	d.mu.Unlock()
	if f != nil {
		f(text)
	}
}

// Slots returns the number of units that the present workers compute at once.
func (d *Dispatcher) Slots() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.slots()
}

// slots is Slots; the caller holds d.mu.
func (d *Dispatcher) slots() int {
	n := 0
	self := Self()
	for _, w := range d.workers {
		if w.Identity.Version == self.Version && w.Identity.Build == self.Build {
			n += w.Cores
		}
	}
	return max(1, n)
}

// Workers returns the workers, sorted by name.
func (d *Dispatcher) Workers() []Worker {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []Worker
	for _, w := range d.workers {
		out = append(out, *w)
	}
	slices.SortFunc(out, func(a, b Worker) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return out
}

// Counts returns the numbers of units.
func (d *Dispatcher) Counts() Counts {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.counts
}

// Caller returns the state of this process.
func (d *Dispatcher) Caller() Caller {
	c := Caller{Name: d.caller, Process: os.Getpid(), Failures: Failures()}
	c.Host, _ = os.Hostname()
	d.mu.Lock()
	defer d.mu.Unlock()
	c.Counts = d.counts
	for _, s := range d.stages {
		now := *s
		now.Seconds = time.Since(s.since).Seconds()
		c.Stages = append(c.Stages, now)
	}
	return c
}

// A call is a call of Do. Its fields but events and wake belong to the goroutine
// of Do.
type call struct {
	units  []Unit
	keys   []string
	index  map[string][]int // the units of a key
	left   int              // keys without a result
	order  []*sent          // messages not sent yet
	sent   map[string]*sent
	of     map[string]*sent // by key
	stage  *Stage           // guarded by the dispatcher's mu
	events chan event
	closed chan struct{} // closed when Do has ended
}

// tell passes an event to a call, unless it has ended.
func (c *call) tell(e event) {
	select {
	case c.events <- e:
	case <-c.closed:
	}
}

// A sent is a message with what is known about it.
type sent struct {
	Message
	left    map[string]bool // keys without a result
	at      time.Time       // when it was sent last
	worker  string          // that computes it; empty while it is queued
	to      string          // worker to which it was handed; empty if it was queued
	host    string
	running bool
	died    string // the last worker that died of it
}

// An event is something that the transport reports to a call.
type event struct {
	result *Result
	id     string // of a message
	worker string
	host   string
	unit   int    // of the message, for a failure
	failed bool   // the unit failed
	words  string // of a failure, or of a worker that died
	lost   bool   // the worker died
	back   bool   // the worker handed the message back
	look   bool   // results may have been missed
}

// Took reports that a worker computes a message.
func (d *Dispatcher) Took(id, worker, host string) {
	d.send(id, event{id: id, worker: worker, host: host})
}

// Back reports that a worker has handed a message back.
func (d *Dispatcher) Back(id, worker string) { d.send(id, event{id: id, worker: worker, back: true}) }

// Failed reports that a unit of a message failed.
func (d *Dispatcher) Failed(id string, unit int, worker, host, words string) {
	d.send(id, event{id: id, worker: worker, host: host, unit: unit, failed: true, words: words})
}

func (d *Dispatcher) send(id string, e event) {
	d.mu.Lock()
	c := d.calls[id]
	d.mu.Unlock()
	if c != nil {
		c.tell(e)
	}
}

// Done reports a result.
func (d *Dispatcher) Done(r Result) {
	d.mu.Lock()
	cs := slices.Clone(d.waiting[r.Key])
	d.mu.Unlock()
	for _, c := range cs {
		c.tell(event{result: &r})
	}
}

// Conflict reports that two workers have found different results of a unit.
func (d *Dispatcher) Conflict(key, one, other string) {
	d.mu.Lock()
	if d.conflict == nil {
		d.conflict = fmt.Errorf("farm: workers %s and %s have found different results of the unit %.12s: a processor or a memory of one of them fails, or a kind of work is not deterministic; no result of this farm is to be trusted until it is known which", one, other, key)
	}
	d.mu.Unlock() // calls see it at their next tick
}

// Alive reports news of a worker.
func (d *Dispatcher) Alive(w Worker) {
	w.Seen, w.classes = time.Now(), w.Identity.Classes()
	d.mu.Lock()
	if old := d.workers[w.Name]; old == nil {
		if why := Self().Differences(w.Identity); len(why) > 0 {
			defer d.Note("worker %s on %s gets %s", w.Name, w.Host, why[0])
		}
	}
	d.workers[w.Name] = &w
	delete(d.gone, w.Name)
	d.mu.Unlock()
	for _, id := range w.Holds {
		d.Took(id, w.Name, w.Host)
	}
}

// Gone reports the end of a worker. If it died, the messages that it had are
// queued again and count its death; words are its last ones.
func (d *Dispatcher) Gone(name string, died bool, words string) {
	d.mu.Lock()
	w := d.workers[name]
	delete(d.workers, name)
	delete(d.busy, name)
	d.gone[name] = time.Now()
	for k, t := range d.gone { // bounded by the workers of the last hour
		if time.Since(t) > time.Hour {
			delete(d.gone, k)
		}
	}
	seen := map[*call]bool{}
	for _, c := range d.calls {
		seen[c] = true
	}
	d.mu.Unlock()
	if w == nil && !died {
		return
	}
	host := ""
	if w != nil {
		host = w.Host
	}
	for c := range seen {
		c.tell(event{worker: name, host: host, lost: died, back: !died, words: words})
	}
}

// LookNow makes all calls look for results that they have missed, after a
// transport was interrupted.
func (d *Dispatcher) LookNow() {
	d.mu.Lock()
	seen := map[*call]bool{}
	for _, c := range d.calls {
		seen[c] = true
	}
	d.mu.Unlock()
	for c := range seen {
		c.tell(event{look: true})
	}
}

// Waits reports whether a call waits for a result.
func (d *Dispatcher) Waits(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.waiting[key]) > 0
}

// Open reports whether a message was sent and is not done.
func (d *Dispatcher) Open(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls[id] != nil
}

// dead reports whether a worker has ended.
func (d *Dispatcher) dead(name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.gone[name]
	return ok
}

// Do implements [Pool].
func (d *Dispatcher) Do(ctx context.Context, units []Unit, done func(i int, result []byte) error) error {
	if len(units) == 0 {
		return ctx.Err()
	}
	c := &call{units: units, index: map[string][]int{}, sent: map[string]*sent{}, of: map[string]*sent{}, events: make(chan event, min(256, 16+4*len(units))), closed: make(chan struct{})}
	for i, u := range units {
		key := u.Key()
		c.keys = append(c.keys, key)
		c.index[key] = append(c.index[key], i)
	}
	c.left = len(c.index)
	c.stage = &Stage{Kind: units[0].Kind, All: c.left, since: time.Now()}
	d.mu.Lock()
	d.stages = append(d.stages, c.stage)
	for key := range c.index {
		d.waiting[key] = append(d.waiting[key], c)
	}
	if d.counts.Since.IsZero() {
		d.counts.Since = time.Now()
	}
	d.counts.Waiting += c.left
	d.mu.Unlock()
	err := d.run(ctx, c, done)
	d.end(c)
	return err
}

// end forgets a call and withdraws its messages.
func (d *Dispatcher) end(c *call) {
	close(c.closed)
	d.mu.Lock()
	d.stages = slices.DeleteFunc(d.stages, func(s *Stage) bool { return s == c.stage })
	for key := range c.index {
		d.waiting[key] = slices.DeleteFunc(d.waiting[key], func(o *call) bool { return o == c })
		if len(d.waiting[key]) == 0 {
			delete(d.waiting, key)
		}
	}
	var open []Message
	for _, m := range c.sent {
		d.close(m)
		open = append(open, m.Message)
		if m.running {
			d.counts.Running -= len(m.left)
		} else {
			d.counts.Waiting -= len(m.left)
		}
	}
	for _, m := range c.order {
		d.counts.Waiting -= len(m.left)
	}
	d.mu.Unlock()
	if len(open) > 0 {
		d.t.Withdraw(open)
	}
}

// close forgets a message that was sent. The caller holds d.mu.
func (d *Dispatcher) close(m *sent) {
	delete(d.calls, m.ID)
	d.open--
	d.unhand(m)
}

// unhand ends a worker's hold of a message that was handed to it. The caller
// holds d.mu.
func (d *Dispatcher) unhand(m *sent) {
	if m.to == "" {
		return
	}
	d.handing--
	if d.handed[m.to]--; d.handed[m.to] <= 0 {
		delete(d.handed, m.to)
	}
	m.to = ""
}

// busyFor is how long no message is handed to a worker that has sent one back.
const busyFor = time.Second

// hand hands a message to an idle worker past the queue, if there is one and
// nothing waits in the queue that the worker would rather get. What workers have
// died of goes through the queue, which tells who has it before it is computed.
func (d *Dispatcher) hand(m *sent) bool {
	h, ok := d.t.(Hander)
	if !ok || m.Deaths > 0 || m.Alone || !m.at.IsZero() {
		return false
	}
	d.mu.Lock()
	worker := ""
	if d.open-d.handing == 1 { // m alone
		class := m.Class()
		for name, w := range d.workers {
			if d.handed[name] < w.Cores && time.Since(d.busy[name]) > busyFor && slices.Contains(w.classes, class) {
				worker = name
				break
			}
		}
	}
	if worker != "" {
		m.to = worker
		d.handed[worker]++
		d.handing++
	}
	d.mu.Unlock()
	if worker == "" {
		return false
	}
	m.at = time.Now()
	if h.Hand(m.Message, worker) {
		return true
	}
	d.mu.Lock()
	d.unhand(m)
	d.mu.Unlock()
	return false
}

// run is Do for a call that is known.
func (d *Dispatcher) run(ctx context.Context, c *call, done func(i int, result []byte) error) error {
	known, err := d.t.Look(ctx, c.keys)
	if err != nil {
		return err
	}
	first := map[string]*Result{}
	for _, r := range known {
		if err := d.take(c, r, first, done); err != nil {
			return err
		}
	}
	d.mu.Lock()
	c.stage.Known = c.stage.Done
	d.mu.Unlock()
	d.cut(c, first)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last := time.Now()
	for c.left > 0 {
		if err := d.fill(ctx, c); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e := <-c.events:
			last = time.Now()
			if err := d.handle(ctx, c, e, first, done); err != nil {
				return err
			}
		case <-tick.C:
			if time.Since(last) >= d.lookEvery {
				last = time.Now()
				if err := d.lookAgain(ctx, c, 3*d.lookEvery, first, done); err != nil {
					return err
				}
			}
		}
		d.mu.Lock()
		err := d.conflict
		d.mu.Unlock()
		if err != nil {
			return err
		}
	}
	return nil
}

// messageSeconds is how much work a message holds, as far as it is known.
const messageSeconds = 0.4

// cut divides the units without a result into messages, each of one kind and
// class.
func (d *Dispatcher) cut(c *call, have map[string]*Result) {
	most := max(1, len(c.index)/(2*d.Slots()))
	var m *sent
	seconds := 0.0
	for i, u := range c.units {
		key := c.keys[i]
		if have[key] != nil || c.index[key][0] != i {
			continue
		}
		t := d.Rate(u.Kind) * float64(u.Weight())
		if m == nil || m.Units[0].Kind != u.Kind || !slices.Equal(m.Units[0].Needs, u.Needs) || t == 0 || seconds+t > messageSeconds || len(m.Units) >= most {
			m, seconds = &sent{left: map[string]bool{}}, 0
			c.order = append(c.order, m)
		}
		m.Units = append(m.Units, u)
		m.left[key] = true
		c.of[key] = m
		seconds += t
	}
}

// fill sends messages while the queue has room for them: four for each slot.
func (d *Dispatcher) fill(ctx context.Context, c *call) error {
	for len(c.order) > 0 {
		m := c.order[0]
		if len(m.left) == 0 { // another call has had the same units computed
			c.order = c.order[1:]
			continue
		}
		d.mu.Lock()
		if d.open > 0 && d.open >= 4*d.slots() && len(c.sent) > 0 {
			d.mu.Unlock()
			return nil
		}
		d.open++
		d.sequence++
		m.ID = fmt.Sprintf("%s-%08d", d.caller, d.sequence)
		d.calls[m.ID] = c
		d.mu.Unlock()
		c.order = c.order[1:]
		c.sent[m.ID] = m
		if err := d.queue(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

func (d *Dispatcher) queue(ctx context.Context, m *sent) error {
	d.mu.Lock()
	d.unhand(m)
	if m.running {
		d.counts.Running -= len(m.left)
		d.counts.Waiting += len(m.left)
	}
	d.mu.Unlock()
	if len(m.left) < len(m.Units) {
		m.Units = slices.DeleteFunc(slices.Clone(m.Units), func(u Unit) bool { return !m.left[u.Key()] })
	}
	if d.hand(m) {
		return nil
	}
	m.at, m.worker, m.running = time.Now(), "", false
	return d.t.Send(ctx, m.Message)
}

// take delivers a result.
func (d *Dispatcher) take(c *call, r Result, first map[string]*Result, done func(i int, result []byte) error) error {
	places, wanted := c.index[r.Key]
	if !wanted {
		return nil
	}
	if old := first[r.Key]; old != nil {
		if !bytes.Equal(old.Data, r.Data) {
			d.Conflict(r.Key, old.Worker, r.Worker)
		}
		return nil
	}
	first[r.Key] = &Result{Key: r.Key, Data: r.Data, Worker: r.Worker}
	c.left--
	u := c.units[places[0]]
	d.Observe(u.Kind, u.Weight(), r.Seconds)
	m := c.of[r.Key]
	d.mu.Lock()
	d.counts.Done++
	c.stage.Done++
	d.counts.Seconds += r.Seconds
	if m != nil && m.running {
		d.counts.Running--
	} else {
		d.counts.Waiting--
	}
	if m != nil {
		delete(m.left, r.Key)
		if _, ok := c.sent[m.ID]; ok && len(m.left) == 0 {
			delete(c.sent, m.ID)
			d.close(m)
		}
	}
	d.mu.Unlock()
	for _, i := range places {
		if err := done(i, r.Data); err != nil {
			return err
		}
	}
	return nil
}

// handle processes an event.
func (d *Dispatcher) handle(ctx context.Context, c *call, e event, first map[string]*Result, done func(i int, result []byte) error) error {
	if e.result != nil {
		return d.take(c, *e.result, first, done)
	}
	if e.look {
		return d.lookAgain(ctx, c, 0, first, done)
	}
	if e.id == "" { // about a worker
		for _, m := range c.sent {
			at := m.worker
			if at == "" {
				at = m.to
			}
			if e.worker == "" || at != e.worker {
				continue
			}
			if err := d.lost(ctx, c, m, e); err != nil {
				return err
			}
		}
		return nil
	}
	m := c.sent[e.id]
	switch {
	case m == nil:
	case e.failed:
		u := m.Units[min(max(0, e.unit), len(m.Units)-1)]
		return Remember(Failure{Worker: e.worker, Host: e.host, Words: e.words}, u, d.env)
	case e.back:
		if m.worker == e.worker || m.worker == "" {
			if m.worker == "" && m.to != "" {
				d.mu.Lock()
				d.busy[m.to] = time.Now()
				d.mu.Unlock()
			}
			return d.queue(ctx, m)
		}
	case e.worker != "" && e.worker == m.died: // late news
	case d.dead(e.worker):
		// It died before the news came that it had taken the message.
		m.worker, m.host = e.worker, e.host
		e.lost = true
		return d.lost(ctx, c, m, e)
	default:
		if !m.running {
			d.mu.Lock()
			d.counts.Running += len(m.left)
			d.counts.Waiting -= len(m.left)
			d.mu.Unlock()
		}
		m.worker, m.host, m.running = e.worker, e.host, true
	}
	return nil
}

// Deaths of workers that a unit may cause.
const (
	deathsAlone = 3 // then it runs alone
	deathsFail  = 4 // then it fails
)

// lost queues a message again whose worker has ended. After three deaths its
// units run alone, each in a message of its own.
func (d *Dispatcher) lost(ctx context.Context, c *call, m *sent, e event) error {
	if e.lost {
		m.Deaths++
		m.died = e.worker
	}
	if m.Deaths >= deathsFail {
		words := e.words
		if words == "" {
			words = "it said nothing before its end, as when a process is killed for its memory"
		}
		return Remember(Failure{Worker: e.worker, Host: e.host, Deaths: m.Deaths, Words: words}, m.Units[0], d.env)
	}
	m.Alone = m.Deaths >= deathsAlone
	if !m.Alone || len(m.left) == 1 {
		return d.queue(ctx, m)
	}
	for _, u := range m.Units {
		if key := u.Key(); m.left[key] {
			one := &sent{Message: Message{Units: []Unit{u}, Deaths: m.Deaths, Alone: true}, left: map[string]bool{key: true}}
			c.of[key] = one
			c.order = append(c.order, one)
		}
	}
	delete(c.sent, m.ID)
	d.mu.Lock()
	d.close(m)
	if m.running {
		d.counts.Running -= len(m.left)
		d.counts.Waiting += len(m.left)
	}
	d.mu.Unlock()
	return nil
}

// lookAgain is called when nothing has come for a while, or the transport was
// interrupted: it takes results that were missed, and queues messages again that
// were lost, if they were sent longer ago than age.
func (d *Dispatcher) lookAgain(ctx context.Context, c *call, age time.Duration, first map[string]*Result, done func(i int, result []byte) error) error {
	var keys []string
	for key := range c.index {
		if first[key] == nil {
			keys = append(keys, key)
		}
	}
	found, err := d.t.Look(ctx, keys)
	if err != nil {
		return err
	}
	for _, r := range found {
		if err := d.take(c, r, first, done); err != nil {
			return err
		}
	}
	d.mu.Lock()
	none := len(d.workers) == 0
	present := map[string]bool{}
	for name := range d.workers {
		present[name] = true
	}
	d.mu.Unlock()
	if none && c.left > 0 {
		d.Note("no worker is there; %d units wait", c.left)
	}
	for _, m := range c.sent {
		if time.Since(m.at) < age || m.worker != "" && present[m.worker] {
			continue
		}
		if m.worker == "" {
			queued, err := d.t.Queued(ctx, m.Message)
			if err != nil {
				return err
			}
			if queued {
				continue
			}
		}
		// Either a worker took it and died before it could say so, or it was
		// lost on the way, or its worker has not been heard of for long.
		if err := d.queue(ctx, m); err != nil {
			return err
		}
	}
	return nil
}
