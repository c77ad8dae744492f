package farm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A paper is a transport that writes down what it is told, and tells nothing by itself.
type paper struct {
	*Dispatcher
	t    *testing.T
	ids  []string // of all messages
	last map[string]Message

	noting sync.Mutex // guards the fields below
	hands  bool       // messages can be handed to workers
	queued bool       // what was sent waits in the queue
	found  []Result
	log    []string // since it was read last

	errs chan error
	got  []string // results of the call
}

// units returns the names of a message's units, which are numbers.
func (m Message) units() (out []string) {
	for _, u := range m.Units {
		out = append(out, string(u.Data))
	}
	return out
}

// tell writes down a message: its number, its units, and what is asked of workers.
func (p *paper) tell(verb string, m Message, more string) {
	n := slices.Index(p.ids, m.ID) + 1
	if n == 0 {
		p.ids = append(p.ids, m.ID)
		n = len(p.ids)
	}
	p.last[fmt.Sprint(n)] = m
	text := fmt.Sprintf("%s %d (%s)%s", verb, n, strings.Join(m.units(), " "), more)
	if m.Deaths > 0 {
		text += fmt.Sprintf(" deaths %d", m.Deaths)
	}
	if m.Alone {
		text += " alone"
	}
	if m.Check {
		text += " check"
	}
	if len(m.Not) > 0 {
		text += fmt.Sprint(" not ", m.Not)
	}
	p.note(text)
}

func (p *paper) Send(_ context.Context, m Message) error { p.tell("send", m, ""); return nil }
func (p *paper) Hand(m Message, worker string) bool {
	p.noting.Lock()
	hands := p.hands
	p.noting.Unlock()
	if hands {
		p.tell("hand", m, " to "+worker)
	}
	return hands
}
func (p *paper) Queued(_ context.Context, m Message) (bool, error) {
	p.tell("ask", m, "")
	p.noting.Lock()
	defer p.noting.Unlock()
	return p.queued, nil
}
func (p *paper) Look(_ context.Context, keys []string) ([]Result, error) {
	p.note(fmt.Sprintf("look %d", len(keys)))
	p.noting.Lock()
	defer p.noting.Unlock()
	return p.found, nil
}
func (p *paper) Withdraw(ms []Message) {
	slices.SortFunc(ms, func(a, b Message) int { return strings.Compare(a.ID, b.ID) })
	for _, m := range ms {
		p.tell("withdraw", m, "")
	}
}
func (p *paper) Drop(keys []string)    { p.note(fmt.Sprintf("drop %d", len(keys))) }
func (p *paper) Dismiss(w, why string) { p.note("dismiss " + w) }

// set changes what the transport says.
func (p *paper) set(change func()) {
	p.noting.Lock()
	defer p.noting.Unlock()
	change()
}

// note adds to what the transport was told.
func (p *paper) note(text string) {
	p.noting.Lock()
	defer p.noting.Unlock()
	p.log = append(p.log, text)
}

// told returns what the transport was told since the last time.
func (p *paper) told() (log []string) {
	p.noting.Lock()
	defer p.noting.Unlock()
	log, p.log = p.log, nil
	return log
}

func (p *paper) alive(name string, cores int, more ...func(w *Worker)) {
	w := Worker{Name: name, Host: "host-" + name, Cores: cores, Identity: Self()}
	for _, f := range more {
		f(&w)
	}
	p.Alive(w)
}

func number1(n int) Unit {
	return Unit{Kind: "n", Data: json.RawMessage(fmt.Sprint(n)), Name: fmt.Sprint("number ", n)}
}

// begin has units computed.
func (p *paper) begin(ctx context.Context, numbers ...int) {
	var us []Unit
	for _, n := range numbers {
		us = append(us, number1(n))
	}
	p.got, p.errs = nil, make(chan error, 1)
	go func() {
		p.errs <- p.Do(ctx, us, func(i int, b []byte) error { p.got = append(p.got, fmt.Sprint(numbers[i], "=", string(b))); return nil })
	}()
}

