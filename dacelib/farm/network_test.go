package farm_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"dace.local/dacelib/farm"
)

// A network is the server of a farm and the lines to it, in memory, for tests in
// a bubble of testing/synctest: all of its times are false. It fails as it is
// told.
type network struct {
	ctx context.Context // ends with the test

	mu      sync.Mutex // guards the fields below
	rng     *rand.Rand
	tasks   []farm.Message
	open    map[string]bool // IDs in tasks
	waiting []*slot
	results map[string]farm.Result
	blobs   map[string][]byte
	callers map[string]*caller
	workers map[string]*line
	lose    float64   // share of what workers say that is lost
	full    time.Time // until when the disk is full
	made    int       // workers so far
	// computed and dropped count units that workers computed and messages lost.
	computed, dropped int
}

// A slot waits for a message.
type slot struct {
	w *line
	c chan farm.Message
}

func newNetwork(ctx context.Context, seed uint64) *network {
	return &network{
		ctx: ctx, rng: rand.New(rand.NewPCG(seed, 45)), open: map[string]bool{}, results: map[string]farm.Result{}, blobs: map[string][]byte{},
		callers: map[string]*caller{}, workers: map[string]*line{},
	}
}

// latency is how long a message takes.
const latency = 2 * time.Millisecond

// later calls f after the latency, unless what is sent is lost.
func (n *network) later(f func()) { time.AfterFunc(latency, f) }

// match gives messages to slots. The caller holds n.mu.
func (n *network) match() {
	for len(n.tasks) > 0 {
		i := slices.IndexFunc(n.waiting, func(s *slot) bool { return !s.w.cut() })
		if i < 0 {
			return
		}
		s, m := n.waiting[i], n.tasks[0]
		n.waiting = slices.Delete(n.waiting, i, i+1)
		n.tasks = n.tasks[1:]
		delete(n.open, m.ID)
		s.c <- m
	}
}

// A caller is a pool on the network.
type caller struct {
	*farm.Dispatcher
	n    *network
	name string
	cut  time.Time // until when it has lost the net; guarded by n.mu
}

func (n *network) caller(name string, p farm.Policy) *caller {
	c := &caller{n: n, name: name}
	c.Dispatcher = farm.NewDispatcher(c, name, farm.NewEnv(1, c.Get, c.Put), 5*time.Second)
	c.Use(p)
	n.mu.Lock()
	n.callers[name] = c
	for _, w := range n.workers {
		n.later(func() { c.Alive(w.state()) })
	}
	n.mu.Unlock()
	go func() {
		for n.ctx.Err() == nil {
			time.Sleep(farm.PeerEvery)
			state := c.Caller()
			n.mu.Lock()
			for _, o := range n.callers {
				if o != c {
					n.later(func() { o.Peer(state) })
				}
			}
			n.mu.Unlock()
			for _, w := range c.Workers() {
				if time.Since(w.Seen) > 15*time.Second && c.up() {
					c.Silent(w.Name)
				}
			}
		}
	}()
	return c
}

// up reports whether the caller reaches the server.
func (c *caller) up() bool {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	return !time.Now().Before(c.cut)
}

// wait waits until the caller reaches the server.
func (c *caller) wait(ctx context.Context) error {
	for !c.up() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

func (c *caller) Put(ctx context.Context, blob []byte) (string, error) {
	key := farm.BlobKey(blob)
	if err := errors.Join(c.Keep(key, blob), c.wait(ctx)); err != nil {
		return "", err
	}
	return key, c.Restore(ctx, blob)
}

func (c *caller) Restore(_ context.Context, blob []byte) error {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	c.n.blobs[farm.BlobKey(blob)] = blob
	return nil
}

func (c *caller) Get(ctx context.Context, key string) ([]byte, error) { return c.n.get(key) }

func (n *network) get(key string) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if b := n.blobs[key]; b != nil {
		return b, nil
	}
	return nil, farm.MissingBlob(key)
}

func (c *caller) Send(ctx context.Context, m farm.Message) error {
	if err := c.wait(ctx); err != nil {
		return err
	}
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if !c.n.open[m.ID] {
		c.n.open[m.ID] = true
		c.n.tasks = append(c.n.tasks, m)
		c.n.match()
	}
	return nil
}

func (c *caller) Queued(ctx context.Context, m farm.Message) (bool, error) {
	err := c.wait(ctx)
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	return c.n.open[m.ID], err
}

func (c *caller) Withdraw(ms []farm.Message) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	gone := map[string]bool{}
	for _, m := range ms {
		gone[m.ID] = true
		delete(c.n.open, m.ID)
	}
	c.n.tasks = slices.DeleteFunc(c.n.tasks, func(m farm.Message) bool { return gone[m.ID] })
	for _, w := range c.n.workers {
		w.withdraw(gone)
	}
}

func (c *caller) Look(ctx context.Context, keys []string) ([]farm.Result, error) {
	err := c.wait(ctx)
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	var out []farm.Result
	for _, key := range keys {
		if r, ok := c.n.results[key]; ok {
			out = append(out, r)
		}
	}
	return out, err
}

