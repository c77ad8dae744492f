package farm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// stages returns stages of as many units, of which none is done.
func stages(n int) (out []Stage) {
	for i := range n {
		out = append(out, Stage{Kind: fmt.Sprint("k", i), All: i})
	}
	return out
}

// The table of a farm in words, line by line: what it says of callers, stages, jobs, workers
// and failures, and that it stops where there are many.
func TestTableText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // whose clock stands
		seen := time.Now().Add(-5 * time.Second)
		same := Self()
		other := same
		other.Version = "0.0.0"
		theirs := Table{
			Join: "J", Queued: 7, Results: 8, Hours: 1.5,
			Callers: []Caller{
				{
					Name: "ada", User: "ada", Host: "h", Process: 9, Title: "a.ipynb", Priority: -1, Disk: 1_000_000, Counts: Counts{Done: 1, Running: 2, Waiting: 3, Verified: 4, Seconds: 7200},
					Stages: []Stage{{Kind: "mining", All: 40, Done: 10, Known: 4, Seconds: 12}, {Kind: "known", All: 4, Done: 2, Known: 2, Seconds: 3}, {Kind: "new", All: 0}},
				},
				{Name: "bob", Host: "h", Process: 8, Disk: 999_999},
			},
			Workers: []Worker{
				{Name: "w1", Host: "long-host", Cores: 16, Done: 5, Failures: 1, Identity: same, Seen: seen, Age: 3600, Busy: 1800, Holds: []string{"ada-1", "ada-2", "bob-1"}, Made: map[string]string{"f": "as built", "g": "compiled", "h": "x", "i": "y"}},
				{Name: "w2", Host: "h", Cores: 2, Identity: other, Seen: seen, Age: 7200},
			},
			Jobs:     []Job{{ID: "1", State: "RUNNING", Where: "n1"}, {ID: "2"}},
			Failures: []Failure{{Kind: "k", Key: "abc", Words: "no", Worker: "w1", Host: "h"}},
		}
		for i, c := range []struct {
			table Table
			want  string
		}{
			{Table{Err: errors.New("no driver")}, "no driver"},
			{Table{Join: "J"}, "dace worker -join J\n0 messages queued, 0 results kept\nno worker yet"},
			{Table{Join: "J", Own: true, Counts: Counts{Done: 1, Running: 2, Waiting: 3}, Stages: []Stage{{Kind: "a", All: 2, Done: 1}}}, "dace worker -join J\n1 units done, 2 running, 3 waiting\n  [##########----------] a: 1 of 2 units\nno worker yet"},
			{theirs, `dace worker -join J
7 messages queued, 8 results kept
caller ada of ada, process 9 on h (a.ipynb): 1 units done, 2 running, 3 waiting, 4 computed twice, priority -1, 1.0 MB in the farm
  [#####---------------] mining: 10 of 40 units, 0.5 a second, about 1 min 0 s left
  [##########----------] known: 2 of 4 units
  [--------------------] new: 0 of 0 units
caller bob of process 8 on h: 0 units done, 0 running, 0 waiting
jobs: 1 RUNNING on n1, 2
2 workers with 18 slots, 20 core hours so far, 2 % of them in units; 1.5 core hours of jobs that have ended
failed: farm: a unit of kind k failed on worker w1 of h: no
farm.Again("abc") computes it in this process
worker  host       cores  done  failures  last seen  computes for    note
w1      long-host  16     5     1         5 s ago    ada 9 (2), bob  f: as built; g: compiled; h: x; and 1 more
w2      h          2      0     0         5 s ago                    gets no unit: it is version 0.0.0, the caller version ` + same.Version + `; install the same version`},
		} {
			if got := c.table.String(); got != c.want {
				t.Errorf("table %d:\n%s\nwant\n%s", i, got, c.want)
			}
		}
		s := theirs.Summary()
		if s.UnitHours != 2 || s.Units.Done != 1 || s.Units.Running != 2 || s.Units.Waiting != 3 || s.Units.Verified != 4 || s.Left != 60 || s.Slots != 18 || s.CoreHours != 20 || s.Busy != 0.025 || s.Present != 2 {
			t.Errorf("%+v", s)
		}
		early, late := seen, seen.Add(time.Hour)
		sum := Table{Callers: []Caller{{Counts: Counts{Done: 1, Running: 2, Waiting: 3, Verified: 4, Seconds: 3600, Since: late}}, {Counts: Counts{Done: 10, Running: 20, Waiting: 30, Verified: 40, Seconds: 3600, Since: early}}, {}}, Workers: []Worker{{Cores: 1, Age: 3600, Busy: 7200}}}.Summary()
		if sum.Units != (Counts{Done: 11, Running: 22, Waiting: 33, Verified: 44, Seconds: 7200, Since: early}) || sum.Busy != 1 || sum.UnitHours != 2 || sum.Left != 0 {
			t.Errorf("%+v", sum)
		}
		var page struct {
			Summary struct{ Workers, Slots int }
			Callers []Caller
			Queued  int
		}
		b, err := theirs.JSON()
		if err == nil {
			err = json.Unmarshal(b, &page)
		}
		if err != nil || page.Summary.Workers != 2 || page.Summary.Slots != 18 || len(page.Callers) != 2 || page.Queued != 7 {
			t.Errorf("%s, %v", b, err)
		}
	})
}

