package natsfarm

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/natsfarm/internal/joinfile"
)

// answering is how long workers and callers have to show themselves.
const answering = 500 * time.Millisecond

// Watch calls show with the state of a farm, its workers, the processes that
// have work done and what they wait for, units that failed and jobs, every so
// often until ctx ends or show reports false. If every is 0, it does so once.
func Watch(ctx context.Context, join string, every time.Duration, show func(farm.Table) bool) error {
	p, err := NewPool(ctx, join)
	if err != nil {
		return err
	}
	defer p.Close()
	callers := make(chan *nats.Msg, 1<<10)
	if _, err := p.nc.ChanSubscribe("q.*", callers); err != nil {
		return fmt.Errorf("farm: %w", err)
	}
	for {
		t, err := p.table(ctx, join, callers)
		if err != nil {
			return err
		}
		if !show(t) || every == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(max(0, every-answering)):
		}
	}
}

// Status is the state of a farm once; see [Watch].
func Status(ctx context.Context, join string) (t farm.Table, err error) {
	err = Watch(ctx, join, 0, func(now farm.Table) bool { t = now; return false })
	return t, err
}

// table asks everybody for the state of the farm.
func (p *Pool) table(ctx context.Context, join string, callers chan *nats.Msg) (farm.Table, error) {
	for len(callers) > 0 { // what came since the last time
		<-callers
	}
	if err := p.nc.Publish("hello", nil); err != nil {
		return farm.Table{}, fmt.Errorf("farm: %w", err)
	}
	select { // workers and callers answer within milliseconds
	case <-ctx.Done():
		return farm.Table{}, ctx.Err()
	case <-time.After(answering):
	}
	t := farm.Table{Join: join, Workers: p.Workers(), Jobs: farm.Jobs(ctx, p.join.Dir)}
	of := map[string]farm.Caller{}
	for range len(callers) {
		var c farm.Caller
		if m := <-callers; json.Unmarshal(m.Data, &c) == nil && m.Subject == "q."+c.Name {
			of[c.Name] = c
		}
	}
	for _, c := range of {
		t.Callers = append(t.Callers, c)
		t.Failures = append(t.Failures, c.Failures...)
	}
	slices.SortFunc(t.Callers, func(a, b farm.Caller) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(t.Failures, func(a, b farm.Failure) int { return a.When.Compare(b.When) })
	for stream, n := range map[string]*int{"TASKS": &t.Queued, "RESULTS": &t.Results} {
		m, err := p.nc.request(ctx, "$JS.API.STREAM.INFO."+stream, nil)
		if err != nil {
			return t, fmt.Errorf("farm: %w", err)
		}
		var info struct {
			State struct {
				Messages int `json:"messages"`
			} `json:"state"`
		}
		if err := json.Unmarshal(m.Data, &info); err != nil {
			return t, fmt.Errorf("farm: %w", err)
		}
		*n = info.State.Messages
	}
	return t, nil
}

// Log calls line with each line that a worker has said of itself, also if it has
// ended; if follow is true, with those that come, too, until ctx ends.
func Log(ctx context.Context, join, worker string, follow bool, line func(string)) error {
	j, err := readJoin(join)
	if err != nil {
		return err
	}
	if worker == "" || strings.ContainsAny(worker, " .*>") {
		return fmt.Errorf("farm: %q is no name of a worker: dace farm status lists them", worker)
	}
	nc, err := j.connect(ctx, join, "caller", "log", func() {}, func() {})
	if err != nil {
		return err
	}
	defer nc.Close()
	for seq, n := uint64(1), 0; ; n++ {
		request := fmt.Appendf(nil, `{"seq":%d,"next_by_subj":"l.%s"}`, seq, worker)
		m, err := nc.request(ctx, "$JS.API.DIRECT.GET.LOGS", request)
		switch {
		case err != nil:
			return fmt.Errorf("farm: the log of %s: %w", worker, err)
		case m.Header.Get("Status") == "" && m.Header.Get("Nats-Sequence") != "":
			line(string(m.Data))
			last, err := strconv.ParseUint(m.Header.Get("Nats-Sequence"), 10, 64)
			if err != nil {
				return fmt.Errorf("farm: the log of %s: %w", worker, err)
			}
			seq = last + 1
		case n == 0 && !follow:
			return fmt.Errorf("farm: no worker of the name %s has left a log in the last seven days: dace farm status lists those that are there", worker)
		case !follow:
			return nil
		default:
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(answering):
			}
		}
	}
}

// Cancel ends the calls of a caller; why says who wants it.
func Cancel(ctx context.Context, join, caller, why string) error {
	t, err := Status(ctx, join)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(t.Callers, func(c farm.Caller) bool { return c.Name == caller }) {
		return farm.NoCaller(caller, t.Callers)
	}
	b, err := json.Marshal(notice{Kind: "cancel", Words: why})
	if err != nil {
		return err
	}
	return publish(ctx, join, "c."+caller, b)
}

// Drain asks the workers of a farm to finish what they compute and to end.
func Drain(ctx context.Context, join string) error { return say(ctx, join, "drain") }

// Stop ends the server of a farm. Its folder keeps what was computed.
func Stop(ctx context.Context, join string) error {
	if err := say(ctx, join, "stop"); err != nil {
		return err
	}
	j, err := readJoin(join)
	if err != nil {
		return err
	}
	for until := time.Now().Add(20 * time.Second); joinfile.Serving(j.Dir) && time.Now().Before(until); {
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

func say(ctx context.Context, join, subject string) error { return publish(ctx, join, subject, nil) }

// publish sends a message as a caller.
func publish(ctx context.Context, join, subject string, data []byte) error {
	j, err := readJoin(join)
	if err != nil {
		return err
	}
	if !joinfile.Serving(j.Dir) {
		if host, _ := os.Hostname(); host == j.Host {
			return fmt.Errorf("farm: no server serves the folder %s", j.Dir)
		}
	}
	nc, err := j.connect(ctx, join, "caller", "command", func() {}, func() {})
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := nc.Publish(subject, data); err != nil {
		return err
	}
	return nc.FlushTimeout(5 * time.Second)
}