// says waits until nothing moves and compares what the transport was told, and the numbers
// of units that run and wait.
func (p *paper) says(running, waiting int, want ...string) {
	p.t.Helper()
	synctest.Wait()
	if told := p.told(); !slices.Equal(told, want) {
		p.t.Errorf("the transport is told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(want, "\n"))
	}
	if c := p.Counts(); c.Running != running || c.Waiting != waiting {
		p.t.Errorf("%d units run, %d wait; want %d, %d", c.Running, c.Waiting, running, waiting)
	}
}

// id returns the ID of the n-th message.
func (p *paper) id(n int) string { return p.ids[n-1] }

// did reports the result of a number: its square.
func (p *paper) did(n int, worker string) {
	p.Done(Result{Key: number1(n).Key(), Data: []byte(fmt.Sprint(n * n)), Seconds: 0.1, Worker: worker, Host: "host-" + worker})
}

// ends waits for the end of the call.
func (p *paper) ends(want string, results ...string) {
	p.t.Helper()
	select {
	case err := <-p.errs:
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			p.t.Errorf("%v, want %q", err, want)
		}
	case <-time.After(time.Second):
		p.t.Errorf("the call does not end; want %q", want)
	}
	slices.Sort(p.got)
	if !slices.Equal(p.got, results) {
		p.t.Errorf("results %q, want %q", p.got, results)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.calls)+len(p.waiting)+len(p.handed)+len(p.stages)+len(p.active)+p.open+p.handing+p.counts.Running+p.counts.Waiting != 0 {
		p.t.Errorf("left over: calls %v, waiting %v, handed %v, %d stages, %d active, %d open, %d handing, %+v", p.calls, p.waiting, p.handed, len(p.stages), len(p.active), p.open, p.handing, p.counts)
	}
}

func onPaper(t *testing.T, f func(t *testing.T, p *paper)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		p := &paper{t: t, queued: true, last: map[string]Message{}}
		p.Dispatcher = NewDispatcher(p, "ada", NewEnv(1, nil, nil), 5*time.Second)
		p.OnNote(func(string) {})
		p.alive("a", 1)
		f(t, p)
	})
}

// rate lets units of a tenth of a second be known: four are in a message.
func (p *paper) rate() { p.Observe("n", 1, 0.1) }

// A message of which workers die goes through the queue again, then each of its units runs
// alone, and one of which a third worker dies is set aside.
func TestDeaths(t *testing.T) {
	onPaper(t, func(t *testing.T, p *paper) {
		p.rate()
		p.begin(t.Context(), 1, 2, 3, 4, 5, 6)
		p.says(0, 6, "look 6", "send 1 (1 2 3)", "send 2 (4 5 6)")
		p.Took(p.id(1), "a", "host-a")
		p.says(3, 3)
		p.did(2, "a")
		p.says(2, 3)
		p.Gone("a", true, "words of a")
		p.says(0, 5, "send 1 (1 3) deaths 1")
		p.Took(p.id(1), "a", "host-a") // late news
		p.says(0, 5)
		p.alive("b", 1)
		p.Took(p.id(1), "b", "host-b")
		p.says(2, 3)
		p.Gone("b", true, "words of b")
		p.says(0, 5, "send 3 (1) deaths 2 alone", "send 4 (3) deaths 2 alone")
		p.alive("c", 1)
		p.Took(p.id(4), "c", "host-c")
		p.says(1, 4)
		p.Gone("c", true, "words of c")
		p.says(0, 4)
		p.alive("d", 1)
		p.did(1, "d")
		for i := range 3 {
			p.did(4+i, "d")
		}
		p.says(0, 0)
		p.ends("3 workers died of a unit of kind n, which was set aside, the last time on worker c of host-c, where it ran alone: words of c\nits input: number 3", "1=1", "2=4", "4=16", "5=25", "6=36")
	})
	// A unit alone in its message is not cut further.
	onPaper(t, func(t *testing.T, p *paper) {
		p.begin(t.Context(), 1, 2)
		p.says(0, 2, "look 2", "send 1 (1)", "send 2 (2)")
		for n, name := range []string{"a", "b", "c"} {
			p.alive(name, 1)
			p.Took(p.id(1), name, "h")
			p.says(1, 1)
			p.Gone(name, true, "")
			switch n {
			case 0:
				p.says(0, 2, "send 1 (1) deaths 1")
			case 1:
				p.says(0, 2, "send 1 (1) deaths 2 alone")
			}
		}
		p.says(0, 1)
		p.alive("e", 1)
		p.Took(p.id(2), "e", "h")
		p.Failed(p.id(2), 0, "e", "h", "no")
		p.ends("farm: a unit of kind n failed on worker e of h: no\nits input: number 2")
	})
}

