package natsfarm

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats-server/v2/server"
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

// A result whose data are elsewhere is none until they have come.
func TestAnsweredElsewhere(t *testing.T) {
	var p *Pool
	d := answerer{func(u farm.Unit) {
		for _, answer := range []struct{ data, blob string }{{"2", "elsewhere"}, {"1", ""}} {
			b, err := packResult(farm.Result{Key: u.Key(), Data: []byte(answer.data), Seconds: 1}, answer.blob)
			if err != nil {
				panic(err)
			}
			p.answered(&nats.Msg{Data: b})
		}
	}}
	p = &Pool{caller: "caller", known: map[string]time.Time{}, early: map[string]farm.Result{}}
	p.Dispatcher = farm.NewDispatcher(d, p.caller, nil, time.Hour)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got := 0
	if err := farm.Do1(ctx, p, farmtest.Unit(t, "double", farm.Floats{1}), &got); err != nil || got != 1 {
		t.Errorf("the result is %d, %v; want that with its data, 1", got, err)
	}
}

// answerer is a transport that has every unit answered.
type answerer struct{ answer func(u farm.Unit) }

func (a answerer) Send(_ context.Context, m farm.Message) error {
	go a.answer(m.Units[0])
	return nil
}

func (answerer) Withdraw([]farm.Message) {}

func (answerer) Look(context.Context, []string) ([]farm.Result, error) { return nil, nil }

func (answerer) Queued(context.Context, farm.Message) (bool, error) { return true, nil }

// The server is asked for those results only that it has said to have, and that have
// not come past it.
func TestLookAsksNobody(t *testing.T) {
	r := farm.Result{Key: "early", Data: []byte("1")}
	p := &Pool{early: map[string]farm.Result{r.Key: r}, known: map[string]time.Time{r.Key: {}}} // without a connection
	if got, err := p.Look(t.Context(), []string{"early", "unknown", "early"}); err != nil || len(got) != 1 || got[0].Key != r.Key {
		t.Errorf("%v, %v", got, err)
	}
}

// Workers are not taken for lost while it is the caller who has no connection.
func TestSilentCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &Pool{nc: &link{Conn: &nats.Conn{}}}
		ctx, cancel := context.WithTimeout(t.Context(), 10*silent)
		defer cancel()
		p.ctx = ctx
		p.Dispatcher = farm.NewDispatcher(answerer{}, "caller", nil, time.Hour)
		p.Alive(farm.Worker{Name: "w", Cores: 1, Identity: farm.Self()})
		p.listen()
		if n := len(p.Workers()); n != 1 {
			t.Errorf("%d workers after %v without a connection, want 1", n, 10*silent)
		}
	})
}

// A message that a worker hands back goes to where it came from: to the queue, or to the
// caller who passed it by the queue.
func TestHandBack(t *testing.T) {
	queue, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoLog: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	queue.Start()
	defer queue.Shutdown()
	if !queue.ReadyForConnections(time.Minute) {
		t.Fatal("the server does not start")
	}
	nc, err := nats.Connect(queue.ClientURL())
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	s := &source{nc: &link{Conn: nc}, name: "w"}
	for _, subject := range []string{"t.>", "d.w"} {
		if _, err := nc.Subscribe(subject, s.handBack); err != nil {
			t.Fatal(err)
		}
	}
	answers, err := nc.SubscribeSync("c.>")
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.Marshal(farm.Message{ID: "caller-1", Units: []farm.Unit{farmtest.Unit(t, "double", farm.Floats{1})}})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ subject, at, want string }{
		{"t.class.caller.1", "c.acknowledgement", "-NAK"},
		{"d.w", "c.caller", `"kind":"back","id":"caller-1"`},
	} {
		if err := nc.PublishRequest(c.subject, "c.acknowledgement", b); err != nil {
			t.Fatal(err)
		}
		m, err := answers.NextMsg(time.Minute)
		if err != nil || m.Subject != c.at || !strings.Contains(string(m.Data), c.want) {
			t.Fatalf("%s is handed back by %+v, %v; want %s at %s", c.subject, m, err, c.want, c.at)
		}
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
