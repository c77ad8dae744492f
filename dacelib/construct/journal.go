package construct

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"dace.local/dacelib/files"
	"dace.local/dacelib/files/disk"
	"dace.local/dacelib/internal/process"
	"dace.local/dacelib/run"
	"dace.local/dacelib/smac"
)

// A Cost is the cost of a construction or of a part of one.
type Cost struct {
	// Runs is the number of runs of the solver, BRKGA.
	Runs int `json:"runs"`
	// Evaluations is the number of evaluations of authentic instances, not of
	// NIRs: what the runs were allowed. Fewer are computed, as runs of one search
	// share the values of the individuals that they all begin with.
	Evaluations int `json:"evaluations"`
	// Seconds of wall-clock time; CPU is processor time, subprocesses included.
	Seconds float64 `json:"seconds"`
	CPU     float64 `json:"cpu"`
}

func (c *Cost) add(d Cost) {
	c.Runs += d.Runs
	c.Evaluations += d.Evaluations
	c.Seconds += d.Seconds
	c.CPU += d.CPU
}

// A step is a part of a construction whose outcome is recorded when the step is
// finished. The settings determine the steps, so running the same construction
// again continues it.
type step struct {
	Round int    `json:"round"` // 0 before the first round
	Stage string `json:"stage"`
	Index int    `json:"index"`
}

// stage is the name of the stage in events and tables: "round 2: mining".
func (s step) stage() string {
	if s.Round == 0 {
		return s.Stage
	}
	return fmt.Sprintf("round %d: %s", s.Round, s.Stage)
}

func (s step) String() string { return fmt.Sprintf("%s %d", s.stage(), s.Index) }

// Stages that do not belong to a method.
const (
	setupStage     = "setup"
	sessionStage   = "session"
	interruptStage = "interrupted"
	endStage       = "end"
)

// work is the part of a step's report that is not its outcome: costs and
// trials.
type work struct {
	Cost
	trials []smac.Trial
	// whole says that the record has room for the configurations of all trials.
	whole bool
}

// An entry is one line of the journal.
type entry struct {
	step
	// Cost holds the seconds since the previous entry, so that the costs of
	// concurrent steps add up.
	Cost Cost `json:"cost"`
	// Trials is the position of the step's trials in the file of trials.
	Trials *span           `json:"trials,omitempty"`
	Value  json.RawMessage `json:"value,omitempty"`
}

// A span is a range of bytes in a file.
type span struct {
	Offset int64 `json:"offset"`
	Length int64 `json:"length"`
}

// A journal records the outcomes of a construction's steps and returns them
// when the construction is run again. With a folder, it is a file of JSON lines
// that is synced after every step and locked while the journal is open; without
// one, it is kept in memory.
type journal struct {
	dir      string     // empty if the journal is in memory
	file     *disk.File // nil if the journal is in memory
	trials   *disk.File // packed trials, one gzip member per step
	setup    Setup
	stopTick func()

	mu        sync.Mutex // guards seen, entries, end, trialsEnd, cost, begun, current, last, lastCPU
	seen      map[step]entry
	entries   int
	end       int64 // length of file
	trialsEnd int64
	cost      Cost // of all entries
	begun     bool // whether this session's entry was written
	current   step // the step that was begun last
	last      time.Time
	lastCPU   float64
}

const (
	// JournalName is the name of the file that records a construction's steps.
	JournalName = "journal.jsonl"
	trialsName  = "trials.gz"
	clockName   = "clock.json"
	modelName   = "model.npz"
	// maxTrialBytes bounds the size of the file of trials, so that the whole
	// record stays below 20 MB.
	maxTrialBytes = 16 << 20
)

// checkpointEvery is the interval at which an unfinished step saves its state.
// It is shorter than the minute that a kill may lose.
const checkpointEvery = 20 * time.Second

// A clock is the time since the last entry. It is saved so that the time of a
// process that is killed is counted.
type clock struct {
	Entries int  `json:"entries"`
	Step    step `json:"step"`
	Cost    Cost `json:"cost"`
}

