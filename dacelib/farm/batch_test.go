package farm

import (
	"context"
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

	"dace.local/dacelib/files"
	"dace.local/dacelib/files/disk"
)

// programs makes a folder of shell scripts the only PATH besides the system's.
func programs(t *testing.T, of map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range of {
		if err := files.WriteProgram(filepath.Join(dir, name), []byte("#!/bin/sh\necho "+name+" \"$@\" >>"+dir+"/log\n"+text)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	return dir
}

// The tables of the schedulers give the commands of their manuals, and understand
// what those print (the formats of the manuals of OpenPBS 23.06, LSF 10.1, SGE
// 8.1.9 and Slurm 22.05).
func TestSchedulers(t *testing.T) {
	bin := programs(t, map[string]string{
		"sbatch": "echo '123;cluster'\n",
		"squeue": "echo '123_1 RUNNING node7'; echo '123_2 PENDING (Resources)'; echo '99 RUNNING other'\n",
		"qsub":   "case \"$*\" in *-terse*) echo '55.1-3:1';; *) echo '77[].server.example';; esac\n",
		"bsub":   "cat >" + filepath.Join(t.TempDir(), "stdin") + "; echo 'Job <321> is submitted to queue <normal>.'\n",
		"bjobs":  "echo '321 RUN hostA'; echo '321 PEND -'; echo '8 EXIT hostB'\n",
		"qstat": `case "$*" in
*-t*) printf '\nserver:\n                                                            Req'"'"'d  Req'"'"'d   Elap\nJob ID          Username Queue    Jobname    SessID NDS TSK Memory Time  S Time\n--------------- -------- -------- ---------- ------ --- --- ------ ----- - -----\n77[1].server    ada      workq    dace-work*   4711   1  48    --  04:00 R 00:01\n77[2].server    ada      workq    dace-work*    --    1  48    --  04:00 Q   --\n';;
*) printf 'job-ID  prior   name       user         state submit/start at     queue                          slots ja-task-ID\n-----\n     55 0.55500 dace-worke ada          r     11/26/2026 01:00:00 all.q@node3                       48 1\n     55 0.55500 dace-worke ada          qw    11/26/2026 01:00:00                                   48 2-3:1\n';;
esac
`,
		"scancel": "", "qdel": "", "bkill": "",
	})
	log := func() string {
		b, _ := os.ReadFile(filepath.Join(bin, "log"))
		_ = os.Remove(filepath.Join(bin, "log"))
		return string(b)
	}
	for _, c := range []struct{ scheduler, submit, jobs, cancel string }{
		{
			"slurm", "sbatch --parsable --job-name=dace-worker --time=04:00:00 --cpus-per-task=48 --output=/dev/null --account=proj --partition=long --array=1-3 --exclusive SCRIPT",
			"123_1 RUNNING on node7, 123_2 PENDING (Resources)", "scancel 123",
		},
		{
			"pbs", "qsub -N dace-worker -l select=1:ncpus=48 -l walltime=04:00:00 -j oe -o /dev/null -A proj -q long -J 1-3 --exclusive SCRIPT",
			"77[1].server R, 77[2].server Q", "qdel 77[].server.example",
		},
		{
			"lsf", "bsub -J dace-worker[1-3] -n 48 -R span[hosts=1] -W 240 -o /dev/null -P proj -q long --exclusive",
			"321 RUN on hostA, 321 PEND on -", "bkill 321",
		},
		{
			"sge", "qsub -terse -N dace-worker -S /bin/sh -pe smp 48 -l h_rt=14400 -j y -o /dev/null -P proj -q long -t 1-3 --exclusive SCRIPT",
			"55 r on all.q@node3, 55 qw on 48", "qdel 55",
		},
	} {
		t.Run(c.scheduler, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "a farm's")
			b := Batch{
				Scheduler: c.scheduler, Jobs: 3, Cores: 48, Time: "04:00:00", Account: "proj", Partition: "long",
				Prologue: "module load 'gcc'", Options: []string{"--exclusive"},
			}
			if _, err := Submit(b, []string{"/opt/the dace"}, dir+"/farm.join", dir); err != nil {
				t.Fatal(err)
			}
			scripts, _ := filepath.Glob(filepath.Join(dir, "jobs", "*.sh"))
			if len(scripts) != 1 {
				t.Fatal(scripts)
			}
			if got := strings.TrimSpace(strings.ReplaceAll(log(), scripts[0], "SCRIPT")); got != c.submit {
				t.Errorf("submitted by\n%s, want\n%s", got, c.submit)
			}
			text, err := os.ReadFile(scripts[0])
			if err != nil {
				t.Fatal(err)
			}
			for _, want := range []string{"\nmodule load 'gcc'\nexec '/opt/the dace' worker -join ", " -cores 48 -until \"$((end - ", "+ 14340))"} {
				if !strings.Contains(string(text), want) {
					t.Errorf("the script has no %q:\n%s", want, text)
				}
			}
			var jobs []string
			for _, j := range Jobs(context.Background(), dir) {
				jobs = append(jobs, j.String())
			}
			if got := strings.Join(jobs, ", "); got != c.jobs {
				t.Errorf("the jobs are %s, want %s", got, c.jobs)
			}
			log()
			CancelJobs(dir)
			if got := strings.TrimSpace(log()); got != c.cancel {
				t.Errorf("cancelled by %s, want %s", got, c.cancel)
			}
		})
	}
}