// A message whose workers fall silent is cut after the fifth, and its units are set aside
// after the tenth.
func TestSilences(t *testing.T) {
	onPaper(t, func(t *testing.T, p *paper) {
		p.rate()
		p.begin(t.Context(), 1, 2, 3, 4)
		p.says(0, 4, "look 4", "send 1 (1 2)", "send 2 (3 4)")
		for n := 1; n <= 4; n++ {
			p.alive("a", 1)
			p.Took(p.id(1), "a", "h")
			p.says(2, 2)
			p.Silent("a")
			p.says(0, 4, "send 1 (1 2)")
		}
		p.alive("a", 1)
		p.Took(p.id(1), "a", "h")
		p.says(2, 2)
		p.Silent("a")
		p.says(0, 4, "send 3 (1)", "send 4 (2)")
		for range 4 {
			p.alive("a", 1)
			p.Took(p.id(3), "a", "h")
			p.says(1, 3)
			p.Silent("a")
			p.says(0, 4, "send 3 (1)")
		}
		p.alive("a", 1)
		p.Took(p.id(3), "a", "h")
		p.says(1, 3)
		p.Silent("a")
		p.says(0, 3)
		p.alive("a", 1)
		for n := 2; n <= 4; n++ {
			p.did(n, "a")
		}
		p.ends("10 workers died of a unit of kind n, which was set aside, the last time on worker a of host-a, where it ran alone: 10 workers fell silent while they computed it", "2=4", "3=9", "4=16")
	})
}

// A worker that leaves in order hands its messages back.
func TestLeaves(t *testing.T) {
	onPaper(t, func(t *testing.T, p *paper) {
		p.begin(t.Context(), 1)
		p.says(0, 1, "look 1", "send 1 (1)")
		p.Took(p.id(1), "a", "h")
		p.says(1, 0)
		p.Gone("a", false, "")
		p.says(0, 1, "send 1 (1)")
		p.Gone("nobody", false, "")
		p.Silent("nobody")
		p.says(0, 1)
		p.Back(p.id(1), "b") // which never had it
		p.says(0, 1, "send 1 (1)")
		p.Took(p.id(1), "c", "h")
		p.Back(p.id(1), "b")
		p.says(1, 0)
		p.Back(p.id(1), "c")
		p.says(0, 1, "send 1 (1)")
		p.did(1, "c")
		p.ends("", "1=1")
	})
}

