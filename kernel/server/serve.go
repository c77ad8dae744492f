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
	"dace.local/kernel/transport"
	"dace.local/kernel/wire"
)

// Serve is a kernel process: it opens the sockets that the connection file
// describes and serves the engine on them until a client shuts it down, ctx
// ends, SIGTERM comes, or the process that started it is gone (where the
// environment's JPY_PARENT_PID says that there is one). SIGINT interrupts the
// running cell. Serve closes the engine. Its errors are for a person.
func Serve(ctx context.Context, connectionFile string, eng engine.Engine, opts Options) error {
	// A write to a log that nobody reads any more (SIGPIPE) is no reason to end.
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
					s.interrupt()
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

// open opens the sockets that a connection file describes and returns a server
// on them.
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
	sockets, err := transport.Listen(conn, opts.Transport)
	if err != nil {
		return nil, fmt.Errorf("the kernel cannot open its sockets: %w", err)
	}
	return newServer(eng, sockets, session, log, opts), nil
}

// orphaned waits until the parent process is another one and returns true, or
// returns false when ctx ends.
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

// NewLog returns a logger that writes text lines to w from a level on: debug,
// info, warn (also for ""), or error.
func NewLog(w io.Writer, level string) (*slog.Logger, error) {
	l := slog.LevelWarn
	if level != "" {
		if err := l.UnmarshalText([]byte(level)); err != nil {
			return nil, fmt.Errorf("DACE_LOG is %q, want debug, info, warn or error", level)
		}
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: l})), nil
}
