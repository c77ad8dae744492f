package natsfarm

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/natsfarm/internal/joinfile"
)

// answering is how long workers and callers have to show themselves.
const answering = 500 * time.Millisecond

// Status describes the farm of a join file: its workers, the processes that have
// work done and what they wait for, units that failed, and Slurm's jobs.
func Status(ctx context.Context, join string) (farm.Table, error) {
	p, err := NewPool(ctx, join)
	if err != nil {
		return farm.Table{}, err
	}
	defer p.Close()
	callers := make(chan *nats.Msg, 1<<10)
	if _, err := p.nc.ChanSubscribe("q.*", callers); err != nil {
		return farm.Table{}, fmt.Errorf("farm: %w", err)
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
	for range len(callers) {
		var c farm.Caller
		if m := <-callers; json.Unmarshal(m.Data, &c) == nil && m.Subject == "q."+c.Name {
			t.Callers = append(t.Callers, c)
			t.Failures = append(t.Failures, c.Failures...)
		}
	}
	slices.SortFunc(t.Callers, func(a, b farm.Caller) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(t.Failures, func(a, b farm.Failure) int { return a.When.Compare(b.When) })
	for stream, n := range map[string]*int{"TASKS": &t.Queued, "RESULTS": &t.Results} {
		m, err := p.nc.Request("$JS.API.STREAM.INFO."+stream, nil, 5*time.Second)
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

func say(ctx context.Context, join, subject string) error {
	j, err := readJoin(join)
	if err != nil {
		return err
	}
	if !joinfile.Serving(j.Dir) {
		if host, _ := os.Hostname(); host == j.Host {
			return fmt.Errorf("farm: no server serves the folder %s", j.Dir)
		}
	}
	nc, err := j.connect(ctx, join, "caller", subject, func() {}, func() {})
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := nc.Publish(subject, nil); err != nil {
		return err
	}
	return nc.FlushTimeout(5 * time.Second)
}