// A unit that takes longer than its limit begins on another worker, the rest of its message
// apart from it; the limit grows fourfold, and after three times it is set aside.
func TestOverdue(t *testing.T) {
	onPaper(t, func(t *testing.T, p *paper) {
		p.rate()
		p.alive("b", 1)
		p.Use(Policy{Limit: 10 * time.Second})
		p.begin(t.Context(), 1, 2, 3, 4, 5, 6, 7, 8)
		p.says(0, 8, "look 8", "send 1 (1 2)", "send 2 (3 4)", "send 3 (5 6)", "send 4 (7 8)")
		spent := func(name string, n int, seconds float64) {
			p.alive(name, 1, func(w *Worker) { w.Holds, w.Spent = []string{"another", p.id(n)}, []float64{1000, seconds} })
		}
		spent("a", 1, 0)
		spent("a", 1, 10)
		p.says(2, 6)
		spent("a", 1, 10.001)
		p.says(0, 8, "withdraw 1 (1 2)", "send 5 (1) not [a]", "send 6 (2)")
		p.Back(p.id(5), "a")
		p.says(0, 8)
		time.Sleep(againAfter)
		p.says(0, 8, "send 7 (1) not [a]")
		spent("b", 7, 11)
		p.says(0, 8, "withdraw 7 (1) not [a]", "send 8 (1) not [a]") // nobody else is there
		for _, n := range []int{2, 3, 4, 5, 6, 7, 8} {
			p.did(n, "a")
		}
		p.says(0, 1)
		spent("b", 8, 11)
		p.says(0, 0, "withdraw 8 (1) not [a]")
		p.ends("a unit of kind n was set aside, as it took too long 3 times, the last time on worker b of host-b: it was not done after 10 s, its limit; Settings.Limit sets another", "2=4", "3=9", "4=16", "5=25", "6=36", "7=49", "8=64")
	})
	// Without a limit of the policy: five minutes once three units are known, then 20, then 80.
	onPaper(t, func(t *testing.T, p *paper) {
		p.rate()
		p.rate()
		p.alive("b", 1)
		p.begin(t.Context(), 1, 2)
		p.says(0, 2, "look 2", "send 1 (1)", "send 2 (2)")
		spent := func(n int, seconds float64) {
			p.alive("a", 1, func(w *Worker) { w.Holds, w.Spent = []string{p.id(n)}, []float64{seconds} })
		}
		spent(1, 1e6)
		p.says(1, 1) // two units are known
		p.did(2, "b")
		spent(1, 300)
		p.says(1, 0)
		spent(1, 300.5)
		p.says(0, 1, "withdraw 1 (1)", "send 3 (1) not [a]")
		p.alive("b", 1, func(w *Worker) { w.Holds, w.Spent = []string{p.id(3)}, []float64{1200} })
		p.says(1, 0)
		p.alive("b", 1, func(w *Worker) { w.Holds, w.Spent = []string{p.id(3)}, []float64{1201} })
		p.says(0, 1, "withdraw 3 (1) not [a]", "send 4 (1) not [a]")
		p.did(1, "b")
		p.ends("", "1=1", "2=4")
	})
}

// A call with several messages has so many in the queue as the workers take in a while,
// and hands them to idle ones while nothing waits in it.
func TestQueue(t *testing.T) {
	onPaper(t, func(t *testing.T, p *paper) {
		p.begin(t.Context(), 1, 2, 3, 4, 5, 6)
		p.says(0, 6, "look 6", "send 1 (1)", "send 2 (2)", "send 3 (3)", "send 4 (4)")
		p.did(6, "a") // of a message that was not sent
		p.did(1, "a")
		p.says(0, 4, "send 5 (5)")
		for _, n := range []int{2, 3, 4, 5} {
			p.did(n, "a")
			p.did(n, "a") // twice: nothing
		}
		p.ends("", "1=1", "2=4", "3=9", "4=16", "5=25", "6=36")
		if c := p.Counts(); c.Done != 6 || c.Verified != 0 || c.Seconds < 0.59 || c.Seconds > 0.61 || c.Since.IsZero() {
			t.Errorf("%+v", c)
		}
	})
	onPaper(t, func(t *testing.T, p *paper) {
		p.set(func() { p.hands = true })
		p.begin(t.Context(), 1, 2, 3)
		p.says(0, 3, "look 3", "hand 1 (1) to a", "send 2 (2)", "send 3 (3)")
		if !p.Open(p.id(1)) || p.Open("x") || !p.Waits(number1(3).Key()) || p.Waits("x") || !p.Working() {
			t.Error("open and waiting are told wrong")
		}
		p.Back(p.id(1), "a")
		p.says(0, 3, "send 1 (1)")
		for n := 1; n <= 3; n++ {
			p.did(n, "a")
		}
		p.ends("", "1=1", "2=4", "3=9")
		p.begin(t.Context(), 4)
		p.says(0, 1, "look 1", "send 4 (4)") // it was busy less than a second ago
		p.did(4, "a")
		p.ends("", "4=16")
		time.Sleep(busyFor)
		p.begin(t.Context(), 5)
		p.says(0, 1, "look 1", "send 5 (5)")
		p.did(5, "a")
		p.ends("", "5=25")
		time.Sleep(time.Nanosecond)
		p.begin(t.Context(), 6)
		p.says(0, 1, "look 1", "hand 6 (6) to a")
		p.did(6, "a")
		p.ends("", "6=36")
		if p.Waits(number1(3).Key()) || p.Working() {
			t.Error("a call that has ended waits")
		}
		p.begin(t.Context())
		p.ends("")
		// A result that is known needs nobody.
		p.set(func() { p.found = []Result{{Key: number1(7).Key(), Data: []byte("49")}, {Key: "another"}} })
		p.begin(t.Context(), 7)
		p.ends("", "7=49")
		ctx, cancel := context.WithCancel(t.Context())
		p.set(func() { p.found = nil })
		p.told()
		p.begin(ctx, 8)
		p.says(0, 1, "look 1", "hand 7 (8) to a")
		cancel()
		p.ends(context.Canceled.Error())
		p.says(0, 0, "withdraw 7 (8)")
		p.begin(t.Context(), 9)
		synctest.Wait()
		p.told()
		p.Cancel("enough")
		p.ends("the call was ended from elsewhere: enough")
	})
}

