package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// A signalled error says which signal ended the work.
type signalled struct{ sig syscall.Signal }

func (s signalled) Error() string {
	if s.sig == syscall.SIGINT {
		return "interrupted"
	}
	return fmt.Sprintf("ended by a signal (%v)", s.sig)
}

// code is the exit code by which shells tell of a signal.
func (s signalled) code() int { return 128 + int(s.sig) }

// untilSignal returns a context that SIGINT, SIGTERM or SIGHUP cancels, with
// a signalled cause. A second signal ends the process.
func untilSignal() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		select {
		case s := <-signals:
			signal.Stop(signals)
			cancel(signalled{s.(syscall.Signal)})
		case <-ctx.Done():
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		cancel(nil)
	}
}
