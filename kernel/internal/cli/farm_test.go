package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/files"
)

// The verbs of a farm that need no server: what they print, and what they refuse.
func TestFarm(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	dir := t.TempDir()
	p, err := farm.Folder(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var table struct {
		Workers []farm.Worker
		Summary farm.Summary
	}
	got := dace(t, "", "farm", "status", "-json", "-dir", dir)
	if err := json.Unmarshal([]byte(got.out), &table); err != nil || got.code != 0 || strings.Count(got.out, "\n") != 1 {
		t.Errorf("status -json: %v\n%s%s", err, got.out, got.err)
	}
	dace(t, "", "farm", "status", "-dir", dir).want(t, 0, "no worker yet", "")
	if err := os.WriteFile(filepath.Join(dir, "logs", "ada-1"), []byte("begins\nends\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	dace(t, "", "farm", "logs", "ada-1", "-dir", dir).want(t, 0, "begins\nends\n", "")
	dace(t, "", "farm", "logs", "eve-1", "-dir", dir).want(t, 1, "", "no worker of the name eve-1")
	dace(t, "", "farm", "logs").want(t, 2, "", "which worker: dace farm logs WORKER")
	dace(t, "", "farm", "cancel", "nobody", "-dir", dir).want(t, 1, "", `no caller of the name "nobody"`)
	dace(t, "", "farm", "scheduler", "pbs").want(t, 0, "qdel {ids}", "")
	dace(t, "", "farm", "scheduler", "nqs").want(t, 1, "", "lsf, pbs, sge, slurm")
	dace(t, "", "farm", "submit", "-dir", dir).want(t, 1, "", "which scheduler?")
	job := []string{"farm", "submit", "-dir", dir, "-cores", "4", "-time", "2h", "-prologue", "module load gcc"}
	dace(t, "", append(job, "-scheduler", "slurm", "-print")...).want(t, 0, "\nmodule load gcc\nexec ", "")
	bin := t.TempDir()
	if err := files.WriteProgram(filepath.Join(bin, "sbatch"), []byte("#!/bin/sh\necho 17\n")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	dace(t, "", append(job, "-scheduler", "slurm", "-json")...).want(t, 0, `{"jobs":["17"]}`+"\n", "")
	dace(t, "", append(job, "-scheduler", "kubernetes", "-image", "registry/dace", "-jobs", "3")...).want(t, 0, "parallelism: 3", "")
	dace(t, "", append(job, "-scheduler", "kubernetes")...).want(t, 1, "", "needs the name of an image")
	dace(t, "", "farm", "stauts").want(t, 2, "", "did you mean status?")
	dace(t, "", "farm", "status", "x").want(t, 2, "", `status takes no "x"`)
	dace(t, "", "construct", "-class", "ccp", "-verify", "0.5", "-o", filepath.Join(dir, "o")).want(t, 1, "", "-verify, -priority, -limit and -disk are for -farm")
}
