package farm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/dacelib/internal/process"
)

// A Source gives a worker messages and takes what becomes of them. Its methods
// may be called from several goroutines at once, and retry by themselves as long
// as ctx lasts.
type Source interface {
	// Blobs.
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, blob []byte) (string, error)
	// Join makes the worker known, with its present state; it is called again
	// by the source whenever it should be.
	Join(ctx context.Context, state func() Worker) error
	// Take waits for a message, tells its caller that the worker has it, and
	// returns a context that ends when the caller withdraws it. io.EOF says that
	// the worker is to end.
	Take(ctx context.Context) (Message, context.Context, error)
	// Result stores the result of a unit. If there is one already, it compares
	// them and reports a difference. Of a message with Check it tells the caller
	// the checksum alone.
	Result(ctx context.Context, m Message, r Result) error
	// Failed tells the caller that a unit failed.
	Failed(ctx context.Context, m Message, unit int, words string) error
	// Note tells the caller of a message what a person should know.
	Note(m Message, words string)
	// Missing tells the caller that a unit needs a blob that is not there.
	Missing(ctx context.Context, m Message, unit int, key string) error
	// Back hands a message back whose units are not all done.
	Back(ctx context.Context, m Message) error
	// Leave tells that the worker ends.
	Leave(ctx context.Context)
}

// A Teller is a [Source] that can tell a result's caller at once and store the
// result afterwards, which is faster.
type Teller interface {
	// Tell tells the caller the result of a unit without waiting, and has it
	// stored as by Result; or it reports that it does not.
	Tell(m Message, r Result) bool
}

// A Linked is a [Source] that knows how long the farm has been away: the server
// does not answer, or the folder cannot be written.
type Linked interface {
	Away() time.Duration
}

// A Logger is a [Source] that keeps what a worker says of itself, a line at a
// time, where callers can read it.
type Logger interface {
	Log(line string)
}

// goneAfter is how long the farm may be away before a worker ends: its server
// was stopped, or the machine moved out of its reach.
const goneAfter = 10 * time.Minute

// stuckAfter is how long a unit may go on that was withdrawn. The slot then
// computes others; a worker all of whose slots are stuck ends.
const stuckAfter = time.Minute

// Work is the settings of a worker.
type Work struct {
	// Name of the worker; the default has its host and process.
	Name string
	// Cores is the number of units that it computes at once; 0 means one per
	// core.
	Cores int
	// Until is how long the worker works; it then hands back what it has not
	// finished. 0 means until it is ended.
	Until time.Duration
	// Idle is how long it waits for work before it ends; 0 means for ever.
	Idle time.Duration
	// Say receives what the worker says of itself, a line at a time; nil means
	// that the farm alone does.
	Say func(line string)
}

// Run computes the messages of a source until ctx or the time of w ends. It
// then hands back what it has not finished.
func (w Work) Run(ctx context.Context, src Source) error {
	if w.Cores <= 0 {
		w.Cores = runtime.GOMAXPROCS(0)
	}
	if w.Name == "" {
		w.Name = WorkerName()
	}
	if w.Until > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.Until)
		defer cancel()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	k := &worker{Work: w, src: src, env: NewEnv(w.Cores, src.Get, src.Put), holds: map[string]time.Time{}}
	k.host, _ = os.Hostname()
	k.started, k.ending = time.Now(), ctx.Done()
	k.last.Store(k.started.UnixNano())
	if err := src.Join(ctx, k.state); err != nil {
		return err
	}
	k.say("begins on %s with %d cores as process %d, version %s, %s", k.host, w.Cores, os.Getpid(), Self().Version, Self().Build)
	errs := make(chan error, w.Cores+1)
	fail := func(err error) {
		errs <- err
		cancel()
	}
	if w.Idle > 0 {
		go k.endWhenIdle(ctx, cancel)
	}
	var all sync.WaitGroup
	go k.watch(ctx, fail)
	for range w.Cores {
		all.Go(func() {
			if err := k.slot(ctx); err != nil {
				fail(err)
			}
		})
	}
	all.Wait()
	k.storing.Wait()
	var err error
	select {
	case err = <-errs:
		k.say("ends: %v", err)
	default:
		k.say("ends")
	}
	// The worker's context has ended; what it has to say may take a moment.
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	src.Leave(last)
	return err
}

// say writes a line about the worker.
func (k *worker) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if k.Say != nil {
		k.Say(line)
	}
	if l, ok := k.src.(Logger); ok {
		l.Log(time.Now().UTC().Format(time.DateTime) + " " + line)
	}
}

