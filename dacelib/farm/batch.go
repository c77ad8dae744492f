package farm

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"dace.local/dacelib/files"
	"dace.local/dacelib/files/disk"
)

//go:embed schedulers
var schedulers embed.FS

// A Batch describes jobs of workers, for a scheduler such as Slurm.
type Batch struct {
	// Scheduler is "slurm", "pbs", "lsf" or "sge", or the path of a file that says
	// how another one is used: three commands to submit, cancel and list jobs. The
	// file of Slurm, which dace farm scheduler slurm prints, explains itself.
	// Empty means processes on this machine, for [Farm.Adapt] alone.
	Scheduler string
	// Jobs is the number of jobs, an array where the scheduler has them, Cores the
	// number of cores of each; the default of both is 1.
	Jobs, Cores int
	// Time is the time limit of a job, "HH:MM:SS", "D-HH:MM:SS", minutes, or as
	// "90m"; the default is an hour. Workers hand their work back before, a minute
	// or a tenth of the time.
	Time string
	// Account and Partition are charged and used, in the scheduler's words, such as
	// a project and a queue.
	Account, Partition string
	// Prologue is shell code that runs in the job before the worker, such as
	// "module load gcc".
	Prologue string
	// Options are further options of the submitting command.
	Options []string
	// Idle is how long a worker waits for work before it ends; 0 means for ever.
	Idle time.Duration
	// CoreHours bounds what the jobs of [Farm.Adapt] may cost, cores times hours; 0
	// means no bound.
	CoreHours float64
}

// Slurm describes jobs of workers of Slurm; see [Batch] for more.
type Slurm struct {
	// Jobs, Cores, Time and Options are those of [Batch].
	Jobs, Cores int
	Time        string
	Options     []string
}

// Slurm submits jobs of workers by sbatch; see [Farm.Submit].
func (f *Farm) Slurm(s Slurm) error {
	return f.Submit(Batch{Scheduler: "slurm", Jobs: s.Jobs, Cores: s.Cores, Time: s.Time, Options: s.Options})
}

// Submit submits jobs of workers. The farm must listen at an address that the
// nodes reach, see [Settings].Listen, and the join file and the command must lie
// in folders that they share. What workers print is in the farm's folder, in
// SCHEDULER-HOST-PROCESS.log.
func (f *Farm) Submit(b Batch) error {
	if f.err != nil {
		return f.err
	}
	_, err := submit(b, f.s.Command, f.join, f.s.Dir)
	f.mu.Lock()
	f.asked = time.Time{}
	f.mu.Unlock()
	return err
}

// Submit submits jobs of workers for a farm's folder, and returns their IDs.
// command is the command dace.
func Submit(b Batch, command []string, join, dir string) ([]string, error) {
	return submit(b, command, join, dir)
}

// A scheduler is the table of a scheduler's file.
type scheduler struct {
	name    string // the given one
	values  map[string]string
	columns []int // of what list prints: the fields of ID, state and place, from 1
}