func (c *caller) Drop(keys []string) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	for _, key := range keys {
		delete(c.n.results, key)
	}
}

func (c *caller) Dismiss(worker, _ string) {
	c.n.mu.Lock()
	defer c.n.mu.Unlock()
	if w := c.n.workers[worker]; w != nil && !w.dismissed {
		w.dismissed = true
		close(w.fired)
	}
}

// A line is a worker's connection, and a worker that fails as it is told.
type line struct {
	n     *network
	name  string
	host  string
	cores int
	state func() farm.Worker
	kill  context.CancelFunc
	ended chan struct{} // closed when Run has returned
	err   error         // of Run
	fired chan struct{}

	// guarded by n.mu
	running   map[string]context.CancelFunc
	off       time.Time // until when it has lost the net, or is stopped
	dead      bool
	lies      bool
	hangs     int // units that are to hang
	dismissed bool
	noServer  time.Time // since when it knows that it does not reach the server
}

// worker starts a worker.
func (n *network) worker(cores int) *line {
	n.mu.Lock()
	n.made++
	w := &line{n: n, name: fmt.Sprintf("w%d", n.made), host: fmt.Sprintf("host%d", n.made%40), cores: cores, running: map[string]context.CancelFunc{}, ended: make(chan struct{}), fired: make(chan struct{})}
	n.mu.Unlock()
	ctx, kill := context.WithCancel(n.ctx)
	w.kill = kill
	go func() {
		defer close(w.ended)
		w.err = farm.Work{Name: w.name, Cores: cores}.Run(ctx, w)
	}()
	return w
}

// cut reports whether nothing of the worker arrives. The caller holds n.mu.
func (w *line) cut() bool { return w.dead || time.Now().Before(w.off) }

// tell has callers told something, if it arrives: the one of a message, or all.
func (w *line) tell(id string, f func(c *caller)) {
	w.n.mu.Lock()
	defer w.n.mu.Unlock()
	if w.cut() || w.n.rng.Float64() < w.n.lose {
		w.n.dropped++
		return
	}
	name := ""
	if i := strings.LastIndexByte(id, '-'); i > 0 {
		name = id[:i]
	}
	for _, c := range w.n.callers {
		if (name == "" || c.name == name) && !time.Now().Before(c.cut) {
			w.n.later(func() { f(c) })
		}
	}
}

func (w *line) Join(ctx context.Context, state func() farm.Worker) error {
	w.n.mu.Lock()
	w.n.workers[w.name] = w
	w.state = func() farm.Worker { s := state(); s.Host = w.host; return s }
	w.n.mu.Unlock()
	go func() {
		for {
			w.n.mu.Lock()
			dead := w.dead
			w.n.mu.Unlock()
			if dead {
				return
			}
			s := w.state()
			w.tell("", func(c *caller) { c.Alive(s) })
			select {
			case <-ctx.Done():
				return
			case <-time.After(5 * time.Second):
			}
		}
	}()
	return nil
}

func (w *line) Away() time.Duration {
	w.n.mu.Lock()
	defer w.n.mu.Unlock()
	if w.noServer.IsZero() || !time.Now().Before(w.off) {
		return 0
	}
	return time.Since(w.noServer)
}

// gone has the worker know that the server is gone for a time.
func (w *line) gone(d time.Duration) {
	w.n.mu.Lock()
	w.noServer = time.Now()
	w.n.mu.Unlock()
	w.lost(d)
}

func (w *line) Take(ctx context.Context) (farm.Message, context.Context, error) {
	s := &slot{w, make(chan farm.Message, 1)}
	w.n.mu.Lock()
	w.n.waiting = append(w.n.waiting, s)
	w.n.match()
	w.n.mu.Unlock()
	leave := func() {
		w.n.mu.Lock()
		w.n.waiting = slices.DeleteFunc(w.n.waiting, func(o *slot) bool { return o == s })
		w.n.mu.Unlock()
	}
	select {
	case <-ctx.Done():
		leave()
		return farm.Message{}, nil, ctx.Err()
	case <-w.fired:
		leave()
		return farm.Message{}, nil, io.EOF
	case m := <-s.c:
		of, cancel := context.WithCancel(ctx)
		w.n.mu.Lock()
		w.running[m.ID] = cancel
		w.n.mu.Unlock()
		w.tell(m.ID, func(c *caller) { c.Took(m.ID, w.name, w.host) })
		return m, of, nil
	}
}

// withdraw stops messages. The caller holds n.mu.
func (w *line) withdraw(gone map[string]bool) {
	if w.cut() {
		return
	}
	for id, cancel := range w.running {
		if gone[id] {
			cancel()
			delete(w.running, id)
		}
	}
}

func (w *line) forget(id string) {
	w.n.mu.Lock()
	defer w.n.mu.Unlock()
	if cancel := w.running[id]; cancel != nil {
		cancel()
		delete(w.running, id)
	}
}

