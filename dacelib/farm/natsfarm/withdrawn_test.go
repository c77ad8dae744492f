package natsfarm_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
)

// A worker that gets a message after it was withdrawn is free again: at once if
// it has heard of that, and otherwise when it shows itself to the message's
// caller.
func TestWithdrawnBefore(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	for name, heard := range map[string]bool{"heard": true, "not heard": false} {
		t.Run(name, func(t *testing.T) {
			join := start(t, "", 1)
			p := pool(t, join)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			if err := farmtest.Doubles(ctx, t, p, 1, 10); err != nil { // the worker is there
				t.Fatal(err)
			}
			addr, token := address(t, join)
			nc, err := nats.Connect(addr, nats.UserInfo("caller", token))
			if err != nil {
				t.Fatal(err)
			}
			defer nc.Close()
			caller := p.Caller().Name
			if heard {
				caller = "another"
			}
			m := farm.Message{ID: caller + "-77777777", Units: []farm.Unit{farmtest.Unit(t, "sleep", farmtest.Sleep{Time: time.Hour})}}
			b, err := json.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			ids, err := json.Marshal([]string{m.ID})
			if err != nil {
				t.Fatal(err)
			}
			if heard {
				if err := nc.Publish("x", ids); err != nil {
					t.Fatal(err)
				}
				if err := nc.Flush(); err != nil {
					t.Fatal(err)
				}
				time.Sleep(200 * time.Millisecond) // the worker hears it
			}
			if _, err := nc.Request("t."+m.Class()+"."+caller+".77777777", b, 10*time.Second); err != nil {
				t.Fatal(err)
			}
			begun := time.Now()
			if err := farmtest.Doubles(ctx, t, p, 1000, 10); err != nil {
				t.Fatal("the worker is not free: ", err)
			}
			t.Logf("free after %v", time.Since(begun))
		})
	}
}
