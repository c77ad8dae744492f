package farm

import (
	"bytes"
	"cmp"
	"context"
	"errors"
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
	// Not names workers and hosts that must hand the message back.
	Not []string `json:"not,omitempty"`
	// Check asks for the checksums of the results alone, to compare them: the
	// worker must not store them.
	Check bool `json:"check,omitempty"`
}

// Refuses reports whether a worker must hand the message back.
func (m Message) Refuses(worker, host string) bool {
	return slices.Contains(m.Not, worker) || slices.Contains(m.Not, host)
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
	// Holds lists the IDs of the messages that the worker computes, Spent for how
	// many seconds each has computed its present unit; 0 if it has not begun.
	Holds []string  `json:"holds,omitempty"`
	Spent []float64 `json:"spent,omitempty"`
	// Age is how many seconds ago the worker started, Busy how many seconds its
	// units have taken.
	Age  float64 `json:"age"`
	Busy float64 `json:"busy"`
	// Seen is when the caller last heard of the worker, by the caller's clock.
	Seen time.Time `json:"-"`

	classes []string
	foreign bool // it is of another build
}

// A goneWorker is a worker that has ended.
type goneWorker struct {
	at   time.Time
	died bool // without a word
}

// tookMargin is how much later than the news that a worker took a message the worker's
// list of its messages must arrive for its lack of the message to count.
const tookMargin = time.Second

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

// A Batcher is a [Transport] that queues several messages in little more time than
// one.
type Batcher interface {
	SendAll(ctx context.Context, all []Message) error
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
	// lookEvery is how long the dispatcher waits without news before it looks for
	// messages and results that were lost.
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
	cores    int                   // of those that are of this build
	gone     map[string]goneWorker // workers that ended
	conflict error
	policy   Policy
	banned   map[string]bool // workers that gave wrong results
	peers    map[string]peer // other callers
	blobs    kept            // that this process has put
	stored   []storedResult  // results of this process, the oldest first
	used     int64           // their bytes and those of the blobs
	note     func(string)
	notes    map[string]time.Time
	counts   Counts
	stages   []*Stage
	active   []*call // that have not ended
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
	class   string // of the first unit
}

// left returns the seconds that the stage still takes at its rate; 0 if unknown.
func (s Stage) left() float64 {
	n := s.Done - s.Known
	if n <= 0 || s.Seconds <= 0 {
		return 0
	}
	return s.Seconds / float64(n) * float64(s.All-s.Done)
}

// A Caller is the state of a process that has work done.
type Caller struct {
	// Name, Host and Process identify the process.
	Name    string `json:"name"`
	Host    string `json:"host"`
	Process int    `json:"process"`
	// User runs the process, which is at Title: a command line or a notebook.
	User  string `json:"user,omitempty"`
	Title string `json:"title,omitempty"`
	// Priority is that of [Policy]. Wants is true while units wait that workers
	// could compute, Build identifies the program that they must run.
	Priority int    `json:"priority"`
	Wants    bool   `json:"wants,omitempty"`
	Build    string `json:"build,omitempty"`
	// Disk is the number of bytes that its blobs and results take.
	Disk int64 `json:"disk"`
	// Counts are its units, Stages what it waits for, Failures its units that
	// failed, the latest last.
	Counts   Counts    `json:"counts"`
	Stages   []Stage   `json:"stages"`
	Failures []Failure `json:"failures"`
}

// Counts are the units of a pool since it was opened.
type Counts struct {
	// Done, Running and Waiting are numbers of units.
	Done    int `json:"done"`
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	// Verified of those done were computed twice, see [Policy].
	Verified int `json:"verified"`
	// Seconds is the time that workers have spent on those that are done.
	Seconds float64 `json:"seconds"`
	// Since is the time of the first unit.
	Since time.Time `json:"since"`
}

