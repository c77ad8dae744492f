package display

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
)

// TestWatch checks that one call in a cell shows the progress of a construction
// in a single output that changes, without a progress bar.
func TestWatch(t *testing.T) {
	set, err := onemax.Class(12).NewSet(1, 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx := WithProgress(context.Background())
	s := capture(t, func() {
		result, err := construct.Watch(ctx, NewHandle().Show, "ONE", problem.Class{}, set.Training, construct.Settings{
			Members: 2, Configurations: 5, Minings: 2, Trials: 5, Evaluations: 40,
		})
		if err != nil || result.Portfolio.Size() != 2 {
			t.Errorf("%v, %v", result.Portfolio, err)
		}
	})
	if len(s.bundles) != 1 || len(s.updates) == 0 {
		t.Fatalf("%d outputs, changed %d times", len(s.bundles), len(s.updates))
	}
	page := fmt.Sprint(s.updates[len(s.updates)-1].Data["text/html"])
	for _, want := range []string{"ONE", "finished", "<table>", "hardest so far"} {
		if !strings.Contains(page, want) {
			t.Errorf("the last view has no %q: %s", want, page)
		}
	}
}
