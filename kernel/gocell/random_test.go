package gocell

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/internal/randomtest"
)

// Other seeds generate other programs:
//
//	go test ./kernel/gocell -run Random -random.seed 1000 -random.programs 500
//	go test ./kernel/gocell -run MixedPrograms -timeout 10h -random.seed 1000 -random.mixed 10000
var (
	randomSeed     = flag.Uint64("random.seed", 1, "seed of the first random program")
	randomPrograms = flag.Int("random.programs", 24, "number of random programs")
	mixedPrograms  = flag.Int("random.mixed", 40, "number of random programs that mix types, methods and goroutines")
	mixedBatch     = flag.Int("random.batch", 250, "number of these that are built together, and run in one session")
)

func TestRandomPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dir := t.TempDir()
	var files []string
	for i := range uint64(*randomPrograms) {
		seed := *randomSeed + i
		file := filepath.Join(dir, fmt.Sprintf("seed_%d.go", seed))
		if err := os.WriteFile(file, []byte(randomtest.Program(seed)), 0o644); err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	want := runCompiled(t, files)
	for i, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		got := runCells(t, []string{string(text)})
		if got != want[i] {
			t.Errorf("%s:\n%s\npanic %q, compiled %q\n%s", filepath.Base(file), difference(got.out, want[i].out), got.panicked, want[i].panicked, text[strings.Index(string(text), "\nfunc main() {"):])
		}
	}
}

// The programs of randomtest.Mixed print the same in cells as in Go. A program is two
// cells, its declarations and its statements: those of an even seed stand at the top
// of the cell, the others in a function.
//
// Seeds 10001 to 11000, 30251 to 31250 and 50001 to 51000 have run, 3000 programs in an
// hour on a loaded machine: by processor time 0.09 s each, most of it Go's compiler. Of
// the first 2000, 14 differed, all in the order of an assertion and the calls after it;
// run again, none: see testdata/programs/panicorder.go.
func TestMixedPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("wants the go command")
	}
	differ, ran, start := 0, 0, time.Now()
	var inGo, inCells time.Duration
	for first := 0; first < *mixedPrograms; first += *mixedBatch {
		var batch []randomtest.MixedProgram
		for i := first; i < min(first+*mixedBatch, *mixedPrograms); i++ {
			batch = append(batch, randomtest.Mixed(*randomSeed+uint64(i)))
		}
		before := time.Now()
		want := mixedInGo(t, goTool, batch)
		if want == nil {
			continue
		}
		ran += len(batch)
		between := time.Now()
		got := mixedInCells(t, batch)
		inGo, inCells = inGo+between.Sub(before), inCells+time.Since(between)
		for i, p := range batch {
			if got[i] != want[i] {
				if differ++; differ <= 40 {
					t.Errorf("seed %d:\n%s\n%s", p.Seed, difference(got[i], want[i]), p.Body)
				}
			}
		}
		t.Logf("%d of %d programs from seed %d on differ; %v, of which %v in Go and %v in cells", differ, ran, *randomSeed,
			time.Since(start).Round(time.Second), inGo.Round(time.Second), inCells.Round(time.Second))
	}
}

// mixedInGo returns what the programs print that are built into one; nil if Go fails.
func mixedInGo(t *testing.T, goTool string, batch []randomtest.MixedProgram) (outputs []string) {
	dir := t.TempDir()
	var text, calls strings.Builder
	text.WriteString("package main\n" + randomtest.MixedHelpers)
	for i, p := range batch {
		fmt.Fprintf(&text, "//line seed_%d.go:1\n%s\nfunc program%d() {\n%s}\n", p.Seed, p.Declare, i, p.Body)
		fmt.Fprintf(&calls, "begin()\nprogram%d()\nfmt.Print(%q)\n", i, mixedEnd)
	}
	text.WriteString("func main() {\n" + calls.String() + "}\n")
	for name, text := range map[string]string{"go.mod": "module mixed\n\ngo 1.26\n", "main.go": text.String()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), goTool, "build", "-gcflags=-N -l -dwarf=false", "-ldflags=-s -w", "-o", "program", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod -trimpath", "GOWORK=off", "CGO_ENABLED=0", "GOGC=400")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go build: %v\n%.4000s", err, out)
		return nil
	}
	out, err := exec.CommandContext(t.Context(), filepath.Join(dir, "program")).CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out[max(0, len(out)-4000):])
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	outputs = strings.Split(string(out), mixedEnd)
	return outputs[:len(batch)]
}

// mixedEnd ends what a program prints.
const mixedEnd = "\x00\n"

// mixedInCells returns what the programs print in a session.
func mixedInCells(t *testing.T, batch []randomtest.MixedProgram) (outputs []string) {
	s, err := New(Options{KeepStdio: true, KeepStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	run := func(n int, code string) string {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		w := &enginetest.Recorder{}
		_, err := s.Execute(ctx, engine.Cell{Number: n, Code: code}, w)
		out := w.Text(enginetest.Stdout) + w.Text(enginetest.Stderr)
		var e *engine.Error
		if errors.As(err, &e) {
			out += e.Name + ": " + enginetest.Plain(e.Text())
		} else if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if out := run(1, randomtest.MixedHelpers); out != "" {
		t.Fatal(out)
	}
	for i, p := range batch {
		body := p.Body
		if p.Seed%2 == 1 {
			body = "func() {\n" + body + "}()\n"
		}
		outputs = append(outputs, run(2*i+2, p.Declare)+run(2*i+3, "begin()\n"+body+";"))
	}
	return outputs
}
