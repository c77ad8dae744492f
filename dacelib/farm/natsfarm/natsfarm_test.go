package natsfarm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dace.local/dacelib/construct"
	_ "dace.local/dacelib/experiment" // all kinds of work
	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/farmtest"
	"dace.local/dacelib/farm/natsfarm"
	"dace.local/dacelib/farm/natsfarm/internal/serve"
	"dace.local/dacelib/files"
	"dace.local/dacelib/internal/process"
	"dace.local/dacelib/nir"
	"dace.local/dacelib/pgpe"
	"dace.local/dacelib/problem/ccp"
)

var kills = flag.Int("kills", 20, "`number` of processes that TestChaos kills")

// TestMain runs the processes that the tests start: a server, workers and
// callers.
func TestMain(m *testing.M) {
	flag.Parse()
	verb := os.Getenv("DACE_FARM_TEST")
	if verb == "" {
		_ = os.Setenv(testVariable, strconv.Itoa(os.Getpid()))
		os.Exit(m.Run())
	}
	go endAfterTest()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	var err error
	args := flag.Args()
	natsfarm.SetOwnCommand(serveCommand())
	switch verb {
	case "dace": // as the command dace does
		fs := flag.NewFlagSet("dace", flag.ExitOnError)
		dir, join, cores := fs.String("dir", "", ""), fs.String("join", "", ""), fs.Int("cores", 0, "")
		_, idle, until := fs.String("listen", "", ""), fs.Duration("idle", 0, ""), fs.Duration("until", 0, "")
		if args[0] == "farm" {
			_ = fs.Parse(args[2:])
			err = serve.Serve(ctx, *dir, "", 0, nil)
		} else {
			_ = fs.Parse(args[1:])
			err = farm.WorkFor(ctx, *join, farm.Work{Cores: *cores, Idle: *idle, Until: *until})
		}
	case "serve":
		fs := flag.NewFlagSet("serve", flag.ExitOnError)
		dir, listen, disk := fs.String("dir", "", ""), fs.String("listen", "", ""), fs.Int64("disk", 0, "")
		_ = fs.Parse(args)
		err = serve.Serve(ctx, *dir, *listen, *disk, nil)
	case "worker":
		endWithTest()
		cores, _ := strconv.Atoi(args[1])
		err = farm.WorkFor(ctx, args[0], farm.Work{Cores: cores})
	case "workers": // many in one process, each with its connection
		endWithTest()
		n, _ := strconv.Atoi(args[1])
		cores := 1
		if len(args) > 2 {
			cores, _ = strconv.Atoi(args[2])
		}
		ended := make(chan error, n)
		for i := range n {
			go func() {
				ended <- farm.WorkFor(ctx, args[0], farm.Work{Cores: cores, Name: fmt.Sprintf("%s_%d", farm.WorkerName(), i)})
			}()
		}
		err = <-ended
	case "caller":
		endWithTest()
		var pool farm.Pool
		if pool, err = farm.Join(ctx, args[0]); err == nil {
			var text string
			if text, err = chaosResult(ctx, pool, args[1], 3); err == nil {
				fmt.Print(text)
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, verb, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// testVariable is the environment variable that has the test's process ID.
const testVariable = "DACE_FARM_TEST_PROCESS"

// endAfterTest ends the process within a second of the test's end. Servers are in
// sessions of their own, and may be started by workers: no signal and no pipe
// reaches them when a test is killed.
func endAfterTest() {
	test, err := strconv.Atoi(os.Getenv(testVariable))
	for err == nil && !process.Gone(test) {
		time.Sleep(time.Second)
	}
	if err == nil {
		os.Exit(1)
	}
}

// endWithTest ends the process when the one that started it does.
func endWithTest() {
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1)
	}()
}

// serveCommand is the command of a server's process.
func serveCommand() []string {
	return []string{"/usr/bin/env", "DACE_FARM_TEST=serve", os.Args[0], "--"}
}

// daceCommand stands for the command dace.
func daceCommand() []string {
	return []string{"/usr/bin/env", "DACE_FARM_TEST=dace", os.Args[0], "--"}
}

// A farm that is started from a cell has local workers and those of Slurm, which
// a script stands for here, and ends them.
func TestStart(t *testing.T) {
	bin := t.TempDir()
	script := "#!/bin/sh\nfor a; do :; done\nfor k in 1 2; do sh \"$a\" >/dev/null 2>&1 & done\necho \"$@\" >>" + bin + "/log\necho 42\n"
	queue := "#!/bin/sh\necho '41 PENDING (Resources)'\necho '42_1 RUNNING node7'\necho '42_2 RUNNING node7'\n"
	if err := files.WriteProgram(filepath.Join(bin, "squeue"), []byte(queue)); err != nil {
		t.Fatal(err)
	}
	if err := files.WriteProgram(filepath.Join(bin, "sbatch"), []byte(script)); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	t.Cleanup(func() { killServer(dir) })
	f := farm.Start(farm.Settings{Dir: dir, Local: 1, Command: daceCommand()})
	if f.Err() != nil {
		t.Fatal(f.Err())
	}
	// What a person should know goes to standard error, until OnNote says otherwise.
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = w
	f.Pool.(interface{ Note(string, ...any) }).Note("%d units wait", 7)
	os.Stderr = stderr
	w.Close()
	if text, err := io.ReadAll(r); string(text) != "farm: 7 units wait\n" {
		t.Errorf("a note was shown as %q, %v", text, err)
	}
	if last, err := farm.LastDir(); err != nil || last != dir {
		t.Errorf("the last farm is %q, %v", last, err)
	}
	if err := f.Slurm(farm.Slurm{Jobs: 2, Cores: 3, Time: "00:10:00", Options: []string{"--partition=x"}}); err != nil {
		t.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(bin, "log"))
	if err != nil || strings.Count(string(log), "--time=00:10:00 --cpus-per-task=3") != 1 || !strings.Contains(string(log), "--array=1-2") || !strings.Contains(string(log), "--partition=x") {
		t.Errorf("sbatch got %s, %v", log, err)
	}
	for until := time.Now().Add(2 * time.Minute); f.Slots() < 7 && time.Now().Before(until); {
		time.Sleep(20 * time.Millisecond)
	}
	if n := f.Slots(); n != 7 {
		t.Fatalf("%d slots, want 1 and two times 3", n)
	}
	if err := farmtest.Doubles(context.Background(), t, f, 1, 50); err != nil {
		t.Fatal(err)
	}
	table := f.String()
	for _, want := range []string{"dace worker -join " + f.JoinFile(), "50 units done, 0 running, 0 waiting", "jobs: 42_1 RUNNING on node7, 42_2 RUNNING on node7"} {
		if !strings.Contains(table, want) {
			t.Errorf("the table does not say %q:\n%s", want, table)
		}
	}
	// What waits, and what failed, is shown here and by another process.
	ctx, cancel := context.WithCancel(context.Background())
	waiting := make(chan error, 1)
	var asleep []farm.Unit
	for i := range 20 {
		asleep = append(asleep, farmtest.Unit(t, "sleep", farmtest.Sleep{Time: time.Hour, Number: i}))
	}
	_ = farm.Do1(ctx, f, farmtest.Unit(t, "fail", "a word"), new(any))
	go func() { waiting <- f.Do(ctx, asleep, func(int, []byte) error { return nil }) }()
	for until := time.Now().Add(2 * time.Minute); f.Table().Counts.Running != 7 && time.Now().Before(until); {
		time.Sleep(20 * time.Millisecond)
	}
	elsewhere, err := natsfarm.Status(ctx, f.JoinFile())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{f.String(), elsewhere.String(), elsewhere.HTML()} {
		for _, want := range []string{"sleep: 0 of 20 units", "7 running, 13 waiting", "jobs: 42_1 RUNNING on node7", "7 slots", "fail failed on worker", "no such luck"} {
			if !strings.Contains(html.UnescapeString(s), want) {
				t.Errorf("the table does not say %q:\n%s", want, s)
			}
		}
	}
	cancel()
	if err := <-waiting; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	again := farm.Start(farm.Settings{Dir: dir, Command: daceCommand()}) // after a restart of the kernel
	if again.Err() != nil || again.JoinFile() != f.JoinFile() {
		t.Errorf("found again: %v", again.Err())
	}
	if err := natsfarm.Drain(context.Background(), f.JoinFile()); err != nil {
		t.Fatal(err)
	}
	if err := f.Stop(); err != nil {
		t.Fatal(err)
	}
	if broken := farm.Start(farm.Settings{Dir: "/dev/null/x", Command: daceCommand()}); broken.Err() == nil || !strings.Contains(broken.HTML(), "/dev/null") {
		t.Error("a farm that cannot be started does not say so")
	}
}

// startProcess starts a process of this test, which ends with it.
func startProcess(t testing.TB, verb string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := exec.Command(os.Args[0], append([]string{"--"}, args...)...)
	cmd.Env = append(os.Environ(), "DACE_FARM_TEST="+verb)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	cmd.WaitDelay = 2 * time.Second // a second Wait, of the cleanup, must end too
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_, _ = cmd.Process.Wait() // not cmd.Wait, which the test may have called
		_ = in.Close()
	})
	return cmd, &out
}