// Schedulers returns the names of the schedulers that need no file.
func Schedulers() []string {
	entries, _ := schedulers.ReadDir("schedulers")
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// SchedulerFile returns the file of a scheduler that needs none, to begin one's
// own with.
func SchedulerFile(name string) (string, error) {
	b, err := schedulers.ReadFile("schedulers/" + name)
	if err != nil {
		return "", fmt.Errorf("farm: no scheduler %q; there are %s", name, strings.Join(Schedulers(), ", "))
	}
	return string(b), nil
}

// readScheduler reads the table of a scheduler.
func readScheduler(name string) (*scheduler, error) {
	text, err := SchedulerFile(name)
	if err != nil {
		b, readErr := disk.ReadFile(name)
		if errors.Is(readErr, fs.ErrNotExist) && !strings.ContainsRune(name, filepath.Separator) {
			return nil, fmt.Errorf("%w, and no file of that name is here", err)
		}
		if readErr != nil {
			return nil, fmt.Errorf("farm: the file of a scheduler: %w", readErr)
		}
		text = string(b)
	}
	s := &scheduler{name: name, values: map[string]string{"columns": "1 2 3", "id": `[0-9]+[^\s;<>]*`}}
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		key = strings.TrimSpace(key)
		if !ok || !slices.Contains([]string{"submit", "cancel", "list", "columns", "id", "array", "account", "partition", "running", "ended"}, key) {
			return nil, fmt.Errorf("farm: %s, line %d: %q is not NAME = VALUE with one of the names submit, cancel, list, columns, id, array, account, partition, running, ended", name, i+1, line)
		}
		s.values[key] = strings.TrimSpace(value)
	}
	for _, key := range []string{"submit", "cancel", "list"} {
		if s.values[key] == "" {
			return nil, fmt.Errorf("farm: %s has no command %q", name, key)
		}
	}
	if _, err := regexp.Compile(s.values["id"]); err != nil {
		return nil, fmt.Errorf("farm: %s: id: %w", name, err)
	}
	for _, f := range strings.Fields(s.values["columns"]) {
		n, _ := strconv.Atoi(f)
		s.columns = append(s.columns, n)
	}
	if len(s.columns) < 2 || slices.Min(s.columns) < 1 {
		return nil, fmt.Errorf("farm: %s: columns = %s are not the numbers of two or three fields, from 1", name, s.values["columns"])
	}
	return s, nil
}

// placeholder is a name in braces.
var placeholder = regexp.MustCompile(`\{[a-z]*\}`)

