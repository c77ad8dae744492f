package farm

import (
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"dace.local/dacelib/internal/process"
)

// Settings of a farm. The zero value is a server on this machine that other
// machines cannot reach, without workers.
type Settings struct {
	// Dir is the farm's folder; the default is dace/farm in the user's cache.
	Dir string
	// Listen is the address at which the server listens, "HOST:PORT"; the
	// default is a free port of this machine alone. Any other address turns on
	// TLS: ":0" listens on all addresses.
	Listen string
	// Local is the number of worker processes to start on this machine, of one
	// core each.
	Local int
	// Command is the command dace; by default it is this program if it is
	// dace, else the one in the PATH.
	Command []string
}

// A Farm is a farm that this process has started or found. It is a [Pool]. Shown
// in a notebook, it is a table of its workers and its work; [Farm.Watch] keeps
// that up to date.
type Farm struct {
	Pool
	join string
	s    Settings
	err  error

	mu    sync.Mutex // guards local and slurm
	local []*exec.Cmd
	slurm []string // job IDs
}

// Start starts the server of a farm in a process of its own, and local workers
// if the settings ask for any. The server outlives this process: Start finds it
// again after a restart of the kernel. An error of Start is shown in place of
// the farm, and returned by every call that uses it; see [Farm.Err].
func Start(s Settings) *Farm {
	f := &Farm{s: s}
	f.err = f.start()
	if f.err != nil {
		f.Pool = broken{f.err}
	}
	return f
}

func (f *Farm) start() error {
	d, err := theDriver()
	if err != nil {
		return err
	}
	if f.s.Dir == "" {
		if f.s.Dir, err = DefaultDir(); err != nil {
			return err
		}
	}
	if f.s.Command, err = command(f.s.Command); err != nil {
		return err
	}
	if f.join, err = d.Start(f.s.Dir, f.s.Listen, append(f.s.Command[:len(f.s.Command):len(f.s.Command)], "farm", "serve")); err != nil {
		return err
	}
	if f.Pool, err = d.Pool(context.Background(), f.join); err != nil {
		return err
	}
	RememberLast(f.s.Dir)
	return f.Local(f.s.Local)
}

// command returns the command dace.
func command(given []string) ([]string, error) {
	if len(given) > 0 {
		return given, nil
	}
	if self, err := os.Executable(); err == nil && strings.HasPrefix(filepath.Base(self), "dace") {
		return []string{self}, nil
	}
	path, err := exec.LookPath("dace")
	if err != nil {
		return nil, errors.New("farm: the command dace is not in the PATH: name it in Settings.Command")
	}
	return []string{path}, nil
}

// broken is the pool of a farm that could not be started.
type broken struct{ err error }

func (b broken) Slots() int                                                { return 1 }
func (b broken) Rate(string) float64                                       { return 0 }
func (b broken) Put(context.Context, []byte) (string, error)               { return "", b.err }
func (b broken) Get(context.Context, string) ([]byte, error)               { return nil, b.err }
func (b broken) Do(context.Context, []Unit, func(int, []byte) error) error { return b.err }

// Err returns the error of [Start], nil if the farm was started.
func (f *Farm) Err() error { return f.err }

// JoinFile returns the path of the join file, for dace worker -join.
func (f *Farm) JoinFile() string { return f.join }