// start starts a server and workers of one core, and returns the farm's join
// file.
func start(t testing.TB, listen string, workers int) string {
	t.Helper()
	dir := t.TempDir()
	join, err := natsfarm.Start(dir, listen, serveCommand())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killServer(dir); _ = os.WriteFile(filepath.Join(dir, "stopped"), nil, 0o600) })
	for range workers {
		startProcess(t, "worker", join, "1")
	}
	return join
}

// serverProcess returns the process ID of the server of a folder, 0 if there is
// none.
func serverProcess(dir string) int {
	procs, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, p := range procs {
		b, err := os.ReadFile(p)
		if err == nil && bytes.Contains(b, []byte("\x00-dir\x00"+dir+"\x00")) {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(p)))
			return pid
		}
	}
	return 0
}

func killServer(dir string) {
	if pid := serverProcess(dir); pid > 0 {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	}
}

func pool(t testing.TB, join string) *natsfarm.Pool {
	t.Helper()
	p, err := natsfarm.NewPool(context.Background(), join)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

func TestConformance(t *testing.T) {
	for name, listen := range map[string]string{"loopback": "", "TLS": "0.0.0.0:0"} {
		t.Run(name, func(t *testing.T) { farmtest.Run(t, pool(t, start(t, listen, 2))) })
	}
}

// chaosSettings are those of a construction of about a second.
func chaosSettings(pool farm.Pool, seed uint64) construct.Settings {
	return construct.Settings{
		Members: 2, Rounds: 2, Configurations: 6, Minings: 6, Trials: 60, Evaluations: 60,
		NIR:  nir.Settings{Samples: 400, Batch: 8, Steps: 20, NormaliseSample: 5000},
		PGPE: pgpe.Settings{Pairs: 2, MaxIterations: 2},
		Seed: seed, Farm: pool,
	}
}

// chaosResult constructs a portfolio; a dir makes the construction go on there.
func chaosResult(ctx context.Context, pool farm.Pool, dir string, seed uint64) (string, error) {
	set, err := ccp.Class().NewSet(1, 3, 0)
	if err != nil {
		return "", err
	}
	s := chaosSettings(pool, seed)
	s.Dir = dir
	r, err := construct.DACE(ctx, set.Training, s)
	b, _ := json.Marshal(r.Rounds)
	return fmt.Sprintf("%v\n%s\n%v runs, %v evaluations", r.Portfolio, b, r.Cost.Runs, r.Cost.Evaluations), err
}

// A construction gives the same bytes while workers, the server and the caller
// are killed at random moments. More kills: go test -run Chaos -args -kills 100
func TestChaos(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	want, err := chaosResult(context.Background(), nil, "", 3)
	if err != nil {
		t.Fatal(err)
	}
	join := start(t, "", 0)
	dir := filepath.Dir(join)
	rng := rand.New(rand.NewPCG(uint64(*kills), 19))
	record := filepath.Join(t.TempDir(), "record")
	workers := make([]*exec.Cmd, 2)
	for i := range workers {
		workers[i], _ = startProcess(t, "worker", join, "1")
	}
	ended := make(chan *exec.Cmd, 8)
	var caller *exec.Cmd
	var out *bytes.Buffer
	call := func() {
		caller, out = startProcess(t, "caller", join, record)
		go func(c *exec.Cmd) { _ = c.Wait(); ended <- c }(caller)
	}
	call()
	counts := map[string]int{}
	done, rounds := 0, 0
	for {
		select {
		case c := <-ended:
			if c != caller {
				continue // was killed
			}
			if out.String() != want {
				t.Fatalf("after %d kills %v:\n%s\nwant\n%s", done, counts, out, want)
			}
			if rounds++; done >= *kills {
				t.Logf("%d kills %v during %d constructions", done, counts, rounds)
				return
			}
			// It was faster than the kills; go on with one that shares nothing.
			record = filepath.Join(t.TempDir(), "record")
			call()
		case <-time.After(time.Duration(20+rng.IntN(400)) * time.Millisecond):
			if done >= *kills {
				continue
			}
			done++
			switch k := rng.IntN(6); k {
			case 0:
				counts["callers"]++
				_ = caller.Process.Kill()
				for c := range ended { // until then it has the record's lock
					if c == caller {
						break
					}
				}
				call()
			case 1, 2:
				counts["servers"]++
				killServer(dir)
			default:
				counts["workers"]++
				i := rng.IntN(len(workers))
				_ = workers[i].Process.Kill()
				workers[i], _ = startProcess(t, "worker", join, "1")
			}
		}
	}
}

// A unit of which three workers die is set aside.
func TestDeadly(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	join := start(t, "", 0)
	p := pool(t, join)
	stop := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			w, _ := startProcess(t, "worker", join, "1")
			died := make(chan struct{})
			go func() { _ = w.Wait(); close(died) }()
			select {
			case <-stop:
				return
			case <-died:
			}
		}
	}()
	defer func() { close(stop); <-ended }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	u := farmtest.Unit(t, "die", t.Name())
	err := p.Do(ctx, []farm.Unit{u}, func(int, []byte) error { return nil })
	var f *farm.Failure
	if !errors.As(err, &f) || f.Deaths != 3 || f.Key != u.Key() || f.Worker == "" || f.Host == "" {
		t.Fatalf("%v", err)
	}
	if err := farmtest.Doubles(ctx, t, p, 1, 20); err != nil {
		t.Fatal(err)
	}
}

