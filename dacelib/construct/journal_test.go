package construct

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/dacelib/files/disk"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
)

// open opens the journal of a folder.
func open(t *testing.T, dir string) *journal {
	t.Helper()
	j, err := openJournal(dir, Setup{Method: "ONE"})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// kill ends a journal as a process that is killed does.
func kill(t *testing.T, j *journal) {
	t.Helper()
	j.stopTick()
	if err := j.closeFiles(); err != nil {
		t.Fatal(err)
	}
}

// lines returns the lines of a folder's journal, all of them whole.
func lines(t *testing.T, dir string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, JournalName))
	if err != nil {
		t.Fatal(err)
	}
	text, whole := strings.CutSuffix(string(b), "\n")
	out := strings.Split(text, "\n")
	for i, l := range out {
		if !whole || !json.Valid([]byte(l)) {
			t.Fatalf("line %d of %d is damaged: %.60s", i+1, len(out), l)
		}
	}
	return out
}

func put(t *testing.T, j *journal, n int) {
	t.Helper()
	if err := j.put(step{Stage: "test", Index: n}, n, work{}); err != nil {
		t.Fatal(err)
	}
}

// A last line that was torn is gone as soon as the journal is open, however long
// it was, and what is recorded next is a line of its own.
func TestTornLine(t *testing.T) {
	for _, torn := range []string{"{", `{"round":1,"stage":"` + strings.Repeat("long", 1000)} {
		dir := t.TempDir()
		j := open(t, dir)
		put(t, j, 1)
		kill(t, j)
		whole := lines(t, dir)
		f, err := os.OpenFile(filepath.Join(dir, JournalName), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteString(torn); err != nil {
			t.Fatal(err)
		}
		f.Close()

		j = open(t, dir)
		if got := lines(t, dir); len(got) != len(whole) {
			t.Errorf("%d lines after a torn one, want %d", len(got), len(whole))
		}
		put(t, j, 2)
		kill(t, j)
		got := lines(t, dir)
		if len(got) != len(whole)+2 || got[len(whole)-1] != whole[len(whole)-1] { // the session's entry and the step's
			t.Errorf("%d lines after a step more, want %d", len(got), len(whole)+2)
		}
		j = open(t, dir)
		for n := 1; n <= 2; n++ {
			var v int
			if found, err := j.get(step{Stage: "test", Index: n}, &v); !found || err != nil || v != n {
				t.Errorf("step %d: %d, found %v, %v", n, v, found, err)
			}
		}
		kill(t, j)
	}
}

// Whichever call of the disk fails: what was recorded stays, a step counts as recorded
// only if it is on the disk, no half line stays, and later the journal goes on.
func TestJournalFaults(t *testing.T) {
	for n, fault := 1, error(nil); ; n++ {
		for _, fault = range []error{syscall.EIO, syscall.ENOSPC} {
			dir := t.TempDir()
			j := open(t, dir)
			put(t, j, 1)
			kill(t, j)
			if err := os.WriteFile(filepath.Join(dir, clockName), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
			var ops []string
			mend := disk.Fail(func(op, path string) error {
				if ops = append(ops, op+" "+filepath.Base(path)); len(ops) == n {
					return fault
				}
				return nil
			})
			trials := work{trials: []smac.Trial{{Config: []float64{1}, Cost: 2}}}
			again := func() (recorded bool, err error) {
				j, err := openJournal(dir, Setup{Method: "ONE"})
				if err != nil {
					return false, err
				}
				defer j.closeFiles()
				defer j.stopTick()
				before := len(lines(t, dir))
				if err := j.put(step{Stage: "test", Index: 2}, 2, trials); err != nil {
					if got := len(lines(t, dir)); got != before && got != before+1 { // the session's line, and no half one
						t.Errorf("%d lines, %d before the fault", got, before)
					}
					if found, _ := j.get(step{Stage: "test", Index: 2}, new(int)); found {
						t.Errorf("%s: the step counts as recorded", ops[n-1])
					}
					if !errors.Is(err, fault) {
						t.Errorf("%s: %v, want %v", ops[n-1], err, fault)
					}
					if fault == syscall.ENOSPC && !strings.Contains(err.Error(), "make room") {
						t.Errorf("%s: %v", ops[n-1], err)
					}
					return false, j.put(step{Stage: "test", Index: 2}, 2, trials) // with room again
				}
				if len(ops) > 0 && !strings.HasPrefix(ops[len(ops)-1], "Sync") {
					t.Errorf("a step counts as recorded after %s", ops[len(ops)-1])
				}
				return true, nil
			}
			_, err := again()
			mend()
			if len(ops) < n {
				return // every call has failed once
			}
			if err != nil && !errors.Is(err, fault) {
				t.Errorf("%s: %v, want %v", ops[n-1], err, fault)
			}
			recorded := err == nil
			j = open(t, dir)
			for i := 1; i <= 2; i++ {
				if found, err := j.get(step{Stage: "test", Index: i}, new(int)); err != nil || found != (i == 1 || recorded) {
					t.Errorf("%s: step %d is recorded: %v, %v", ops[n-1], i, found, err)
				}
			}
			put(t, j, 3)
			kill(t, j)
			lines(t, dir)
		}
	}
}

// What cannot be recorded, read or kept is an error that names the step.
func TestJournalFails(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	s := step{Round: 1, Stage: "test", Index: 1}
	put(t, j, 1)
	failing := func(op, base string, call func() error) error {
		defer disk.Fail(func(o, path string) error {
			if o == op && strings.Contains(path, base) {
				return syscall.ENOSPC
			}
			return nil
		})()
		return call()
	}
	no := errors.New("no")
	inUse := func() error { _, err := openJournal(dir, Setup{Method: "ONE"}); return err }
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a value that is no JSON": {j.put(s, make(chan int), work{}), "construct: recording "},
		"a step that fails":       {j.do(s, new(int), func(*work) error { return no }), "no"},
		"another value":           {j.do(step{Stage: "test", Index: 1}, new(string), nil), "construct: the journal's "},
		"no room to keep a step":  {failing("CreateTemp", "", func() error { return j.checkpoint(s).save(1) }), "keeping an unfinished step"},
		"a state that is no JSON": {j.checkpoint(s).save(make(chan int)), "keeping an unfinished step"},
		"no folder":               {failing("MkdirAll", "", func() error { _, err := openJournal(dir, Setup{}); return err }), "Settings.Dir"},
		"trials nobody can cut":   {failing("Stat", trialsName, func() error { _, err := openJournal(t.TempDir(), Setup{Method: "ONE"}); return err }), syscall.ENOSPC.Error()},
		"no room for the session": {failing("WriteAt", JournalName, func() error { j.begun = false; return j.put(s, 1, work{}) }), "make room"},
		"a folder in use":         {inUse(), "writes to it (process "},
		"nobody knows by whom":    {failing("Read", JournalName, inUse), "writes to it;"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, c.err, c.want)
		}
	}
	// An unfinished step is kept until it is recorded.
	kept := j.checkpoint(s)
	if err := kept.save(7); err != nil {
		t.Fatal(err)
	}
	if v := 0; !j.checkpoint(s).load(&v) || v != 7 {
		t.Errorf("of an unfinished step %d is known", v)
	}
	// It is saved once in checkpointEvery.
	kept.last = kept.last.Add(-checkpointEvery)
	before := kept.due()
	if err := kept.save(7); err != nil || !before || kept.due() {
		t.Errorf("due %v before it is saved, %v after, %v", before, kept.due(), err)
	}
	if kept.remove(); j.checkpoint(s).load(new(int)) {
		t.Error("a step is unfinished that was recorded")
	}
	// Beyond their bound trials are left out, and the step is recorded.
	j.trialsEnd = maxTrialBytes
	if err := j.put(s, 1, work{trials: []smac.Trial{{Config: []float64{1}}}}); err != nil || j.seen[s].Trials != nil {
		t.Errorf("a step with too many trials: %v, %v", err, j.seen[s].Trials)
	}
	kill(t, j)
	whole, err := os.ReadFile(filepath.Join(dir, JournalName))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(whole), "\n")
	for text, want := range map[string]string{
		string(whole[1:]): "line 1 is damaged",
		strings.Replace(first, `"setup"`, `"other"`, 1) + "\n": "does not begin with a setup",
		`{"stage":"setup"}` + "\n":                             "line 1: the setup: ",
	} {
		if err := os.WriteFile(filepath.Join(dir, JournalName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := openJournal(dir, Setup{Method: "ONE"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// The record says in which round it was interrupted, has trials of those steps alone that
// made some, and is written by its owner alone.
func TestJournalInterrupted(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	put(t, j, 1)
	if s := j.seen[step{Stage: "test", Index: 1}]; s.Trials != nil {
		t.Errorf("a step without trials has those of %+v", s.Trials)
	}
	no := errors.New("no")
	if err := j.do(step{3, "test", 2}, new(int), func(*work) error { return no }); !errors.Is(err, no) {
		t.Error(err)
	}
	if err := j.close(run.Cancelled); err != nil {
		t.Fatal(err)
	}
	all := lines(t, dir)
	var last entry
	if err := json.Unmarshal([]byte(all[len(all)-1]), &last); err != nil || last.Round != 3 || last.Stage != interruptStage {
		t.Errorf("the last entry is %s (%v)", all[len(all)-1], err)
	}
	if info, err := os.Stat(filepath.Join(dir, JournalName)); err != nil || info.Mode().Perm()&^0o644 != 0 {
		t.Errorf("the record's mode is %v (%v)", info.Mode(), err)
	}
	if (&checkpoint{}).load(new(int)) {
		t.Error("a construction without a folder has an unfinished step")
	}
}

// A journal that is opened again writes trials behind those that it has.
func TestJournalTrials(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	for n := range 3 {
		if err := j.put(step{Stage: "test", Index: n}, n, work{trials: []smac.Trial{{Config: []float64{1}}}}); err != nil {
			t.Fatal(err)
		}
	}
	end := j.trialsEnd
	kill(t, j)
	info, err := os.Stat(filepath.Join(dir, trialsName))
	if err != nil || info.Size() != end || end == 0 {
		t.Fatalf("%d bytes of trials: %v, %v", end, info, err)
	}
	j = open(t, dir)
	defer kill(t, j)
	if j.trialsEnd != end {
		t.Errorf("trials go on at byte %d of %d", j.trialsEnd, end)
	}
}

// The journal's folder is made with the permissions that folders have.
func TestJournalFolder(t *testing.T) {
	dir := t.TempDir()
	usual, made := filepath.Join(dir, "usual"), filepath.Join(dir, "made")
	if err := os.Mkdir(usual, 0o755); err != nil {
		t.Fatal(err)
	}
	kill(t, open(t, made))
	want, err := os.Stat(usual)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := os.Stat(made); err != nil || got.Mode() != want.Mode() {
		t.Errorf("mode %v, %v; want %v", got.Mode(), err, want.Mode())
	}
}

// Each step has a file of its own for what is unfinished, with a name that any system takes.
func TestJournalUnfinished(t *testing.T) {
	j := open(t, t.TempDir())
	defer kill(t, j)
	seen := map[string]step{}
	for _, s := range []step{{1, "test", 1}, {1, "test", 2}, {2, "test", 1}, {1, "next", 1}, {0, "test", 1}} {
		at := j.checkpoint(s).path
		if other, ok := seen[at]; ok || strings.ContainsAny(filepath.Base(at), " :") {
			t.Errorf("%v is kept in %s, and %v", s, filepath.Base(at), other)
		}
		seen[at] = s
	}
}

// The clock's file is never older than half of checkpointEvery, so that a kill loses no
// more of the time.
func TestClockTicks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		j := open(t, dir)
		defer kill(t, j)
		j.current = step{Stage: "test", Index: 1}
		for k := 1; k <= 3; k++ {
			time.Sleep(checkpointEvery / 2) // of the bubble's time
			synctest.Wait()
			var c clock
			b, err := os.ReadFile(filepath.Join(dir, clockName))
			if err == nil {
				err = json.Unmarshal(b, &c)
			}
			if want := float64(k) * (checkpointEvery / 2).Seconds(); err != nil || c.Cost.Seconds != want || c.Step != j.current {
				t.Errorf("after %v s the clock has %+v, %v", want, c, err)
			}
		}
	})
}

// The time since the last entry belongs to a construction in memory, and to one in a
// folder as soon as this session has recorded something.
func TestClockTotal(t *testing.T) {
	memory, opened, begun := open(t, ""), open(t, t.TempDir()), open(t, t.TempDir())
	defer kill(t, opened)
	defer kill(t, begun)
	put(t, begun, 1)
	for name, c := range map[string]struct {
		j      *journal
		counts bool
	}{"memory": {memory, true}, "opened": {opened, false}, "begun": {begun, true}} {
		c.j.last = time.Now().Add(-time.Hour)
		if s := c.j.total().Seconds; (s >= 3600) != c.counts {
			t.Errorf("%s: %v s in all; the last hour counts: %v", name, s, c.counts)
		}
	}
}

// The time of a process that was killed counts once, however often the
// construction is opened and killed after it.
func TestClockOfKilled(t *testing.T) {
	dir := t.TempDir()
	j := open(t, dir)
	put(t, j, 1)
	b, err := json.Marshal(clock{Entries: j.entries, Step: step{Stage: "test", Index: 2}, Cost: Cost{Seconds: 1000, CPU: 2000}})
	if err != nil {
		t.Fatal(err)
	}
	kill(t, j)
	if err := os.WriteFile(filepath.Join(dir, clockName), b, 0o644); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		j = open(t, dir)
		if c := j.cost; c.Seconds < 1000 || c.Seconds >= 2000 || c.CPU < 2000 || c.CPU >= 4000 {
			t.Errorf("cost %+v, want 1000 s and 2000 s of processors once", c)
		}
		kill(t, j)
	}
	j = open(t, dir)
	if err := j.close(run.Cancelled); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, clockName)); !os.IsNotExist(err) {
		t.Errorf("the clock's file stays after an orderly end: %v", err)
	}
}