// openJournal opens the journal in folder dir and creates the folder if needed;
// an empty dir means a journal in memory. It returns an error if another
// process uses the folder, or if the folder holds a construction with other
// settings.
func openJournal(dir string, setup Setup) (*journal, error) {
	j := &journal{dir: dir, setup: setup, seen: map[step]entry{}, last: time.Now(), lastCPU: processorSeconds()}
	if dir == "" {
		return j, nil
	}
	if err := disk.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("construct: Settings.Dir: %w", err)
	}
	f, err := disk.OpenFile(j.path(JournalName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("construct: Settings.Dir: %w", err)
	}
	j.file = f
	if err := j.load(); err != nil {
		return nil, errors.Join(err, j.closeFiles())
	}
	j.tick()
	return j, nil
}

// load locks the journal's file and reads it; if it is empty, load begins a new
// journal.
func (j *journal) load() error {
	if err := files.Lock(j.file.File); err != nil {
		if errors.Is(err, files.ErrLocked) {
			return fmt.Errorf("construct: the folder %s is in use: another construction writes to it%s; wait for its end, stop it, or give Settings.Dir another folder", j.dir, j.holder())
		}
		return fmt.Errorf("construct: locking %s: %w", j.file.Name(), err)
	}
	entries, end, err := readEntries(j.file)
	if err != nil {
		return fmt.Errorf("construct: %s, %w", j.file.Name(), err)
	}
	for _, e := range entries {
		j.seen[e.step] = e
		j.cost.add(e.Cost)
		if e.Trials != nil {
			j.trialsEnd = max(j.trialsEnd, e.Trials.Offset+e.Trials.Length)
		}
	}
	j.entries, j.end = len(entries), end
	// The last line may be incomplete if the process died while writing it.
	if err := j.file.Truncate(end); err != nil {
		return err
	}
	if err := j.openTrials(); err != nil {
		return err
	}
	if len(entries) == 0 {
		j.last = time.Now()
		return j.put(step{Stage: setupStage}, j.setup, work{})
	}
	first, ok := j.seen[step{Stage: setupStage}]
	if !ok {
		return fmt.Errorf("construct: %s does not begin with a setup: it is no journal of this version; give Settings.Dir another folder", j.file.Name())
	}
	differences, err := j.setup.differences(first.Value)
	if err != nil {
		return fmt.Errorf("construct: %s, line 1: %w", j.file.Name(), err)
	}
	if len(differences) > 0 {
		return fmt.Errorf("construct: %s holds another construction; go on with its settings, or give Settings.Dir a folder of its own\n  %s", j.dir, strings.Join(differences, "\n  "))
	}
	return j.takeClock()
}

// holder returns the process that uses the journal, if its session entry tells.
func (j *journal) holder() string {
	entries, _, err := readEntries(j.file)
	if err != nil {
		return ""
	}
	for i := len(entries) - 1; i >= 0; i-- {
		var s Session
		if entries[i].Stage == sessionStage && json.Unmarshal(entries[i].Value, &s) == nil {
			return fmt.Sprintf(" (process %d on %s, since %s)", s.Process, s.Host, s.Started.Format(time.DateTime))
		}
	}
	return ""
}

// openTrials opens the file of trials and truncates it after the last trials
// that an entry refers to.
func (j *journal) openTrials() error {
	f, err := disk.OpenFile(j.path(trialsName), os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("construct: Settings.Dir: %w", err)
	}
	j.trials = f
	info, err := f.Stat()
	if err != nil {
		return err
	}
	// A file that is too short has lost trials but no results: new trials are
	// written behind the gap, and Read reports the missing ones.
	if info.Size() > j.trialsEnd {
		return f.Truncate(j.trialsEnd)
	}
	return nil
}

// takeClock adds an entry for the time of a process that was killed.
func (j *journal) takeClock() error {
	b, err := disk.ReadFile(j.path(clockName))
	if err != nil {
		return nil
	}
	var c clock
	if json.Unmarshal(b, &c) != nil || c.Entries != j.entries {
		return disk.Remove(j.path(clockName)) // older than the last entry
	}
	return j.write(entry{step: step{c.Step.Round, interruptStage, j.entries}, Cost: c.Cost, Value: json.RawMessage(`"killed"`)})
}