// A page has what the text has, with signs that are no HTML written out.
func TestTablePage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		table := Table{Join: "a&b", Own: true, Stages: []Stage{{Kind: "<k>", All: 4, Done: 1}}, Workers: []Worker{{Name: "<w>", Cores: 1, Identity: Self(), Seen: time.Now()}}}
		want := `<div class="tex2jax_ignore mathjax_ignore"><div><code>dace worker -join a&amp;b</code></div><div>0 units done, 0 running, 0 waiting</div>` +
			`<div><progress max="4" value="1" style="width:20em"></progress> &lt;k&gt;: 1 of 4 units</div><div>1 workers with 1 slots, 0 core hours so far, 0 % of them in units</div><table><tr>`
		for _, v := range []string{"worker", "host", "cores", "done", "failures", "last seen", "computes for", "note"} {
			want += `<th style="text-align:left">` + v + "</th>"
		}
		want += "</tr><tr>"
		for _, v := range []string{"&lt;w&gt;", "", "1", "0", "0", "0 s ago", "", ""} {
			want += `<td style="text-align:left">` + v + "</td>"
		}
		if want += "</tr></table></div>"; table.HTML() != want {
			t.Errorf("%s\nwant\n%s", table.HTML(), want)
		}
		if got, want := (Table{Err: errors.New("a\n<b>")}).HTML(), `<div class="tex2jax_ignore mathjax_ignore"><div>a<br>&lt;b&gt;</div></div>`; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// Of each thing a table shows so many, and says how many more there are.
func TestTableMost(t *testing.T) {
	for extra := range 2 {
		var table Table
		table.Callers = []Caller{{Stages: stages(10 + extra)}}
		for range 9 + extra {
			table.Callers = append(table.Callers, Caller{})
		}
		for i := range 20 + extra {
			table.Jobs = append(table.Jobs, Job{ID: fmt.Sprint(100 + i)})
			table.Failures = append(table.Failures, Failure{Kind: fmt.Sprint("failed", 100+i)})
		}
		for range 100 + extra {
			table.Workers = append(table.Workers, Worker{Made: map[string]string{"a": "1", "b": "2", "c": "3"}})
		}
		text := table.String()
		for what, want := range map[string]int{
			"and 1 more callers": extra, "and 1 more stages": extra, "119, and 1 more\n": extra, "\n1 earlier failures": extra, "\nand 1 more": 3 * extra, // callers, stages and workers
			"c: 3\n": 99 + extra, // the last line has no end
			"c: 3; ": 0, "\nfailed: ": 20, "failed100": 1 - extra, "failed119": 1, "units done": 10, "k9: 0 of 9 units": 1, "k10": 0, "100, 101, ": 1,
		} {
			if n := strings.Count(text, what); n != want {
				t.Errorf("%d more: %q comes %d times, want %d", extra, what, n, want)
			}
		}
	}
}