// NewDispatcher returns a dispatcher. env gives blobs to [Again].
func NewDispatcher(t Transport, caller string, env *Env, lookEvery time.Duration) *Dispatcher {
	return &Dispatcher{
		t: t, caller: caller, env: env, lookEvery: lookEvery,
		calls: map[string]*call{}, waiting: map[string][]*call{}, handed: map[string]int{}, busy: map[string]time.Time{},
		workers: map[string]*Worker{}, gone: map[string]goneWorker{}, notes: map[string]time.Time{},
		banned: map[string]bool{}, peers: map[string]peer{},
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
	return max(1, d.cores)
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
	c := Caller{Name: d.caller, Process: os.Getpid(), User: user(), Title: title(), Failures: Failures(), Build: Self().Build}
	c.Host, _ = os.Hostname()
	d.mu.Lock()
	defer d.mu.Unlock()
	c.Counts, c.Priority, c.Disk = d.counts, d.policy.Priority, d.used+d.blobs.sent
	c.Wants = d.wants()
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
	first  map[string]*Result
	done   func(i int, result []byte) error
	aside  *Failure // of the first unit that was set aside
	asides int      // their number
	later  []*sent  // messages that came back from workers that must not have them
	checks checks   // units that are computed twice
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
	took    time.Time       // when the worker was heard to have it
	worker  string          // that computes it; empty while it is queued
	to      string          // worker to which it was handed; empty if it was queued
	host    string
	running bool
	died    string // the last worker that died of it
	silent  int    // workers that fell silent while they had it
	late    int    // times that a unit took longer than its limit
	healed  int    // times that a blob was stored again for it
}

// An event is something that the transport reports to a call.
type event struct {
	result  *Result
	id      string // of a message
	worker  string
	host    string
	unit    int     // of the message, for a failure
	failed  bool    // the unit failed
	words   string  // of a failure, or of a worker that died
	lost    bool    // the worker died
	back    bool    // the worker handed the message back
	look    bool    // results may have been missed
	silent  bool    // the worker is not heard of
	missing string  // key of a blob that the farm does not have
	spent   float64 // seconds that the present unit has taken
	sum     string  // checksum of the result of a unit that was computed again
	key     string  // of that unit
	cancel  string  // the call is to end, and why
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

// Missing reports that a unit of a message needs a blob that the farm does not
// have. It is stored again if this process has it.
func (d *Dispatcher) Missing(id string, unit int, worker, host, key string) {
	d.send(id, event{id: id, worker: worker, host: host, unit: unit, failed: true, missing: key, words: MissingBlob(key).Error()})
}

// Checked reports the checksum, [BlobKey], of a result of a message with Check.
func (d *Dispatcher) Checked(id, key, worker, host, sum string) {
	d.send(id, event{id: id, worker: worker, host: host, key: key, sum: sum})
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
	defer d.mu.Unlock()
	// Where every unit is computed twice before its result is used, the votes
	// decide; see checks. A worker that was named has given others, too.
	if d.policy.Verify < 1 && !d.banned[one] && !d.banned[other] && d.conflict == nil {
		d.conflict = &Differing{Key: key, Workers: []string{one, other}}
	}
	// calls see it at their next tick
}

// Alive reports news of a worker.
func (d *Dispatcher) Alive(w Worker) {
	w.Seen = time.Now()
	d.mu.Lock()
	if old := d.workers[w.Name]; old != nil {
		w.classes, w.foreign = old.classes, old.foreign
	} else {
		self := Self()
		w.classes, w.foreign = w.Identity.Classes(), w.Identity.Version != self.Version || w.Identity.Build != self.Build
		if why := self.Differences(w.Identity); len(why) > 0 {
			defer d.Note("worker %s on %s gets %s", w.Name, w.Host, why[0])
		}
	}
	d.uncount(w.Name)
	d.workers[w.Name] = &w
	if !w.foreign {
		d.cores += w.Cores
	}
	delete(d.gone, w.Name)
	d.mu.Unlock()
	for i, id := range w.Holds {
		e := event{id: id, worker: w.Name, host: w.Host}
		if i < len(w.Spent) {
			e.spent = w.Spent[i]
		}
		d.send(id, e)
	}
}

// uncount takes a worker's cores off those that are known. The caller holds d.mu.
func (d *Dispatcher) uncount(name string) {
	if w := d.workers[name]; w != nil && !w.foreign {
		d.cores -= w.Cores
	}
}

// Silent reports that a worker is not heard of: it was stopped, or the network
// lost. Its messages are queued again, but it may come back, so that they do not
// count its death.
func (d *Dispatcher) Silent(name string) { d.leave(name, event{silent: true}) }

// Gone reports the end of a worker. If it died, the messages that it had are
// queued again and count its death; words are its last ones.
func (d *Dispatcher) Gone(name string, died bool, words string) {
	d.leave(name, event{lost: died, back: !died, words: words})
}

// leave is Gone and Silent.
func (d *Dispatcher) leave(name string, e event) {
	d.mu.Lock()
	w := d.workers[name]
	d.uncount(name)
	delete(d.workers, name)
	delete(d.busy, name)
	d.gone[name] = goneWorker{time.Now(), e.lost}
	for k, g := range d.gone { // bounded by the workers of the last hour
		if time.Since(g.at) > time.Hour {
			delete(d.gone, k)
		}
	}
	d.mu.Unlock()
	if w == nil && !e.lost {
		return
	}
	e.worker = name
	if w != nil {
		e.host = w.Host
	}
	for _, c := range d.present() {
		c.tell(e)
	}
}

// LookNow makes all calls look for results that they have missed, after a
// transport was interrupted.
func (d *Dispatcher) LookNow() {
	for _, c := range d.present() {
		c.tell(event{look: true})
	}
}

// present returns the calls that have not ended.
func (d *Dispatcher) present() []*call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.active)
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
	c := &call{units: units, done: done, first: map[string]*Result{}, index: map[string][]int{}, sent: map[string]*sent{}, of: map[string]*sent{}, events: make(chan event, min(256, 16+4*len(units))), closed: make(chan struct{})}
	for i, u := range units {
		key := u.Key()
		c.keys = append(c.keys, key)
		c.index[key] = append(c.index[key], i)
	}
	c.left = len(c.index)
	c.stage = &Stage{Kind: units[0].Kind, All: c.left, since: time.Now(), class: Class(units[0].Needs)}
	d.mu.Lock()
	d.stages = append(d.stages, c.stage)
	d.active = append(d.active, c)
	for key := range c.index {
		d.waiting[key] = append(d.waiting[key], c)
	}
	if d.counts.Since.IsZero() {
		d.counts.Since = time.Now()
	}
	d.counts.Waiting += c.left
	d.mu.Unlock()
	err := d.run(ctx, c)
	d.end(c)
	if err == nil && c.aside != nil {
		c.aside.More = c.asides - 1
		err = c.aside
	}
	return err
}