// wait waits until the worker reaches the server; it reports false if it is dead.
func (w *line) wait() bool {
	for {
		w.n.mu.Lock()
		dead, cut := w.dead, w.cut()
		w.n.mu.Unlock()
		if dead || w.n.ctx.Err() != nil {
			return false
		}
		if !cut {
			return true
		}
		select {
		case <-w.n.ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (w *line) Result(_ context.Context, m farm.Message, r farm.Result) error {
	if !w.wait() {
		return nil
	}
	r.Host = w.host
	w.n.mu.Lock()
	if w.lies {
		r.Data = fmt.Appendf(slices.Clone(r.Data[:len(r.Data)-2]), "x%s\"", w.name) // as no other that fails
	}
	full := time.Now().Before(w.n.full)
	if !full || m.Check {
		w.n.computed++
	}
	old, there := w.n.results[r.Key]
	if !full && !there && !m.Check {
		w.n.results[r.Key] = r
	}
	w.n.mu.Unlock()
	switch {
	case m.Check:
		w.tell(m.ID, func(c *caller) { c.Checked(m.ID, r.Key, w.name, w.host, farm.BlobKey(r.Data)) })
	case full:
		return &farm.NoRoom{Words: "the disk of the network is full"}
	case there && string(old.Data) != string(r.Data):
		w.tell(m.ID, func(c *caller) { c.Conflict(r.Key, old.Worker, w.name) })
	default:
		w.tell("", func(c *caller) { c.Dispatcher.Done(r) })
	}
	if r.Key == m.Units[len(m.Units)-1].Key() {
		w.forget(m.ID)
	}
	return nil
}

func (w *line) Failed(_ context.Context, m farm.Message, unit int, words string) error {
	w.forget(m.ID)
	w.tell(m.ID, func(c *caller) { c.Failed(m.ID, unit, w.name, w.host, words) })
	return nil
}

func (w *line) Missing(_ context.Context, m farm.Message, unit int, key string) error {
	w.forget(m.ID)
	w.tell(m.ID, func(c *caller) { c.Missing(m.ID, unit, w.name, w.host, key) })
	return nil
}

func (w *line) Note(m farm.Message, words string) {
	w.tell(m.ID, func(c *caller) { c.Dispatcher.Note("%s: %s", w.name, words) })
}

func (w *line) Back(_ context.Context, m farm.Message) error {
	w.forget(m.ID)
	w.tell(m.ID, func(c *caller) { c.Back(m.ID, w.name) })
	return nil
}

func (w *line) Leave(context.Context) {
	w.tell("", func(c *caller) { c.Gone(w.name, false, "") })
	w.n.mu.Lock()
	delete(w.n.workers, w.name)
	w.n.mu.Unlock()
}

func (w *line) Get(ctx context.Context, key string) ([]byte, error) {
	w.n.mu.Lock()
	hang := w.hangs > 0
	if hang {
		w.hangs--
	}
	w.n.mu.Unlock()
	if hang { // and does not end when it is withdrawn
		<-w.n.ctx.Done()
	}
	return w.n.get(key)
}

func (w *line) Put(context.Context, []byte) (string, error) { return "", errors.New("not here") }

// die kills the worker; the server tells callers within a second.
func (w *line) die() {
	w.n.mu.Lock()
	w.dead = true
	delete(w.n.workers, w.name)
	for _, c := range w.n.callers {
		time.AfterFunc(700*time.Millisecond, func() {
			if c.up() {
				c.Gone(w.name, true, "")
			}
		})
	}
	w.n.mu.Unlock()
	w.kill()
}

// lost has the worker lose the net for a time. The server notices after a while.
func (w *line) lost(d time.Duration) {
	w.n.mu.Lock()
	w.off = time.Now().Add(d)
	w.n.mu.Unlock()
	time.AfterFunc(d, w.n.again)
}

// again gives messages to slots after an interruption.
func (n *network) again() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.match()
}

// restart ends the server and starts it again: the queue is in memory.
func (n *network) restart(d time.Duration) {
	n.mu.Lock()
	n.tasks, n.open = nil, map[string]bool{}
	for _, w := range n.workers {
		w.off = time.Now().Add(d)
	}
	for _, c := range n.callers {
		c.cut = time.Now().Add(d)
	}
	all := slices.Collect(maps.Values(n.callers))
	n.mu.Unlock()
	time.AfterFunc(d, func() {
		for _, c := range all {
			c.LookNow()
		}
		n.again()
	})
}

// work is the data of the kind "night: work": it takes seconds of false time.
type work struct {
	Blob    string
	Number  int
	Seconds float64
}

// result is what a unit of the kind gives.
func (d work) result(blob []byte) []byte {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", blob, d.Number))
	return fmt.Appendf(nil, "%q", fmt.Sprintf("%x", sum[:8]))
}

func init() {
	farm.Register("night: work", func(ctx context.Context, env *farm.Env, data []byte) ([]byte, error) {
		var d work
		if err := json.Unmarshal(data, &d); err != nil {
			return nil, err
		}
		blob, err := env.Blob(ctx, d.Blob)
		if err != nil {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(time.Duration(d.Seconds * float64(time.Second))):
		}
		return d.result(blob), nil
	})
}
