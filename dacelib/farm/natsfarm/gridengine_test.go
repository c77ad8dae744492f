package natsfarm_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dace.local/dacelib/farm"
)

// Workers are tasks of an array of Grid Engine, and one that is cancelled does not
// change a result; then Adapt submits what units need. To run it: go test -run
// GridEngine ./dacelib/farm/natsfarm -args -slurm
func TestGridEngine(t *testing.T) {
	if !*realSlurm {
		t.Skip("without -slurm; TestSchedulers of package farm has scripts in its place")
	}
	gridEngine(t)
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	ctx, dir := context.Background(), t.TempDir()
	t.Cleanup(func() { killServer(dir) })
	f := farm.Start(farm.Settings{Dir: dir, Command: daceCommand(), Batch: farm.Batch{Scheduler: "sge", Time: "00:10:00", Idle: 5 * time.Second}})
	if f.Err() != nil {
		t.Fatal(f.Err())
	}
	if err := f.Submit(farm.Batch{Scheduler: "sge", Jobs: 3, Time: "00:10:00", Prologue: "test -n \"$SGE_TASK_ID\" || exit 1"}); err != nil {
		t.Fatal(err)
	}
	running := func() (n int) {
		for _, j := range farm.Jobs(ctx, dir) {
			if j.Running {
				n++
			}
		}
		return n
	}
	within := func(what string, d time.Duration, ok func() bool) {
		t.Helper()
		for until := time.Now().Add(d); !ok(); time.Sleep(200 * time.Millisecond) {
			if time.Now().After(until) {
				t.Fatalf("%s: %d slots, the jobs are %v", what, f.Slots(), farm.Jobs(ctx, dir))
			}
		}
	}
	within("three workers", 4*time.Minute, func() bool { return f.Slots() == 3 && running() == 3 })
	here, err := chaosResult(ctx, nil, "", 7)
	if err != nil {
		t.Fatal(err)
	}
	all := farm.Jobs(ctx, dir)
	time.AfterFunc(300*time.Millisecond, func() { _ = exec.Command("qdel", all[0].ID+".2").Run() })
	far, err := chaosResult(ctx, f, "", 7)
	if err != nil || far != here {
		t.Fatalf("%v\n%s\nwant\n%s", err, far, here)
	}
	within("the end of a task", time.Minute, func() bool { return running() == 2 })
	t.Logf("the table:\n%s", f)
	farm.CancelJobs(dir)
	within("no workers", time.Minute, func() bool { return len(f.Table().Workers) == 0 })
	if err := f.Adapt(0, 2); err != nil {
		t.Fatal(err)
	}
	if far, err = chaosResult(ctx, f, "", 8); err != nil {
		t.Fatal(err)
	}
	if here, err = chaosResult(ctx, nil, "", 8); err != nil || far != here {
		t.Fatalf("with Adapt: %v\n%s\nwant\n%s", err, far, here)
	}
	within("workers that leave", 2*time.Minute, func() bool { return len(f.Table().Workers) == 0 })
	if err := f.Stop(); err != nil {
		t.Fatal(err)
	}
}

