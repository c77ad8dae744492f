package gocell

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dace.local/kernel/internal/randomtest"
)

// Other seeds generate other programs:
//
//	go test ./kernel/gocell -run Random -random.seed 1000 -random.programs 500
//
// With -random.beside the interpreter and the machine of MachineVariable run them, one
// beside the other: that takes no builds, and finds where one of the two differs from Go.
var (
	randomSeed     = flag.Uint64("random.seed", 1, "seed of the first random program")
	randomPrograms = flag.Int("random.programs", 24, "number of random programs")
	randomBeside   = flag.Bool("random.beside", false, "compare the two machines, and neither with Go")
)

func TestRandomPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if *randomBeside {
		randomBesides(t)
		return
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

func randomBesides(t *testing.T) {
	for seed := *randomSeed; seed < *randomSeed+uint64(*randomPrograms); seed++ {
		text := randomtest.Program(seed)
		t.Setenv(MachineVariable, "")
		want := runCells(t, []string{text})
		t.Setenv(MachineVariable, "compile")
		if got := runCells(t, []string{text}); got != want {
			t.Errorf("seed %d:\n%s\ncompiled here: panic %q, interpreted %q", seed, difference(got.out, want.out), got.panicked, want.panicked)
		}
	}
}
