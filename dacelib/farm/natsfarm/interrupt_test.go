//go:build unix

package natsfarm_test

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
	"dace.local/dacelib/farm/natsfarm"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/run"
)

// An interrupted construction returns the best portfolio so far, also while the
// server hangs, and its units are withdrawn: workers are free, nothing is queued.
func TestInterrupt(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for _, name := range []string{"at work", "the server hangs"} {
		t.Run(name, func(t *testing.T) {
			join := start(t, "", 2)
			p := pool(t, join)
			set, err := ccp.Class().NewSet(1, 3, 0)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			begun := make(chan struct{})
			var once sync.Once
			s := chaosSettings(p, 3)
			s.Rounds = 1 << 16
			s.OnEvent = func(e run.Event) {
				if strings.HasPrefix(e.Stage, "round 2") {
					once.Do(func() { close(begun) })
				}
			}
			type outcome struct {
				r   construct.Result
				err error
				at  time.Time
			}
			ended := make(chan outcome, 1)
			go func() {
				r, err := construct.DACE(ctx, set.Training, s)
				ended <- outcome{r, err, time.Now()}
			}()
			select {
			case <-begun:
			case o := <-ended:
				t.Fatal("it has ended: ", o.err)
			case <-time.After(5 * time.Minute):
				t.Fatal("no second round")
			}
			for p.Counts().Running == 0 {
				time.Sleep(time.Millisecond)
			}
			server := serverProcess(filepath.Dir(join))
			if name == "the server hangs" {
				if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
					t.Fatal(err)
				}
				defer func() { _ = syscall.Kill(server, syscall.SIGCONT) }()
			}
			interrupted := time.Now()
			cancel()
			o := <-ended
			t.Logf("back after %v", o.at.Sub(interrupted))
			if !errors.Is(o.err, context.Canceled) || o.r.Portfolio.Size() != 2 || o.r.Status != run.Cancelled {
				t.Errorf("%v, %v", o.err, o.r)
			}
			if c := p.Counts(); c.Running != 0 || c.Waiting != 0 {
				t.Errorf("%d units run, %d wait", c.Running, c.Waiting)
			}
			_ = syscall.Kill(server, syscall.SIGCONT)
			left := func() (n int, table farm.Table) {
				table, err := natsfarm.Status(context.Background(), join)
				if err != nil {
					t.Fatal(err)
				}
				n = table.Queued
				for _, w := range table.Workers {
					n += len(w.Holds)
				}
				return n, table
			}
			for until := time.Now().Add(2 * time.Minute); ; {
				n, table := left()
				if n == 0 {
					break
				}
				if time.Now().After(until) {
					t.Fatalf("%d messages are queued or at workers:\n%s", n, table)
				}
			}
			if err := farmtest.Doubles(context.Background(), t, p, 1, 10); err != nil {
				t.Error(err)
			}
		})
	}
}