// steps returns the entries of a folder's journal in short: step, seconds, where the trials
// are, and value; "..." is the value of the setup, and that of a session of this process when it began in a
// bubble's time.
func steps(t *testing.T, dir string) (out []string) {
	t.Helper()
	for _, l := range lines(t, dir) {
		var e entry
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatal(err)
		}
		value := string(e.Value)
		host, _ := os.Hostname()
		var s Session
		switch {
		case e.Stage == setupStage:
			value = "..."
		case e.Stage == sessionStage && json.Unmarshal(e.Value, &s) == nil && s.Process == os.Getpid() && s.Host == host && s.Version == run.Build() && s.CPU == run.CPU():
			value = fmt.Sprintf("at %v", s.Started.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))) // when a bubble begins
		}
		text := fmt.Sprintf("%v, %d runs, %d evaluations, %v s", e.step, e.Cost.Runs, e.Cost.Evaluations, e.Cost.Seconds)
		if e.Trials != nil {
			text += fmt.Sprintf(", trials %d+%d", e.Trials.Offset, e.Trials.Length)
		}
		if e.Cost.CPU < 0 || e.Cost.CPU > 60 { // the test takes less
			text += fmt.Sprintf(", %v s of processors", e.Cost.CPU)
		}
		out = append(out, text+": "+value)
	}
	return out
}