// readEntries reads the lines of a journal; end is the offset after the last
// complete line.
func readEntries(r io.Reader) (entries []entry, end int64, err error) {
	b := bufio.NewReader(r)
	for n := 1; ; n++ {
		text, err := b.ReadBytes('\n')
		if err == io.EOF {
			return entries, end, nil
		}
		if err != nil {
			return entries, end, err
		}
		var e entry
		if err := json.Unmarshal(text, &e); err != nil {
			return entries, end, fmt.Errorf("line %d is damaged (%w): cut the file before this line to lose only what follows, or remove the folder to begin again", n, err)
		}
		entries = append(entries, e)
		end += int64(len(text))
	}
}

// tick updates the clock file until stopTick is called.
func (j *journal) tick() {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		t := time.NewTicker(checkpointEvery / 2)
		defer t.Stop()
		for {
			select {
			case <-stop:
				return
			case <-t.C:
				j.mu.Lock()
				c := clock{Entries: j.entries, Step: j.current, Cost: j.since()}
				j.mu.Unlock()
				b, _ := json.Marshal(c) // texts and numbers
				_ = files.WriteBytes(j.path(clockName), b)
			}
		}
	}()
	j.stopTick = func() { close(stop); <-done }
}

// since returns the seconds since the last entry.
func (j *journal) since() Cost {
	return Cost{Seconds: time.Since(j.last).Seconds(), CPU: processorSeconds() - j.lastCPU}
}

// do sets *v to the outcome of step s. If the journal has it, do reads it from
// there; otherwise do calls f, which sets *v, and records it. An error of f is
// returned and not recorded.
func (j *journal) do(s step, v any, f func(w *work) error) error {
	if found, err := j.get(s, v); found || err != nil {
		return err
	}
	j.mu.Lock()
	j.current = s
	j.mu.Unlock()
	var w work
	if err := f(&w); err != nil {
		return err
	}
	return j.put(s, v, w)
}

// get reads the outcome of a step and reports whether it was recorded.
func (j *journal) get(s step, v any) (bool, error) {
	j.mu.Lock()
	e, ok := j.seen[s]
	j.mu.Unlock()
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(e.Value, v); err != nil {
		return false, fmt.Errorf("construct: the journal's %v: %w", s, err)
	}
	return true, nil
}

// put records the outcome of a step.
func (j *journal) put(s step, v any, w work) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("construct: recording %v: %w", s, err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.begun && s.Stage != setupStage {
		j.begun = true
		session, _ := json.Marshal(newSession()) // texts and numbers
		if err := j.write(entry{step: step{Stage: sessionStage, Index: j.entries}, Value: session}); err != nil {
			return err
		}
	}
	e := entry{step: s, Cost: w.Cost, Value: raw}
	if len(w.trials) > 0 && j.file != nil {
		if e.Trials, err = j.pack(w); err != nil {
			return fmt.Errorf("construct: recording the trials of %v: %w", s, full(err))
		}
	}
	e.Cost.add(j.since())
	j.last, j.lastCPU = time.Now(), processorSeconds()
	return j.write(e)
}

// write appends an entry to the file.
func (j *journal) write(e entry) error {
	if j.file != nil {
		b, _ := json.Marshal(e) // whose value is JSON
		b = append(b, '\n')
		_, err := j.file.WriteAt(b, j.end)
		if err == nil {
			err = j.file.Sync()
		}
		if err != nil {
			_ = j.file.Truncate(j.end) // else the next entry overwrites an incomplete line
			return fmt.Errorf("construct: recording %v: %w", e.step, full(err))
		}
		j.end += int64(len(b))
	}
	j.seen[e.step] = e
	j.entries++
	j.cost.add(e.Cost)
	return nil
}

// full adds advice to the error of a full disk.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) || errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("%w: make room and go on in the same folder; what was recorded before is kept", err)
	}
	return err
}