// A file that a user has written is a scheduler; what is wrong with one is said.
func TestSchedulerFile(t *testing.T) {
	dir := t.TempDir()
	bin := programs(t, map[string]string{"give": "sh \"$1\" >/dev/null; echo job 7 is given\n"})
	file := filepath.Join(dir, "my.table")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("# mine\nsubmit = give {script} {account}\ncancel = true {ids}\nlist = echo 7 on; echo 8 off\naccount = -p={}\ncolumns = 1 2\n")
	done := filepath.Join(dir, "done")
	ids, err := Submit(Batch{Scheduler: file, Jobs: 2, Account: "a b", Prologue: "echo x >>" + done}, []string{"/bin/echo"}, "j", dir)
	if err != nil || !slices.Equal(ids, []string{"7", "7"}) { // one each, without arrays
		t.Fatal(ids, err)
	}
	if b, err := os.ReadFile(done); err != nil || string(b) != "x\nx\n" {
		t.Errorf("the prologue: %q, %v", b, err)
	}
	if b, _ := os.ReadFile(filepath.Join(bin, "log")); strings.Count(string(b), "-p=a b") != 2 {
		t.Errorf("%s", b)
	}
	if logs, _ := filepath.Glob(filepath.Join(dir, "my-*.log")); len(logs) != 2 {
		t.Errorf("the logs are %v", logs)
	}
	for text, want := range map[string]string{
		"submit = a\nlist = b\n":                                    `no command "cancel"`,
		"submit = a {cpus}\ncancel = b\nlist = c\n":                 "nothing is known of {cpus}",
		"sumbit = a\n":                                              `line 1: "sumbit = a"`,
		"submit = a\ncancel = b\nlist = c\ncolumns = 1 x\n":         "columns = 1 x",
		"submit = a\ncancel = b\nlist = c\nid = (\n":                "id: ",
		"submit = echo none\ncancel = b\nlist = c\n":                "has printed no ID",
		"submit = echo broken >&2; exit 3\ncancel = b\nlist = c\n":  "broken",
		"submit = no-such-program {script}\ncancel = b\nlist = c\n": "no-such-program",
	} {
		write(text)
		if _, err := Submit(Batch{Scheduler: file}, []string{"dace"}, "j", dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := Submit(Batch{Scheduler: "slrum"}, nil, "", dir); err == nil || !strings.Contains(err.Error(), "lsf, pbs, sge, slurm") {
		t.Error(err)
	}
}

// What a job asks for that cannot be, and what the disk or the scheduler refuses, is
// the error of who submits it.
func TestBatchFails(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "table")
	if err := os.WriteFile(file, []byte("submit = echo 7\ncancel = true\nlist = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	negative := Batch{Scheduler: "slurm", Jobs: -1}
	_, script := negative.Script(nil, "", "")
	_, kubernetes := negative.Kubernetes("image", "")
	_, noImage := Batch{}.Kubernetes("", "")
	submits := func(b Batch, op, base string) error {
		defer disk.Fail(func(o, path string) error {
			if o == op && strings.HasSuffix(path, base) {
				return syscall.EIO
			}
			return nil
		})()
		_, err := Submit(b, []string{"dace"}, "join", dir)
		return err
	}
	_, launch := (&processes{f: &Farm{s: Settings{Command: []string{"/dev/null/dace"}}}}).launch(true)
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"a job less than none":    {submits(negative, "", ""), "-1 jobs"},
		"a script for none":       {script, "-1 jobs"},
		"a Job for none":          {kubernetes, "-1 jobs"},
		"a Job of no image":       {noImage, "needs the name of an image"},
		"a folder as a table":     {submits(Batch{Scheduler: dir}, "", ""), "the file of a scheduler"},
		"no folder of jobs":       {submits(Batch{Scheduler: file}, "MkdirAll", "jobs"), "input/output"},
		"no script":               {submits(Batch{Scheduler: file}, "CreateTemp", "jobs"), "the script of a job"},
		"half a script":           {submits(Batch{Scheduler: file}, "Write", ".sh"), "the script of a job"},
		"no record":               {submits(Batch{Scheduler: file}, "OpenFile", "submitted"), "the job 7 is submitted, but not recorded"},
		"an account":              {submits(Batch{Scheduler: file, Account: "a"}, "", ""), `has no line "account"`},
		"a worker without a file": {launch, "starting a worker"},
		"a scheduler of no name":  {(&Farm{Pool: &FolderPool{Dispatcher: NewDispatcher(nil, "", nil, 0)}, s: Settings{Batch: Batch{Scheduler: "slrum"}}}).Adapt(0, 1), "no scheduler"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, c.err, c.want)
		}
	}
	if _, err := Submit(Batch{Scheduler: file}, []string{"dace"}, "join", dir); err != nil {
		t.Fatal(err)
	}
	if jobs := Jobs(t.Context(), dir); len(jobs) != 1 || jobs[0].String() != "7" {
		t.Errorf("of a scheduler that does not answer the jobs are %v", jobs)
	}
	t.Setenv("PATH", "")
	if got := userName(); got != fmt.Sprint(os.Getuid()) {
		t.Errorf("without the command id the user is %q", got)
	}
}

func TestParseTime(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": time.Hour, "90": 90 * time.Minute, "10:30": 10*time.Minute + 30*time.Second, "04:00:00": 4 * time.Hour,
		"1-12": 36 * time.Hour, "1-12:30": 36*time.Hour + 30*time.Minute, "2-00:00:01": 48*time.Hour + time.Second, "90m": 90 * time.Minute,
		"0": 0, "x": 0, "1:2:3:4": 0, "-5": 0, "1-2-3": 0,
	} {
		if d, err := parseTime(text); d != want || (err != nil) != (want == 0) {
			t.Errorf("%q: %v, %v, want %v", text, d, err, want)
		}
	}
}