// Where nothing is heard for lookEvery, results are looked for; a message that was sent three
// times as long ago is asked for, and sent again if nobody has it.
func TestLooksAgain(t *testing.T) {
	onPaper(t, func(t *testing.T, p *paper) {
		p.begin(t.Context(), 1, 2)
		p.says(0, 2, "look 2", "send 1 (1)", "send 2 (2)")
		p.Took(p.id(2), "a", "h")
		for range 2 {
			time.Sleep(5 * time.Second)
			p.says(1, 1, "look 2")
		}
		time.Sleep(4900 * time.Millisecond)
		p.says(1, 1)
		time.Sleep(100 * time.Millisecond)
		p.says(1, 1, "look 2", "ask 1 (1)")
		// The worker names the message, then no more, a second after it took it.
		p.alive("a", 1, func(w *Worker) { w.Holds = []string{p.id(2)} })
		p.set(func() { p.queued = false })
		time.Sleep(5 * time.Second)
		p.says(1, 1, "look 2", "ask 1 (1)", "send 1 (1)")
		p.alive("a", 1)
		time.Sleep(5 * time.Second)
		p.says(0, 2, "look 2", "send 2 (2)")
		p.LookNow()
		synctest.Wait()
		if told := p.told(); len(told) != 5 { // both messages are asked for at once, and sent
			t.Errorf("%q", told)
		}
		p.set(func() {
			p.found = []Result{{Key: number1(1).Key(), Data: []byte("1")}, {Key: number1(2).Key(), Data: []byte("4")}}
		})
		p.LookNow()
		p.ends("", "1=1", "2=4")
	})
}

// Results that differ end the calls, now and later; each is of a worker.
func TestConflicts(t *testing.T) {
	onPaper(t, func(t *testing.T, p *paper) {
		p.begin(t.Context(), 1, 2)
		synctest.Wait()
		p.did(1, "a")
		synctest.Wait()
		p.Done(Result{Key: number1(1).Key(), Data: []byte("7"), Worker: "b"})
		p.ends("workers a and b have found different results of the unit "+number1(1).Key()[:12], "1=1")
		p.begin(t.Context(), 3)
		p.ends("workers a and b have found different results")
	})
	onPaper(t, func(t *testing.T, p *paper) {
		p.Use(Policy{Verify: 1})
		p.Conflict("k", "a", "b")
		p.Use(Policy{})
		p.banned["c"] = true
		p.Conflict("k", "c", "b")
		p.Conflict("k", "b", "c")
		if err := p.differing(); err != nil {
			t.Error(err)
		}
		p.Conflict("k", "a", "b")
		p.Conflict("j", "e", "f")
		var d *Differing
		if err := p.differing(); !errors.As(err, &d) || d.Key != "k" || !slices.Equal(d.Workers, []string{"a", "b"}) {
			t.Error(err)
		}
	})
}