// The journal after each step, in a bubble whose clock stands: the first step of a session
// writes the session, costs are since the entry before, and trials lie one behind the other.
func TestJournalEntries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		var want []string
		check := func(j *journal, seconds float64, more ...string) {
			t.Helper()
			want = append(want, more...)
			if got := steps(t, dir); !slices.Equal(got, want) {
				t.Errorf("the journal has\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			if c := j.total(); c.Seconds != seconds || j.entries != len(want) {
				t.Errorf("%v s in %d entries, want %v s in %d", c.Seconds, j.entries, seconds, len(want))
			}
		}
		time.Sleep(time.Second)
		j := open(t, dir)
		check(j, 0, "setup 0, 0 runs, 0 evaluations, 0 s: ...")
		time.Sleep(2 * time.Second)
		check(j, 0)
		if err := j.do(step{0, "test", 1}, new(int), func(w *work) error { w.Runs, w.Evaluations, w.Seconds, w.CPU = 3, 400, 0.5, 1; return nil }); err != nil {
			t.Fatal(err)
		}
		check(j, 2.5, "session 1, 0 runs, 0 evaluations, 0 s: at 3s", "test 1, 3 runs, 400 evaluations, 2.5 s: 0")
		time.Sleep(3 * time.Second)
		check(j, 5.5)
		sevens := []smac.Trial{{Config: []float64{1}, Cost: 7}}
		b, err := packTrials(sevens, true)
		if err != nil {
			t.Fatal(err)
		}
		n := len(b)
		text := "x"
		for i := range 2 {
			if err := j.do(step{2, "test", i}, &text, func(w *work) error { w.trials, w.whole = sevens, true; return nil }); err != nil {
				t.Fatal(err)
			}
		}
		check(j, 5.5, fmt.Sprintf(`round 2: test 0, 0 runs, 0 evaluations, 3 s, trials 0+%d: "x"`, n), fmt.Sprintf(`round 2: test 1, 0 runs, 0 evaluations, 0 s, trials %d+%d: "x"`, n, n))
		if c := j.total(); c.Runs != 3 || c.Evaluations != 400 || c.CPU < 1 || c.CPU > 60 {
			t.Errorf("the cost is %+v", c)
		}
		// What is recorded is not done again.
		text = ""
		if err := j.do(step{2, "test", 0}, &text, nil); err != nil || text != "x" {
			t.Errorf("%q, %v", text, err)
		}
		kill(t, j)
		// A file of trials that is too long is cut, one that is too short stays, and what
		// follows goes behind both.
		at := filepath.Join(dir, trialsName)
		for _, size := range []int64{int64(2*n + 5), int64(2 * n), int64(n)} {
			if err := os.Truncate(at, size); err != nil {
				t.Fatal(err)
			}
			j = open(t, dir)
			check(j, 5.5)
			if info, err := os.Stat(at); err != nil || info.Size() != min(size, int64(2*n)) || j.trialsEnd != int64(2*n) {
				t.Errorf("of %d bytes %d are left, and trials go on at %d; %v", size, info.Size(), j.trialsEnd, err)
			}
			kill(t, j)
		}
		// The session has an entry where the construction goes on.
		j = open(t, dir)
		time.Sleep(time.Second)
		if err := j.put(step{1, "test", 5}, nil, work{trials: sevens}); err != nil {
			t.Fatal(err)
		}
		packed, err := packTrials(sevens, false)
		if err != nil {
			t.Fatal(err)
		}
		check(j, 6.5, "session 5, 0 runs, 0 evaluations, 0 s: at 7s", fmt.Sprintf("round 1: test 5, 0 runs, 0 evaluations, 1 s, trials %d+%d: null", 2*n, len(packed)))
		kill(t, j)
	})
}

