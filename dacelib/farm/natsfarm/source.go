package natsfarm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
)

// A source is a worker's connection to a farm.
type source struct {
	nc      *link
	path    string
	join    joinFile
	name    string
	host    string
	state   func() farm.Worker
	work    context.Context // the worker's
	joined  chan struct{}   // closed when Join has succeeded
	drained chan struct{}
	drain   sync.Once
	// requests asks for work, late stores results whose callers have them.
	requests *requests
	late     late

	rates farm.Rates // of the units that it has computed
	lost  time.Time  // since when the server is away; of Away alone

	mu      sync.Mutex      // guards the fields below
	running map[string]task // by message ID
	// withdrawn are the messages that callers have withdrawn lately, which may
	// come after the news that they are: subscriptions keep no common order, and
	// the server may store a message after a purge that was sent later.
	withdrawn map[string]time.Time
}

// A task is a message that the worker computes.
type task struct {
	cancel context.CancelFunc
	reply  string // the subject of results, of a message that came past the queue
}

// soon is how long a message that came past the queue may be expected to take for its
// caller not to be told who has it: the result arrives as early as that notice would. If
// it takes longer, the caller learns of it when the worker shows itself.
const soon = 0.001 // seconds

// NewSource returns a source of messages for a worker of the farm of a join
// file.
func NewSource(_ context.Context, path string) (farm.Source, error) {
	j, err := readJoin(path)
	if err != nil {
		return nil, err
	}
	return &source{path: path, join: j, running: map[string]task{}, withdrawn: map[string]time.Time{}, joined: make(chan struct{}), drained: make(chan struct{})}, nil
}

func (s *source) Join(ctx context.Context, state func() farm.Worker) (err error) {
	s.state, s.work = state, ctx
	w := state()
	s.name, s.host = w.Name, w.Host
	s.requests = newRequests(w.Identity.Classes(), s.handBack)
	nc, err := s.join.connect(ctx, s.path, "worker", s.name, func() {}, s.back)
	if err != nil {
		return err
	}
	s.nc = nc
	defer func() {
		if err != nil {
			nc.Close()
			return
		}
		close(s.joined)
	}()
	if _, err := nc.Subscribe("hello", func(*nats.Msg) { s.show() }); err != nil {
		return err
	}
	if _, err := nc.Subscribe("x", s.withdraw); err != nil {
		return err
	}
	if _, err := nc.Subscribe("d."+s.name, s.handed); err != nil {
		return err
	}
	end := func() { s.drain.Do(func() { close(s.drained) }) }
	if _, err := nc.Subscribe("drain", func(*nats.Msg) { end() }); err != nil {
		return err
	}
	if _, err := nc.Subscribe("e."+s.name, func(m *nats.Msg) {
		s.Log(time.Now().UTC().Format(time.DateTime) + " is asked to end: " + string(m.Data))
		end()
	}); err != nil {
		return err
	}
	if err := s.consumers(ctx); err != nil {
		return err
	}
	s.late.one = func(t told) error {
		return s.keep(context.Background(), t.id, t.result.Key, t.result.Data, "", t.packed)
	}
	if err := s.late.open(nc); err != nil {
		return err
	}
	if err := s.requests.open(nc); err != nil {
		return err
	}
	s.show()
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-time.After(beatEvery):
				s.show()
				s.requests.look()
			}
		}
	}()
	return nil
}

// back is called when the connection is there again. A server that was started
// again has forgotten the consumers and the requests.
func (s *source) back() {
	select {
	case <-s.joined:
	case <-s.work.Done():
		return
	}
	s.show()
	for s.work.Err() == nil && s.consumers(s.work) != nil {
		time.Sleep(unready)
	}
	s.requests.again()
}

