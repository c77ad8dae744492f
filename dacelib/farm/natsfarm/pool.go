package natsfarm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
)

// A Pool is a caller's connection to a farm.
type Pool struct {
	*farm.Dispatcher
	nc     *link // set when connected is closed
	join   joinFile
	caller string
	ctx    context.Context // ends with Close
	close  context.CancelFunc

	connected chan struct{}

	mu sync.Mutex // guards the fields below
	// known holds when results came that the server has; zero if they were there before.
	known map[string]time.Time
	// early holds results that workers have sent and not stored yet. Of a worker
	// that dies meanwhile the last ones stay.
	early map[string]farm.Result
}

// connecting is how long NewPool begins again when the server dies while it
// connects.
const connecting = 15 * time.Second

// NewPool connects a caller to the farm of a join file.
func NewPool(ctx context.Context, path string) (*Pool, error) {
	for until := time.Now().Add(connecting); ; {
		p, err := newPool(ctx, path)
		// The client reports requests that a server's end has cut off as errors of
		// these kinds, also when it connects again by itself.
		cut := errors.Is(err, nats.ErrConnectionClosed) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
		if err == nil || !cut || ctx.Err() != nil || time.Now().After(until) {
			return p, err
		}
	}
}

// newPool connects a caller once.
func newPool(ctx context.Context, path string) (p *Pool, err error) {
	j, err := readJoin(path)
	if err != nil {
		return nil, err
	}
	p = &Pool{join: j, caller: "c" + farm.WorkerName(), known: map[string]time.Time{}, early: map[string]farm.Result{}, connected: make(chan struct{})}
	p.caller = strings.ReplaceAll(p.caller, "-", "_")
	p.ctx, p.close = context.WithCancel(context.Background())
	p.Dispatcher = farm.NewDispatcher(p, p.caller, farm.NewEnv(1, p.Get, p.Put), 5*time.Second)
	p.Use(farm.Policy{Disk: j.Disk})
	nc, err := j.connect(ctx, path, "caller", p.caller, p.down, p.back)
	if err != nil {
		p.close()
		return nil, err
	}
	p.nc = nc
	close(p.connected)
	defer func() {
		if err != nil {
			_ = p.Close()
			p = nil
		}
	}()
	for subject, handle := range map[string]nats.MsgHandler{
		"r.*": p.result, "c." + p.caller: p.notice, "c." + p.caller + ".*": p.answered, "w.*": p.worker,
		"lost":   func(m *nats.Msg) { p.Gone(string(m.Data), true, "") },
		"silent": func(m *nats.Msg) { p.Silent(string(m.Data)) },
		"hello":  func(*nats.Msg) { p.show() },
		"q.*":    p.other,
	} {
		s, err := nc.Subscribe(subject, handle)
		if err == nil {
			err = s.SetPendingLimits(-1, 1<<30)
		}
		if err != nil {
			return p, err
		}
	}
	if err := p.loadKnown(ctx); err != nil {
		return p, err
	}
	if err := p.ask(ctx); err != nil {
		return p, err
	}
	go p.listen()
	return p, nil
}

// Close ends the connection.
func (p *Pool) Close() error {
	p.close()
	p.nc.Close()
	return nil
}

