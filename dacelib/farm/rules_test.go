package farm

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// rated is a pool of some slots and a rate.
type rated struct {
	Pool
	slots int
	rate  float64
}

func (r rated) Slots() int          { return r.slots }
func (r rated) Rate(string) float64 { return r.rate }

// A piece is the largest power of two that takes at most 0.4 s and leaves every slot two.
func TestPiece(t *testing.T) {
	for _, slots := range []int{1, 2, 3, 16} {
		for _, rate := range []float64{0, 1, 0.4, 0.2, 0.1999, 0.1, 0.004, 1e-9} {
			for _, n := range []int{0, 1, 3, 4, 5, 7, 8, 127, 128, 255, 256, 1000, 1 << 22, 1 << 26} {
				want := 1
				for k := 1; k <= 1<<20; k *= 2 {
					quick := float64(k)*rate <= 0.4
					if rate == 0 {
						quick = k <= 64
					}
					if quick && k*2*slots <= n {
						want = k
					}
				}
				if got := Piece(rated{slots: slots, rate: rate}, "k", n); got != want {
					t.Errorf("%d items at %v s on %d slots: %d, want %d", n, rate, slots, got, want)
				}
			}
		}
	}
}

// A rate follows what units take by a fifth, and from three units on others have a limit of
// twenty times the slowest, at least five minutes.
func TestRates(t *testing.T) {
	var r Rates
	for i, c := range []struct {
		items       int
		seconds     float64
		rate, limit float64
	}{
		{0, 5, 0, 0}, {1, 0, 0, 0}, {1, -1, 0, 0}, {2, 8, 4, 0}, {1, 9, 0.8*4 + 0.2*9, 0}, {4, 4, 0.8*5 + 0.2, 540}, {1, 0.2, 0.8*4.2 + 0.2*0.2, 540}, {1, 30, 0.8*3.4 + 6, 1800},
	} {
		r.Observe("k", c.items, c.seconds)
		if got := r.Rate("k"); math.Abs(got-c.rate) > 1e-12 || r.Limit("k", 3) != c.limit || r.Rate("other") != 0 || r.Limit("other", 1) != 0 {
			t.Errorf("after %d: rate %v, limit %v; want %v, %v", i, got, r.Limit("k", 3), c.rate, c.limit)
		}
	}
	if r.Limit("k", 0) != 300 {
		t.Errorf("the least limit is %v", r.Limit("k", 0))
	}
}

// Times of jobs as schedulers write them.
func TestJobTimes(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"": time.Hour, "90m": 90 * time.Minute, "1s": time.Second, "7": 7 * time.Minute, "7:30": 7*time.Minute + 30*time.Second, "2:03:04": 2*time.Hour + 3*time.Minute + 4*time.Second,
		"1-2": 26 * time.Hour, "1-2:30": 26*time.Hour + 30*time.Minute, "2-0:0:1": 48*time.Hour + time.Second, "0-1": time.Hour, "0:01": time.Second,
		"0": 0, "0s": 0, "-1m": 0, "-1": 0, "1:2:3:4": 0, "1-2:3:4:5": 0, "x": 0, "1:x": 0, "x-1": 0, "-1-2": 0, "1:-1": 0, "0:0:0": 0, "1-": 0, "5:": 0,
	} {
		got, err := parseTime(text)
		if got != want || (err == nil) != (want > 0) || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("the time %q", text)) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, b := range []Batch{{Jobs: -1}, {Cores: -1}, {CoreHours: -0.1}, {Time: "x"}} {
		if _, err := b.Script(nil, "", ""); err == nil {
			t.Errorf("%+v is taken", b)
		}
		if _, err := b.Kubernetes("image", "join"); err == nil {
			t.Errorf("%+v is taken", b)
		}
		if _, err := submit(Batch{Scheduler: "slurm", Jobs: b.Jobs, Cores: b.Cores, CoreHours: b.CoreHours, Time: b.Time}, nil, "", t.TempDir()); err == nil {
			t.Errorf("%+v is submitted", b)
		}
	}
}