// pack appends the trials of a step to the file of trials. It returns nil if
// the file would become too large.
func (j *journal) pack(w work) (*span, error) {
	b, err := packTrials(w.trials, w.whole)
	if err != nil || j.trialsEnd+int64(len(b)) > maxTrialBytes {
		return nil, err
	}
	if _, err := j.trials.WriteAt(b, j.trialsEnd); err != nil {
		return nil, err
	}
	if err := j.trials.Sync(); err != nil {
		return nil, err
	}
	s := &span{j.trialsEnd, int64(len(b))}
	j.trialsEnd += s.Length
	return s, nil
}

// total returns the cost so far.
func (j *journal) total() Cost {
	j.mu.Lock()
	defer j.mu.Unlock()
	c := j.cost
	if j.file == nil || j.begun {
		c.add(j.since())
	}
	return c
}

// path returns the path of another file in the journal's folder; it is empty if
// there is no folder.
func (j *journal) path(name string) string {
	if j.dir == "" {
		return ""
	}
	return filepath.Join(j.dir, name)
}

// close records the end of the session and unlocks the folder.
func (j *journal) close(status run.Status) error {
	if j.stopTick != nil {
		j.stopTick()
		j.stopTick = nil
	}
	var err error
	end := step{Stage: endStage}
	j.mu.Lock()
	_, ended := j.seen[end]
	j.mu.Unlock()
	switch {
	case ended:
	case status == run.BudgetSpent:
		err = j.put(end, status.String(), work{})
	case j.begun || j.since().Seconds > 1:
		j.mu.Lock()
		s := step{j.current.Round, interruptStage, j.entries + 1}
		j.mu.Unlock()
		err = j.put(s, status.String(), work{})
	}
	if j.dir != "" {
		_ = os.Remove(j.path(clockName))
	}
	return errors.Join(err, j.closeFiles())
}

func (j *journal) closeFiles() error {
	if j.file == nil {
		return nil
	}
	err := j.file.Close() // closing also unlocks the file
	if j.trials != nil {
		err = errors.Join(err, j.trials.Close())
	}
	return err
}

// A Session describes the work of one process on a construction.
type Session struct {
	// Started is the time of the session's first step.
	Started time.Time `json:"started"`
	// Version is the library's version, CPU the processor's name.
	Version string `json:"version"`
	CPU     string `json:"cpu"`
	// Host and Process.
	Host    string `json:"host"`
	Process int    `json:"process"`
}

func newSession() Session {
	host, _ := os.Hostname()
	return Session{Started: time.Now().Round(time.Second), Version: run.Build(), CPU: run.CPU(), Host: host, Process: os.Getpid()}
}

// processorSeconds returns the time that processors have spent on this process
// and on those that it has started and waited for (GCC).
func processorSeconds() float64 { return process.Time().Seconds() }

// A checkpoint saves the state of an unfinished step in a file.
type checkpoint struct {
	path string // empty if nothing is saved
	last time.Time
}

// checkpoint returns the checkpoint of a step.
func (j *journal) checkpoint(s step) *checkpoint {
	name := strings.Map(func(r rune) rune {
		if r == ' ' || r == ':' {
			return '-'
		}
		return r
	}, s.String())
	return &checkpoint{path: j.path("unfinished-" + name + ".json"), last: time.Now()}
}

// load reads the saved state into *v and reports whether there was any. A state
// that cannot be read counts as none, and the step begins again.
func (c *checkpoint) load(v any) bool {
	if c.path == "" {
		return false
	}
	b, err := disk.ReadFile(c.path)
	return err == nil && json.Unmarshal(b, v) == nil
}

// due reports whether it is time to save.
func (c *checkpoint) due() bool { return c.path != "" && time.Since(c.last) >= checkpointEvery }

// save writes v as the state of the step.
func (c *checkpoint) save(v any) error {
	if c.path == "" {
		return nil
	}
	b, err := json.Marshal(v)
	if err == nil {
		err = files.WriteBytes(c.path, b)
	}
	if err != nil {
		return fmt.Errorf("construct: keeping an unfinished step: %w", full(err))
	}
	c.last = time.Now()
	return nil
}

// remove deletes the saved state after the step is recorded.
func (c *checkpoint) remove() {
	if c.path != "" {
		_ = os.Remove(c.path)
	}
}