// ask asks the workers to show themselves and waits a moment for the first.
func (p *Pool) ask(ctx context.Context) error {
	if err := p.nc.Publish("hello", nil); err != nil {
		return err
	}
	if err := p.nc.FlushWithContext(withDeadline(ctx, p.ctx)); err != nil {
		return err
	}
	for range 20 {
		if len(p.Workers()) > 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return nil
}

// show publishes the caller's state for [Status] of another process.
func (p *Pool) show() {
	c := p.Caller()
	if n := len(c.Failures); n > mostShown {
		c.Failures = c.Failures[n-mostShown:]
	}
	if b, err := json.Marshal(c); err == nil && p.ready() {
		_ = p.nc.Publish("q."+p.caller, b)
	}
}

// other is called for the state of another caller.
func (p *Pool) other(m *nats.Msg) {
	var c farm.Caller
	if json.Unmarshal(m.Data, &c) == nil && m.Subject == "q."+c.Name {
		p.Peer(c)
	}
}

// mostShown is how many failures a caller shows to other processes.
const mostShown = 20

// withDeadline returns a context with a deadline, which the client demands.
func withDeadline(ctx, other context.Context) context.Context {
	if ctx == nil {
		ctx = other
	}
	c, cancel := context.WithTimeout(ctx, 10*time.Second)
	context.AfterFunc(c, cancel)
	return c
}

// listen reports workers that have been silent for long, and shows the caller to
// others while it has work.
func (p *Pool) listen() {
	shown := time.Now()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-time.After(time.Second):
		}
		if !p.nc.IsConnected() {
			continue
		}
		for _, w := range p.Workers() {
			if time.Since(w.Seen) > silent {
				p.Silent(w.Name)
			}
		}
		if time.Since(shown) >= farm.PeerEvery && p.Working() {
			shown = time.Now()
			p.show()
		}
	}
}

