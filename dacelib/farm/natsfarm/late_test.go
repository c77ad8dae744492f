package natsfarm_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
	"dace.local/dacelib/farm/natsfarm"
)

// A result that was told past the queue is stored a moment later: another caller
// has it when the worker is gone. Asked for before, it is there, too.
func TestLate(t *testing.T) {
	join := start(t, "", 0)
	w, _ := startProcess(t, "worker", join, "1")
	p := pool(t, join)
	ctx := context.Background()
	const n = 50
	for i := range n {
		for range 2 {
			if err := farmtest.Doubles(ctx, t, p, 10*i, 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		s, err := natsfarm.Status(ctx, join)
		if err != nil {
			t.Fatal(err)
		}
		if s.Results == n {
			if done := s.Workers[0].Done; done != n {
				t.Errorf("%d units were computed, want %d", done, n)
			}
			break
		}
		if time.Now().After(until) {
			t.Fatalf("%d results are kept, want %d", s.Results, n)
		}
	}
	_ = w.Process.Kill()
	other := pool(t, join)
	for i := range n {
		if err := farmtest.Doubles(ctx, t, other, 10*i, 1); err != nil {
			t.Fatal(err)
		}
	}
}

// Who stores another result than the one that a caller was told makes it doubt
// the farm, by name.
func TestForged(t *testing.T) {
	join := start(t, "", 1)
	p := pool(t, join)
	addr, token := address(t, join)
	nc, err := nats.Connect(addr, nats.UserInfo("worker", token))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for i := 0; ; i++ {
		u := farmtest.Unit(t, "double", farm.Floats{float64(i)})
		err := farm.Do1(ctx, p, u, new(farm.Floats))
		if err != nil {
			if !strings.Contains(err.Error(), "have found different results of the unit") || !strings.Contains(err.Error(), "liar") {
				t.Error(err)
			}
			return
		}
		head := fmt.Sprintf(`{"key":%q,"seconds":1,"worker":"liar","host":"elsewhere"}`, u.Key())
		if err := nc.Publish("r."+u.Key(), []byte(head+"\n[6]")); err != nil {
			t.Fatal(err)
		}
	}
}