// Errors that end a worker by itself.
var (
	errGone  = fmt.Errorf("farm: the farm has not answered for %v: its server was stopped or cannot be reached from here, and this worker ends", goneAfter)
	errStuck = errors.New("farm: every slot of this worker computes a unit that was withdrawn and does not end; the worker ends")
)

// watch ends the worker when the farm is gone, and says now and then what it has
// done.
func (k *worker) watch(ctx context.Context, fail func(error)) {
	tick := time.Tick(10 * time.Second)
	said, saidDone := time.Now(), 0
	away := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick:
		}
		if l, ok := k.src.(Linked); ok {
			gone := l.Away()
			if gone >= goneAfter {
				fail(errGone)
				return
			}
			if was := away; was != (gone > 30*time.Second) {
				away = !was
				k.say("%s", map[bool]string{true: "the farm does not answer", false: "the farm answers again"}[away])
			}
		}
		s := k.state()
		if time.Since(said) >= 10*time.Minute && s.Done > saidDone {
			k.say("%d units done in %.0f s of work, %d failed", s.Done, s.Busy, s.Failures)
			said, saidDone = time.Now(), s.Done
		}
	}
}

// WorkerName returns a name for a worker in this process.
func WorkerName() string {
	host, _ := os.Hostname()
	host, _, _ = strings.Cut(host, ".")
	clean := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, host)
	return fmt.Sprintf("%s-%d-%x", clean, os.Getpid(), time.Now().UnixNano()&0xffffff)
}

// A worker computes messages.
type worker struct {
	Work
	src  Source
	env  *Env
	host string

	alone sync.RWMutex // held for writing by a message that runs alone
	last  atomic.Int64 // when the last message ended, in nanoseconds

	started time.Time
	ending  <-chan struct{} // closed when the worker is to end
	full    atomic.Bool     // it was said that the farm has no room

	storing sync.WaitGroup // results that are being stored

	mu       sync.Mutex           // guards the fields below
	holds    map[string]time.Time // when the present unit of a message began; zero if none has
	done     int
	failures int
	stuck    int // slots whose unit does not end
	busy     float64
}

// state describes the worker.
func (k *worker) state() Worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := Worker{Name: k.Name, Host: k.host, Process: os.Getpid(), Cores: k.Cores, Identity: Self(), Done: k.done, Failures: k.failures, Made: k.env.Made()}
	w.Age, w.Busy = time.Since(k.started).Seconds(), k.busy
	for id, begun := range k.holds {
		spent := 0.0
		if !begun.IsZero() {
			spent = time.Since(begun).Seconds()
		}
		w.Holds, w.Spent = append(w.Holds, id), append(w.Spent, spent)
	}
	return w
}

func (k *worker) endWhenIdle(ctx context.Context, cancel context.CancelFunc) {
	for ctx.Err() == nil {
		k.mu.Lock()
		busy := len(k.holds) > 0
		k.mu.Unlock()
		left := k.Idle - time.Since(time.Unix(0, k.last.Load()))
		if !busy && left <= 0 {
			cancel()
			return
		}
		select {
		case <-ctx.Done():
		case <-time.After(max(left, time.Second)):
		}
	}
}