// down is called when the connection has ended.
func (p *Pool) down() {
	if !p.ready() {
		return
	}
	p.Note("the farm's server does not answer; waiting for it")
	// The folder of a farm that was stopped may be deleted any time.
	over := false
	for p.ctx.Err() == nil && !p.nc.IsConnected() {
		if over = over || stopped(p.join.Dir); !over {
			p.join.revive()
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// ready waits until nc is set, and reports whether the pool is open.
func (p *Pool) ready() bool {
	select {
	case <-p.connected:
	case <-p.ctx.Done():
	}
	return p.ctx.Err() == nil
}

// back is called when the connection is there again.
func (p *Pool) back() {
	if !p.ready() {
		return
	}
	at := time.Now()
	p.Note("the farm's server answers again")
	_ = p.loadKnown(p.ctx)
	_ = p.nc.Publish("hello", nil)
	p.LookNow()
	// Workers that died with the server say nothing.
	time.AfterFunc(10*time.Second, func() {
		for _, w := range p.Workers() {
			if w.Seen.Before(at) && p.nc.IsConnected() {
				p.Gone(w.Name, false, "")
			}
		}
	})
}

// loadKnown asks the server which results it has.
func (p *Pool) loadKnown(ctx context.Context) error {
	all := map[string]bool{}
	for offset := 0; ; {
		request := fmt.Sprintf(`{"subjects_filter":"r.*","offset":%d}`, offset)
		m, err := p.nc.request(withDeadline(ctx, p.ctx), "$JS.API.STREAM.INFO.RESULTS", []byte(request))
		if err != nil {
			return fmt.Errorf("farm: the server's results: %w", err)
		}
		var info struct {
			Total int `json:"total"`
			State struct {
				Subjects map[string]int `json:"subjects"`
			} `json:"state"`
		}
		if err := json.Unmarshal(m.Data, &info); err != nil {
			return fmt.Errorf("farm: the server's results: %w", err)
		}
		for s := range info.State.Subjects {
			all[strings.TrimPrefix(s, "r.")] = true
		}
		offset += len(info.State.Subjects)
		if len(info.State.Subjects) == 0 || offset >= info.Total {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for key := range all {
		p.known[key] = time.Time{}
	}
	return nil
}

// result is called for every result of the farm.
func (p *Pool) result(m *nats.Msg) {
	r, blob, err := unpackResult(m.Data)
	if err != nil {
		return // what was meant is found by looking again
	}
	p.mu.Lock()
	p.known[r.Key] = time.Now()
	early, ok := p.early[r.Key]
	delete(p.early, r.Key)
	p.mu.Unlock()
	if ok && (blob != "" || !bytes.Equal(early.Data, r.Data)) {
		p.Conflict(r.Key, early.Worker, r.Worker)
	}
	if blob == "" {
		p.Done(r)
		return
	}
	if !p.Waits(r.Key) {
		return
	}
	go func() {
		if r.Data, err = p.Get(p.ctx, blob); err == nil {
			p.Done(r)
		}
	}()
}

func (p *Pool) notice(m *nats.Msg) {
	var n notice
	if json.Unmarshal(m.Data, &n) != nil {
		return
	}
	switch n.Kind {
	case "took":
		p.Took(n.ID, n.Worker, n.Host)
	case "failed":
		p.Failed(n.ID, n.Unit, n.Worker, n.Host, n.Words)
	case "missing":
		p.Missing(n.ID, n.Unit, n.Worker, n.Host, n.Key)
	case "checked":
		p.Checked(n.ID, n.Key, n.Worker, n.Host, n.Words)
	case "note":
		p.Note("worker %s on %s: %s", n.Worker, n.Host, n.Words)
	case "cancel":
		p.Cancel(n.Words)
	case "back":
		p.Back(n.ID, n.Worker)
	case "conflict":
		p.Conflict(n.Key, n.Worker, n.Words)
	}
}

func (p *Pool) worker(m *nats.Msg) {
	name := strings.TrimPrefix(m.Subject, "w.")
	if len(m.Data) == 0 {
		p.Gone(name, false, "")
		return
	}
	var w farm.Worker
	if json.Unmarshal(m.Data, &w) == nil && w.Name == name && w.Cores > 0 && w.Cores < 1<<16 {
		p.Alive(w)
		// A message may have been stored, or a worker come, after it was withdrawn.
		var orphans []string
		for _, id := range w.Holds {
			if caller, _ := split(id); caller == p.caller && !p.Open(id) {
				orphans = append(orphans, id)
			}
		}
		p.cancel(orphans)
	}
}

func (p *Pool) waiting() { p.Note("the farm's server does not answer; waiting for it") }

// Put implements farm.Pool.
func (p *Pool) Put(ctx context.Context, blob []byte) (string, error) {
	if err := p.Keep(farm.BlobKey(blob), blob); err != nil {
		return "", err
	}
	return putBlob(ctx, p.nc, blob, p.waiting)
}

// Restore implements farm.Restorer: what is left of the blob is removed first.
func (p *Pool) Restore(ctx context.Context, blob []byte) error {
	if err := p.purge(ctx, "BLOBS", "b."+farm.BlobKey(blob)+".>"); err != nil {
		return err
	}
	_, err := putBlob(ctx, p.nc, blob, p.waiting)
	return err
}

// purge removes the messages of a subject.
func (p *Pool) purge(ctx context.Context, stream, subject string) error {
	request, err := json.Marshal(map[string]string{"filter": subject})
	if err != nil {
		return err
	}
	for {
		if _, err = p.nc.request(ctx, "$JS.API.STREAM.PURGE."+stream, request); err == nil || ctx.Err() != nil || errors.Is(err, nats.ErrConnectionClosed) {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Drop implements farm.Dropper. It does not wait.
func (p *Pool) Drop(keys []string) {
	for _, key := range keys {
		p.mu.Lock()
		delete(p.known, key)
		delete(p.early, key)
		p.mu.Unlock()
		request, _ := json.Marshal(map[string]string{"filter": "r." + key})
		_ = p.nc.Publish("$JS.API.STREAM.PURGE.RESULTS", request)
	}
}

// Dismiss implements farm.Dismisser.
func (p *Pool) Dismiss(worker, why string) { _ = p.nc.Publish("e."+worker, []byte(why)) }

// Get implements farm.Pool.
func (p *Pool) Get(ctx context.Context, key string) ([]byte, error) { return getBlob(ctx, p.nc, key) }

// Send implements farm.Transport.
func (p *Pool) Send(ctx context.Context, m farm.Message) error {
	b, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return store(ctx, p.nc, subject(m), b, p.waiting)
}

// SendAll implements farm.Batcher. Messages whose storage was not confirmed are sent
// again one by one.
func (p *Pool) SendAll(ctx context.Context, all []farm.Message) error {
	inbox := nats.NewInbox()
	answers, err := p.nc.SubscribeSync(inbox + ".*")
	if err != nil {
		return err
	}
	defer func() { _ = answers.Unsubscribe() }()
	stored, left := make([]bool, len(all)), 0
	for i, m := range all {
		b, err := json.Marshal(m)
		if err != nil {
			return err
		}
		if len(b) <= maxPayload && p.nc.PublishRequest(subject(m), inbox+"."+strconv.Itoa(i), b) == nil {
			left++
		}
	}
	try, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	defer context.AfterFunc(p.nc.share(), cancel)() // the connection's end
	for ; left > 0; left-- {
		m, err := answers.NextMsgWithContext(try)
		if err != nil {
			break
		}
		var a ack
		if i, err := strconv.Atoi(m.Subject[len(inbox)+1:]); err == nil && i < len(all) && json.Unmarshal(m.Data, &a) == nil && a.Error == nil {
			stored[i] = true
		}
	}
	for i, m := range all {
		if !stored[i] {
			if err := p.Send(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// mostHanded is the size of the largest message that is handed to a worker:
// larger ones take so long that the way through the queue does not matter.
const mostHanded = 64 << 10

// Hand implements farm.Hander.
func (p *Pool) Hand(m farm.Message, worker string) bool {
	size := 0
	for _, u := range m.Units {
		size += len(u.Data)
	}
	if size > mostHanded || !p.ready() || !p.nc.IsConnected() {
		return false
	}
	b, err := json.Marshal(m)
	if err != nil {
		return false // Send says why
	}
	_, number := split(m.ID)
	return p.nc.PublishRequest("d."+worker, "c."+p.caller+"."+number, b) == nil
}

// answered is called for what answers a message that was handed over: results,
// which the worker stores afterwards. The server answers where nobody listens, as
// when the worker has just lost its connection.
func (p *Pool) answered(m *nats.Msg) {
	if m.Header.Get("Status") == "503" {
		p.Back(p.caller+"-"+strings.TrimPrefix(m.Subject, "c."+p.caller+"."), "")
		return
	}
	r, blob, err := unpackResult(m.Data)
	if err != nil || blob != "" || !p.Waits(r.Key) {
		return
	}
	p.mu.Lock()
	if _, ok := p.known[r.Key]; !ok {
		p.early[r.Key] = r
	}
	p.mu.Unlock()
	p.Done(r)
}

// Queued implements farm.Transport.
func (p *Pool) Queued(ctx context.Context, m farm.Message) (bool, error) {
	_, ok, err := get(ctx, p.nc, "TASKS", subject(m))
	return ok, err
}

// Withdraw implements farm.Transport. It does not wait for a server that is
// away.
func (p *Pool) Withdraw(messages []farm.Message) {
	var ids []string
	for _, m := range messages {
		ids = append(ids, m.ID)
		request, _ := json.Marshal(map[string]string{"filter": subject(m)})
		_ = p.nc.Publish("$JS.API.STREAM.PURGE.TASKS", request)
	}
	p.cancel(ids)
}

// cancel stops the workers that compute messages that nobody waits for.
func (p *Pool) cancel(ids []string) {
	if len(ids) == 0 {
		return
	}
	if b, err := json.Marshal(ids); err == nil {
		_ = p.nc.Publish("x", b)
	}
}

// settles is how long a result may be missing at the server when callers have heard of it:
// the server passes it on to them while it stores it.
const settles = 2 * time.Second

// Look implements farm.Transport.
func (p *Pool) Look(ctx context.Context, keys []string) ([]farm.Result, error) {
	var out []farm.Result
	seen := map[string]bool{}
	for _, key := range keys {
		if seen[key] {
			continue
		}
		seen[key] = true
		p.mu.Lock()
		r, early := p.early[key]
		came, known := p.known[key]
		p.mu.Unlock()
		if early {
			out = append(out, r)
		}
		if early || !known {
			continue
		}
		b, ok, err := get(ctx, p.nc, "RESULTS", "r."+key)
		for err == nil && !ok && time.Since(came) < settles {
			time.Sleep(5 * time.Millisecond)
			b, ok, err = get(ctx, p.nc, "RESULTS", "r."+key)
		}
		if err != nil {
			return out, err
		}
		if !ok {
			continue
		}
		r, blob, err := unpackResult(b)
		if err == nil && blob != "" {
			r.Data, err = p.Get(ctx, blob)
		}
		if err == nil {
			out = append(out, r)
		}
	}
	return out, nil
}