// A session ends with an entry that says how, unless it has done nothing for a second.
func TestJournalEnds(t *testing.T) {
	session := "session 1, 0 runs, 0 evaluations, 0 s: at "
	for name, c := range map[string]struct {
		begins  bool
		waits   time.Duration
		status  run.Status
		before  bool // whether it has ended before
		entries []string
	}{
		"at once":           {false, time.Second, run.Cancelled, false, nil},
		"after a while":     {false, time.Second + 1, run.Cancelled, false, []string{session + "1s", `interrupted 2, 0 runs, 0 evaluations, 1.000000001 s: "cancelled"`}},
		"after a step":      {true, 0, run.Cancelled, false, []string{session + "0s", "test 1, 0 runs, 0 evaluations, 0 s: 1", `interrupted 4, 0 runs, 0 evaluations, 0 s: "cancelled"`}},
		"finished":          {true, time.Second, run.BudgetSpent, false, []string{session + "0s", "test 1, 0 runs, 0 evaluations, 0 s: 1", `end 0, 0 runs, 0 evaluations, 1 s: "budget spent"`}},
		"finished at once":  {false, 0, run.BudgetSpent, false, []string{session + "0s", `end 0, 0 runs, 0 evaluations, 0 s: "budget spent"`}},
		"finished before":   {false, time.Minute, run.BudgetSpent, true, []string{session + "0s", `end 0, 0 runs, 0 evaluations, 0 s: "budget spent"`}},
		"looked at, before": {false, time.Minute, run.Cancelled, true, []string{session + "0s", `end 0, 0 runs, 0 evaluations, 0 s: "budget spent"`}},
	} {
		synctest.Test(t, func(t *testing.T) {
			dir := t.TempDir()
			j := open(t, dir)
			if c.before {
				if err := j.close(run.BudgetSpent); err != nil {
					t.Fatal(err)
				}
				j = open(t, dir)
			}
			if c.begins {
				put(t, j, 1)
			}
			time.Sleep(c.waits)
			if err := os.WriteFile(filepath.Join(dir, clockName), []byte("{}"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := j.close(c.status); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(filepath.Join(dir, clockName)); !os.IsNotExist(err) {
				t.Errorf("%s: the clock's file stays: %v", name, err)
			}
			if got := steps(t, dir); !slices.Equal(got[1:], c.entries) {
				t.Errorf("%s: %q, want %q", name, got[1:], c.entries)
			}
			if err := open(t, dir).close(run.Cancelled); err != nil {
				t.Errorf("%s: the folder is not free: %v", name, err)
			}
			if _, err := j.trials.Stat(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("%s: the trials' file is open: %v", name, err)
			}
		})
	}
}

// Without a folder steps are known, nothing is a file, and nothing is due.
func TestJournalMemory(t *testing.T) {
	t.Chdir(t.TempDir())
	j := open(t, "")
	if err := j.do(step{Stage: "test"}, new(int), func(w *work) error { w.trials = []smac.Trial{{Config: []float64{1}}}; return nil }); err != nil {
		t.Fatal(err)
	}
	if found, err := j.get(step{Stage: "test"}, new(int)); !found || err != nil {
		t.Errorf("found %v, %v", found, err)
	}
	c := j.checkpoint(step{Stage: "test"})
	c.last = time.Time{}
	if err := c.save(1); err != nil || c.due() || c.load(new(int)) || !c.last.IsZero() {
		t.Errorf("%v, due %v", err, c.due())
	}
	c.remove()
	if err := j.close(run.Cancelled); err != nil {
		t.Error(err)
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
}

// An unfinished step is due after checkpointEvery, and no earlier; one that cannot be read
// begins again.
func TestJournalCheckpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := open(t, t.TempDir())
		defer kill(t, j)
		c := j.checkpoint(step{2, "test", 1})
		if filepath.Base(c.path) != "unfinished-round-2--test-1.json" {
			t.Errorf("it is kept in %s", c.path)
		}
		for range 2 {
			time.Sleep(checkpointEvery - 1)
			before := c.due()
			time.Sleep(time.Nanosecond)
			if before || !c.due() {
				t.Errorf("due before %v, not after", checkpointEvery)
			}
			if err := c.save([]int{1, 2}); err != nil || c.due() {
				t.Errorf("%v, due %v", err, c.due())
			}
		}
		if b, err := os.ReadFile(c.path); err != nil || string(b) != "[1,2]" {
			t.Errorf("%s, %v", b, err)
		}
		if err := os.WriteFile(c.path, []byte("[1,"), 0o600); err != nil {
			t.Fatal(err)
		}
		if c.load(new([]int)) {
			t.Error("half a state is read")
		}
		if c.remove(); c.load(new([]int)) {
			t.Error("it stays")
		}
	})
}

