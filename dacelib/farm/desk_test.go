package farm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func init() {
	Register("desk: seconds", func(ctx context.Context, _ *Env, data []byte) ([]byte, error) {
		var d struct {
			S     float64
			Fails string
			Stays bool // also when it is withdrawn
		}
		if err := json.Unmarshal(data, &d); err != nil {
			return nil, err
		}
		wait := time.After(time.Duration(d.S * float64(time.Second)))
		select {
		case <-wait:
		case <-ctx.Done():
			if !d.Stays {
				return nil, ctx.Err()
			}
			<-wait
		}
		if d.Fails != "" {
			return nil, errors.New(d.Fails)
		}
		return []byte(fmt.Sprint(d.S)), nil
	})
}

// A desk gives a worker messages in a bubble's time and writes down what becomes of them.
type desk struct {
	begun time.Time
	all   chan Message
	state func() Worker

	mu    sync.Mutex // guards the fields below
	log   []string
	said  []string
	ends  map[string]context.CancelFunc // by message
	away  time.Duration
	fails func(r Result) error // of results
	slow  time.Duration        // that storing takes
}

// send gives a slot a message, and waits until it has begun: the slots take messages in the
// order of their sending.
func (d *desk) send(m Message) {
	d.all <- m
	synctest.Wait()
}

func (d *desk) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = append(d.log, fmt.Sprintf("%.1f ", time.Since(d.begun).Seconds())+fmt.Sprintf(format, args...))
}

func (d *desk) Get(context.Context, string) ([]byte, error)         { return nil, errors.New("no blobs") }
func (d *desk) Put(context.Context, []byte) (string, error)         { return "", errors.New("no blobs") }
func (d *desk) Join(_ context.Context, state func() Worker) error   { d.state = state; return nil }
func (d *desk) Missing(context.Context, Message, int, string) error { return nil }
func (d *desk) Leave(context.Context)                               { d.note("leave") }
func (d *desk) Note(m Message, words string)                        { d.note("note %s: %s", m.ID, words) }
func (d *desk) Log(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at, _ := time.Parse(time.DateTime, line[:len(time.DateTime)])
	d.said = append(d.said, fmt.Sprintf("%v%s", at.Sub(d.begun.UTC().Truncate(time.Second)), line[len(time.DateTime):]))
}
func (d *desk) Away() time.Duration { d.mu.Lock(); defer d.mu.Unlock(); return d.away }
func (d *desk) Take(ctx context.Context) (Message, context.Context, error) {
	select {
	case <-ctx.Done():
		return Message{}, nil, ctx.Err()
	case m, ok := <-d.all:
		if !ok {
			return m, nil, io.EOF
		}
		of, cancel := context.WithCancel(ctx)
		d.mu.Lock()
		d.ends[m.ID] = cancel
		d.mu.Unlock()
		d.note("take %s", m.ID)
		return m, of, nil
	}
}
func (d *desk) Result(_ context.Context, m Message, r Result) error {
	time.Sleep(d.slow)
	if d.fails != nil {
		if err := d.fails(r); err != nil {
			return err
		}
	}
	d.note("result %s: %s in %.1f s by %s", m.ID, r.Data, r.Seconds, r.Worker)
	return nil
}
func (d *desk) Failed(_ context.Context, m Message, unit int, words string) error {
	d.note("failed %s, unit %d: %s", m.ID, unit, words)
	return nil
}
func (d *desk) Back(_ context.Context, m Message) error {
	d.note("back %s, %d units", m.ID, len(m.Units))
	return nil
}

// message is one of units that take so many seconds.
func message(id string, seconds ...any) Message {
	m := Message{ID: id}
	for _, s := range seconds {
		data := fmt.Sprint(s)
		if !strings.HasPrefix(data, "{") {
			data = fmt.Sprintf(`{"S":%v}`, s)
		}
		m.Units = append(m.Units, Unit{Kind: "desk: seconds", Data: json.RawMessage(data)})
	}
	return m
}

// atDesk runs a worker of two cores, and f beside it; want is what the farm is told.
func atDesk(t *testing.T, w Work, f func(t *testing.T, d *desk), want []string, ends error, said ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{begun: time.Now(), all: make(chan Message), ends: map[string]context.CancelFunc{}}
		w.Name = "w"
		if w.Cores == 0 {
			w.Cores = 2
		}
		ended := make(chan error, 1)
		go func() { ended <- w.Run(t.Context(), d) }()
		f(t, d)
		if err := <-ended; !errors.Is(err, ends) {
			t.Errorf("the worker ends with %v, want %v", err, ends)
		}
		if !slices.Equal(d.log, want) {
			t.Errorf("the farm is told\n%s\nwant\n%s", strings.Join(d.log, "\n"), strings.Join(want, "\n"))
		}
		for i, s := range d.said[min(1, len(d.said)):] { // the first has the machine
			if i >= len(said) || !strings.HasPrefix(s, said[i]) {
				t.Errorf("it says %q, want %q", d.said[1:], said)
				break
			}
		}
		if len(d.said) != len(said)+1 {
			t.Errorf("it says %q, want %q", d.said, said)
		}
	})
}