// end forgets a call and withdraws its messages.
func (d *Dispatcher) end(c *call) {
	close(c.closed)
	d.mu.Lock()
	d.stages = slices.DeleteFunc(d.stages, func(s *Stage) bool { return s == c.stage })
	d.active = slices.DeleteFunc(d.active, func(o *call) bool { return o == c })
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
	for _, m := range append(c.order, c.later...) {
		d.counts.Waiting -= len(m.left)
	}
	if len(c.of) == 0 { // the call has ended before its units were cut into messages
		d.counts.Waiting -= c.left
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

// hand hands a message to an idle worker past the queue, if there is one and nothing
// waits in the queue before it. A message that workers have died of goes through the
// queue, so that it is known who has it before it is computed.
func (d *Dispatcher) hand(m *sent) bool {
	h, ok := d.t.(Hander)
	if !ok || m.Deaths > 0 || m.Alone || !m.at.IsZero() && len(m.Not) == 0 {
		return false
	}
	d.mu.Lock()
	worker := ""
	if d.open-d.handing == 1 || len(m.Not) > 0 { // m alone
		class := m.Class()
		for name, w := range d.workers {
			if d.handed[name] < w.Cores && !d.banned[name] && !m.Refuses(name, w.Host) && time.Since(d.busy[name]) > busyFor && slices.Contains(w.classes, class) {
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
func (d *Dispatcher) run(ctx context.Context, c *call) error {
	if err := d.differing(); err != nil {
		return err
	}
	known, err := d.t.Look(ctx, c.keys)
	if err != nil {
		return err
	}
	for _, r := range known {
		if err := d.take(c, r, true); err != nil {
			return err
		}
	}
	d.mu.Lock()
	c.stage.Known = c.stage.Done
	d.mu.Unlock()
	d.cut(c)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	last, slow := time.Now(), time.Now()
	for c.left > 0 || c.checks.open() {
		more, err := d.fill(ctx, c)
		if err != nil {
			return err
		}
		var again <-chan struct{}
		if more {
			again = always
		}
		select {
		case <-again:
		case <-ctx.Done():
			return ctx.Err()
		case e := <-c.events:
			// A worker's beat says only that it goes on.
			if e.result != nil || e.back || e.lost || e.failed {
				last = time.Now()
			}
			if err := d.handle(ctx, c, e); err != nil {
				return err
			}
		case <-tick.C:
			if err := d.check(ctx, c); err != nil {
				return err
			}
			if time.Since(slow) >= againAfter {
				slow = time.Now()
				c.order, c.later = append(c.later, c.order...), nil
			}
			if time.Since(last) >= d.lookEvery {
				last = time.Now()
				if err := d.lookAgain(ctx, c, 3*d.lookEvery); err != nil {
					return err
				}
			}
		}
		if err := d.differing(); err != nil {
			return err
		}
	}
	return nil
}

// always is a channel that is always ready.
var always = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// againAfter is how long a message waits that came back from a worker that must
// not have it.
const againAfter = time.Second

// differing returns the error of results that differ.
func (d *Dispatcher) differing() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.conflict
}

// messageSeconds is how much work a message holds, as far as it is known.
const messageSeconds = 0.4

// cut divides the units without a result into messages, each of one kind and
// class.
func (d *Dispatcher) cut(c *call) {
	most := max(1, len(c.index)/(2*d.Slots()))
	var m *sent
	seconds := 0.0
	for i, u := range c.units {
		key := c.keys[i]
		if c.first[key] != nil || c.index[key][0] != i {
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
// It reports whether there are more to send now: the caller takes results
// between two batches.
func (d *Dispatcher) fill(ctx context.Context, c *call) (more bool, err error) {
	if d.yields(c) {
		return false, nil
	}
	var batch []*sent
	for len(c.order) > 0 && !more {
		m := c.order[0]
		if len(m.left) == 0 { // another call has had the same units computed
			c.order = c.order[1:]
			continue
		}
		d.mu.Lock()
		if d.open > 0 && d.open >= 4*d.slots() && len(c.sent) > 0 {
			d.mu.Unlock()
			break
		}
		d.name(c, m)
		d.mu.Unlock()
		c.order = c.order[1:]
		if d.ready(m) {
			batch = append(batch, m)
			more = len(batch) == mostBatched
		}
	}
	all := make([]Message, len(batch))
	for i, m := range batch {
		all[i] = m.Message
	}
	if b, ok := d.t.(Batcher); ok && len(all) > 1 {
		return more, d.sent(b.SendAll(ctx, all))
	}
	for _, m := range all {
		if err := d.sent(d.t.Send(ctx, m)); err != nil {
			return false, err
		}
	}
	return more, nil
}

// mostBatched is how many messages are sent before results are taken.
const mostBatched = 64

// sent returns an error of sending messages; nil if the farm has no room, as the
// messages are then sent again later.
func (d *Dispatcher) sent(err error) error {
	var full *NoRoom
	if errors.As(err, &full) {
		d.Note("%s", full.Words)
		return nil
	}
	return err
}

// name gives a message an ID. The caller holds d.mu.
func (d *Dispatcher) name(c *call, m *sent) {
	d.open++
	d.sequence++
	m.ID = fmt.Sprintf("%s-%08d", d.caller, d.sequence)
	d.calls[m.ID] = c
	c.sent[m.ID] = m
}

// unsend forgets that a message was sent: it waits, and gets another ID, as
// workers take no message that was withdrawn.
func (d *Dispatcher) unsend(c *call, m *sent) {
	delete(c.sent, m.ID)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.close(m)
	d.runs(m, false)
	m.worker, m.host = "", ""
}

// runs keeps whether a message runs, and counts its units so. The caller holds d.mu.
func (d *Dispatcher) runs(m *sent, running bool) {
	if m.running == running {
		return
	}
	n := len(m.left)
	if !running {
		n = -n
	}
	d.counts.Running += n
	d.counts.Waiting -= n
	m.running = running
}

// queueTo hands a message to a worker that may have it, if one is known to be
// idle.
func (d *Dispatcher) queueTo(m *sent) bool {
	d.mu.Lock()
	d.unhand(m)
	d.runs(m, false)
	d.mu.Unlock()
	return d.hand(m)
}

// queue sends a message, or hands it to a worker.
func (d *Dispatcher) queue(ctx context.Context, m *sent) error {
	if !d.ready(m) {
		return nil
	}
	return d.sent(d.t.Send(ctx, m.Message))
}

// ready prepares a message for the queue; it reports false if it was handed to a
// worker instead.
func (d *Dispatcher) ready(m *sent) bool {
	d.mu.Lock()
	d.unhand(m)
	d.runs(m, false)
	m.worker = ""
	d.mu.Unlock()
	if len(m.left) < len(m.Units) {
		m.Units = slices.DeleteFunc(slices.Clone(m.Units), func(u Unit) bool { return !m.left[u.Key()] })
	}
	if d.hand(m) {
		return false
	}
	d.mu.Lock()
	for w := range d.banned {
		if !slices.Contains(m.Not, w) {
			m.Not = append(slices.Clone(m.Not), w)
		}
	}
	d.mu.Unlock()
	m.at = time.Now()
	return true
}

// take delivers a result; known says that it was there before the call.
func (d *Dispatcher) take(c *call, r Result, known bool) error {
	places, wanted := c.index[r.Key]
	if !wanted {
		return nil
	}
	if old := c.first[r.Key]; old != nil {
		if old.Data != nil && !bytes.Equal(old.Data, r.Data) {
			return d.differs(c, old, r)
		}
		return nil
	}
	d.mu.Lock()
	banned, verify := d.banned[r.Worker], d.policy.Verify
	d.mu.Unlock()
	if banned {
		d.drop([]string{r.Key})
		return d.redo(c, r.Key)
	}
	c.first[r.Key] = &r
	c.left--
	u := c.units[places[0]]
	d.Observe(u.Kind, u.Weight(), r.Seconds)
	m := c.of[r.Key]
	d.mu.Lock()
	d.counts.Done++
	c.stage.Done++
	d.counts.Seconds += r.Seconds
	if m == nil { // known before messages were cut
		d.counts.Waiting--
	}
	d.mu.Unlock()
	if m != nil {
		d.strike(c, m, r.Key)
	}
	d.keepWithin(r)
	if !known && sampled(r.Key, verify) {
		c.checks.add(&r, verify >= 1)
		if verify >= 1 {
			return nil // delivered when another worker has found the same
		}
	}
	return c.deliver(&r)
}

// strike takes a unit off a message and off the counts, and forgets a message without
// units.
func (d *Dispatcher) strike(c *call, m *sent, key string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case !m.left[key]:
	case m.running:
		d.counts.Running--
	default:
		d.counts.Waiting--
	}
	delete(m.left, key)
	if _, ok := c.sent[m.ID]; ok && len(m.left) == 0 {
		delete(c.sent, m.ID)
		d.close(m)
	}
}

// deliver calls done for all units of a key.
func (c *call) deliver(r *Result) error {
	for _, i := range c.index[r.Key] {
		if err := c.done(i, r.Data); err != nil {
			return err
		}
	}
	return nil
}

// handle processes an event.
func (d *Dispatcher) handle(ctx context.Context, c *call, e event) error {
	if e.result != nil {
		return d.take(c, *e.result, false)
	}
	if e.look {
		return d.lookAgain(ctx, c, 0)
	}
	if e.cancel != "" {
		return fmt.Errorf("farm: the call was ended from elsewhere: %s", e.cancel)
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
		if e.missing != "" && m.healed < mostHealed {
			if healed, err := d.heal(ctx, e.missing); healed || err != nil {
				m.healed++
				if err != nil {
					return err
				}
				return d.queue(ctx, m)
			}
		}
		return Remember(Failure{Worker: e.worker, Host: e.host, Words: e.words}, u, d.env)
	case e.sum != "":
		return d.vote(c, m, e)
	case e.back && len(m.Not) > 0 && m.Refuses(e.worker, e.host):
		if d.queueTo(m) {
			return nil
		}
		d.unsend(c, m)
		c.later = append(c.later, m)
	case e.back:
		if m.worker == e.worker || m.worker == "" {
			if at := cmp.Or(m.worker, m.to); at != "" {
				d.mu.Lock()
				d.busy[at] = time.Now()
				d.mu.Unlock()
			}
			return d.queue(ctx, m)
		}
	case e.worker != "" && e.worker == m.died: // late news
	case d.dead(e.worker):
		// It died before the news came that it had taken the message.
		m.worker, m.host = e.worker, e.host
		d.mu.Lock()
		e.lost = d.gone[e.worker].died
		d.mu.Unlock()
		return d.lost(ctx, c, m, e)
	default:
		d.mu.Lock()
		d.runs(m, true)
		d.mu.Unlock()
		if m.worker != e.worker {
			m.took = time.Now()
		}
		m.worker, m.host = e.worker, e.host
		return d.overdue(c, m, e.spent)
	}
	return nil
}

// lookAgain is called when nothing has come for a while, or the transport was
// interrupted: it takes results that were missed, and queues messages again that
// were lost, if they were sent longer ago than age.
func (d *Dispatcher) lookAgain(ctx context.Context, c *call, age time.Duration) error {
	var keys []string
	for key := range c.index {
		if c.first[key] == nil {
			keys = append(keys, key)
		}
	}
	found, err := d.t.Look(ctx, keys)
	if err != nil {
		return err
	}
	for _, r := range found {
		if err := d.take(c, r, false); err != nil {
			return err
		}
	}
	d.mu.Lock()
	none := len(d.workers) == 0
	present := make(map[string]*Worker, len(d.workers))
	for name, w := range d.workers {
		present[name] = w
	}
	d.mu.Unlock()
	if none && c.left > 0 {
		d.Note("no worker is there, and %d units wait: start one with dace worker -join FILE, or Farm.Local", c.left)
	}
	for _, m := range c.sent {
		if time.Since(m.at) < age {
			continue
		}
		// A worker that is there and does not name the message among those that
		// it holds has lost it, or its result was lost.
		if w := present[m.worker]; w != nil && (w.Seen.Sub(m.took) < tookMargin || slices.Contains(w.Holds, m.ID)) {
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
