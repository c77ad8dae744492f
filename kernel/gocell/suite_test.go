package gocell

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// suiteDir is the folder with the tests of the Go language: about a thousand
// programs, each of which prints nothing, or the contents of the file beside
// it:
//
//	go test ./kernel/gocell -run TestSuite -timeout 1h -suite $(go env GOROOT)/test
//
// testdata/suite.txt lists the programs that fail, and why; the list must be exact. The
// suite takes some ten minutes on two cores, so it runs only with the flag.
var suiteDir = flag.String("suite", "", "folder of the `tests` of the Go language, to run them as cells")

// suiteProgram names the environment variable that is set for a process that
// runs one program of the suite.
const suiteProgram = "GOCELL_SUITE_PROGRAM"

func TestSuite(t *testing.T) {
	if *suiteDir == "" {
		t.Skip("wants -suite")
	}
	known := map[string]bool{}
	list, err := os.ReadFile("testdata/suite.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		if name, _, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "#") {
			known[name] = true
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := make(chan string)
	var wg sync.WaitGroup
	var mu sync.Mutex // guards passed
	passed := 0
	for range runtime.NumCPU() {
		wg.Go(func() {
			for name := range programs {
				cmd := exec.CommandContext(t.Context(), exe, "-test.run", "^TestSuiteProgram$")
				cmd.Env = append(os.Environ(), suiteProgram+"="+filepath.Join(*suiteDir, name))
				cmd.Dir = t.TempDir()
				out, err := cmd.CombinedOutput()
				mu.Lock()
				switch {
				case err == nil && known[name]:
					t.Errorf("%s passes: it is no longer to be in the list", name)
				case err == nil:
					passed++
				case !known[name]:
					t.Errorf("%s: %v\n%s", name, err, out)
				}
				mu.Unlock()
			}
		})
	}
	run := regexp.MustCompile(`(?m)^// run *$`)
	err = filepath.WalkDir(*suiteDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.Contains(path, ".dir/") {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil && run.Match(text) {
			name, _ := filepath.Rel(*suiteDir, path)
			programs <- filepath.ToSlash(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	close(programs)
	wg.Wait()
	t.Logf("%d programs pass, %d are known to fail", passed, len(known))
}

// TestSuiteProgram runs the program that the environment variable names, pasted
// into a cell.
func TestSuiteProgram(t *testing.T) {
	file := os.Getenv(suiteProgram)
	if file == "" {
		return
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(strings.TrimSuffix(file, ".go") + ".out")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	w := &enginetest.Recorder{}
	_, err = s.Execute(ctx, engine.Cell{Number: 1, Code: string(text)}, w)
	var e *engine.Error
	if errors.As(err, &e) && strings.HasPrefix(e.Message, "os.Exit(0)") {
		err = nil
	} else if errors.As(err, &e) {
		t.Fatalf("%s: %s", e.Name, enginetest.Plain(e.Text()))
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := w.Text(enginetest.Stdout) + w.Text(enginetest.Stderr); got != string(want) {
		t.Error(difference(got, string(want)))
	}
}