func TestKubernetes(t *testing.T) {
	text, err := Batch{Jobs: 8, Cores: 4, Time: "2h"}.Kubernetes("registry/dace:1", "lab/farm.join")
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"kubectl create secret generic dace-farm --from-file=farm.join=lab/farm.join", "kind: Job", "parallelism: 8", "activeDeadlineSeconds: 7200",
		`image: "registry/dace:1"`, `"exec dace worker -join /join/farm.join -cores 4 -idle 10m0s"`, "limits: {cpu: 4}", "defaultMode: 0600",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// jobsOfTest are jobs on false time: each waits, runs, and ends when it is idle,
// is over, or is killed.
type jobsOfTest struct {
	waits, limit time.Duration
	demand       int
	broken       bool // jobs end at once
	fails        error
	away         bool // the scheduler does not answer

	n        int
	all      map[string]time.Time // when they were launched
	leaves   map[string]bool
	idle     time.Time // since when there is no demand
	launched []string
	cost     time.Duration
}

func (j *jobsOfTest) launch(leaves bool) (string, error) {
	if j.fails != nil {
		return "", j.fails
	}
	j.n++
	id := fmt.Sprint(j.n)
	j.all[id], j.leaves[id] = time.Now(), leaves
	j.launched = append(j.launched, id)
	return id, nil
}

func (j *jobsOfTest) jobs(context.Context) (map[string]Job, error) {
	if j.away {
		return nil, errors.New("no answer")
	}
	out := map[string]Job{}
	for id, at := range j.all {
		age := time.Since(at) - j.waits
		over := age > j.limit || j.broken || j.leaves[id] && j.demand == 0 && !j.idle.IsZero() && time.Since(j.idle) > adaptIdle
		if age > 0 && over {
			j.cost += min(age, j.limit)
			delete(j.all, id)
			continue
		}
		out[id] = Job{ID: id, Running: age > 0}
	}
	return out, nil
}

func (j *jobsOfTest) cancel(id string) { delete(j.all, id) }

// adapting runs f with an adapter on false time, which passes by pass.
func adapting(t *testing.T, a *adapter, f func(j *jobsOfTest, pass func(time.Duration), notes *[]string)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		j := &jobsOfTest{waits: 20 * time.Second, limit: time.Hour, all: map[string]time.Time{}, leaves: map[string]bool{}}
		var notes []string
		a.launcher, a.limit, a.jobs = j, j.limit, map[string]*adapted{}
		a.demand = func() int { return j.demand }
		a.note = func(text string) { notes = append(notes, text) }
		pass := func(d time.Duration) {
			for end := time.Now().Add(d); time.Now().Before(end); time.Sleep(adaptEvery) {
				a.step(context.Background())
			}
		}
		pass(time.Second)
		f(j, pass, &notes)
	})
}

