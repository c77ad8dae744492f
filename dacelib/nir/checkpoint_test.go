package nir

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// kept returns settings of a training that takes a second and writes its state
// after every step.
func kept(path string) Settings {
	s := small()
	s.BatchNorm, s.Checkpoint, s.CheckpointEvery = true, path, 1
	return s
}

// sameModel compares everything that a training determines.
func sameModel(t *testing.T, what string, got, want *Model) {
	t.Helper()
	if !slices.Equal(got.params, want.params) || !slices.Equal(got.stats, want.stats) || got.status != want.status ||
		fmt.Sprintf("%+v", got.History()) != fmt.Sprintf("%+v", want.History()) {
		t.Errorf("%s: the model differs from that of an undisturbed training", what)
	}
}

// undisturbed trains without interruption and without a checkpoint.
func undisturbed(t *testing.T, ps []problem.Problem) *Model {
	t.Helper()
	s := kept("")
	s.Checkpoint = ""
	m, err := Train(bg, ps, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// details returns a hook that collects the details of training events, except
// for the losses.
func details(to *[]string) func(run.Event) {
	return func(e run.Event) {
		if e.Stage == "train" && !strings.HasPrefix(e.Detail, "batch: ") && !strings.HasPrefix(e.Detail, "validation: ") {
			*to = append(*to, e.Detail)
		}
	}
}

// childPath is the environment variable that gives the path of the checkpoint
// to the process that TestCheckpointKill kills.
const childPath = "NIR_TEST_CHECKPOINT"

// TestCheckpointChild is the process that TestCheckpointKill kills: it trains.
func TestCheckpointChild(t *testing.T) {
	path := os.Getenv(childPath)
	if path == "" {
		t.Skip("only as a process of TestCheckpointKill")
	}
	s := kept(path)
	s.OnEvent = func(e run.Event) { fmt.Println("step", e.Step) }
	if _, err := Train(bg, oneMaxes(2, 12), s); err != nil {
		t.Fatal(err)
	}
}

// A training that is killed again and again gives the same model as an
// undisturbed one, and loses no more than the work since its last state.
func TestCheckpointKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	path := filepath.Join(t.TempDir(), "training.npz")
	for kill, after := range []int{5, 1, 11} {
		c := exec.Command(os.Args[0], "-test.run=^TestCheckpointChild$")
		c.Env = append(os.Environ(), childPath+"="+path)
		out, err := c.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		// Expect events about the data and, from the second time on, about the
		// file.
		lines := bufio.NewScanner(out)
		for n := -2; n < after && lines.Scan(); {
			if strings.HasPrefix(lines.Text(), "step ") {
				n++
			}
		}
		time.Sleep(time.Duration(kill) * 7 * time.Millisecond) // sometimes within a step, sometimes while writing
		if err := c.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err == nil {
			t.Fatal("the training ended before it was killed")
		}
		if m, err := Load(path); err != nil || m.training == nil || m.training.step < 1 {
			t.Fatalf("after kill %d: %v", kill, err)
		}
	}
	before, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if before.training.step < 12 {
		t.Errorf("after three kills the training is at step %d", before.training.step)
	}
	s := kept(path)
	var said []string
	s.OnEvent = details(&said)
	m, err := Train(bg, oneMaxes(2, 12), s)
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Sprintf("goes on from step %d, read from %s", before.training.step, path); len(said) != 1 || said[0] != want {
		t.Errorf("events %q, want %q", said, want)
	}
	sameModel(t, "killed three times", m, undisturbed(t, oneMaxes(2, 12)))

	// The file now holds the model, and training again returns it at once.
	loaded, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	sameModel(t, "the file", loaded, m)
	said = nil
	again, err := Train(bg, oneMaxes(2, 12), s)
	if err != nil {
		t.Fatal(err)
	}
	sameModel(t, "trained again", again, m)
	if len(said) != 1 || said[0] != "finished before: read from "+path {
		t.Errorf("trained again: events %q", said)
	}
	if entries, err := os.ReadDir(filepath.Dir(path)); err != nil || len(entries) != 1 {
		t.Errorf("%d files are left (%v)", len(entries), err)
	}
}

// state returns the file of a training that was cancelled after 23 steps.
func state(t *testing.T, path string, ps []problem.Problem) []byte {
	t.Helper()
	ctx, cancel := context.WithCancel(bg)
	defer cancel()
	s := kept(path)
	s.CheckpointEvery = 0
	s.OnEvent = func(e run.Event) {
		if e.Step == 23 {
			cancel()
		}
	}
	if _, err := Train(ctx, ps, s); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	file, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// A damaged file is reported and ignored; the result is the same as without it.
func TestCheckpointDamaged(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ps := oneMaxes(2, 12)
	path := filepath.Join(t.TempDir(), "training.npz")
	file := state(t, path, ps)
	want := undisturbed(t, ps)
	flipped := bytes.Clone(file)
	flipped[len(file)/2] ^= 4
	for name, damaged := range map[string][]byte{
		"a bit flipped": flipped, "cut in the middle": file[:len(file)/2], "its end missing": file[:len(file)-1],
		"empty": {}, "zeros": make([]byte, 4096),
	} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		s := kept(path)
		var said []string
		s.OnEvent, s.CheckpointEvery = details(&said), 0
		m, err := Train(bg, ps, s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(said) != 1 || !strings.HasPrefix(said[0], path+" is damaged and of no use: training from the start") {
			t.Errorf("%s: events %q", name, said)
		}
		sameModel(t, name, m, want)
	}
}

// A file that is not a state of this training is an error and is not changed.
func TestCheckpointRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	ps := oneMaxes(2, 12)
	dir := t.TempDir()
	path := filepath.Join(dir, "training.npz")
	file := state(t, path, ps)
	newer := rewrite(t, file, func(name string, b []byte) []byte {
		if name == "meta.json" {
			return bytes.Replace(b, fmt.Appendf(nil, `"version": %d`, fileVersion), []byte(`"version": 99`), 1)
		}
		return b
	})
	change := func(f func(s *Settings)) Settings {
		s := kept(path)
		f(&s)
		return s
	}
	for _, tc := range []struct {
		name string
		s    Settings
		ps   []problem.Problem
		file []byte
		want string
	}{
		{"settings", change(func(s *Settings) { s.Steps, s.KLWeight = 50, 0.25 }), ps, file, "belongs to another training (Steps 40, not 50; KLWeight 0.0005, not 0.25)"},
		{"seed", change(func(s *Settings) { s.Seed++ }), ps, file, "the same instances with other solutions or values; Seed 4, not 5"},
		{"instances", change(func(s *Settings) {}), []problem.Problem{ps[1], ps[0]}, file, "the instances onemax"},
		{"a text", change(func(s *Settings) {}), ps, []byte("my thesis"), "is not the state of a training, and it is not overwritten"},
		{"a newer version", change(func(s *Settings) {}), ps, newer, "version 99 of the format"},
		{"no folder", change(func(s *Settings) { s.Checkpoint = filepath.Join(dir, "no", "x.npz") }), ps, file, "there is no folder " + filepath.Join(dir, "no")},
		{"a folder", change(func(s *Settings) { s.Checkpoint = dir }), ps, file, "is a directory"},
		{"resume", change(func(s *Settings) { s.Resume = &Model{} }), ps, file, "use one of them"},
		{"negative", change(func(s *Settings) { s.CheckpointEvery = -1 }), ps, file, "must not be negative"},
	} {
		if err := os.WriteFile(path, tc.file, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Train(bg, tc.ps, tc.s); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want an error with %q", tc.name, err, tc.want)
		}
		if now, err := os.ReadFile(path); err != nil || !bytes.Equal(now, tc.file) {
			t.Errorf("%s: the file has changed (%v)", tc.name, err)
		}
	}
	// Settings that do not change a training may differ.
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s := kept(path)
	s.NormaliseSample, s.Workers = 77, 1
	m, err := Train(bg, ps, s)
	if err != nil {
		t.Fatal(err)
	}
	sameModel(t, "another normalising sample", m, undisturbed(t, ps))
	if m.Settings().NormaliseSample != 77 {
		t.Errorf("the normalising sample is of %d", m.Settings().NormaliseSample)
	}
}

// If the file cannot be written, training continues; at the end it returns an
// error together with the model.
func TestCheckpointNotWritten(t *testing.T) {
	ps := oneMaxes(2, 12)
	dir := filepath.Join(t.TempDir(), "new")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := kept(filepath.Join(dir, "training.npz"))
	var said []string
	hear := details(&said)
	s.OnEvent = func(e run.Event) {
		hear(e)
		if e.Stage == "train" && e.Step == 1 {
			os.RemoveAll(dir)
		}
	}
	m, err := Train(bg, ps, s)
	if err == nil || !strings.Contains(err.Error(), "keeping the state of step 40") || m == nil {
		t.Fatalf("%v, %v", m, err)
	}
	if len(said) != 39 || !strings.Contains(said[6], "keeping the state of step 7: open "+dir) {
		t.Errorf("%d events, %q", len(said), said)
	}
	sameModel(t, "never kept", m, undisturbed(t, ps))
}
