package natsfarm

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
)

// deaf carries messages for a pool: what is handed to a worker the server answers, as
// nobody listens; what is queued has its results at once.
type deaf struct {
	*Pool
	ways []string
}

func (d *deaf) Hand(m farm.Message, worker string) bool {
	d.ways = append(d.ways, worker)
	_, number := split(m.ID)
	go d.answered(&nats.Msg{Subject: "c." + d.caller + "." + number, Header: nats.Header{"Status": {"503"}}})
	return true
}

func (d *deaf) Send(_ context.Context, m farm.Message) error {
	d.ways = append(d.ways, "queue")
	go func() {
		for _, u := range m.Units {
			d.Done(farm.Result{Key: u.Key(), Data: []byte("1"), Seconds: 1})
		}
	}()
	return nil
}

func (d *deaf) Withdraw([]farm.Message) {}

func (d *deaf) Look(context.Context, []string) ([]farm.Result, error) { return nil, nil }

// A message that was handed to a worker which does not listen any more goes to the queue
// when the server says so, long before the caller looks where it is.
func TestHandedToNobody(t *testing.T) {
	d := &deaf{Pool: &Pool{caller: "caller"}}
	d.Dispatcher = farm.NewDispatcher(d, d.caller, nil, time.Hour)
	d.Alive(farm.Worker{Name: "w", Cores: 1, Identity: farm.Self()})
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := farm.Do1(ctx, d, farmtest.Unit(t, "double", farm.Floats{1}), new(int)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.ways, []string{"w", "queue"}) {
		t.Errorf("the message went to %v, want to w and the queue", d.ways)
	}
}

// Messages that are damaged, or could not be answered, are none.
func TestUnpack(t *testing.T) {
	for data, want := range map[string]bool{
		`{"id":"caller-1","units":[{"kind":"double"}]}`: true,
		"": false,
		`{"id":"caller-1","units":[{"kind":"double"}]`: false,
		`{"units":[{"kind":"double"}],"id":1}`:         false,
		`{"id":"caller-1","units":[]}`:                 false,
		`{"id":"a b-1","units":[{"kind":"double"}]}`:   false,
		`{"id":"*-1","units":[{"kind":"double"}]}`:     false,
	} {
		if m, ok := unpack(&nats.Msg{Data: []byte(data)}); ok != want {
			t.Errorf("%s: %v is a message: %v", data, m, ok)
		}
	}
}
