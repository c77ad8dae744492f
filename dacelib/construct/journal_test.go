package construct

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dace.local/dacelib/run"
)

// A fault is a journal's file on a disk that fails.
type fault struct {
	storage
	full     bool  // a write ends half-way
	sync     error // what Sync returns
	unsynced bool  // something was written since the last Sync
}

func (f *fault) Write(b []byte) (int, error) {
	f.unsynced = true
	if f.full {
		n, _ := f.storage.Write(b[:len(b)/2])
		return n, syscall.ENOSPC
	}
	return f.storage.Write(b)
}

func (f *fault) Sync() error {
	if f.sync == nil {
		f.unsynced = false
	}
	return f.sync
}

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

// What could not be written or synced is not recorded, leaves no half line, and
// can be recorded later.
func TestWriteFails(t *testing.T) {
	for name, set := range map[string]func(f *fault, on bool){
		"no room": func(f *fault, on bool) { f.full = on },
		"no sync": func(f *fault, on bool) {
			if f.sync = nil; on {
				f.sync = syscall.ENOSPC
			}
		},
	} {
		dir := t.TempDir()
		j := open(t, dir)
		f := &fault{storage: j.file}
		j.file = f
		put(t, j, 1)
		if f.unsynced {
			t.Error("a step counts as recorded before it is on the disk")
		}
		before := len(lines(t, dir))
		set(f, true)
		if err := j.put(step{Stage: "test", Index: 2}, 2, work{}); err == nil || !strings.Contains(err.Error(), "make room") {
			t.Errorf("%s: %v", name, err)
		}
		if found, _ := j.get(step{Stage: "test", Index: 2}, new(int)); found {
			t.Errorf("%s: the step counts as recorded", name)
		}
		if n := len(lines(t, dir)); n != before {
			t.Errorf("%s: %d lines, want %d", name, n, before)
		}
		set(f, false)
		put(t, j, 2)
		kill(t, j)
		if n := len(lines(t, dir)); n != before+1 {
			t.Errorf("%s: %d lines with room again, want %d", name, n, before+1)
		}
		j = open(t, dir)
		if found, err := j.get(step{Stage: "test", Index: 2}, new(int)); !found || err != nil {
			t.Errorf("%s: the step is lost: %v", name, err)
		}
		kill(t, j)
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
