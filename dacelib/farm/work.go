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
	// them and reports a difference.
	Result(ctx context.Context, m Message, r Result) error
	// Failed tells the caller that a unit failed.
	Failed(ctx context.Context, m Message, unit int, words string) error
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
	k := &worker{Work: w, src: src, env: NewEnv(w.Cores, src.Get, src.Put), holds: map[string]bool{}}
	k.host, _ = os.Hostname()
	k.last.Store(time.Now().UnixNano())
	if err := src.Join(ctx, k.state); err != nil {
		return err
	}
	if w.Idle > 0 {
		go k.endWhenIdle(ctx, cancel)
	}
	var all sync.WaitGroup
	errs := make(chan error, w.Cores)
	for range w.Cores {
		all.Go(func() {
			if err := k.slot(ctx); err != nil {
				errs <- err
				cancel()
			}
		})
	}
	all.Wait()
	k.storing.Wait()
	// The worker's context has ended; what it has to say may take a moment.
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer stop()
	src.Leave(last)
	select {
	case err := <-errs:
		return err
	default:
		return nil
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

	storing sync.WaitGroup // results that are being stored

	mu       sync.Mutex // guards the fields below
	holds    map[string]bool
	done     int
	failures int
}

// state describes the worker.
func (k *worker) state() Worker {
	k.mu.Lock()
	defer k.mu.Unlock()
	w := Worker{Name: k.Name, Host: k.host, Process: os.Getpid(), Cores: k.Cores, Identity: Self(), Done: k.done, Failures: k.failures, Made: k.env.Made()}
	for id := range k.holds {
		w.Holds = append(w.Holds, id)
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
		k.hold(m.ID, true)
		lock, unlock := k.alone.RLock, k.alone.RUnlock
		if m.Alone {
			lock, unlock = k.alone.Lock, k.alone.Unlock
		}
		lock()
		err = k.compute(ctx, unitCtx, m)
		unlock()
		k.hold(m.ID, false)
		k.last.Store(time.Now().UnixNano())
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
	return nil
}

func (k *worker) hold(id string, holds bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if holds {
		k.holds[id] = true
	} else {
		delete(k.holds, id)
	}
}

// compute computes the units of a message. of ends when its caller withdraws
// it, ctx when the worker must end.
func (k *worker) compute(ctx, of context.Context, m Message) error {
	// What is said about the message must reach the farm even if the worker is
	// to end.
	say := context.WithoutCancel(ctx)
	for i, u := range m.Units {
		begun := k.clock()
		var b []byte
		err := of.Err()
		if err == nil {
			b, err = Execute(of, k.env, u)
		}
		switch {
		case err == nil:
			r := Result{Key: u.Key(), Data: b, Seconds: k.since(begun), Worker: k.Name, Host: k.host}
			k.count(1, 0)
			if t, ok := k.src.(Teller); ok && t.Tell(m, r) {
				continue
			}
			if i == len(m.Units)-1 {
				// The slot asks for its next message meanwhile.
				k.storing.Go(func() { k.store(say, m, i, r) })
			} else if !k.store(say, m, i, r) {
				return nil
			}
		case ctx.Err() != nil:
			m.Units = m.Units[i:]
			return k.src.Back(say, m)
		case of.Err() != nil:
			return nil // withdrawn
		default:
			k.count(0, 1)
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

// store stores a result; if that fails, its unit has failed.
func (k *worker) store(ctx context.Context, m Message, unit int, r Result) bool {
	err := k.src.Result(ctx, m, r)
	if err != nil {
		_ = k.src.Failed(ctx, m, unit, err.Error()) // the caller looks again in any case
	}
	return err == nil
}

func (k *worker) count(done, failures int) {
	k.mu.Lock()
	k.done += done
	k.failures += failures
	k.mu.Unlock()
}