// A unit that is computed twice goes to another worker, of another machine if there is one;
// its result is given out when both agree, a third decides, and the wrong one is dismissed.
func TestVotes(t *testing.T) {
	sum := func(n int) string { return BlobKey([]byte(fmt.Sprint(n))) }
	onPaper(t, func(t *testing.T, p *paper) {
		p.Use(Policy{Verify: 1})
		p.alive("b", 1)
		p.alive("c", 1)
		p.begin(t.Context(), 1, 2)
		p.says(0, 2, "look 2", "send 1 (1)", "send 2 (2)")
		p.did(1, "a")
		p.did(2, "b")
		p.says(0, 0)
		time.Sleep(100 * time.Millisecond)
		p.says(0, 2, "send 3 (1) check not [host-a a]", "send 4 (2) check not [host-b b]")
		if len(p.got) != 0 {
			t.Errorf("%q is given out", p.got)
		}
		p.Took(p.id(3), "b", "host-b")
		p.says(1, 1)
		p.Checked(p.id(3), number1(1).Key(), "b", "host-b", sum(1))
		p.says(0, 1)
		if c := p.Counts(); !slices.Equal(p.got, []string{"1=1"}) || c.Verified != 1 {
			t.Errorf("%q is given out, %+v", p.got, c)
		}
		p.Checked(p.id(4), "another", "a", "host-a", sum(5))
		p.says(0, 1)
		p.Checked(p.id(4), number1(2).Key(), "a", "host-a", sum(5))
		p.says(0, 0)
		time.Sleep(100 * time.Millisecond)
		p.says(0, 1, "send 5 (2) check not [host-b host-a b a]")
		p.Checked(p.id(5), number1(2).Key(), "c", "host-c", sum(4))
		p.ends("", "1=1", "2=4")
		if f := Failures(); len(f) == 0 || f[len(f)-1].Worker != "a" || !strings.Contains(f[len(f)-1].Words, "worker a is wrong: its result of the unit "+number1(2).Key()[:12]+" of kind n differs from that of two other workers (of b, a, c)") || !strings.Contains(f[len(f)-1].Words, "and 1 results of it were removed") {
			t.Errorf("%+v", f)
		}
		p.says(0, 0, "drop 1", "dismiss a")
		if c := p.Counts(); c.Verified != 2 || c.Done != 2 {
			t.Errorf("%+v", c)
		}
		// What the wrong one still sends is computed again, and it gets nothing.
		p.begin(t.Context(), 3)
		p.says(0, 1, "look 1", "send 6 (3) not [a]")
		p.did(3, "a")
		p.says(0, 1, "drop 1", "send 7 (3) not [a]")
		p.did(3, "b")
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		p.says(0, 1, "send 8 (3) check not [host-b b a]")
		p.Checked(p.id(8), number1(3).Key(), "c", "host-c", sum(9))
		p.ends("", "3=9")
	})
	// The first was wrong: the unit is computed anew.
	onPaper(t, func(t *testing.T, p *paper) {
		p.Use(Policy{Verify: 1})
		p.alive("b", 1)
		p.alive("c", 1)
		p.begin(t.Context(), 1)
		synctest.Wait()
		p.Done(Result{Key: number1(1).Key(), Data: []byte("7"), Worker: "a", Host: "host-a", Seconds: 1})
		time.Sleep(100 * time.Millisecond)
		p.says(0, 1, "look 1", "send 1 (1)", "send 2 (1) check not [host-a a]")
		p.Checked(p.id(2), number1(1).Key(), "b", "host-b", sum(1))
		time.Sleep(200 * time.Millisecond)
		p.says(0, 1, "send 3 (1) check not [host-a host-b a b]")
		p.Checked(p.id(3), number1(1).Key(), "c", "host-c", sum(1))
		p.says(0, 1, "drop 1", "dismiss a", "send 4 (1) not [a]")
		p.did(1, "b")
		synctest.Wait()
		time.Sleep(100 * time.Millisecond)
		p.says(0, 1, "send 5 (1) check not [host-b b a]")
		p.Checked(p.id(5), number1(1).Key(), "c", "host-c", sum(1))
		p.ends("", "1=1")
	})
	// Of four that all differ none is right; below 1 nothing is held back.
	onPaper(t, func(t *testing.T, p *paper) {
		p.Use(Policy{Verify: 0.9999999})
		for _, n := range []string{"b", "c", "d"} {
			p.alive(n, 1)
		}
		p.begin(t.Context(), 1)
		synctest.Wait()
		p.did(1, "a")
		synctest.Wait()
		if !slices.Equal(p.got, []string{"1=1"}) {
			t.Errorf("%q is given out", p.got)
		}
		for i, n := range []string{"b", "c", "d"} {
			time.Sleep(200 * time.Millisecond)
			synctest.Wait()
			p.Checked(p.id(2+i), number1(1).Key(), n, "host-"+n, sum(10+i))
		}
		p.ends("workers a and b and c and d have found different results", "1=1")
	})
	// Without another worker a held result waits, another is not computed twice.
	onPaper(t, func(t *testing.T, p *paper) {
		var notes []string
		p.OnNote(func(text string) { notes = append(notes, text) })
		p.Use(Policy{Verify: 1})
		p.begin(t.Context(), 1)
		synctest.Wait()
		p.did(1, "a")
		time.Sleep(time.Second)
		p.says(0, 0, "look 1", "send 1 (1)")
		p.alive("b", 1, func(w *Worker) { w.Host = "host-a" })
		time.Sleep(100 * time.Millisecond)
		p.says(0, 1, "send 2 (1) check not [a]")
		p.Checked(p.id(2), number1(1).Key(), "b", "host-a", sum(1))
		p.ends("", "1=1")
		p.Gone("b", false, "")
		p.Use(Policy{Verify: 0.9999999})
		p.begin(t.Context(), 2)
		synctest.Wait()
		p.did(2, "a")
		p.ends("", "2=4")
		if want := []string{"units wait to be computed a second time: another worker is needed for Verify", "a unit of kind n was not computed twice: there is no other worker for Verify"}; !slices.Equal(notes, want) {
			t.Errorf("%q, want %q", notes, want)
		}
	})
	for key, want := range map[string][4]bool{"00000000": {false, true, true, true}, "7fffffff": {false, true, true, true}, "80000000": {false, false, true, true}, "ffffffff": {false, false, true, true}, "80": {false, true, true, true}, "x": {false, false, false, true}} {
		for i, share := range []float64{0, 0.5, 0.99999999999, 1} {
			if sampled(key, share) != want[i] {
				t.Errorf("%s of a share of %v: %v", key, share, !want[i])
			}
		}
	}
}

