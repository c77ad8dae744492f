// Package server implements the part of a Jupyter kernel that does not depend
// on its language: it answers every request, publishes when the kernel is busy,
// queues and aborts cells, coalesces their output, and serves interrupts, input,
// history and comms. Start with [Serve]. The interpreter is an [engine.Engine];
// packages wire and transport encode the messages and hold the sockets.
//
// Requests are queued in lanes. A lane answers one request after the other. The
// control channel has a lane of its own, so that it is served while a cell runs,
// and so has each subshell. A request that changes nothing (completion, history)
// is answered in a further lane if its own lane is busy.
package server

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/internal/jupyter/transport"
	"dace.local/kernel/internal/jupyter/wire"
)

// Options are the settings of a server; the zero value is good.
type Options struct {
	// Log receives messages for the administrator of the server. nil means
	// standard error, at the level in the environment variable DACE_LOG
	// (debug, info, warn or error; warn if it is not set).
	Log *slog.Logger
	// Transport are the options of the sockets. Serve sets its Log and Session.
	Transport transport.Options
	// Grace is how long the server waits for a running cell when it ends; 0
	// means 1 s.
	Grace time.Duration
	// History is the file that stores the cells of all sessions, for the
	// clients' history; several kernels may share it. "" means that cells are
	// not stored.
	History string
	// Started is when the kernel began; the zero time means the start of the
	// process. Requests that were made earlier are refused.
	Started time.Time
}

// sockets is the part of [transport.Sockets] that the server uses.
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
	started time.Time
	sockets sockets
	iopub   *publisher
	stdin   *asker
	history *history
	comms   comms
	shell   *lane
	control *lane
	asides  *lane // requests of questions, answered while their own lane is busy

	beside    *lane // cells that show what the running cell of the shell shows
	debugging *lane // debug requests, of the control channel

	working working
	usage   usage

	// turn holds a token while the engine executes a cell, evaluates its
	// user_expressions or handles a comm message. It is nil if the engine is
	// Concurrent.
	turn chan struct{}

	subshellsMu sync.Mutex // guards subshells
	subshells   map[string]*lane
	lanes       sync.WaitGroup

	// current is the outputs of the cell that runs, or ran last.
	current atomic.Pointer[outputs]
	lasting lasting

	// count is the execution count of the last cell that was counted.
	count atomic.Int64

	serving  context.Context // ends with run; set before the first message is received
	stopOnce sync.Once
	stopped  chan struct{} // closed by stop
}

// user is the username in the headers of the kernel's messages.
const user = "kernel"

// newServer returns a server on open sockets.
func newServer(eng engine.Engine, so sockets, session string, log *slog.Logger, opts Options) *server {
	grace := opts.Grace
	if grace == 0 {
		grace = time.Second
	}
	started := opts.Started
	if started.IsZero() {
		started = processStart(os.ReadFile)
	}
	s := &server{
		engine:  eng,
		log:     log,
		grace:   grace,
		session: session,
		started: started.Truncate(time.Millisecond), // browsers' headers have milliseconds
		sockets: so,
		history: newHistory(opts.History, log),
		stopped: make(chan struct{}),
	}
	s.iopub = newPublisher(session, so.Publish, log)
	s.stdin = newAsker(session, func(m wire.Message) error { return so.Send(wire.Stdin, m) })
	s.shell = newLane(s, wire.Shell)
	s.control = newLane(s, wire.Control)
	s.asides = newLane(s, wire.Shell)
	s.beside = newLane(s, wire.Shell)
	s.debugging = newLane(s, wire.Control)
	s.debugs()
	s.subshells = make(map[string]*lane)
	if !eng.Info().Concurrent {
		s.turn = make(chan struct{}, 1)
	}
	return s
}

// stop makes run return.
func (s *server) stop() { s.stopOnce.Do(func() { close(s.stopped) }) }

// run serves until a client requests a shutdown or ctx ends, and then closes
// the sockets and the engine. Its error says why it could not go on serving.
func (s *server) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s.iopub.status(wire.Header{}, "starting")

	failed := make(chan error, 3)
	for _, l := range []*lane{s.shell, s.control, s.asides, s.beside, s.debugging} {
		s.lanes.Go(func() { l.serve(ctx) })
	}
	s.serving = ctx
	go s.receive(ctx, wire.Shell, s.route, failed)
	go s.receive(ctx, wire.Control, s.routeControl, failed)
	go s.receive(ctx, wire.Stdin, func(ctx context.Context, m wire.Message) {
		if err := s.refuse(m.Header); err != nil {
			s.log.Warn("a message was refused", "type", m.Header.MsgType, "error", err)
			return
		}
		s.stdin.answer(ctx, m)
	}, failed)
	s.log.Info("kernel is ready", "session", s.session)

	var err error
	select {
	case <-s.stopped:
	case <-ctx.Done():
	case err = <-failed:
	}
	cancel()
	if !within(s.grace, s.lanes.Wait) {
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

// interrupt cancels the requests that the shell and the subshells are
// answering. It does nothing if there are none. by is the header of the
// interrupt request, zero for a signal.
func (s *server) interrupt(by wire.Header) {
	any := s.shell.cancelCurrent(by)
	any = s.beside.cancelCurrent(by) || any
	any = s.debugging.cancelCurrent(wire.Header{}) || any
	s.subshellsMu.Lock()
	defer s.subshellsMu.Unlock()
	for _, l := range s.subshells {
		any = l.cancelCurrent(by) || any
	}
	if !any {
		s.log.Debug("interrupt while idle")
	}
}