// Jobs follow the demand within their bounds, ended ones are launched again, and
// idle workers leave.
func TestAdapt(t *testing.T) {
	adapting(t, &adapter{min: 1, max: 8, cores: 2}, func(j *jobsOfTest, pass func(time.Duration), _ *[]string) {
		is := func(what string, want int) {
			t.Helper()
			if n := len(j.all); n != want {
				t.Errorf("%s: %d jobs, want %d", what, n, want)
			}
		}
		is("no units", 1)
		j.demand = 100
		pass(10 * time.Second)
		is("many units", 8)
		j.demand = 5
		pass(10 * time.Second)
		is("fewer, before the jobs run", 3)
		pass(time.Minute)
		for id := range j.all { // a node dies
			delete(j.all, id)
			break
		}
		pass(10 * time.Second)
		is("after a death", 3)
		before := len(j.launched)
		pass(3 * time.Hour)
		is("after their time", 3)
		if n := len(j.launched) - before; n < 6 || n > 9 {
			t.Errorf("%d jobs were launched in three hours for three of an hour each", n)
		}
		j.away = true
		j.demand = 16
		k := len(j.launched)
		pass(10 * time.Minute)
		if len(j.launched) != k {
			t.Error("jobs were launched while the scheduler did not answer")
		}
		j.away = false
		pass(10 * time.Second)
		is("it answers again", 8)
		j.demand, j.idle = 0, time.Now()
		pass(10 * time.Minute)
		is("no units again", 1)
	})
}

// The budget is never exceeded, and jobs that fail at once are launched less and
// less often.
func TestAdaptBounds(t *testing.T) {
	adapting(t, &adapter{max: 10, cores: 4, budget: 50}, func(j *jobsOfTest, pass func(time.Duration), notes *[]string) {
		j.demand = 1000
		pass(48 * time.Hour)
		if hours := 4 * j.cost.Hours(); hours > 50 || hours < 44 {
			t.Errorf("%v core hours of 50 are used", hours)
		}
		if !strings.Contains(strings.Join(*notes, "\n"), "50 core hours are used or promised") {
			t.Error(*notes)
		}
	})
	adapting(t, &adapter{max: 2, cores: 1}, func(j *jobsOfTest, pass func(time.Duration), notes *[]string) {
		j.demand, j.broken = 1000, true
		pass(8 * time.Hour)
		if n := len(j.launched); n > 60 {
			t.Errorf("%d jobs that end at once were launched in a night", n)
		}
		if !strings.Contains(strings.Join(*notes, "\n"), "have ended within a minute: their logs") {
			t.Error(*notes)
		}
	})
	adapting(t, &adapter{max: 2, cores: 1}, func(j *jobsOfTest, pass func(time.Duration), notes *[]string) {
		j.demand, j.fails = 1000, errors.New("the queue is closed")
		pass(8 * time.Hour)
		if n := len(*notes); n == 0 || n > 60 || (*notes)[0] != "the queue is closed" {
			t.Errorf("%d notes of jobs that cannot be launched: %.3q", n, *notes)
		}
	})
}
