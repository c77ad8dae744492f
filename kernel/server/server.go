// Package server is what any Jupyter kernel must do around an interpreter: it
// answers every request, tells clients when it is busy, queues and aborts
// cells, coalesces their output, and serves interrupts, input, history and
// comms. Start with [Serve]. The interpreter is an [engine.Engine]; the bytes
// and sockets are those of packages wire and transport.
//
// Requests come in lanes. A lane answers one request after the other; control
// is a lane of its own, so that it is answered while a cell runs. A subshell
// would be one lane more.
package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/transport"
	"dace.local/kernel/wire"
)

// Options are the settings of a server; the zero value is good.
type Options struct {
	// Log receives what the person who runs the server may want to know;
	// nil: standard error, at the level that the environment's DACE_LOG
	// names (debug, info, warn, error; warn if it is not set).
	Log *slog.Logger
	// Transport guards the sockets. Its Log and Session are set by Serve.
	Transport transport.Options
	// Grace is how long the end of the server waits for a running cell
	// (1 s).
	Grace time.Duration
	// History is a file in which cells are remembered from one session to
	// the next, for the clients' history; several kernels may share it. "":
	// they are forgotten.
	History string
}

// sockets are what the server needs of [transport.Sockets].
type sockets interface {
	Connection() wire.Connection
	Receive(ctx context.Context, ch wire.Channel) (wire.Message, error)
	Send(ch wire.Channel, m wire.Message) error
	Publish(m wire.Message) error
	Close() error
}

// A server is one kernel session.
type server struct {
	engine  engine.Engine
	log     *slog.Logger
	grace   time.Duration
	session string
	sockets sockets
	iopub   *publisher
	stdin   *asker
	history *history
	comms   comms
	shell   *lane
	control *lane

	// count is the execution count of the last cell that was counted. Only
	// the shell lane changes it.
	count atomic.Int64

	stopOnce sync.Once
	stopped  chan struct{} // closed by stop
}

// user is the name that the kernel's messages bear.
const user = "kernel"

// newServer returns a server that talks through sockets that are open.
func newServer(eng engine.Engine, so sockets, session string, log *slog.Logger, opts Options) *server {
	grace := opts.Grace
	if grace == 0 {
		grace = time.Second
	}
	s := &server{
		engine:  eng,
		log:     log,
		grace:   grace,
		session: session,
		sockets: so,
		history: newHistory(opts.History, log),
		stopped: make(chan struct{}),
	}
	s.iopub = newPublisher(session, so.Publish, log)
	s.stdin = newAsker(session, func(m wire.Message) error { return so.Send(wire.Stdin, m) })
	s.shell = newLane(s, wire.Shell)
	s.control = newLane(s, wire.Control)
	return s
}

// stop makes run return.
func (s *server) stop() { s.stopOnce.Do(func() { close(s.stopped) }) }

// run serves until a client asks for the end or ctx ends, and then closes the
// sockets and the engine. It returns nil, or what made serving impossible.
func (s *server) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.iopub.status(wire.Header{}, "starting")

	failed := make(chan error, 3)
	var lanes sync.WaitGroup
	for _, l := range []*lane{s.shell, s.control} {
		go s.receive(ctx, l.channel, l.push, failed)
		lanes.Go(func() { l.serve(ctx) })
	}
	go s.receive(ctx, wire.Stdin, s.stdin.answer, failed)
	s.log.Info("kernel is ready", "session", s.session)

	var err error
	select {
	case <-s.stopped:
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	if !within(s.grace, lanes.Wait) {
		s.log.Warn("the running cell does not stop, the kernel ends without it")
	}
	s.iopub.close()
	err = errors.Join(err, s.sockets.Close())
	if !within(s.grace, func() { err = errors.Join(err, s.engine.Close()) }) {
		s.log.Warn("the engine does not close, the kernel ends without it")
		return nil
	}
	return err
}

// within runs f and reports whether it returned in time.
func within(d time.Duration, f func()) bool {
	done := make(chan struct{})
	go func() {
		f()
		close(done)
	}()
	select {
	case <-done:
		return true
	case <-time.After(d):
		return false
	}
}

// receive hands the messages of a channel to deliver until ctx ends.
func (s *server) receive(ctx context.Context, ch wire.Channel, deliver func(context.Context, wire.Message), failed chan<- error) {
	for {
		m, err := s.sockets.Receive(ctx, ch)
		if err != nil {
			if ctx.Err() == nil {
				failed <- err
			}
			return
		}
		deliver(ctx, m)
	}
}

// interrupt cancels what the shell is working on; without such work it does
// nothing.
func (s *server) interrupt() {
	if !s.shell.cancelCurrent() {
		s.log.Debug("interrupt while idle")
	}
}