// A failure says what was tried, where, and how to try again.
func TestFailureText(t *testing.T) {
	for want, f := range map[string]Failure{
		"farm: a unit of kind k failed: no": {}, "farm: a unit of kind k failed on worker w of h: no": {Worker: "w", Host: "h"},
		"farm: a unit of kind k was set aside, as it took too long 3 times, the last time on worker w of h: no":                 {Late: 3, Deaths: 1, Worker: "w", Host: "h"},
		"farm: 3 workers died of a unit of kind k, which was set aside, the last time on worker w of h, where it ran alone: no": {Deaths: 3, Worker: "w", Host: "h"},
		"farm: a unit of kind k failed: no\nits input: x":                                                                       {Input: "x"},
		"farm: a unit of kind k failed: no\n1 units more were set aside; farm.Failures() lists them":                            {More: 1},
	} {
		f.Kind, f.Key, f.Words = "k", "0123", "no"
		if got := f.Error(); got != want+"\nfarm.Again(\"0123\") computes it in this process" {
			t.Errorf("%s\nwant\n%s", got, want)
		}
	}
	for _, n := range []int{299, 300, 301} {
		u := Unit{Data: []byte(strings.Repeat("ä", n))}
		want := string(u.Data)
		if n > 300 {
			want = strings.Repeat("ä", 300) + " ... (602 bytes)"
		}
		if got := u.input(); got != want {
			t.Errorf("of %d characters: %s", n, got)
		}
		if u.Name = "its name"; u.input() != "its name" {
			t.Error(u.input())
		}
	}
	stack := "goroutine 1 [running]:\na()\n\ta.go:1\npanic({0x1, 0x2})\n\tpanic.go:1\n"
	for i := range 8 {
		stack += fmt.Sprintf("f%d()\n\tf.go:%d\n", i, i)
	}
	if got := origin([]byte(stack)); !strings.HasPrefix(got, "f0()\n\tf.go:0\nf1()") || !strings.HasSuffix(got, "f5()\n\tf.go:5") {
		t.Errorf("%s", got)
	}
	for stack, want := range map[string]string{"a()\n\ta.go:1": "a()\n\ta.go:1", "panic(1)\n\tp.go": "panic(1)\n\tp.go", "panic(1)\n\tp.go\nf()": "f()"} {
		if got := origin([]byte(stack)); got != want {
			t.Errorf("%q: %q, want %q", stack, got, want)
		}
	}
}

// The last hundred failures are remembered, and the latest whose key begins so is computed
// again.
func TestAgain(t *testing.T) {
	failed.units = nil
	env := NewEnv(1, nil, nil)
	for i := range 101 {
		u := Unit{Kind: "no such kind", Data: json.RawMessage(fmt.Sprint(i))}
		f := Remember(Failure{Words: "w", Deaths: i}, u, env)
		if f.Kind != u.Kind || f.Key != u.Key() || f.Input != fmt.Sprint(i) || f.When.IsZero() || f.Words != "w" {
			t.Errorf("%+v", f)
		}
		all := Failures()
		if len(all) != min(i+1, 100) || all[len(all)-1].Deaths != i || all[0].Deaths != max(0, i-99) {
			t.Errorf("%d failures: %d are remembered, from %d to %d", i+1, len(all), all[0].Deaths, all[len(all)-1].Deaths)
		}
	}
	first, last := Unit{Kind: "no such kind", Data: json.RawMessage("0")}, Unit{Kind: "no such kind", Data: json.RawMessage("1")}
	for key, want := range map[string]string{first.Key(): "no unit with the key", "": "no unit with the key", last.Key(): `no work of the kind "no such kind"; it has `, last.Key()[:9]: "no work of the kind"} {
		if err := Again(key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", key, err, want)
		}
	}
	failed.units = nil
}
