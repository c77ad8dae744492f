package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/setup"
)

// noFarm stands for package natsfarm in a command without the client of NATS.
const noFarm = `package natsfarm

import (
	"context"

	"dace.local/dacelib/farm"
)

const JoinName = "farm.join"

type Pool struct{ *farm.Dispatcher }

func NewPool(context.Context, string) (*Pool, error)                { return nil, nil }
func NewSource(context.Context, string) (farm.Source, error)        { return nil, nil }
func Start(string, string, []string) (string, error)                { return "", nil }
func Status(context.Context, string) (farm.Table, error)            { return farm.Table{}, nil }
func Drain(context.Context, string) error                           { return nil }
func Stop(context.Context, string) error                            { return nil }
`

// withoutFarm writes an overlay for the go command that replaces package
// natsfarm, and returns its arguments.
func withoutFarm(root, dir string) ([]string, error) {
	stub := filepath.Join(dir, "natsfarm.go")
	if err := os.WriteFile(stub, []byte(noFarm), 0o644); err != nil {
		return nil, err
	}
	files, err := filepath.Glob(filepath.Join(root, "dacelib/farm/natsfarm/*.go"))
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	for _, f := range files {
		replace[f] = "" // it is not there
		if filepath.Base(f) == "natsfarm.go" {
			replace[f] = stub
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlay := filepath.Join(dir, "overlay.json")
	return []string{"-overlay=" + overlay}, os.WriteFile(overlay, text, 0o644)
}

// A start is what the start of a kernel takes, until it answers.
type start struct{ wall, processor, resident float64 } // ms, ms, MB

// startOf starts a kernel and ends it.
func startOf(ctx context.Context, spec, work string) (s start, err error) {
	begun := time.Now()
	k, err := setup.Start(ctx, spec, work, os.Environ(), nil)
	if err != nil {
		return s, err
	}
	s.wall = 1000 * time.Since(begun).Seconds()
	proc := "/proc/" + strconv.Itoa(k.PID)
	threads, err := filepath.Glob(proc + "/task/*/schedstat")
	if err != nil {
		return s, err
	}
	for _, name := range threads {
		text, _ := os.ReadFile(name) // empty if the thread has ended
		var ns float64
		_, _ = fmt.Sscan(string(text), &ns)
		s.processor += ns / 1e6
	}
	text, err := os.ReadFile(proc + "/status")
	if err != nil {
		return s, err
	}
	_, after, _ := strings.Cut(string(text), "VmRSS:")
	var kb float64
	if _, err := fmt.Sscan(after, &kb); err != nil {
		return s, err
	}
	s.resident = kb / 1024
	return s, k.End(ctx)
}

// BenchmarkFarmUnused measures what the farm costs a kernel that never calls it:
// the start of the command, until it answers, and of the same command without
// package natsfarm and thus without the client of NATS, in turns. The server,
// which the command carries compressed and never reads then, is in neither.
//
//	go test -run '^$' -bench FarmUnused -benchtime 20x ./install
func BenchmarkFarmUnused(b *testing.B) {
	root, err := filepath.Abs("..")
	if err != nil {
		b.Fatal(err)
	}
	without, err := withoutFarm(root, b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	kinds := []struct {
		name string
		args []string
	}{{"with", nil}, {"without", without}}
	specs, starts := map[string]string{}, map[string][]start{}
	for _, kind := range kinds {
		dir := b.TempDir()
		command := filepath.Join(dir, "dace")
		args := slices.Concat([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags=" + linkFlags, "-o", command}, kind.args, []string{"./kernel"})
		cmd := exec.CommandContext(b.Context(), "go", args...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		info, err := os.Stat(command)
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%s: %.1f MB", kind.name, float64(info.Size())/(1<<20))
		prefix := filepath.Join(dir, "prefix")
		if out, err := exec.CommandContext(b.Context(), command, "install", "-prefix", prefix).CombinedOutput(); err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		specs[kind.name] = filepath.Join(prefix, "share/jupyter/kernels/dace")
		if _, err := startOf(b.Context(), specs[kind.name], dir); err != nil { // the file is in memory then
			b.Fatal(err)
		}
	}
	work := b.TempDir()
	for b.Loop() {
		for _, kind := range kinds {
			s, err := startOf(b.Context(), specs[kind.name], work)
			if err != nil {
				b.Fatal(err)
			}
			starts[kind.name] = append(starts[kind.name], s)
		}
	}
	for unit, of := range map[string]func(start) float64{
		"ms": func(s start) float64 { return s.wall }, "cpu-ms": func(s start) float64 { return s.processor },
		"MB": func(s start) float64 { return s.resident },
	} {
		middle := map[string]float64{}
		for name, all := range starts {
			v := make([]float64, len(all))
			for i, s := range all {
				v[i] = of(s)
			}
			slices.Sort(v)
			middle[name] = v[len(v)/2]
			b.ReportMetric(middle[name], unit+"/"+name)
		}
		b.ReportMetric(middle["with"]-middle["without"], unit+"/farm")
	}
}
