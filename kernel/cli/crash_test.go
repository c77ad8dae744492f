package cli

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/echo"
)

// words collects what an engine says.
type words struct {
	engine.Outputs
	text strings.Builder
}

func (w *words) Stdout(s string) { w.text.WriteString(s) }
func (w *words) Stderr(s string) { w.text.WriteString(s) }

// fatal is an engine whose cells end the process as no recover can help.
type fatal struct{ engine.Engine }

func (fatal) Execute(context.Context, engine.Cell, engine.Outputs) (engine.Result, error) {
	m := map[int]int{}
	for range 4 {
		go func() {
			for i := 0; ; i++ {
				m[i&1023] = i
			}
		}()
	}
	select {}
}

// TestMain is the kernel that dies where the environment asks for it.
func TestMain(m *testing.M) {
	if file := os.Getenv("DACE_TEST_CRASH"); file != "" {
		eng, _ := keepCrash(file, fatal{echo.New()})
		_, _ = eng.Execute(context.Background(), engine.Cell{Number: 7}, nil)
	}
	os.Exit(m.Run())
}

func TestCrash(t *testing.T) {
	file := filepath.Join(t.TempDir(), "connection.json")
	run := func(number int) string {
		t.Helper()
		eng, over := keepCrash(file, echo.New())
		defer over()
		w := &words{}
		if _, err := eng.Execute(context.Background(), engine.Cell{Number: number, Code: "1"}, w); err != nil {
			t.Fatal(err)
		}
		first := w.text.String()
		w.text.Reset()
		if _, err := eng.Execute(context.Background(), engine.Cell{Number: number, Code: "1"}, w); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(w.text.String(), "last words") {
			t.Errorf("said twice: %s", w.text.String())
		}
		return first
	}
	if got := run(1); strings.Contains(got, "kernel has ended") {
		t.Errorf("a first kernel says: %s", got)
	}
	kernel := exec.Command(os.Args[0])
	kernel.Env = append(os.Environ(), "DACE_TEST_CRASH="+file)
	if err := kernel.Run(); err == nil {
		t.Fatal("two goroutines wrote a map and nothing happened")
	}
	got := run(1)
	for _, want := range []string{"while In[7] ran", "fatal error: two goroutines used one map", "run the cells again"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in:\n%s", want, got)
		}
	}
	if got := run(1); strings.Contains(got, "kernel has ended") {
		t.Errorf("after an orderly end: %s", got)
	}
	if _, err := os.Stat(file + ".crash"); !os.IsNotExist(err) {
		t.Errorf("the note is left: %v", err)
	}
}
