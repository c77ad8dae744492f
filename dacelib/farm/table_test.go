package farm_test

import (
	"strings"
	"testing"

	"dace.local/dacelib/farm"
)

// The cost of a farm is that of its workers' cores, of which a share was in units, and a
// notebook shows a row for each worker.
func TestTable(t *testing.T) {
	table := farm.Table{Workers: []farm.Worker{
		{Name: "a", Cores: 4, Age: 3600, Busy: 2 * 3600}, {Name: "b", Cores: 2, Age: 7200, Busy: 3600},
	}}
	s := table.Summary()
	if s.Present != 2 || s.Slots != 6 || s.CoreHours != 8 || s.Busy != 3./8 {
		t.Errorf("%+v", s)
	}
	page := table.HTML()
	_, rows, _ := strings.Cut(page, "<table>")
	if n := strings.Count(rows, "<tr>"); n != 3 || strings.Count(rows, "</tr>") != n {
		t.Errorf("two workers and a heading: %s", page)
	}
}