// slot computes one message after the other.
func (k *worker) slot(ctx context.Context) error {
	for ctx.Err() == nil {
		m, unitCtx, err := k.src.Take(ctx)
		if err != nil {
			if ctx.Err() != nil || errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if m.Refuses(k.Name, k.host) {
			if err := k.src.Back(context.WithoutCancel(ctx), m); err != nil {
				return err
			}
			continue
		}
		k.hold(m.ID, time.Time{})
		lock, unlock := k.alone.RLock, k.alone.RUnlock
		if m.Alone {
			lock, unlock = k.alone.Lock, k.alone.Unlock
		}
		lock()
		err = k.compute(ctx, unitCtx, m)
		unlock()
		k.last.Store(time.Now().UnixNano())
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

// hold records since when a message's present unit is computed.
func (k *worker) hold(id string, since time.Time) {
	k.mu.Lock()
	k.holds[id] = since
	k.mu.Unlock()
}

func (k *worker) release(id string) {
	k.mu.Lock()
	delete(k.holds, id)
	k.mu.Unlock()
}

// execute is [Execute]; it returns errAbandoned if the unit goes on long after it
// was withdrawn.
func (k *worker) execute(of context.Context, u Unit) ([]byte, error) {
	type outcome struct {
		b   []byte
		err error
	}
	ended := make(chan outcome, 1)
	go func() {
		b, err := Execute(of, k.env, u)
		ended <- outcome{b, err}
	}()
	select {
	case o := <-ended:
		return o.b, o.err
	case <-of.Done():
	}
	patience := time.NewTimer(stuckAfter)
	defer patience.Stop()
	select {
	case o := <-ended:
		return o.b, o.err
	case <-patience.C:
		return nil, errAbandoned
	}
}

// errAbandoned says that a unit did not end when it was withdrawn.
var errAbandoned = errors.New("the unit does not end")

// compute computes the units of a message. of ends when its caller withdraws
// it, ctx when the worker must end.
func (k *worker) compute(ctx, of context.Context, m Message) error {
	storing := false // the last result, meanwhile
	defer func() {
		if !storing {
			k.release(m.ID)
		}
	}()
	// What is said about the message must reach the farm even if the worker is
	// to end.
	say := context.WithoutCancel(ctx)
	for i, u := range m.Units {
		begun := k.clock()
		var b []byte
		err := of.Err()
		if err == nil {
			k.hold(m.ID, begun.at)
			b, err = k.execute(of, u)
		}
		var missing *Missing
		switch {
		case errors.Is(err, errAbandoned):
			k.say("a unit of kind %s goes on %v after it was withdrawn; its slot computes others: %s", u.Kind, stuckAfter, u.input())
			k.mu.Lock()
			k.stuck++
			all := k.stuck >= k.Cores
			k.mu.Unlock()
			if all {
				return errStuck
			}
			return nil
		case err == nil:
			r := Result{Key: u.Key(), Data: b, Seconds: k.since(begun), Worker: k.Name, Host: k.host}
			k.count(1, 0, r.Seconds)
			if t, ok := k.src.(Teller); ok && !m.Check && t.Tell(m, r) {
				continue
			}
			if i == len(m.Units)-1 {
				// The slot asks for its next message meanwhile.
				storing = true
				k.hold(m.ID, time.Time{})
				k.storing.Go(func() { k.store(say, m, i, r); k.release(m.ID) })
			} else if !k.store(say, m, i, r) {
				return nil
			}
		case ctx.Err() != nil:
			m.Units = m.Units[i:]
			return k.src.Back(say, m)
		case of.Err() != nil:
			return nil // withdrawn
		case errors.As(err, &missing):
			return k.src.Missing(say, m, i, missing.Key)
		default:
			k.count(0, 1, 0)
			k.say("a unit of kind %s failed: %v; its input: %s", u.Kind, err, u.input())
			return k.src.Failed(say, m, i, err.Error())
		}
	}
	return nil
}

// A moment is a time by the clock and by the processor.
type moment struct {
	at  time.Time
	cpu time.Duration
}

func (k *worker) clock() moment {
	return moment{at: time.Now(), cpu: process.Time()}
}

// since returns how long a unit has taken, by which work is cut. A worker of one
// core tells processor time, which does not depend on what else the machine
// does, unless the unit has mostly waited.
func (k *worker) since(begun moment) float64 {
	now := k.clock()
	wall, cpu := now.at.Sub(begun.at), now.cpu-begun.cpu
	if k.Cores == 1 && cpu > wall/50 {
		return cpu.Seconds()
	}
	return wall.Seconds()
}

// A NoRoom is the error of a farm whose disk is full.
type NoRoom struct {
	Words string // the message
}

func (e *NoRoom) Error() string { return e.Words }

// How long a worker keeps a result for which the farm has no room, and how often
// it tries.
const (
	roomPatience = 2 * time.Hour
	roomEvery    = 15 * time.Second
)

// store stores a result. While the farm has no room for it, it waits; if it
// fails, the unit has failed.
func (k *worker) store(ctx context.Context, m Message, unit int, r Result) bool {
	err := k.src.Result(ctx, m, r)
	var full *NoRoom
	for begun := time.Now(); errors.As(err, &full) && time.Since(begun) < roomPatience; err = k.src.Result(ctx, m, r) {
		if said := full.Words + "; the worker tries again"; k.full.CompareAndSwap(false, true) {
			k.say("%s", said)
			k.src.Note(m, said)
		}
		select {
		case <-k.ending:
			return false // its caller has it computed again
		case <-time.After(roomEvery):
		}
	}
	k.full.Store(false)
	if err != nil {
		_ = k.src.Failed(ctx, m, unit, err.Error()) // the caller looks again in any case
	}
	return err == nil
}

func (k *worker) count(done, failures int, seconds float64) {
	k.mu.Lock()
	k.busy += seconds
	k.done += done
	k.failures += failures
	k.mu.Unlock()
}
