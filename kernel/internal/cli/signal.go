package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// A signalled error names the signal that ended the work.
type signalled struct{ sig syscall.Signal }

func (s signalled) Error() string {
	if s.sig == syscall.SIGINT {
		return "interrupted"
	}
	return fmt.Sprintf("ended by a signal (%v)", s.sig)
}

// code returns the exit code by which shells report the signal.
func (s signalled) code() int { return 128 + int(s.sig) }

// untilSignal returns a context that SIGINT, SIGTERM or SIGHUP cancels, with a
// signalled error as its cause. A second signal ends the process.
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