// rewrite changes a copy of a join file and returns its path.
func rewrite(t *testing.T, join string, change func(map[string]any)) string {
	t.Helper()
	b, err := os.ReadFile(join)
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	change(m)
	if b, err = json.Marshal(m); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "changed.join")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Who has the wrong token or pin, or no join file of one's own, is told so in a
// line, and others are unhurt.
func TestRefused(t *testing.T) {
	join := start(t, "0.0.0.0:0", 1)
	info, err := os.Stat(join)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("the join file: %v, %v", info.Mode(), err)
	}
	p := pool(t, join)
	ctx := context.Background()
	open := filepath.Join(t.TempDir(), "open.join")
	b, _ := os.ReadFile(join)
	if err := os.WriteFile(open, b, 0o644); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ join, want string }{
		"token":   {rewrite(t, join, func(m map[string]any) { m["token"] = strings.Repeat("0", 64) }), "refuses the token"},
		"pin":     {rewrite(t, join, func(m map[string]any) { m["pin"] = strings.Repeat("0", 64) }), "certificate is not the one in the join file"},
		"version": {rewrite(t, join, func(m map[string]any) { m["version"] = 7 }), "no join file of this version"},
		"open":    {open, "others can read or write the join file"},
		"missing": {join + ".not", "there is no"},
	} {
		_, err := farm.Join(ctx, c.join)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v", name, err)
		}
		if err := farm.WorkFor(ctx, c.join, farm.Work{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: a worker: %v", name, err)
		}
	}
	if err := farmtest.Doubles(ctx, t, p, 1, 30); err != nil {
		t.Error(err)
	}
}

