package natsfarm_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dace.local/dacelib/farm"
)

var realSlurm = flag.Bool("slurm", false, "TestSlurm and TestGridEngine run clusters on this machine, which takes some minutes, and install Slurm and Grid Engine as root by apt if they are missing")

// Workers are jobs of Slurm. One is cancelled, one hands its work back before its
// limit, one is stopped and ended at its limit; the portfolios have the same
// bytes meanwhile. To run it: go test -run Slurm ./dacelib/farm/natsfarm -args -slurm
func TestSlurm(t *testing.T) {
	if !*realSlurm {
		t.Skip("without -slurm; TestStart has a script in its place")
	}
	cluster(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ctx, dir := context.Background(), t.TempDir()
	t.Cleanup(func() { killServer(dir) })
	f := farm.Start(farm.Settings{Dir: dir, Command: daceCommand()})
	if f.Err() != nil {
		t.Fatal(f.Err())
	}
	for _, b := range []farm.Batch{
		{Jobs: 2, Time: "00:30:00", Prologue: "test -n \"$SLURM_ARRAY_TASK_ID\" || exit 1"},
		{Time: "00:02:00", Partition: "all"}, // its worker ends after 108 s
		{Time: "00:01:00", Prologue: "(sleep 40; kill -STOP $$) &"},
	} {
		b.Scheduler = "slurm"
		if err := f.Submit(b); err != nil {
			t.Fatal(err)
		}
	}
	states := func() []string {
		out := make([]string, 4)
		for i, j := range farm.Jobs(ctx, dir) {
			out[i] = j.State
		}
		return out
	}
	until := time.Now().Add(8 * time.Minute)
	for f.Slots() < 4 {
		if time.Now().After(until) {
			t.Fatalf("%d workers; the jobs are %v", f.Slots(), farm.Jobs(ctx, dir))
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Logf("the table:\n%s", f)
	if n := strings.Count(f.String(), " RUNNING on "); n != 4 {
		t.Errorf("the table shows %d jobs as running:\n%s", n, f)
	}
	rounds := 0
	for want := []string{"RUNNING", "CANCELLED", "COMPLETED", "TIMEOUT"}; strings.Join(states(), " ") != strings.Join(want, " "); rounds++ {
		if time.Now().After(until) {
			t.Fatalf("the jobs are %v, want %v", farm.Jobs(ctx, dir), want)
		}
		seed := uint64(100 + rounds)
		here, err := chaosResult(ctx, nil, "", seed)
		if err != nil {
			t.Fatal(err)
		}
		if rounds == 1 {
			cancelled := farm.Jobs(ctx, dir)[1].ID
			time.AfterFunc(300*time.Millisecond, func() { _ = exec.Command("scancel", cancelled).Run() })
		}
		far, err := chaosResult(ctx, f, "", seed)
		if err != nil || far != here {
			t.Fatalf("round %d, jobs %v: %v\n%s\nwant\n%s", rounds, states(), err, far, here)
		}
	}
	t.Logf("%d constructions of the same bytes; at their end:\n%s", rounds, f)
	logs, _ := filepath.Glob(filepath.Join(dir, "slurm-*.log"))
	if len(logs) != 4 {
		t.Errorf("the workers left %v", logs)
	}
	if err := f.Stop(); err != nil {
		t.Fatal(err)
	}
	if jobs := farm.Jobs(ctx, dir); len(jobs) != 0 {
		t.Errorf("the stopped farm has the jobs %v", jobs)
	}
}

// cluster starts Slurm on this machine, with a node that claims to have eight
// processors, in a folder and at ports of its own.
func cluster(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("slurmctld"); err != nil {
		cmd := exec.Command("apt-get", "install", "-y", "--no-install-recommends", "slurm-wlm")
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("installing Slurm: %v\n%s", err, out)
		}
	}
	dir, err := os.MkdirTemp("", "slurm") // its path must be short, and other users may enter it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	in := func(name string) string { return filepath.Join(dir, name) }
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	conf := fmt.Sprintf(`ClusterName=test
SlurmctldHost=%[1]s
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=%[2]s/munge/socket
StateSaveLocation=%[2]s/state
SlurmdSpoolDir=%[2]s/spool
SlurmctldPidFile=%[2]s/slurmctld.pid
SlurmdPidFile=%[2]s/slurmd.pid
SlurmctldPort=16817
SlurmdPort=16818
SlurmdParameters=config_overrides
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
ReturnToService=2
KillWait=5
MailProg=/bin/true
NodeName=%[1]s CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
`, host, dir)
	key := bytes.Repeat([]byte("a key of a test alone, for munge"), 4)
	for _, err := range []error{
		os.Chmod(dir, 0o755), os.Mkdir(in("state"), 0o755), os.Mkdir(in("spool"), 0o755), os.Mkdir(in("munge"), 0o755),
		os.WriteFile(in("slurm.conf"), []byte(conf), 0o644), os.WriteFile(in("key"), key, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("chown", "munge", in("key"), in("munge")).CombinedOutput(); err != nil {
		t.Fatalf("%s: TestSlurm needs root", out)
	}
	t.Setenv("SLURM_CONF", in("slurm.conf"))
	daemon := func(name, program string, args ...string) {
		cmd := exec.Command(program, args...)
		log, err := os.Create(in(name + ".log"))
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = log.Close() })
	}
	daemon("munged", "setpriv", "--reuid=munge", "--regid=munge", "--clear-groups", "munged", "--foreground", "--force", "--key-file="+in("key"), "--socket="+in("munge/socket"),
		"--pid-file="+in("munge/pid"), "--seed-file="+in("munge/seed"), "--log-file="+in("munge/log"))
	daemon("slurmctld", "slurmctld", "-D", "-i")
	daemon("slurmd", "slurmd", "-D", "-N", host)
	var out []byte
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(200 * time.Millisecond) {
		if out, _ = exec.Command("sinfo", "--noheader", "--format=%T").CombinedOutput(); strings.TrimSpace(string(out)) == "idle" {
			return
		}
	}
	t.Fatalf("Slurm does not start: %s", out)
}
