package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// needPython skips the test if a Python module is missing; with
// DACE_REQUIRE_CLIENTS=1 it fails the test instead.
func needPython(t *testing.T, module string) {
	t.Helper()
	if exec.Command(python, "-c", "import "+module).Run() == nil {
		return
	}
	text := "the Debian package python3-" + strings.ReplaceAll(module, "_", "-") + " is missing"
	if os.Getenv("DACE_REQUIRE_CLIENTS") == "1" {
		t.Fatal(text)
	}
	t.Skip(text)
}

// python is Debian's Python, which finds the packages that Debian installs.
const python = "/usr/bin/python3"

// writeSpec writes a kernelspec that makes the test binary a kernel. Jupyter's
// programs find it with JUPYTER_PATH=dir.
func writeSpec(t *testing.T, dir string) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	spec := filepath.Join(dir, "kernels", "dace")
	if err := os.MkdirAll(spec, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(spec, "kernel.json"), fmt.Sprintf(`{"argv": [%q, "jupyter", "-f", "{connection_file}"], "env": {"DACE_BE_THE_COMMAND": "1"},
		"display_name": "Go (dace)", "language": "go", "interrupt_mode": "message"}`, exe))
}

// staleLine is what a kernel says below a cell that changes what others have read.
var staleLine = regexp.MustCompile(`(?m)^Stale: In\[.*(\n|$)`)

var clientEvery = flag.Int("client.every", 5, "TestCellsByClient and TestMagicsByClient: run one of so many cases; 1 is all")

// TestCellsByClient runs cells of package gocell's TestCells through Jupyter's own
// client, with the kernel as a process reached over ZeroMQ. The outputs must
// be the same as those of the engine alone.
func TestCellsByClient(t *testing.T) { throughClient(t, "gocell/testdata/cells.txt") }

// TestMagicsByClient does the same with the cells of package gocell's TestMagics.
func TestMagicsByClient(t *testing.T) { throughClient(t, "gocell/testdata/magics.txt") }

func throughClient(t *testing.T, file string) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts 60 kernels")
	}
	needPython(t, "jupyter_client")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var cases, wants [][]string
	for i, c := range strings.Split("\n"+string(b), "\n### ")[1:] {
		if i%*clientEvery != 0 {
			continue
		}
		name, body, _ := strings.Cut(c, "\n")
		var codes, shows []string
		for _, step := range strings.Split(body, "\n---\n") {
			code, want, _ := strings.Cut(step, "\n>>>\n")
			codes, shows = append(codes, code), append(shows, strings.TrimSpace(want))
		}
		names, cases, wants = append(names, name), append(cases, codes), append(wants, shows)
	}
	dir := t.TempDir()
	t.Cleanup(func() {
		// The compiler of a kernel that was killed may go on writing for a moment.
		for range 100 {
			if os.RemoveAll(dir) == nil {
				return
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	writeSpec(t, dir)
	script, err := filepath.Abs("testdata/cells.py")
	if err != nil {
		t.Fatal(err)
	}
	// Each client starts its kernels one after the other.
	const clients = 4
	gots := make([][]string, len(cases))
	var wg sync.WaitGroup
	for k := range clients {
		wg.Go(func() {
			var mine [][]string
			for i := k; i < len(cases); i += clients {
				mine = append(mine, cases[i])
			}
			raw, err := json.Marshal(mine)
			if err != nil {
				t.Error(err)
				return
			}
			file := filepath.Join(dir, fmt.Sprintf("cases%d.json", k))
			if err := os.WriteFile(file, raw, 0o644); err != nil {
				t.Error(err)
				return
			}
			cmd := exec.CommandContext(t.Context(), python, script, "dace", file)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "JUPYTER_PATH="+dir, "JUPYTER_RUNTIME_DIR="+filepath.Join(dir, "runtime"), "HOME="+dir, "XDG_STATE_HOME=")
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			var shown [][]string
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if err == nil {
				err = json.Unmarshal([]byte(lines[len(lines)-1]), &shown)
			}
			if err != nil || len(shown) != len(mine) {
				t.Errorf("the client: %v\n%s\n%s", err, out, &errs)
				return
			}
			for j, s := range shown {
				gots[k+j*clients] = s
			}
		})
	}
	wg.Wait()
	n := 0
	for i, name := range names {
		for j, got := range gots[i] {
			n++
			want := wants[i][j]
			sub, part := strings.CutPrefix(want, "~")
			got = staleLine.ReplaceAllString(got, "") // the cells are written for sessions that do not say it
			if got = strings.TrimSpace(got); part && !strings.Contains(got, strings.TrimSpace(sub)) || !part && got != want {
				t.Errorf("%s, In[%d]:\n%s\ngot:\n%s\nwant:\n%s", name, j+1, cases[i][j], got, want)
			}
		}
	}
	t.Logf("%d cells", n)
}