// A caller of a higher priority whose units could be computed goes first; what is queued is
// taken back, what runs goes on.
func TestYields(t *testing.T) {
	onPaper(t, func(t *testing.T, p *paper) {
		higher := Caller{Name: "bob", Priority: 1, Wants: true, Build: Self().Build, Process: 7, Host: "h"}
		for i, change := range []func(c *Caller){func(c *Caller) { c.Priority = 0 }, func(c *Caller) { c.Wants = false }, func(c *Caller) { c.Build = "another" }} {
			c := higher
			change(&c)
			c.Name = fmt.Sprint("other", i)
			p.Peer(c)
		}
		p.begin(t.Context(), 1, 2)
		p.says(0, 2, "look 2", "send 1 (1)", "send 2 (2)")
		p.Took(p.id(1), "a", "h")
		p.says(1, 1)
		p.Peer(higher)
		time.Sleep(100 * time.Millisecond)
		p.says(1, 1, "withdraw 2 (2)")
		for range 3 { // it is heard of
			time.Sleep(10 * time.Second)
			p.Peer(higher)
		}
		synctest.Wait()
		p.told()
		time.Sleep(peerSilent)
		synctest.Wait()
		for _, l := range p.told() {
			if strings.HasPrefix(l, "send") {
				t.Errorf("%q", l)
			}
		}
		time.Sleep(100 * time.Millisecond)
		p.says(1, 1, "send 3 (2)")
		p.did(1, "a")
		p.did(2, "a")
		p.ends("", "1=1", "2=4")
		p.Use(Policy{Priority: 1})
		p.Peer(higher)
		p.begin(t.Context(), 3)
		p.says(0, 1, "look 1", "send 4 (3)")
		if c := p.Caller(); c.Priority != 1 || !c.Wants || len(c.Stages) != 1 || c.Stages[0].Kind != "n" || c.Stages[0].All != 1 || c.Name != "ada" || c.Build != Self().Build {
			t.Errorf("%+v", c)
		}
		p.Gone("a", false, "")
		if p.Caller().Wants {
			t.Error("without a worker units want one")
		}
		p.did(3, "a")
		p.ends("", "3=9")
	})
}