// consumers makes the consumers of all classes.
func (s *source) consumers(ctx context.Context) error {
	for _, c := range s.requests.classes {
		if err := s.consumer(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// consumer makes the consumer of a class, which all its workers share.
func (s *source) consumer(ctx context.Context, class string) error {
	request := fmt.Sprintf(`{"stream_name":"TASKS","config":{"durable_name":"w%s","filter_subject":"t.%s.>","ack_policy":"explicit","ack_wait":%d,"max_ack_pending":-1,"max_waiting":1048576,"deliver_policy":"all","replay_policy":"instant"}}`,
		class, class, 5*time.Second)
	for until := time.Now().Add(10 * time.Second); ; {
		m, err := s.nc.Request("$JS.API.CONSUMER.DURABLE.CREATE.TASKS.w"+class, []byte(request), 2*time.Second)
		var a ack
		if err == nil && json.Unmarshal(m.Data, &a) == nil && a.Error == nil {
			return nil
		}
		if err == nil && a.Error != nil {
			err = errors.New(a.Error.Description)
		}
		if time.Now().After(until) || ctx.Err() != nil {
			return fmt.Errorf("farm: the server gives no work: %w", err)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Away implements [farm.Linked].
func (s *source) Away() time.Duration {
	if s.nc.IsConnected() {
		s.lost = time.Time{}
		return 0
	}
	if s.lost.IsZero() {
		s.lost = time.Now()
	}
	return time.Since(s.lost)
}

// Log implements [farm.Logger].
func (s *source) Log(line string) {
	_ = s.nc.Publish("l."+s.name, []byte(line)) // a log that is lost is no reason to end
}

// show publishes the worker's state.
func (s *source) show() {
	if b, err := json.Marshal(s.state()); err == nil {
		_ = s.nc.Publish("w."+s.name, b)
	}
}

// withdrawnFor is how long a worker remembers withdrawn messages. Of those that
// come later its caller learns when the worker shows itself.
const withdrawnFor = time.Minute

// withdraw cancels messages that their caller has withdrawn.
func (s *source) withdraw(m *nats.Msg) {
	var ids []string
	if json.Unmarshal(m.Data, &ids) != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for id, at := range s.withdrawn {
		if now.Sub(at) > withdrawnFor {
			delete(s.withdrawn, id)
		}
	}
	for _, id := range ids {
		s.withdrawn[id] = now
		if t, ok := s.running[id]; ok {
			t.cancel()
			delete(s.running, id)
		}
	}
}

// handed is called for a message that came past the queue.
func (s *source) handed(m *nats.Msg) {
	if !s.requests.hand(m) {
		s.handBack(m)
	}
}

// handBack hands a message back that the worker has not begun with: to the queue,
// or to its caller if it came past the queue.
func (s *source) handBack(m *nats.Msg) {
	if !direct(m) {
		_ = m.Respond([]byte("-NAK"))
		return
	}
	if t, ok := unpack(m); ok {
		s.tell(t.ID, notice{Kind: "back", ID: t.ID})
	}
}

// direct reports whether a message came past the queue.
func direct(m *nats.Msg) bool { return strings.HasPrefix(m.Subject, "d.") }

// unpack returns what a caller has sent; ok is false unless it has units and an ID that
// can be part of a subject.
func unpack(m *nats.Msg) (t farm.Message, ok bool) {
	err := json.Unmarshal(m.Data, &t)
	return t, err == nil && len(t.Units) > 0 && !strings.ContainsAny(t.ID, " .*>")
}

func (s *source) Get(ctx context.Context, key string) ([]byte, error) { return getBlob(ctx, s.nc, key) }

func (s *source) Put(ctx context.Context, blob []byte) (string, error) {
	return putBlob(ctx, s.nc, blob, nil)
}

// Take asks for a message of any class; the first that comes is taken.
func (s *source) Take(ctx context.Context) (farm.Message, context.Context, error) {
	for {
		m, err := s.requests.take(ctx, s.drained)
		if err != nil {
			return farm.Message{}, nil, err
		}
		t, ok := unpack(m)
		if direct(m) {
			if !ok {
				continue
			}
			of, ok := s.begin(ctx, t, m.Reply)
			if !ok {
				continue
			}
			if !s.expectsSoon(t) {
				s.tell(t.ID, notice{Kind: "took", ID: t.ID})
			}
			return t, of, nil
		}
		if !ok {
			_ = m.Respond([]byte("+TERM"))
			continue
		}
		_ = m.Respond([]byte("+ACK"))
		of, ok := s.begin(ctx, t, "")
		if !ok {
			continue
		}
		s.tell(t.ID, notice{Kind: "took", ID: t.ID})
		// A worker that dies of a unit within microseconds has sent neither; the
		// server then delivers the message again. From then on its caller hears
		// who has it before the worker begins.
		if d, err := m.Metadata(); t.Deaths > 0 || err == nil && d.NumDelivered > 1 {
			_ = s.nc.FlushTimeout(2 * time.Second)
		}
		return t, of, nil
	}
}

// begin returns the context in which a message is computed; ok is false if the
// message was withdrawn.
func (s *source) begin(ctx context.Context, m farm.Message, reply string) (of context.Context, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, gone := s.withdrawn[m.ID]; gone {
		return nil, false
	}
	of, cancel := context.WithCancel(ctx)
	s.running[m.ID] = task{cancel, reply}
	return of, true
}

// expectsSoon reports whether the worker expects a message to take no longer than
// soon.
func (s *source) expectsSoon(m farm.Message) bool {
	seconds := 0.0
	for _, u := range m.Units {
		rate := s.rates.Rate(u.Kind)
		if rate == 0 {
			return false
		}
		seconds += rate * float64(u.Weight())
	}
	return seconds <= soon
}

// tell tells a message's caller something; what is lost is found by looking
// again.
func (s *source) tell(id string, n notice) {
	n.Worker, n.Host = s.name, s.host
	caller, _ := split(id)
	if b, err := json.Marshal(n); err == nil {
		_ = s.nc.Publish("c."+caller, b)
	}
}

// forget ends the worker's hold of a message.
func (s *source) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.running[id]; ok {
		t.cancel()
		delete(s.running, id)
	}
}

// closing returns ctx, ended ten seconds after the worker's end: what it has to
// say must not keep it.
func (s *source) closing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(s.work, func() { time.AfterFunc(10*time.Second, cancel) })
	return ctx, func() { stop(); cancel() }
}

// computed is called for every result of a message.
func (s *source) computed(m farm.Message, r farm.Result) {
	if last := m.Units[len(m.Units)-1]; r.Key == last.Key() {
		s.rates.Observe(last.Kind, last.Weight(), r.Seconds)
		s.forget(m.ID)
	}
}

// Tell implements [farm.Teller]. The result of a message that came past the queue
// goes back that way, and is stored a moment later.
func (s *source) Tell(m farm.Message, r farm.Result) bool {
	s.mu.Lock()
	reply := s.running[m.ID].reply
	s.mu.Unlock()
	if reply == "" || len(r.Data) > mostHanded || s.late.failed.Load() {
		return false
	}
	b, err := packResult(r, "")
	if err != nil {
		return false // Result says why
	}
	if r.Key == m.Units[len(m.Units)-1].Key() {
		s.requests.ends()
	}
	if s.nc.Publish(reply, b) != nil {
		return false
	}
	s.late.add(told{m.ID, r, b})
	s.computed(m, r)
	return true
}

func (s *source) Result(ctx context.Context, m farm.Message, r farm.Result) error {
	defer s.computed(m, r)
	if m.Check {
		s.tell(m.ID, notice{Kind: "checked", ID: m.ID, Key: r.Key, Words: farm.BlobKey(r.Data)})
		return nil
	}
	data, blob := r.Data, ""
	if len(data) > maxPayload/2 {
		ctx, cancel := s.closing(ctx)
		defer cancel()
		var err error
		if blob, err = s.Put(ctx, data); err != nil {
			return err
		}
		r.Data = nil
	}
	b, err := packResult(r, blob)
	if err != nil {
		return err
	}
	err = s.keep(ctx, m.ID, r.Key, r.Data, blob, b)
	if err == nil {
		s.late.failed.Store(false)
	}
	return err
}

// keep stores a result. If there is one already, it compares them, and tells the
// message's caller of a difference.
func (s *source) keep(ctx context.Context, id, key string, data []byte, blob string, packed []byte) error {
	ctx, cancel := s.closing(ctx)
	defer cancel()
	err := store(ctx, s.nc, "r."+key, packed, nil)
	if !errors.Is(err, errTaken) {
		return err
	}
	old, ok, err := get(ctx, s.nc, "RESULTS", "r."+key)
	if err != nil || !ok {
		return err
	}
	first, firstBlob, err := unpackResult(old)
	if err == nil && (firstBlob != blob || !bytes.Equal(first.Data, data)) {
		s.tell(id, notice{Kind: "conflict", Key: key, Words: first.Worker})
	}
	return nil
}

func (s *source) Failed(_ context.Context, m farm.Message, unit int, words string) error {
	s.forget(m.ID)
	s.tell(m.ID, notice{Kind: "failed", ID: m.ID, Unit: unit, Words: words})
	return nil
}

func (s *source) Missing(_ context.Context, m farm.Message, unit int, key string) error {
	s.forget(m.ID)
	s.tell(m.ID, notice{Kind: "missing", ID: m.ID, Unit: unit, Key: key})
	return nil
}

func (s *source) Note(m farm.Message, words string) {
	s.tell(m.ID, notice{Kind: "note", Words: words})
}

func (s *source) Back(_ context.Context, m farm.Message) error {
	s.forget(m.ID)
	s.tell(m.ID, notice{Kind: "back", ID: m.ID})
	return nil
}

func (s *source) Leave(context.Context) {
	if s.nc == nil {
		return
	}
	s.requests.leaveAll()
	s.late.finish()
	_ = s.nc.Publish("w."+s.name, nil)
	_ = s.nc.FlushTimeout(2 * time.Second)
	s.nc.Close()
}