// The script of a job ends a minute before its time, or a tenth.
func TestJobScript(t *testing.T) {
	for i, c := range []struct {
		b       Batch
		seconds int
		worker  string
	}{
		{Batch{Scheduler: "slurm"}, 3540, "exec da\\ce"}, {Batch{Scheduler: "slurm", Time: "599s"}, 540, ""}, {Batch{Scheduler: "slurm", Time: "601s"}, 541, ""}, {Batch{Scheduler: "slurm", Time: "9s"}, 9, ""},
		{Batch{Scheduler: "/a/my own.conf", Cores: 4, Idle: 90 * time.Second, Prologue: "module load gcc"}, 3540, ""},
	} {
		name := "slurm-"
		cores, idle := 1, ""
		if c.b.Cores > 0 {
			name, cores, idle = "my own-", 4, " -idle 1m30s"
		}
		want := fmt.Sprintf("#!/bin/sh\n# A worker of the farm in '/d r'\nend=$(($(date +%%s) + %d))\nexec >>'/d r/%s'\"$(hostname)-$$.log\" 2>&1\n%s\nexec 'a b' -x worker -join /j/farm.join -cores %d%s -until \"$((end - $(date +%%s)))s\"\n", c.seconds, name, c.b.Prologue, cores, idle)
		if got, err := c.b.Script([]string{"a b", "-x"}, "/j/farm.join", "/d r"); err != nil || got != want {
			t.Errorf("script %d: %s, %v\nwant\n%s", i, got, err, want)
		}
	}
	for text, want := range map[string]string{"": "''", "a/b-c_1.2:3,4@5%+=": "a/b-c_1.2:3,4@5%+=", "a b": "'a b'", "it's": `'it'\''s'`, "$x": "'$x'"} {
		if got := quote(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// The Job of Kubernetes, word for word.
func TestKubernetesJob(t *testing.T) {
	got, err := Batch{Jobs: 3, Cores: 2, Time: "30m", Prologue: "x\ty"}.Kubernetes("my image", "/a b")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"# kubectl create secret generic dace-farm --from-file=farm.join='/a b'", "  parallelism: 3", "  completions: 3", "  backoffLimit: 30", "  activeDeadlineSeconds: 1800", `        image: "my image"`,
		`        command: ["/bin/sh", "-c", "x\ty\nexec dace worker -join /join/farm.join -cores 2 -idle 10m0s"]`, "          requests: {cpu: 2}", "          limits: {cpu: 2}",
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s in\n%s", line, got)
		}
	}
	if got, err := (Batch{Idle: time.Second}).Kubernetes("i", "j"); err != nil || !strings.Contains(got, `"exec dace worker -join /join/farm.join -cores 1 -idle 1s"`) || !strings.Contains(got, "activeDeadlineSeconds: 3600\n") {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := (Batch{}).Kubernetes("", "j"); err == nil || !strings.Contains(err.Error(), "the name of an image") {
		t.Error(err)
	}
}

// The table of a scheduler: what it must have, what it may, and what its commands become.
func TestSchedulerTable(t *testing.T) {
	at := filepath.Join(t.TempDir(), "own")
	const three = "submit = s\ncancel = c\nlist = l\n"
	for text, want := range map[string]string{
		three: "", "# a comment\n\n  submit=s \n\tcancel = c\nlist = l": "", three + "columns = 1 5": "", three + "columns = 3 2 1": "", three + "id = x+": "",
		"submit = s\ncancel = c": `no command "list"`, "cancel = c\nlist = l": `no command "submit"`, "submit = s\nlist = l\ncancel =": `no command "cancel"`,
		three + "columns = 1": "not the numbers", three + "columns = 0 1": "not the numbers", three + "columns = 1 x": "not the numbers", three + "id = (": "own: id: ",
		three + "word": `own, line 4: "word" is not NAME = VALUE`, "name = x\n" + three: `own, line 1: "name = x" is not`,
	} {
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := readScheduler(at)
		if want == "" && (err != nil || s.values["submit"] != "s" || s.values["cancel"] != "c" || s.values["list"] != "l") || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %+v, %v; want %q", text, s, err, want)
		}
	}
	for name, want := range map[string]string{"nobody": "no file of that name is here", "no/body": "the file of a scheduler"} {
		if _, err := readScheduler(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	s := &scheduler{name: "own", values: map[string]string{"submit": "s {array} {options} {name} {account}", "array": "-t 1-{}", "account": "-A {}", "cancel": "{cancel}", "list": "{who}"}}
	for i, c := range []struct {
		key    string
		values map[string][]string
		want   string
	}{
		{"submit", map[string][]string{"array": {"5"}, "options": {"-x", "a b"}, "name": {"n"}, "account": nil}, "s -t 1-5 -x 'a b' n "},
		{"submit", map[string][]string{"array": nil, "options": nil, "name": {"it's"}, "account": {"a c"}}, `s   'it'\''s' -A 'a c'`},
		{"cancel", map[string][]string{"cancel": {"x"}}, "x"}, {"list", nil, "! own: list: nothing is known of {who}"},
	} {
		got, err := s.command(c.key, c.values)
		if fails, ok := strings.CutPrefix(c.want, "! "); ok && (err == nil || !strings.Contains(err.Error(), fails)) || !ok && (err != nil || got != c.want) {
			t.Errorf("command %d: %q, %v; want %q", i, got, err, c.want)
		}
	}
	if _, err := s.run(t.Context(), "list", nil); err == nil {
		t.Error("a command of what is not known runs")
	}
	s.values = map[string]string{"list": "echo out; echo err >&2; exit 3"}
	if out, err := s.run(t.Context(), "list", nil); out != "out\n" || err == nil || !strings.Contains(err.Error(), "(exit status 3): err") {
		t.Errorf("%q, %v", out, err)
	}
}

// What a scheduler lists, in three columns and in chosen ones.
func TestSchedulerLists(t *testing.T) {
	out := "ID STATE WHERE\n12 RUNNING node 7\n13_[1-5] PENDING (Resources, later)\n14 DONE\nx RUNNING n\n15\n"
	for columns, want := range map[string]string{
		"1 2 3": "[{12 RUNNING node 7 true false} {13_[1-5] PENDING (Resources, later) false false} {14 DONE  false true}]",
		"1 3 2": "[{12 node RUNNING false false} {13_[1-5] (Resources, PENDING false false}]", "1 2": "[{12 RUNNING  true false} {13_[1-5] PENDING  false false} {14 DONE  false true}]",
		"1 2 4": "[{12 RUNNING 7 true false} {13_[1-5] PENDING later) false false} {14 DONE  false true}]",
	} {
		at := filepath.Join(t.TempDir(), "own")
		if err := os.WriteFile(at, []byte("submit = s\ncancel = c\nlist = printf '"+strings.ReplaceAll(out, "\n", `\n`)+"'\nrunning = RUNNING R\nended = DONE\ncolumns = "+columns+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := readScheduler(at)
		if err != nil {
			t.Fatal(err)
		}
		if jobs, err := s.list(t.Context(), nil); err != nil || fmt.Sprintf("%v", plainJobs(jobs)) != want {
			t.Errorf("columns %s: %v, %v; want %s", columns, plainJobs(jobs), err, want)
		}
	}
	for id, want := range map[string]string{"12": "12", "12_3": "12", "12.pbs": "12", "": "", "x1": "", "0": "0", "9a": "9"} {
		if number(id) != want {
			t.Errorf("%s: %s", id, number(id))
		}
	}
	for want, j := range map[string]Job{"1": {ID: "1", Where: "n"}, "1 R": {ID: "1", State: "R"}, "1 R on n": {ID: "1", State: "R", Where: "n"}, "1 P (why)": {ID: "1", State: "P", Where: "(why)"}} {
		if j.String() != want {
			t.Errorf("%s, want %s", j, want)
		}
	}
}

// plainJobs returns jobs without their method String.
func plainJobs(jobs []Job) (out []struct {
	ID, State, Where string
	Running, Ended   bool
}) {
	for _, j := range jobs {
		out = append(out, struct {
			ID, State, Where string
			Running, Ended   bool
		}(j))
	}
	return out
}

// Jobs are recorded with their schedulers, and found with their states; a line that is none
// is passed over.
func TestJobsRecorded(t *testing.T) {
	dir := t.TempDir()
	own := filepath.Join(dir, "own")
	log := filepath.Join(dir, "log")
	if err := os.WriteFile(own, []byte("submit = echo submit {name} {cores} {time} {minutes} {seconds} {array} {account} {options} >> "+log+"; echo job 31\ncancel = echo cancel {ids} >> "+log+"\nlist = echo list {ids} >> "+log+"; printf '30_2 R n2\\n30_10 R n10\\n30_1 R n1\\n'\nrunning = R\narray = -t {}\naccount = -A {}\nid = [0-9]+\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := Batch{Scheduler: own, Jobs: 3, Cores: 2, Time: "90s", Account: "acc", Options: []string{"-x", "y z"}}
	ids, err := Submit(b, []string{"dace"}, "join", dir)
	if err != nil || !slices.Equal(ids, []string{"31"}) {
		t.Fatal(ids, err)
	}
	for name, id := range map[string]string{own: "30"} {
		if err := recordJob(dir, name, id); err != nil {
			t.Fatal(err)
		}
	}
	if b, err := os.ReadFile(jobsFile(dir)); err != nil || string(b) != "31 "+own+"\n30 "+own+"\n" {
		t.Errorf("%s, %v", b, err)
	}
	if scripts, err := filepath.Glob(filepath.Join(dir, "jobs", "*.sh")); err != nil || len(scripts) != 1 {
		t.Errorf("scripts %v, %v", scripts, err)
	} else if info, err := os.Stat(scripts[0]); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if info, err := os.Stat(filepath.Join(dir, "jobs")); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	f, err := os.OpenFile(jobsFile(dir), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString("-x " + own + "\nword\n\n:1 " + own + "\n9 nobody\n0 nobody\n")
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	got := fmt.Sprint(plainJobs(Jobs(t.Context(), dir)))
	if want := "[{31 ended  false true} {30_1 R n1 true false} {30_2 R n2 true false} {30_10 R n10 true false} {9   false false} {0   false false}]"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for bad, want := range map[string]Batch{`no line "partition"`: {Scheduler: own, Partition: "p"}, "printed no ID": {Scheduler: own, Options: []string{"> /dev/null; exit 0 #"}}} {
		if bad != "printed no ID" {
			if _, err := Submit(want, nil, "join", dir); err == nil || !strings.Contains(err.Error(), bad) {
				t.Errorf("%+v: %v, want %s", want, err, bad)
			}
		}
	}
	CancelJobs(dir)
	said, err := os.ReadFile(log)
	if want := "submit dace-worker 2 00:01:30 2 90 -t 3 -A acc -x y z\nlist 31 30\ncancel 31 30\n"; err != nil || string(said) != want {
		t.Errorf("%s, %v; want %s", said, err, want)
	}
	for _, name := range []string{"jobs", "submitted"} {
		if _, err := os.Stat(filepath.Join(dir, name)); !os.IsNotExist(err) {
			t.Errorf("%s stays: %v", name, err)
		}
	}
	CancelJobs(dir) // of none: nothing is asked
	if again, err := os.ReadFile(log); err != nil || !bytes.Equal(again, said) {
		t.Errorf("%s", again)
	}
}

// Units of a process ask for as many slots as have a minute of work, and those that run.
func TestDemand(t *testing.T) {
	for i, c := range []struct {
		counts Counts
		want   int
	}{
		{Counts{}, 0}, {Counts{Running: 2, Waiting: 5}, 7}, {Counts{Done: 10, Seconds: 600, Waiting: 5}, 5}, {Counts{Done: 10, Seconds: 100, Waiting: 6}, 1},
		{Counts{Done: 10, Seconds: 100, Waiting: 7, Running: 3}, 5}, {Counts{Done: 10, Seconds: 0, Waiting: 7, Running: 3}, 3}, {Counts{Running: -1}, 0}, {Counts{Waiting: 1, Done: 1, Seconds: 1e9}, 1},
	} {
		if got := c.counts.demand(); got != c.want {
			t.Errorf("%d: %d, want %d", i, got, c.want)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		d := NewDispatcher(nil, "ada", nil, 0)
		d.counts.Running = 1
		d.Peer(Caller{Name: "ada", Counts: Counts{Running: 100}})
		d.Peer(Caller{Name: "bob", Counts: Counts{Running: 10}})
		time.Sleep(peerSilent)
		if d.Demand() != 11 || len(d.peers) != 1 {
			t.Errorf("%d of %v", d.Demand(), d.peers)
		}
		time.Sleep(time.Nanosecond)
		if d.Demand() != 1 {
			t.Errorf("%d with a caller that is silent", d.Demand())
		}
		if d.Peer(Caller{Name: "eve"}); len(d.peers) != 1 {
			t.Errorf("callers %v", d.peers)
		}
	})
}

// A blob has room or not, and the last ones are kept.
func TestKeep(t *testing.T) {
	d := NewDispatcher(nil, "ada", nil, 0)
	d.Use(Policy{Disk: 10})
	for i, c := range []struct {
		key  string
		n    int
		fits bool
		sent int64
	}{{"a", 4, true, 4}, {"a", 4, true, 4}, {"b", 7, false, 4}, {"b", 6, true, 10}, {"c", 1, false, 10}, {"c", 0, true, 10}} {
		err := d.Keep(c.key, make([]byte, c.n))
		if (err == nil) != c.fits || d.blobs.sent != c.sent || d.Caller().Disk != c.sent || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("a blob of %d bytes has no room in the 10 bytes that this process may use in the farm, of which its blobs use %d", c.n, c.sent)) {
			t.Errorf("%d: %v, %d bytes", i, err, d.blobs.sent)
		}
	}
	d.Use(Policy{})
	d.blobs.bytes = mostKept - 11 // as if others were kept
	if err := d.Keep("d", make([]byte, 1)); err != nil || len(d.blobs.blobs) != 4 || d.blobs.bytes != mostKept-10 {
		t.Errorf("%v, %v", err, d.blobs.order)
	}
	if err := d.Keep("e", make([]byte, 11)); err != nil || !slices.Equal(d.blobs.order, []string{"b", "c", "d", "e"}) || d.blobs.bytes != mostKept-3 || d.blobs.blobs["a"] != nil {
		t.Errorf("%v, %v, %d bytes", err, d.blobs.order, d.blobs.bytes)
	}
	if err := d.Keep("huge", make([]byte, mostKept/4+1)); err != nil || d.blobs.blobs["huge"] != nil || !d.blobs.known["huge"] {
		t.Errorf("%v", err)
	}
	if ok, err := d.heal(context.Background(), "b"); ok || err != nil {
		t.Error("a transport that cannot store blobs again does")
	}
}

// What starts the jobs of Adapt: a scheduler, or processes of this machine.
func TestLaunchers(t *testing.T) {
	dir := t.TempDir()
	own, log := filepath.Join(dir, "own"), filepath.Join(dir, "log")
	if err := os.WriteFile(own, []byte("submit = grep -h exec {script} >> "+log+"; echo 31.server\ncancel = echo cancel {ids} >> "+log+"\nlist = printf '31.server R n\\n32 E n\\n'\nrunning = R\nended = E\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := readScheduler(own)
	if err != nil {
		t.Fatal(err)
	}
	f := &Farm{join: "J", s: Settings{Dir: dir, Command: []string{"sh", "-c", "exec sleep 1000", "dace"}}}
	l := &batchLauncher{f: f, b: Batch{Scheduler: own, Jobs: 7, Cores: 2, Idle: time.Minute}, s: s}
	for _, leaves := range []bool{true, false} {
		if id, err := l.launch(leaves); err != nil || id != "31" {
			t.Errorf("%s, %v", id, err)
		}
	}
	l.cancel("31")
	jobs, err := l.jobs(t.Context())
	if err != nil || len(jobs) != 2 || !jobs["31"].Running || !jobs["32"].Ended {
		t.Errorf("%+v, %v", jobs, err)
	}
	said, err := os.ReadFile(log)
	script := func(idle string) string {
		return "exec >>" + dir + "/own-\"$(hostname)-$$.log\" 2>&1\nexec sh -c 'exec sleep 1000' dace worker -join J -cores 2" + idle + " -until \"$((end - $(date +%s)))s\"\n"
	}
	if want := script(" -idle 1m0s") + script("") + "cancel 31\n"; err != nil || string(said) != want {
		t.Errorf("%s, %v\nwant\n%s", said, err, want)
	}
	l.b.Scheduler = filepath.Join(dir, "none")
	if id, err := l.launch(true); err == nil || id != "" {
		t.Error(id, err)
	}
	p := &processes{f: f, b: Batch{Cores: 3, Idle: time.Minute}, limit: time.Hour}
	id, err := p.launch(true)
	if err != nil {
		t.Fatal(err)
	}
	if jobs, err := p.jobs(t.Context()); err != nil || len(jobs) != 1 || jobs[id] != (Job{ID: id, State: "RUNNING", Running: true}) {
		t.Errorf("%+v, %v", jobs, err)
	}
	cmd := f.local[0].cmd
	args := slices.Clone(cmd.Args[4:])
	slices.Sort(args)
	if want := []string{"-cores", "-idle", "-join", "-until", "1h0m0s", "1m0s", "3", "J", "worker"}; !slices.Equal(args, want) || !slices.Contains(cmd.Env, "GOMAXPROCS=3") {
		t.Errorf("%q, want %q", args, want)
	}
	p.cancel("0")
	if jobs, _ := p.jobs(t.Context()); len(jobs) != 1 {
		t.Error("another job was cancelled")
	}
	p.cancel(id)
	for until := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if jobs, _ := p.jobs(t.Context()); len(jobs) == 0 {
			break
		}
		if time.Now().After(until) {
			t.Fatal("a job that was cancelled runs")
		}
	}
	f.s.Command = []string{filepath.Join(dir, "none")}
	if _, err := p.launch(false); err == nil || !strings.Contains(err.Error(), "starting a worker") {
		t.Error(err)
	}
	for want, c := range map[string]struct{ min, max int }{"from -1 to 2 jobs": {-1, 2}, "from 3 to 2 jobs": {3, 2}, "does not tell how many units wait": {2, 2}} {
		if err := f.Adapt(c.min, c.max); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	f.s.Batch.Jobs = -1
	if err := f.Adapt(1, 2); err == nil || !strings.Contains(err.Error(), "-1 jobs") {
		t.Error(err)
	}
}

// Units of one kind, data and needs have one key, others another; classes differ with what
// a unit needs.
func TestKeys(t *testing.T) {
	needs := []string{"b", "a", "b"}
	u, err := NewUnit("k", 1, 3, needs)
	if err != nil || !slices.Equal(u.Needs, []string{"a", "b"}) || !slices.Equal(needs, []string{"b", "a", "b"}) || u.Weight() != 3 || (Unit{}).Weight() != 1 || (Unit{Items: 1}).Weight() != 1 {
		t.Errorf("%+v, %v; %v", u, err, needs)
	}
	if _, err := NewUnit("k", make(chan int), 1, nil); err == nil || !strings.HasPrefix(err.Error(), "farm: a unit of kind k: ") {
		t.Error(err)
	}
	keys := map[string]Unit{}
	for _, v := range []Unit{{}, u, {Kind: "k"}, {Kind: "k1"}, {Kind: "k", Data: []byte("1")}, {Kind: "k", Data: []byte("1"), Needs: []string{"arithmetic"}}, {Kind: "k1", Data: []byte("1")}, {Kind: "k", Data: []byte("11")}} {
		if other, ok := keys[v.Key()]; ok || len(v.Key()) != 40 {
			t.Errorf("%+v and %+v have one key, %s", v, other, v.Key())
		}
		keys[v.Key()] = v
	}
	if (Unit{Kind: "k", Name: "a", Items: 2}).Key() != (Unit{Kind: "k"}).Key() {
		t.Error("names and items are part of a key")
	}
	id := Identity{Version: "1", Build: "b", Traits: map[string]string{"x": "1", "y": "2"}}
	classes := id.Classes()
	other := Identity{Version: "1", Build: "b", Traits: map[string]string{"x": "1", "y": "3"}}
	if slices.Sort(classes); len(slices.Compact(classes)) != 4 {
		t.Errorf("classes %q", classes)
	}
	same := 0
	for _, c := range other.Classes() {
		if slices.Contains(classes, c) {
			same++
		}
	}
	if same != 2 || classOf(id, []string{"y", "x"}) != classOf(id, []string{"x", "y"}) {
		t.Errorf("%d classes are the same", same)
	}
	for i, c := range []struct {
		other Identity
		want  []string
	}{
		{id, nil}, {other, []string{"no unit that needs equal y: there 3, here 2"}}, {Identity{Version: "1", Build: "b"}, []string{"no unit that needs equal x: there none, here 1", "no unit that needs equal y: there none, here 2"}},
		{Identity{Version: "2", Build: "c"}, []string{"no unit: it is version 2, the caller version 1; install the same version"}}, {Identity{Version: "1", Build: "c"}, []string{"no unit: it is another build (c) than the caller (b); use one binary, or build both from one revision"}},
	} {
		if got := id.Differences(c.other); !slices.Equal(got, c.want) {
			t.Errorf("%d: %q, want %q", i, got, c.want)
		}
	}
}

// Who has asked for the driver no longer keeps others from registering one.
func TestDriverUnlocked(t *testing.T) {
	_, _ = theDriver()
	if !driver.TryLock() {
		t.Fatal("the driver stays locked")
	}
	driver.Unlock()
}
