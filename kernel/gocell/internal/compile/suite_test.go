package compile

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// suiteDir is the folder with the tests of the Go language: about a thousand
// programs, each of which prints nothing, or the contents of the file beside
// it:
//
//	go test ./kernel/gocell/internal/compile -run TestSuite -timeout 1h -suite $(go env GOROOT)/test
//
// testdata/suite.txt lists the programs that do not pass, and why; the list must
// be exact, and -update writes it anew.
var suiteDir = flag.String("suite", "", "folder of the `tests` of the Go language, to compile and run them")

// suiteProgram names the environment variable that is set for a process that
// runs one program.
const suiteProgram = "COMPILE_SUITE_PROGRAM"

func TestMain(m *testing.M) {
	if file := os.Getenv(suiteProgram); file != "" {
		runAlone(file)
	}
	os.Exit(m.Run())
}

// runAlone runs a program in this process, and ends it.
func runAlone(file string) {
	text, err := os.ReadFile(file)
	if err == nil {
		p, m, fset, err := program(file, string(text))
		var refusal *Error
		if errors.As(err, &refusal) {
			fmt.Fprintf(os.Stderr, "refused: %s\n", strings.ReplaceAll(refusal.Msg, "\n", " "))
			_ = fset
			os.Exit(3)
		}
		if err == nil {
			p.Init(m)
			p.Main(m)
			os.Exit(0)
		}
		fmt.Fprintf(os.Stderr, "not checked: %v\n", err)
	}
	os.Exit(4)
}

func TestSuite(t *testing.T) {
	if *suiteDir == "" {
		t.Skip("wants -suite")
	}
	known := map[string]bool{}
	list, err := os.ReadFile("testdata/suite.txt")
	if err != nil && !*update {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		if name, _, ok := strings.Cut(line, ": "); ok {
			known[name] = true
		}
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	programs := make(chan string)
	var wg sync.WaitGroup
	var mu sync.Mutex // guards passed and failed
	passed, failed := 0, []string{}
	for range runtime.NumCPU() {
		wg.Go(func() {
			for name := range programs {
				why := runOfSuite(t, exe, filepath.Join(*suiteDir, name))
				mu.Lock()
				if why == "" {
					passed++
				} else {
					failed = append(failed, name+": "+why+"\n")
				}
				if !*update && (why != "") != known[name] {
					t.Errorf("%s: in the list of those that fail: %v, and now: %q", name, known[name], why)
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
	slices.Sort(failed)
	if *update {
		if err := os.WriteFile("testdata/suite.txt", []byte(strings.Join(failed, "")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%d programs pass, %d do not", passed, len(failed))
}

// folders matches what is before the name of a file.
var folders = regexp.MustCompile(`/\S*/`)

// runOfSuite runs a program of the suite, and says why it fails.
func runOfSuite(t *testing.T, exe, file string) string {
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), suiteProgram+"="+file)
	cmd.Dir = t.TempDir()
	out, err := cmd.CombinedOutput()
	want, werr := os.ReadFile(strings.TrimSuffix(file, ".go") + ".out")
	if werr != nil && !errors.Is(werr, os.ErrNotExist) {
		return werr.Error()
	}
	first, _, _ := strings.Cut(string(out), "\n")
	first = folders.ReplaceAllString(first, "")
	first = first[:min(len(first), 150)]
	switch {
	case ctx.Err() != nil:
		return "takes too long"
	case err != nil:
		return fmt.Sprintf("%v: %s", err, first)
	case string(out) != string(want):
		return "it prints something else: " + first
	}
	return ""
}
