package run_test

import (
	"context"
	"fmt"
	"testing"

	"dace.local/dacelib/run"
)

// outer is a run that makes another run, written as packages write them.
func outer(ctx context.Context, onEvent func(run.Event)) {
	defer run.Report(&ctx, "outer", &onEvent)()
	inner(ctx, nil)
	if onEvent != nil {
		onEvent(run.Event{Step: 1, Total: 1})
	}
}

func inner(ctx context.Context, onEvent func(run.Event)) {
	defer run.Report(&ctx, "inner", &onEvent)()
	if onEvent != nil {
		onEvent(run.Event{Step: 7})
	}
}

func TestReport(t *testing.T) {
	var log []string
	begin := func(name string) (func(run.Event), func()) {
		log = append(log, "begin "+name)
		return func(e run.Event) { log = append(log, fmt.Sprint(name, " ", e.Step)) }, func() { log = append(log, "end "+name) }
	}
	own := func(e run.Event) { log = append(log, fmt.Sprint("own ", e.Step)) }
	for _, c := range []struct {
		what    string
		ctx     context.Context
		onEvent func(run.Event)
		want    string
	}{
		{"no progress", context.Background(), nil, "[]"},
		{"no progress, OnEvent", context.Background(), own, "[own 1]"},
		{"progress", run.WithProgress(context.Background(), begin), nil, "[begin outer outer 1 end outer]"},
		{"progress, OnEvent", run.WithProgress(context.Background(), begin), own, "[own 1]"},
		{"progress taken back", run.WithProgress(run.WithProgress(context.Background(), begin), nil), nil, "[]"},
	} {
		log = nil
		outer(c.ctx, c.onEvent)
		if got := fmt.Sprint(log); got != c.want {
			t.Errorf("%s: %s, want %s", c.what, got, c.want)
		}
	}
	log = nil
	func() { // the report must end after a panic too
		defer func() { recover() }()
		ctx, onEvent := run.WithProgress(context.Background(), begin), (func(run.Event))(nil)
		defer run.Report(&ctx, "x", &onEvent)()
		panic("boom")
	}()
	if got := fmt.Sprint(log); got != "[begin x end x]" {
		t.Errorf("after a panic: %s", got)
	}
}
