package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/internal/jupyter/transport"
	"dace.local/kernel/internal/jupyter/wire"
)

// Serve runs a kernel process: it opens the sockets that the connection file
// describes and serves the engine on them until a client shuts it down, ctx
// ends, SIGTERM comes, or the parent process is gone (if the environment has
// JPY_PARENT_PID). SIGINT interrupts the running cell. Serve closes the engine.
// Its errors are texts for users.
func Serve(ctx context.Context, connectionFile string, eng engine.Engine, opts Options) error {
	// SIGPIPE, from a log whose reader is gone, must not end the kernel.
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE)
	defer signal.Stop(signals)

	s, err := open(connectionFile, eng, opts)
	if err != nil {
		return errors.Join(err, eng.Close())
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for {
			select {
			case sig := <-signals:
				switch sig {
				case syscall.SIGINT:
					s.interrupt(wire.Header{})
				case syscall.SIGTERM:
					s.log.Info("terminated")
					cancel()
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	if os.Getenv("JPY_PARENT_PID") != "" {
		go func() {
			if orphaned(ctx, os.Getppid, time.Second) {
				s.log.Warn("the process that started the kernel is gone, the kernel ends")
				cancel()
			}
		}()
	}
	return s.run(ctx)
}

// open reads a connection file, opens its sockets and returns a server on them.
func open(connectionFile string, eng engine.Engine, opts Options) (*server, error) {
	log := opts.Log
	if log == nil {
		var err error
		if log, err = NewLog(os.Stderr, os.Getenv("DACE_LOG")); err != nil {
			return nil, err
		}
	}
	conn, err := wire.ReadConnection(connectionFile)
	if err != nil {
		return nil, err
	}
	session := wire.NewSession()
	opts.Transport.Log, opts.Transport.Session = log, session
	ready := make(chan *server, 1)
	opts.Transport.Subscribed = func(topic string) {
		s := <-ready
		ready <- s
		s.iopub.welcome(topic)
	}
	sockets, err := transport.Listen(conn, opts.Transport)
	if err != nil {
		return nil, fmt.Errorf("the kernel cannot open its sockets: %w", err)
	}
	s := newServer(eng, sockets, session, log, opts)
	s.iopub.hold()
	ready <- s
	return s, nil
}

// orphaned waits until the parent process has changed, which means that the
// original one has ended, and returns true. It returns false when ctx ends.
func orphaned(ctx context.Context, parent func() int, every time.Duration) bool {
	first := parent()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
			if parent() != first {
				return true
			}
		}
	}
}

// NewLog returns a logger that writes text lines to w. The level is debug,
// info, warn (also for "") or error; it is an error if it is none of these.
func NewLog(w io.Writer, level string) (*slog.Logger, error) {
	l := slog.LevelWarn
	if level != "" {
		if err := l.UnmarshalText([]byte(level)); err != nil {
			return nil, fmt.Errorf("DACE_LOG is %q, want debug, info, warn or error", level)
		}
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})), nil
}