// A message of 9 MB is refused with its size and a remedy, at once.
func TestTooLarge(t *testing.T) {
	p := pool(t, start(t, "", 1))
	u := farmtest.Unit(t, "double", make(farm.Floats, 9<<20/8))
	begun := time.Now()
	err := p.Do(context.Background(), []farm.Unit{u}, func(int, []byte) error { return nil })
	if err == nil || !strings.Contains(err.Error(), "larger than the 8 MB") || !strings.Contains(err.Error(), "blob") {
		t.Errorf("%v", err)
	}
	t.Logf("refused after %v", time.Since(begun))
	if err := farmtest.Doubles(context.Background(), t, p, 1, 30); err != nil {
		t.Error(err)
	}
}

// A stopped farm keeps what it has and is found again.
func TestStartStop(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	join, err := natsfarm.Start(dir, "", serveCommand())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { killServer(dir) })
	if info, err := os.Stat(filepath.Join(dir, "server.log")); err != nil || info.Mode().Perm()&^0o600 != 0 {
		t.Errorf("the server's log is for others, too: %v, %v", info, err)
	}
	w, _ := startProcess(t, "worker", join, "1")
	if err := farmtest.Doubles(ctx, t, pool(t, join), 1, 5); err != nil {
		t.Fatal(err)
	}
	again, err := natsfarm.Start(dir, "", serveCommand())
	if err != nil || again != join {
		t.Fatalf("%v, %v", again, err)
	}
	s, err := natsfarm.Status(ctx, join)
	if err != nil || len(s.Workers) != 1 || s.Results != 5 || !strings.Contains(s.String(), s.Workers[0].Host) || !strings.Contains(s.HTML(), "<table>") {
		t.Errorf("%v, %v", s, err)
	}
	if err := natsfarm.Drain(ctx, join); err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(); err != nil {
		t.Errorf("a drained worker: %v", err)
	}
	if err := natsfarm.Stop(ctx, join); err != nil {
		t.Fatal(err)
	}
	for until := time.Now().Add(time.Minute); serverProcess(dir) != 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) { // its last moments come after the end of its lock
			t.Fatal("the server still runs")
		}
	}
	if err := natsfarm.Stop(ctx, join); err == nil || !strings.Contains(err.Error(), "no server serves") {
		t.Errorf("stopped twice: %v", err)
	}
	if _, err := natsfarm.Start(dir, "", serveCommand()); err != nil {
		t.Fatal(err)
	}
	// The results are there without a worker.
	if err := farmtest.Doubles(ctx, t, pool(t, join), 1, 5); err != nil {
		t.Fatal(err)
	}
}

