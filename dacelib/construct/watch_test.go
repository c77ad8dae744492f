package construct_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/problem/ccp"
	"dace.local/dacelib/run"
)

// A watched construction shows views, the last of which says that it has ended,
// and returns the result of one that is not watched.
func TestWatch(t *testing.T) {
	ctx := context.Background()
	want, err := construct.CEPS(ctx, training(t, 2), ccp.Class(), tiny())
	if err != nil {
		t.Fatal(err)
	}
	var views []construct.View
	show := func(v any) { views = append(views, v.(construct.View)) }
	got, err := construct.Watch(ctx, show, "ceps", ccp.Class(), training(t, 2), tiny())
	if err != nil || !same(got, want) {
		t.Errorf("watched: %v", err)
	}
	last := views[len(views)-1]
	name, f := last.Hardest()
	if !last.Ended || last.Err != nil || name == "" || !strings.Contains(last.String(), "finished") || !strings.Contains(last.HTML(), "<table>") || !strings.Contains(last.HTML(), want.Portfolio.Members[0].String()) {
		t.Errorf("the last view: hardest %s (%v)\n%v", name, f, last)
	}
	if len(views) < len(want.Rounds)+1 {
		t.Errorf("%d views of %d rounds", len(views), len(want.Rounds))
	}
	for _, v := range views[:len(views)-1] {
		if v.Ended || v.HTML() == "" || v.Status() == "" {
			t.Errorf("a view on the way: %v", v)
		}
	}
}

// After an interrupt the result is the best so far, and the view says how to
// continue.
func TestWatchInterrupted(t *testing.T) {
	for _, dir := range []string{"", t.TempDir()} {
		ctx, cancel := context.WithCancel(context.Background())
		s := tiny()
		s.Dir = dir
		s.OnEvent = func(e run.Event) {
			if strings.HasPrefix(e.Stage, "round 2") {
				cancel()
			}
		}
		var last construct.View
		r, err := construct.Watch(ctx, func(v any) { last = v.(construct.View) }, "CEPS", ccp.Class(), training(t, 2), s)
		cancel()
		if !errors.Is(err, context.Canceled) || r.Portfolio.Size() != 2 || r.Status != run.Cancelled {
			t.Fatalf("%v: %v", err, r)
		}
		if text := last.String(); !last.Ended || !strings.Contains(text, "best so far") || !strings.Contains(text, "Settings.Dir") || !strings.Contains(text, dir) {
			t.Errorf("the last view:\n%s", text)
		}
	}
}