// A disk that may hold so many bytes keeps the latest results.
func TestDisk(t *testing.T) {
	onPaper(t, func(t *testing.T, p *paper) {
		p.Use(Policy{Disk: 10})
		if err := p.Keep("blob", make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		for i, n := range []int{10, 11, 12, 13} { // of three bytes each
			p.begin(t.Context(), n)
			synctest.Wait()
			p.did(n, "a")
			p.ends("", fmt.Sprint(n, "=", n*n))
			if want := []int64{7, 10, 10, 10}[i]; p.Caller().Disk != want {
				t.Errorf("%d: %d bytes, want %d", n, p.Caller().Disk, want)
			}
		}
		if told := p.told(); strings.Count(strings.Join(told, "\n"), "drop 1") != 2 {
			t.Errorf("%q", told)
		}
		p.Use(Policy{Disk: 1}) // the last one stays
		p.begin(t.Context(), 14)
		synctest.Wait()
		p.did(14, "a")
		p.ends("", "14=196")
		if len(p.stored) != 1 || p.used != 3 {
			t.Errorf("%v, %d bytes", p.stored, p.used)
		}
	})
}

// Units are cut into messages of 0.4 s and of one kind, of which every slot has two if there
// are enough units.
func TestCut(t *testing.T) {
	onPaper(t, func(t *testing.T, p *paper) {
		p.rate()
		numbers := []int{}
		for n := range 20 {
			numbers = append(numbers, n)
		}
		p.begin(t.Context(), numbers...)
		p.says(0, 20, "look 20", "send 1 (0 1 2 3)", "send 2 (4 5 6 7)", "send 3 (8 9 10 11)", "send 4 (12 13 14 15)")
		if s := p.Caller().Stages; len(s) != 1 || s[0].All != 20 || s[0].Done != 0 {
			t.Errorf("%+v", s)
		}
		p.did(0, "a")
		synctest.Wait()
		if s := p.Caller().Stages; s[0].Done != 1 || s[0].Known != 0 {
			t.Errorf("%+v", s)
		}
		for n := range 20 {
			p.did(n, "a")
		}
		<-p.errs
		p.told()
		// Each unit of a message of others is of its own kind, or takes too long.
		p.Observe("m", 1, 0.1)
		us := []Unit{number1(30), {Kind: "m", Data: json.RawMessage("31")}, {Kind: "m", Data: json.RawMessage("32"), Items: 3}, {Kind: "m", Data: json.RawMessage("33")}, {Kind: "m", Data: json.RawMessage("34"), Needs: []string{"arithmetic"}}, number1(35), number1(35), number1(36)}
		errs := make(chan error, 1)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { errs <- p.Do(ctx, us, func(int, []byte) error { return nil }) }()
		p.says(0, 7, "look 8", "send 6 (30)", "send 7 (31 32)", "send 8 (33)", "send 9 (34)")
		cancel()
		<-errs
	})
}