// gridEngine starts Grid Engine on this machine, with eight slots, in a folder and
// at ports of its own.
func gridEngine(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("sge_qmaster"); err != nil {
		cmd := exec.Command("apt-get", "install", "-y", "--no-install-recommends", "gridengine-master", "gridengine-exec", "gridengine-client")
		cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("installing Grid Engine: %v\n%s", err, out)
		}
	}
	root, err := os.MkdirTemp("", "sge")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	sh := func(format string, args ...any) string {
		t.Helper()
		out, err := exec.Command("sh", "-ec", fmt.Sprintf(format, args...)).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", fmt.Sprintf(format, args...), err, out)
		}
		return string(out)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]string{"SGE_ROOT": root, "SGE_CELL": "default", "SGE_QMASTER_PORT": "16444", "SGE_EXECD_PORT": "16445"} {
		t.Setenv(name, v)
	}
	sh(`chmod 755 %[1]s; cp -a /var/lib/gridengine/bin /var/lib/gridengine/lib /var/lib/gridengine/util /var/lib/gridengine/utilbin %[1]s/
mkdir -p %[1]s/default/common %[1]s/spool/qmaster/job_scripts %[1]s/spool/db %[1]s/spool/execd
cat >%[1]s/default/common/bootstrap <<END
admin_user              root
default_domain          none
ignore_fqdn             true
spooling_method         berkeleydb
spooling_lib            libspoolb
spooling_params         %[1]s/spool/db
binary_path             /usr/sbin
qmaster_spool_dir       %[1]s/spool/qmaster
security_mode           none
listener_threads        2
worker_threads          2
scheduler_threads       1
END
echo localhost >%[1]s/default/common/act_qmaster
echo localhost %[2]s >%[1]s/default/common/host_aliases # an address may have several names
sed 's|^execd_spool_dir.*|execd_spool_dir %[1]s/spool/execd|; s|^gid_range.*|gid_range 65400-65500|; s|^min_uid.*|min_uid 0|; s|^min_gid.*|min_gid 0|' /usr/share/gridengine/default-configuration >%[1]s/configuration`, root, host)
	host = "localhost"
	tools := "/usr/lib/gridengine"
	sh(`export PATH=%[1]s:$PATH; cd %[2]s
spoolinit berkeleydb libspoolb %[2]s/spool/db init
spooldefaults configuration %[2]s/configuration
spooldefaults complexes /usr/share/gridengine/util/resources/centry
spooldefaults usersets /usr/share/gridengine/util/resources/usersets
spooldefaults managers root
spooldefaults operators root`, tools, root)
	daemon := func(program string) {
		cmd := exec.Command(program)
		cmd.Env = append(os.Environ(), "SGE_ND=1") // in the foreground
		log, err := os.Create(filepath.Join(root, filepath.Base(program)+".log"))
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout, cmd.Stderr = log, log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = log.Close() })
	}
	daemon("/usr/sbin/sge_qmaster")
	configured := false
	for until := time.Now().Add(time.Minute); time.Now().Before(until) && !configured; time.Sleep(200 * time.Millisecond) {
		configured = exec.Command("qconf", "-ah", host).Run() == nil
	}
	if !configured {
		t.Fatal("sge_qmaster does not start")
	}
	sh(`qconf -as %[1]s >/dev/null
printf 'pe_name smp\nslots 999\nuser_lists NONE\nxuser_lists NONE\nstart_proc_args /bin/true\nstop_proc_args /bin/true\nallocation_rule $pe_slots\ncontrol_slaves FALSE\njob_is_first_task TRUE\nurgency_slots min\naccounting_summary FALSE\nqsort_args NONE\n' >%[2]s/pe
qconf -Ap %[2]s/pe
printf 'group_name @all\nhostlist %[1]s\n' >%[2]s/hosts
qconf -Ahgrp %[2]s/hosts || true`, host, root)
	daemon("/usr/sbin/sge_execd")
	sh(`cat >%[1]s/queue <<END
qname all.q
hostlist %[2]s
seq_no 0
load_thresholds NONE
suspend_thresholds NONE
nsuspend 1
suspend_interval 00:05:00
priority 0
min_cpu_interval 00:05:00
processors UNDEFINED
qtype BATCH INTERACTIVE
ckpt_list NONE
pe_list smp
rerun FALSE
slots 8
tmpdir /tmp
shell /bin/sh
prolog NONE
epilog NONE
shell_start_mode posix_compliant
starter_method NONE
suspend_method NONE
resume_method NONE
terminate_method NONE
notify 00:00:60
owner_list NONE
user_lists NONE
xuser_lists NONE
subordinate_list NONE
complex_values NONE
projects NONE
xprojects NONE
calendar NONE
initial_state default
s_rt INFINITY
h_rt INFINITY
s_cpu INFINITY
h_cpu INFINITY
s_fsize INFINITY
h_fsize INFINITY
s_data INFINITY
h_data INFINITY
s_stack INFINITY
h_stack INFINITY
s_core INFINITY
h_core INFINITY
s_rss INFINITY
h_rss INFINITY
s_vmem INFINITY
h_vmem INFINITY
END
qconf -Aq %[1]s/queue
printf 'algorithm default\nschedule_interval 0:0:1\nmaxujobs 0\nqueue_sort_method load\njob_load_adjustments NONE\nload_adjustment_decay_time 0:7:30\nload_formula np_load_avg\nschedd_job_info false\nflush_submit_sec 1\nflush_finish_sec 1\nparams none\nreprioritize_interval 0:0:0\nhalftime 168\nusage_weight_list cpu=1.0\ncompensation_factor 5.0\nweight_user 0.25\nweight_project 0.25\nweight_department 0.25\nweight_job 0.25\nweight_tickets_functional 0\nweight_tickets_share 0\nshare_override_tickets TRUE\nshare_functional_shares TRUE\nmax_functional_jobs_to_schedule 200\nreport_pjob_tickets TRUE\nmax_pending_tasks_per_job 50\nhalflife_decay_list none\npolicy_hierarchy OFS\nweight_ticket 0.5\nweight_waiting_time 0.278\nweight_deadline 3600000\nweight_urgency 0.5\nweight_priority 0.0\nmax_reservation 0\ndefault_duration INFINITY\n' >%[1]s/sched
qconf -Msconf %[1]s/sched`, root, host)
	for until := time.Now().Add(2 * time.Minute); time.Now().Before(until); time.Sleep(300 * time.Millisecond) {
		out, _ := exec.Command("qstat", "-f").CombinedOutput()
		if f := strings.Fields(string(out)); strings.Contains(string(out), "lx-amd64") && len(f) > 0 {
			return
		}
	}
	out, _ := exec.Command("qstat", "-f").CombinedOutput()
	t.Fatalf("Grid Engine does not start: %s", out)
}