// quote returns text as one word of the shell.
func quote(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// command returns a command of the table with the values of its placeholders.
func (s *scheduler) command(key string, values map[string][]string) (string, error) {
	var err error
	text := placeholder.ReplaceAllStringFunc(s.values[key], func(p string) string {
		name := p[1 : len(p)-1]
		words, ok := values[name]
		if !ok {
			err = fmt.Errorf("farm: %s: %s: nothing is known of %s", s.name, key, p)
		}
		var quoted []string
		for _, w := range words {
			quoted = append(quoted, quote(w))
		}
		out := strings.Join(quoted, " ")
		if option, has := s.values[name]; has && name != key {
			if out == "" {
				return ""
			}
			return strings.ReplaceAll(option, "{}", out)
		}
		return out
	})
	return text, err
}

// run runs a command of the table.
func (s *scheduler) run(ctx context.Context, key string, values map[string][]string) (string, error) {
	text, err := s.command(key, values)
	if err != nil {
		return "", err
	}
	out, errs, err := files.Output(exec.CommandContext(ctx, "sh", "-c", text))
	if err != nil {
		return string(out), fmt.Errorf("farm: %s (%w): %s%s", text, err, errs, out)
	}
	return string(out), nil
}

// userName returns the name by which schedulers know this user.
func userName() string {
	out, err := exec.Command("id", "-un").Output()
	if err != nil {
		return strconv.Itoa(os.Getuid())
	}
	return strings.TrimSpace(string(out))
}

// parseTime returns the time limit of a job.
func parseTime(text string) (time.Duration, error) {
	if text == "" {
		return time.Hour, nil
	}
	if d, err := time.ParseDuration(text); err == nil && d > 0 {
		return d, nil
	}
	days, rest, hasDays := strings.Cut(text, "-")
	units := []time.Duration{time.Hour, time.Minute, time.Second}
	if !hasDays {
		days, rest = "0", text
	}
	parts := strings.Split(rest, ":")
	if !hasDays && len(parts) < 3 {
		units = units[1:] // minutes, or minutes and seconds
	}
	n, err := strconv.Atoi(days)
	total := time.Duration(n) * 24 * time.Hour
	bad := err != nil || n < 0 || len(parts) > len(units)
	for i, p := range parts {
		k, err := strconv.Atoi(p)
		if bad = bad || err != nil || k < 0; !bad {
			total += time.Duration(k) * units[i]
		}
	}
	if bad || total <= 0 {
		return 0, fmt.Errorf("farm: the time %q of a job is none of HH:MM:SS, D-HH:MM:SS, minutes, or a duration such as 90m", text)
	}
	return total, nil
}

// limits checks the numbers of b and sets their defaults.
func (b *Batch) limits() (time.Duration, error) {
	if b.Jobs < 0 || b.Cores < 0 || b.CoreHours < 0 {
		return 0, fmt.Errorf("farm: %d jobs of %d cores within %v core hours", b.Jobs, b.Cores, b.CoreHours)
	}
	b.Jobs, b.Cores = max(1, b.Jobs), max(1, b.Cores)
	return parseTime(b.Time)
}

// Script returns the shell script of a job of b.
func (b Batch) Script(command []string, join, dir string) (string, error) {
	limit, err := b.limits()
	if err != nil {
		return "", err
	}
	return b.script(limit, command, join, dir), nil
}

func (b Batch) script(limit time.Duration, command []string, join, dir string) string {
	seconds := int(limit.Seconds())
	line := "exec"
	for _, c := range append(slices.Clone(command), "worker", "-join", join, "-cores", strconv.Itoa(b.Cores)) {
		line += " " + quote(c)
	}
	if b.Idle > 0 {
		line += " -idle " + b.Idle.String()
	}
	name := strings.TrimSuffix(filepath.Base(b.Scheduler), filepath.Ext(b.Scheduler))
	return fmt.Sprintf(`#!/bin/sh
# A worker of the farm in %s
end=$(($(date +%%s) + %d))
exec >>%s"$(hostname)-$$.log" 2>&1
%s
%s -until "$((end - $(date +%%s)))s"
`, quote(dir), seconds-min(60, seconds/10), quote(filepath.Join(dir, name+"-")), b.Prologue, line)
}

// submit submits jobs and returns their IDs.
func submit(b Batch, command []string, join, dir string) ([]string, error) {
	s, err := readScheduler(b.Scheduler)
	if err != nil {
		return nil, err
	}
	limit, err := b.limits()
	if err != nil {
		return nil, err
	}
	if err := disk.MkdirAll(filepath.Join(dir, "jobs"), 0o700); err != nil {
		return nil, fmt.Errorf("farm: %w", err)
	}
	file, err := disk.CreateTemp(filepath.Join(dir, "jobs"), "*.sh")
	if err != nil {
		return nil, fmt.Errorf("farm: the script of a job: %w", err)
	}
	_, err = file.WriteString(b.script(limit, command, join, dir))
	if err := errors.Join(err, file.Chmod(0o700), file.Close()); err != nil {
		return nil, fmt.Errorf("farm: the script of a job: %w", err)
	}
	seconds := int(limit.Seconds())
	values := map[string][]string{
		"script": {file.Name()}, "dir": {dir}, "name": {"dace-worker"}, "cores": {strconv.Itoa(b.Cores)}, "user": {userName()},
		"time":    {fmt.Sprintf("%02d:%02d:%02d", seconds/3600, seconds/60%60, seconds%60)},
		"minutes": {strconv.Itoa((seconds + 59) / 60)}, "seconds": {strconv.Itoa(seconds)},
		"array": nil, "account": nil, "partition": nil, "options": b.Options,
	}
	times := b.Jobs
	if b.Jobs > 1 && s.values["array"] != "" {
		values["array"], times = []string{strconv.Itoa(b.Jobs)}, 1
	}
	for name, v := range map[string]string{"account": b.Account, "partition": b.Partition} {
		if v != "" && s.values[name] == "" {
			return nil, fmt.Errorf("farm: %s has no line %q: jobs cannot be given one", s.name, name)
		}
		if v != "" {
			values[name] = []string{v}
		}
	}
	var ids []string
	for range times {
		ctx, cancel := context.WithTimeout(context.Background(), submitPatience)
		out, err := s.run(ctx, "submit", values)
		cancel()
		if err != nil {
			return ids, err
		}
		id := regexp.MustCompile(s.values["id"]).FindString(out)
		if id == "" {
			return ids, fmt.Errorf("farm: %s: submit has printed no ID of a job: %q", s.name, out)
		}
		ids = append(ids, id)
		if err := recordJob(dir, s.name, id); err != nil {
			return ids, err
		}
	}
	return ids, nil
}

// A Job is a job that was submitted for a farm.
type Job struct {
	// ID is the scheduler's. State is the scheduler's word for its state, such as
	// "RUNNING", or "ended" if the scheduler does not know the job any more, "" if it
	// cannot be asked.
	ID    string `json:"id"`
	State string `json:"state"`
	// Where has the nodes of a job that runs, or why it waits.
	Where string `json:"where"`
	// Running and Ended say what the state means.
	Running bool `json:"running"`
	Ended   bool `json:"ended"`
}

// String returns a job and its state, "42 RUNNING on node7".
func (j Job) String() string {
	switch {
	case j.State == "":
		return j.ID
	case strings.HasPrefix(j.Where, "("):
		return j.ID + " " + j.State + " " + j.Where
	case j.Where != "":
		return j.ID + " " + j.State + " on " + j.Where
	}
	return j.ID + " " + j.State
}

// jobsFile holds a farm's jobs, a line each: the scheduler and the ID.
func jobsFile(dir string) string { return filepath.Join(dir, "submitted") }

func recordJob(dir, scheduler, id string) error {
	if abs, err := filepath.Abs(scheduler); err == nil && !slices.Contains(Schedulers(), scheduler) {
		scheduler = abs
	}
	f, err := disk.OpenFile(jobsFile(dir), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString(id + " " + scheduler + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("farm: the job %s is submitted, but not recorded: %w", id, err)
	}
	return nil
}

// recordedJobs returns the jobs that were recorded in a farm's folder, also by
// other processes, by their schedulers.
func recordedJobs(dir string) (ids map[string][]string, order []string) {
	b, _ := disk.ReadFile(jobsFile(dir))
	ids = map[string][]string{}
	for line := range strings.Lines(string(b)) {
		id, name, ok := strings.Cut(strings.TrimSpace(line), " ")
		// A word of another form would be an option of the command.
		if !ok || id[0] < '0' || '9' < id[0] {
			continue
		}
		if ids[name] == nil {
			order = append(order, name)
		}
		ids[name] = append(ids[name], id)
	}
	return ids, order
}

// CancelJobs ends the jobs of a farm.
func CancelJobs(dir string) {
	ids, names := recordedJobs(dir)
	for _, name := range names {
		cancelIDs(name, ids[name]) // they end with their time in any case
	}
	_ = os.Remove(jobsFile(dir))
	_ = os.RemoveAll(filepath.Join(dir, "jobs"))
}

func cancelIDs(name string, ids []string) {
	if s, err := readScheduler(name); err == nil && len(ids) > 0 {
		ctx, cancel := context.WithTimeout(context.Background(), submitPatience)
		defer cancel()
		_, _ = s.run(ctx, "cancel", map[string][]string{"ids": ids, "user": {userName()}})
	}
}

// A scheduler is asked at most this often for a table, and has these times to
// answer.
const (
	askEvery       = 10 * time.Second
	askPatience    = 5 * time.Second
	submitPatience = time.Minute
)

// number returns the digits that an ID begins with, which those of an array's
// tasks share.
func number(id string) string {
	if i := strings.IndexFunc(id, func(r rune) bool { return r < '0' || '9' < r }); i >= 0 {
		return id[:i]
	}
	return id
}

// list asks a scheduler for the jobs of this user.
func (s *scheduler) list(ctx context.Context, ids []string) ([]Job, error) {
	out, err := s.run(ctx, "list", map[string][]string{"user": {userName()}, "ids": ids})
	if err != nil {
		return nil, err
	}
	cols := s.columns
	running, ended := strings.Fields(s.values["running"]), strings.Fields(s.values["ended"])
	var jobs []Job
	for line := range strings.Lines(out) {
		f := strings.Fields(line)
		if len(f) < max(cols[0], cols[1]) || number(f[cols[0]-1]) == "" {
			continue
		}
		j := Job{ID: f[cols[0]-1], State: f[cols[1]-1]}
		j.Running, j.Ended = slices.Contains(running, j.State), slices.Contains(ended, j.State)
		if len(cols) > 2 && cols[2] <= len(f) {
			j.Where = strings.Join(f[cols[2]-1:], " ")
			if cols[2] < len(f) && s.values["columns"] != "1 2 3" {
				j.Where = f[cols[2]-1]
			}
		}
		jobs = append(jobs, j)
	}
	return jobs, nil
}

// Jobs returns the jobs that were submitted for the farm of a folder, with their
// states.
func Jobs(ctx context.Context, dir string) []Job {
	ids, names := recordedJobs(dir)
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	var jobs []Job
	for _, name := range names {
		s, err := readScheduler(name)
		var known []Job
		if err == nil {
			known, err = s.list(ctx, ids[name])
		}
		slices.SortStableFunc(known, func(a, b Job) int {
			return cmp.Or(cmp.Compare(len(a.ID), len(b.ID)), strings.Compare(a.ID, b.ID))
		})
		for _, id := range ids[name] {
			n := 0
			for _, j := range known {
				if number(j.ID) == number(id) {
					jobs = append(jobs, j)
					n++
				}
			}
			if n == 0 {
				j := Job{ID: id}
				if err == nil {
					j.State, j.Ended = "ended", true
				}
				jobs = append(jobs, j)
			}
		}
	}
	return jobs
}

// batchJobs returns the farm's jobs, with states of at most ten seconds ago.
func (f *Farm) batchJobs() []Job {
	if f.err != nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.asked) > askEvery {
		f.jobs, f.asked = Jobs(context.Background(), f.s.Dir), time.Now()
	}
	return f.jobs
}

// Kubernetes returns a Job of workers in YAML, for kubectl apply. The image must
// have the command dace, and the farm's address must be reachable from the
// cluster. The join file travels as a Secret, by the command in the first lines.
func (b Batch) Kubernetes(image, join string) (string, error) {
	limit, err := b.limits()
	if err != nil {
		return "", err
	}
	if image == "" {
		return "", errors.New("farm: a Job of Kubernetes needs the name of an image that has the command dace")
	}
	idle := b.Idle
	if idle == 0 {
		idle = 10 * time.Minute // a Job has an end
	}
	worker := fmt.Sprintf("exec dace worker -join /join/farm.join -cores %d -idle %v", b.Cores, idle)
	if b.Prologue != "" {
		worker = b.Prologue + "\n" + worker
	}
	return fmt.Sprintf(`# kubectl create secret generic dace-farm --from-file=farm.join=%s
# kubectl apply -f THIS-FILE
apiVersion: batch/v1
kind: Job
metadata:
  name: dace-worker
spec:
  parallelism: %[2]d
  completions: %[2]d
  backoffLimit: %[3]d
  activeDeadlineSeconds: %[4]d
  template:
    spec:
      restartPolicy: OnFailure
      terminationGracePeriodSeconds: 60
      containers:
      - name: worker
        image: %[5]q
        command: ["/bin/sh", "-c", %[6]s]
        resources:
          requests: {cpu: %[7]d}
          limits: {cpu: %[7]d}
        volumeMounts:
        - {name: join, mountPath: /join, readOnly: true}
      volumes:
      - name: join
        secret: {secretName: dace-farm, defaultMode: 0600}
`, quote(join), b.Jobs, 10*b.Jobs, int(limit.Seconds()), image, strconv.Quote(worker), b.Cores), nil
}