// A server starts although others look just then whether there is one.
func TestStartWatched(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := files.LockShared(f); err != nil { // as joinfile.Serving has it
		t.Fatal(err)
	}
	time.AfterFunc(200*time.Millisecond, func() { f.Close() })
	t.Cleanup(func() { killServer(dir) })
	if _, err := natsfarm.Start(dir, "", serveCommand()); err != nil {
		t.Error(err)
	}
}

// Units of several classes come to few slots, which ask for each class and have
// to hand messages on that come too late for them.
func TestClasses(t *testing.T) {
	p := pool(t, start(t, "", 3))
	var units []farm.Unit
	for i := range 300 {
		u := farmtest.Unit(t, "double", farm.Floats{float64(i)})
		u.Needs = [][]string{nil, {"arithmetic"}, {"compilers"}, {"arithmetic", "compilers"}}[i%4]
		units = append(units, u)
	}
	got := 0
	err := p.Do(context.Background(), units, func(i int, b []byte) error {
		var f farm.Floats
		if err := json.Unmarshal(b, &f); err != nil || len(f) != 1 || f[0] != float64(2*i) {
			t.Errorf("unit %d: %v, %v", i, f, err)
		}
		got++
		return nil
	})
	if err != nil || got != len(units) {
		t.Errorf("%d results, %v", got, err)
	}
}
