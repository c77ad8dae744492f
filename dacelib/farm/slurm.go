package farm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
// worker hand back what it has not finished. What workers say is in the farm's
// folder, in slurm-ID.log.
func (f *Farm) Slurm(s Slurm) error {
	if f.err != nil {
		return f.err
	}
	args, err := s.sbatch(f.s.Command, f.join, f.s.Dir)
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
		if err := recordJob(f.s.Dir, id); err != nil {
			return err
		}
	}
	f.mu.Lock()
	f.asked = time.Time{}
	f.mu.Unlock()
	return nil
}

// sbatch returns the arguments of sbatch for one job.
func (s Slurm) sbatch(command []string, join, dir string) ([]string, error) {
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
	args := []string{"--parsable", "--job-name=dace-worker", "--time=" + s.Time, "--cpus-per-task=" + strconv.Itoa(cores),
		"--signal=B:TERM@60", // B: the worker takes the place of the job's shell
		"--output=" + filepath.Join(strings.ReplaceAll(dir, "%", "%%"), "slurm-%j.log")}
	return append(append(args, s.Options...), "--wrap="+strings.Join(line, " ")), nil
}

// A Job is a job of Slurm that was submitted for a farm.
type Job struct {
	// ID is Slurm's. State is Slurm's word for its state, such as "RUNNING", or
	// "ended" if Slurm does not know the job any more, "" if it cannot be asked.
	ID, State string
	// Where has the nodes of a job that runs, or why it waits.
	Where string
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

// jobsFile holds the IDs of a farm's jobs, a line each.
func jobsFile(dir string) string { return filepath.Join(dir, "slurm") }

func recordJob(dir, id string) error {
	f, err := os.OpenFile(jobsFile(dir), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err == nil {
		_, err = f.WriteString(id + "\n")
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return fmt.Errorf("farm: the job %s is submitted, but not recorded: %w", id, err)
	}
	return nil
}

// jobIDs returns the jobs that were recorded in a farm's folder, also by other
// processes.
func jobIDs(dir string) []string {
	b, _ := os.ReadFile(jobsFile(dir))
	// A word of another form would be an option of scancel.
	return slices.DeleteFunc(strings.Fields(string(b)), func(id string) bool { return id[0] < '0' || '9' < id[0] })
}

// cancelJobs ends the jobs of a farm.
func cancelJobs(dir string) {
	if ids := jobIDs(dir); len(ids) > 0 {
		_ = exec.Command("scancel", ids...).Run() // they end with their time in any case
		_ = os.Remove(jobsFile(dir))
	}
}

// Slurm's controller is asked at most this often for a table, and has this long
// to answer.
const (
	askSlurmEvery = 10 * time.Second
	slurmPatience = 3 * time.Second
)

// Jobs returns the jobs of Slurm that were submitted for the farm of a folder,
// with their states.
func Jobs(ctx context.Context, dir string) []Job {
	ids := jobIDs(dir)
	if len(ids) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, slurmPatience)
	defer cancel()
	// The user's own jobs: an unknown ID among several would be an error.
	out, err := exec.CommandContext(ctx, "squeue", "--noheader", "--user="+strconv.Itoa(os.Getuid()), "--states=all", "--format=%i|%T|%R").Output()
	known := map[string]Job{}
	for _, line := range strings.Split(string(out), "\n") {
		if f := strings.Split(strings.TrimSpace(line), "|"); len(f) == 3 {
			known[f[0]] = Job{f[0], f[1], f[2]}
		}
	}
	var jobs []Job
	for _, id := range ids {
		j, ok := known[id]
		if !ok {
			j = Job{ID: id}
			if err == nil {
				j.State = "ended"
			}
		}
		jobs = append(jobs, j)
	}
	return jobs
}

// slurmJobs returns the farm's jobs, with states of at most ten seconds ago.
func (f *Farm) slurmJobs() []Job {
	if f.err != nil {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if time.Since(f.asked) > askSlurmEvery {
		f.jobs, f.asked = Jobs(context.Background(), f.s.Dir), time.Now()
	}
	return f.jobs
}