// Local starts n worker processes on this machine, of one core each. They end
// with [Farm.Stop], with the server's drain, or ten minutes after their last
// work.
func (f *Farm) Local(n int) error {
	if f.err != nil || n <= 0 {
		return f.err
	}
	for range n {
		args := append(f.s.Command[1:len(f.s.Command):len(f.s.Command)], "worker", "-join", f.join, "-cores", "1", "-idle", "10m")
		cmd := exec.Command(f.s.Command[0], args...)
		cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
		process.Detach(cmd) // an interrupt of the notebook is not for them
		if err := cmd.Start(); err != nil {
			return fmt.Errorf("farm: starting a worker: %w", err)
		}
		go func() { _ = cmd.Wait() }()
		f.mu.Lock()
		f.local = append(f.local, cmd)
		f.mu.Unlock()
	}
	// Work is cut for the workers that are known.
	for until := time.Now().Add(2 * time.Second); f.Slots() < n && time.Now().Before(until); {
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}

// Stop ends the local workers, the jobs of Slurm and the server. What was
// computed is kept in the farm's folder.
func (f *Farm) Stop() error {
	if f.err != nil {
		return f.err
	}
	f.mu.Lock()
	for _, c := range f.local {
		_ = c.Process.Signal(syscall.SIGTERM)
	}
	jobs := f.slurm
	f.local, f.slurm = nil, nil
	f.mu.Unlock()
	if len(jobs) > 0 {
		_ = exec.Command("scancel", jobs...).Run() // they end with their time in any case
	}
	d, err := theDriver()
	if err != nil {
		return err
	}
	err = d.Stop(context.Background(), f.join)
	if c, ok := f.Pool.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}

// Slurm describes jobs of workers.
type Slurm struct {
	// Jobs is the number of jobs, Cores the number of cores of each; the
	// default of both is 1.
	Jobs, Cores int
	// Time is the time limit of a job, in one of Slurm's forms, "HH:MM:SS";
	// the default is an hour. Workers hand their work back a minute before.
	Time string
	// Options are further options of sbatch, such as "--partition=long".
	Options []string
}

// Slurm submits jobs of workers by sbatch. The farm must listen at an address
// that the nodes reach, see [Settings].Listen, and the join file and the command
// must lie in folders that they share. Slurm's signal before the limit makes a
// worker hand back what it has not finished.
func (f *Farm) Slurm(s Slurm) error {
	if f.err != nil {
		return f.err
	}
	args, err := s.sbatch(f.s.Command, f.join)
	if err != nil {
		return err
	}
	for range max(1, s.Jobs) {
		out, err := exec.Command("sbatch", args...).CombinedOutput()
		if errors.Is(err, exec.ErrNotFound) {
			return errors.New("farm: there is no sbatch here: call Slurm on a machine that can submit jobs")
		}
		if err != nil {
			return fmt.Errorf("farm: sbatch: %s", strings.TrimSpace(string(out)))
		}
		id, _, _ := strings.Cut(strings.TrimSpace(string(out)), ";")
		f.mu.Lock()
		f.slurm = append(f.slurm, id)
		f.mu.Unlock()
	}
	return nil
}

// sbatch returns the arguments of sbatch for one job.
func (s Slurm) sbatch(command []string, join string) ([]string, error) {
	if s.Jobs < 0 || s.Cores < 0 {
		return nil, fmt.Errorf("farm: %d jobs of %d cores", s.Jobs, s.Cores)
	}
	if s.Time == "" {
		s.Time = "01:00:00"
	}
	cores := max(1, s.Cores)
	line := []string{"exec"}
	for _, c := range append(command[:len(command):len(command)], "worker", "-join", join, "-cores", strconv.Itoa(cores)) {
		line = append(line, "'"+strings.ReplaceAll(c, "'", `'\''`)+"'")
	}
	args := []string{"--parsable", "--job-name=dace-worker", "--time=" + s.Time, "--cpus-per-task=" + strconv.Itoa(cores), "--signal=TERM@60", "--output=/dev/null"}
	return append(append(args, s.Options...), "--wrap="+strings.Join(line, " ")), nil
}

// Failures returns the units that failed in this process, the latest last.
func (f *Farm) Failures() []Failure { return Failures() }

// Table returns the state of the farm.
func (f *Farm) Table() Table {
	t := Table{Join: f.join, Err: f.err, Failures: Failures(), Own: true}
	if d, ok := f.Pool.(interface {
		Workers() []Worker
		Counts() Counts
	}); ok {
		t.Workers, t.Counts = d.Workers(), d.Counts()
	}
	f.mu.Lock()
	t.Slurm = strings.Join(f.slurm, " ")
	f.mu.Unlock()
	return t
}

// Watch calls show with the [Table] twice a second until ctx ends. In a cell,
//
//	go f.Watch(ctx, display.NewHandle().Show)
//
// shows one table that is kept up to date.
func (f *Farm) Watch(ctx context.Context, show func(view any)) {
	for {
		show(f.Table())
		select {
		case <-ctx.Done():
			show(f.Table())
			return
		case <-time.After(500 * time.Millisecond):
		}
	}
}

// String returns the state of the farm as text.
func (f *Farm) String() string { return f.Table().String() }

// HTML returns the state of the farm as a table for a notebook.
func (f *Farm) HTML() string { return f.Table().HTML() }

// OnNote sets the function that receives what a person should know, such as
// that no worker is there.
func (f *Farm) OnNote(note func(string)) {
	if d, ok := f.Pool.(interface{ OnNote(func(string)) }); ok {
		d.OnNote(note)
	}
}

// A Table is the state of a farm, as shown.
type Table struct {
	// Join is the path of the join file; Err is set if the farm was not started.
	Join string
	Err  error
	// Workers that were heard of.
	Workers []Worker
	// Counts are the units of this process, if Own is true. Queued and Results
	// are what the server holds, if it is not.
	Own             bool
	Counts          Counts
	Queued, Results int
	// Failures lists the units that failed, with their errors.
	Failures []Failure
	// Slurm lists the jobs that were submitted.
	Slurm string
}

// work describes the units in a line.
func (t Table) work() string {
	if !t.Own {
		return fmt.Sprintf("%d messages queued, %d results kept", t.Queued, t.Results)
	}
	c := t.Counts
	line := fmt.Sprintf("%d units done, %d running, %d waiting", c.Done, c.Running, c.Waiting)
	if since := time.Since(c.Since).Seconds(); c.Done > 0 && since > 0 {
		line += fmt.Sprintf(", %.3g a second", float64(c.Done)/since)
		if left := c.Running + c.Waiting; left > 0 {
			line += fmt.Sprintf(", about %v left", time.Duration(since/float64(c.Done)*float64(left)*float64(time.Second)).Round(time.Second))
		}
	}
	return line
}

// shownWorkers and shownFailures are how many a table shows.
const shownWorkers, shownFailures = 100, 20

// rows returns the table of workers.
func (t Table) rows() [][]string {
	rows := [][]string{{"worker", "host", "cores", "done", "failures", "last seen", "note"}}
	self := Self()
	for i, w := range t.Workers {
		if i == shownWorkers {
			return append(rows, []string{fmt.Sprintf("and %d more", len(t.Workers)-i), "", "", "", "", "", ""})
		}
		note := ""
		if why := self.Differences(w.Identity); len(why) > 0 {
			note = "gets " + strings.Join(why, "; ")
		}
		rows = append(rows, []string{w.Name, w.Host, strconv.Itoa(w.Cores), strconv.Itoa(w.Done), strconv.Itoa(w.Failures), time.Since(w.Seen).Round(time.Second).String() + " ago", note})
	}
	return rows
}

// lines returns what is shown beside the table of workers.
func (t Table) lines() []string {
	if t.Err != nil {
		return []string{t.Err.Error()}
	}
	out := []string{"dace worker -join " + t.Join, t.work()}
	if t.Slurm != "" {
		out = append(out, "Slurm's jobs: "+t.Slurm)
	}
	if len(t.Workers) == 0 {
		out = append(out, "no worker yet")
	}
	for i, f := range t.Failures {
		if i == shownFailures {
			return append(out, fmt.Sprintf("and %d more failures", len(t.Failures)-i))
		}
		out = append(out, "failed: "+f.Error())
	}
	return out
}

// String returns the state as text.
func (t Table) String() string {
	var b strings.Builder
	for _, l := range t.lines() {
		b.WriteString(l + "\n")
	}
	if len(t.Workers) > 0 {
		rows := t.rows()
		width := make([]int, len(rows[0]))
		for _, r := range rows {
			for i, c := range r {
				width[i] = max(width[i], len(c))
			}
		}
		for _, r := range rows {
			line := ""
			for i, c := range r {
				line += fmt.Sprintf("%-*s  ", width[i], c)
			}
			b.WriteString(strings.TrimRight(line, " ") + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// HTML returns the state as a table for a notebook.
func (t Table) HTML() string {
	var b strings.Builder
	for i, l := range t.lines() {
		if i == 0 && t.Err == nil {
			fmt.Fprintf(&b, "<div><code>%s</code></div>", html.EscapeString(l))
			continue
		}
		fmt.Fprintf(&b, "<div>%s</div>", strings.ReplaceAll(html.EscapeString(l), "\n", "<br>"))
	}
	c := t.Counts
	if all := c.Done + c.Running + c.Waiting; t.Own && all > 0 {
		fmt.Fprintf(&b, `<progress max="%d" value="%d" style="width:20em"></progress>`, all, c.Done)
	}
	if len(t.Workers) > 0 {
		b.WriteString("<table>")
		for i, r := range t.rows() {
			cell := "td"
			if i == 0 {
				cell = "th"
			}
			b.WriteString("<tr>")
			for _, v := range r {
				fmt.Fprintf(&b, `<%s style="text-align:left">%s</%s>`, cell, html.EscapeString(v), cell)
			}
			b.WriteString("</tr>")
		}
		b.WriteString("</table>")
	}
	return b.String()
}

// DefaultDir returns the folder of a farm whose settings name none.
func DefaultDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("farm: no folder for the farm: %w; name one in Settings.Dir", err)
	}
	return filepath.Join(cache, "dace", "farm"), nil
}

// RememberLast records the folder of the farm that was started last.
func RememberLast(dir string) {
	if cache, err := os.UserCacheDir(); err == nil && os.MkdirAll(filepath.Join(cache, "dace"), 0o755) == nil {
		if abs, err := filepath.Abs(dir); err == nil {
			_ = os.WriteFile(filepath.Join(cache, "dace", "farm-last"), []byte(abs), 0o600)
		}
	}
}

// LastDir returns the folder of the user's farm that was started last.
func LastDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		if b, err := os.ReadFile(filepath.Join(cache, "dace", "farm-last")); err == nil && len(b) > 0 {
			return string(b), nil
		}
	}
	return DefaultDir()
}

// Control gives the functions of a driver to the command dace.
func Control() (Driver, error) { return theDriver() }