// A worker computes the units of messages in their order, hands back what is not for it,
// and tells how it stands; the last result of a message is stored while it goes on.
func TestWorkerTells(t *testing.T) {
	atDesk(t, Work{}, func(t *testing.T, d *desk) {
		d.slow = 500 * time.Millisecond
		not := message("n", 1)
		not.Not = []string{"w"}
		d.send(message("a", 1, 2))
		d.send(not)
		d.send(message("b", 10))
		time.Sleep(1100 * time.Millisecond)
		if s := d.state(); s.Done != 1 || s.Busy != 1 || s.Failures != 0 || len(s.Holds) != 2 || s.Age != 1.1 || s.Cores != 2 || s.Name != "w" {
			t.Errorf("%+v", s)
		}
		time.Sleep(900 * time.Millisecond)
		s := d.state()
		for i, id := range s.Holds {
			if want := map[string]float64{"a": 0.5, "b": 2}[id]; s.Spent[i] != want {
				t.Errorf("%s: %+v", id, s)
			}
		}
		d.send(message("c", `{"S":1,"Fails":"why"}`, 1)) // while a's last result is stored
		close(d.all)
		time.Sleep(20 * time.Second)
		if s := d.state(); s.Done != 3 || s.Busy != 13 || s.Failures != 1 || len(s.Holds) != 0 {
			t.Errorf("%+v", s)
		}
	}, []string{"0.0 take a", "0.0 take n", "0.0 back n, 1 units", "0.0 take b", "1.5 result a: 1 in 1.0 s by w", "3.5 take c", "4.0 result a: 2 in 2.0 s by w", "4.5 failed c, unit 0: why", "10.5 result b: 10 in 10.0 s by w", "10.5 leave"}, nil,
		"4s a unit of kind desk: seconds failed: why; its input: {\"S\":1,\"Fails\":\"why\"}", "10s ends")
}

// A worker ends when it was idle for its time, which begins with the end of its last message.
func TestWorkerIdle(t *testing.T) {
	atDesk(t, Work{Idle: 10 * time.Second}, func(t *testing.T, d *desk) {
		time.Sleep(7 * time.Second)
		d.send(message("a", 20))
	}, []string{"7.0 take a", "27.0 result a: 20 in 20.0 s by w", "37.0 leave"}, nil, "37s ends")
	atDesk(t, Work{Until: 10 * time.Second}, func(t *testing.T, d *desk) { d.send(message("a", 4, 8, 1)) },
		[]string{"0.0 take a", "4.0 result a: 4 in 4.0 s by w", "10.0 back a, 2 units", "10.0 leave"}, nil, "10s ends")
	atDesk(t, Work{Until: 1}, func(_ *testing.T, d *desk) { time.Sleep(time.Minute); close(d.all) }, []string{"0.0 leave"}, nil, "0s ends")
}

// A message that was withdrawn ends, and a unit that does not end then is left alone; where
// all slots are so the worker ends.
func TestWorkerWithdrawn(t *testing.T) {
	atDesk(t, Work{}, func(t *testing.T, d *desk) {
		d.send(message("a", 100))
		d.send(message("b", `{"S":1000,"Stays":true}`))
		time.Sleep(5 * time.Second)
		d.mu.Lock()
		d.ends["a"]()
		d.ends["b"]()
		d.mu.Unlock()
		d.send(message("c", 1))
		time.Sleep(stuckAfter)
		d.send(message("d", `{"S":1000,"Stays":true}`))
		time.Sleep(5 * time.Second)
		d.mu.Lock()
		d.ends["d"]()
		d.mu.Unlock()
		time.Sleep(1000 * time.Second)
	}, []string{"0.0 take a", "0.0 take b", "5.0 take c", "6.0 result c: 1 in 1.0 s by w", "65.0 take d", "130.0 leave"}, errStuck,
		"1m5s a unit of kind desk: seconds goes on 1m0s after it was withdrawn; its slot computes others: ", "2m10s a unit of kind", "2m10s ends: farm: every slot")
}

// A worker says when the farm is away and back, what it has done every ten minutes, and ends
// when the farm is gone.
func TestWorkerAway(t *testing.T) {
	atDesk(t, Work{}, func(t *testing.T, d *desk) {
		away := func(a time.Duration) { d.mu.Lock(); d.away = a; d.mu.Unlock() }
		d.send(message("a", 1))
		time.Sleep(5 * time.Second)
		away(30 * time.Second)
		time.Sleep(10 * time.Second)
		away(30*time.Second + 1)
		time.Sleep(20 * time.Second)
		away(0)
		time.Sleep(20 * time.Minute)
		d.send(message("b", 1))
		time.Sleep(15 * time.Minute)
		away(goneAfter - 1)
		time.Sleep(10 * time.Second)
		away(goneAfter)
	}, []string{"0.0 take a", "1.0 result a: 1 in 1.0 s by w", "1235.0 take b", "1236.0 result b: 1 in 1.0 s by w", "2150.0 leave"}, errGone,
		"20s the farm does not answer", "40s the farm answers again", "10m0s 1 units done in 1 s of work, 0 failed", "20m40s 2 units done in 2 s of work, 0 failed", "35m40s the farm does not answer", "35m50s ends: farm: the farm has not answered for 10m0s")
}

// While the farm has no room for a result the worker tries again, and says so once; another
// error of storing is the unit's.
func TestWorkerNoRoom(t *testing.T) {
	atDesk(t, Work{Cores: 1}, func(t *testing.T, d *desk) {
		tries := 0
		d.fails = func(r Result) error {
			switch tries++; string(r.Data) {
			case "1":
				if tries < 4 {
					return &NoRoom{"full"}
				}
			case "2":
				return errors.New("broken")
			}
			return nil
		}
		d.send(message("a", 1, 2, 3))
		d.send(message("b", 3))
		close(d.all)
	}, []string{"0.0 take a", "1.0 note a: full; the worker tries again", "46.0 result a: 1 in 1.0 s by w", "48.0 failed a, unit 1: broken", "48.0 take b", "51.0 result b: 3 in 3.0 s by w", "51.0 leave"}, nil,
		"1s full; the worker tries again", "51s ends")
}
