//go:build !release

package gocell

import (
	"context"
	"flag"
	"log"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// TestOwnMachine runs the cells of testdata/cells.txt as package compile compiles
// them. testdata/compiled.txt lists those that show what they are to show; the
// test fails for one of them that does not.
//
//	go test ./kernel/gocell -run TestOwnMachine -compiled
//
// runs all of them, each in a process of its own, and writes the list anew.
var rewriteCompiled = flag.Bool("compiled", false, "find the cells that package compile compiles, and list them")

const compiledList = "testdata/compiled.txt"

func TestOwnMachine(t *testing.T) {
	if raceDetector {
		t.Skip("the detector's memory and time are others")
	}
	t.Setenv(MachineVariable, "compile")
	text, err := os.ReadFile("testdata/cells.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := map[string]string{}
	var names []string
	for _, c := range strings.Split("\n"+string(text), "\n### ")[1:] {
		name, body, _ := strings.Cut(c, "\n")
		cases[name] = body
		names = append(names, name)
	}
	if *rewriteCompiled {
		listCompiled(t, names)
		return
	}
	list, err := os.ReadFile(compiledList)
	if err != nil {
		t.Fatal(err)
	}
	only := os.Getenv(oneCase)
	for name := range strings.Lines(string(list)) {
		name = strings.TrimSpace(name)
		if only == "" {
			t.Run(name, func(t *testing.T) { runOwnCase(t, cases[name]) })
		}
	}
	if only != "" {
		runOwnCase(t, cases[only])
	}
}

// oneCase names the environment variable for a process that runs one case.
const oneCase = "GOCELL_ONE_CASE"

// listCompiled writes the list of the cases that pass.
func listCompiled(t *testing.T, names []string) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var passed strings.Builder
	count := 0
	for _, name := range names {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		cmd := exec.CommandContext(ctx, exe, "-test.run", "^TestOwnMachine$")
		cmd.Env = append(os.Environ(), oneCase+"="+name)
		out, err := cmd.CombinedOutput()
		cancel()
		if err == nil {
			passed.WriteString(name + "\n")
			count++
		} else {
			t.Logf("%s:\n%s", name, out)
		}
	}
	t.Logf("%d of %d pass", count, len(names))
	if err := os.WriteFile(compiledList, []byte(passed.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// resetLog gives the process's package log, which cells have, what it has at the start.
func resetLog() {
	log.SetOutput(os.Stderr)
	log.SetFlags(log.LstdFlags)
	log.SetPrefix("")
}

// runOwnCase runs the cells of a case; enginetest.Cells explains them.
func runOwnCase(t *testing.T, body string) {
	if body == "" {
		t.Fatal("there is no case of this name")
	}
	resetLog()
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	out := answering()
	for i, step := range strings.Split(body, "\n---\n") {
		cell, want, _ := strings.Cut(step, "\n>>>\n")
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		got := enginetest.Show(ctx, s, engine.Cell{Number: i + 1, Code: cell}, out)
		cancel()
		want = strings.TrimSpace(want)
		if part, ok := strings.CutPrefix(want, "~"); ok && strings.Contains(got, strings.TrimSpace(part)) || strings.TrimSpace(got) == want {
			continue
		}
		t.Errorf("In[%d]:\n%s\ngot:\n%s\nwant:\n%s", i+1, cell, got, want)
	}
}