// The clock of a process that was killed counts under the step that it was in, if nothing
// was recorded since; another is removed.
func TestClockTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		j := open(t, dir)
		put(t, j, 1)
		kill(t, j)
		before := steps(t, dir)
		killed := fmt.Sprintf(`round 4: interrupted %d, 0 runs, 0 evaluations, 9 s: "killed"`, len(before))
		for _, c := range []struct {
			clock string
			more  []string
		}{
			{`{"entries":2,"step":{"round":4},"cost":{"seconds":9}}`, nil}, {`{"entries":4,"step":{"round":4},"cost":{"seconds":9}}`, nil}, {`{"entries":3`, nil},
			{`{"entries":3,"step":{"round":4,"stage":"test","index":8},"cost":{"seconds":9}}`, []string{killed}},
		} {
			if err := os.WriteFile(filepath.Join(dir, clockName), []byte(c.clock), 0o600); err != nil {
				t.Fatal(err)
			}
			j := open(t, dir)
			if got := steps(t, dir); !slices.Equal(got, append(before[:len(before):len(before)], c.more...)) {
				t.Errorf("with the clock %s: %q", c.clock, got)
			}
			if _, err := os.Stat(filepath.Join(dir, clockName)); (err == nil) != (c.more != nil) {
				t.Errorf("with the clock %s its file: %v", c.clock, err)
			}
			kill(t, j)
		}
	})
}

// Trials up to 16 MB are kept, and no byte more.
func TestJournalTrialsBound(t *testing.T) {
	j := open(t, t.TempDir())
	defer kill(t, j)
	b, err := packTrials([]smac.Trial{{Config: []float64{1}}}, false)
	if err != nil {
		t.Fatal(err)
	}
	for over := range int64(2) {
		j.trialsEnd = maxTrialBytes - int64(len(b)) + over
		s := step{Stage: "test", Index: int(over)}
		if err := j.put(s, 1, work{trials: []smac.Trial{{Config: []float64{1}}}}); err != nil || (j.seen[s].Trials == nil) != (over == 1) {
			t.Errorf("%d bytes over: %v, %v", over, j.seen[s].Trials, err)
		}
	}
}
