package run_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"dace.local/dacelib/run"
)

func TestEach(t *testing.T) {
	for _, workers := range []int{0, 1, 7} {
		var calls [50]atomic.Int32
		if err := run.Each(workers, len(calls), func(i int) error { calls[i].Add(1); return nil }); err != nil {
			t.Error(err)
		}
		for i := range calls {
			if n := calls[i].Load(); n != 1 {
				t.Errorf("%d workers: f(%d) was called %d times", workers, i, n)
			}
		}
		err := run.Each(workers, 5, func(i int) error {
			if i == 2 {
				panic("boom")
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "boom") {
			t.Errorf("%d workers: a panic: %v", workers, err)
		}
	}
	// Four at once: Each returns the error, not the cancellations that it
	// caused.
	bad := errors.New("bad")
	failed := make(chan struct{})
	err := run.Each(4, 20, func(i int) error {
		if i == 3 {
			close(failed)
			return bad
		}
		<-failed
		return context.Canceled
	})
	if err != bad {
		t.Errorf("got %v, want the error of f(3)", err)
	}
	if err := run.Each(3, 0, nil); err != nil {
		t.Error(err)
	}
}
