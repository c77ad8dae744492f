package native_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

var fetch = flag.Bool("fetch", false, "run TestFiles and TestUsualModules, which fetch modules and build them")

// TestFetchedBlocks runs the blocks "fetched" of the guides, which want the network or a
// compiler, each guide's in a session beside a module of one's own.
func TestFetchedBlocks(t *testing.T) {
	if !*fetch {
		t.Skip("it fetches modules: -fetch runs it")
	}
	pages, err := filepath.Glob("../../../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		blocks := regexp.MustCompile("(?ms)^```fetched\n(.*?)^```$").FindAllStringSubmatch(string(text), -1)
		if len(blocks) == 0 {
			continue
		}
		t.Run(filepath.Base(page), func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{"mymodule/go.mod": "module example.com/mymodule\n\ngo 1.24\n", "mymodule/m.go": "package mymodule\n\nconst Answer = 42\n", "work/notes": ""} {
				file := filepath.Join(dir, filepath.FromSlash(name))
				if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			t.Chdir(filepath.Join(dir, "work"))
			s := session(t, ready(t))
			for i, b := range blocks {
				ran++
				out := &enginetest.Recorder{}
				if _, err := s.Execute(t.Context(), engine.Cell{Number: i + 1, Code: b[1]}, out); err != nil {
					t.Fatalf("%v\n%s\n%s", err, b[1], out.Text(enginetest.Stderr))
				}
			}
		})
	}
	if ran < 6 {
		t.Errorf("only %d blocks", ran)
	}
}

// TestFiles runs the cells of the page about SQLite and Parquet, and those of
// SQLite among the tasks that are counted beside Python. A block text is what the
// cell before it shows.
func TestFiles(t *testing.T) {
	if !*fetch {
		t.Skip("it fetches modules: -fetch runs it")
	}
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	page, tasks := read("../../../../dacelib/docs/databases.md"), read("../../../../notebooks/tasks.md")
	s := session(t, ready(t))
	t.Chdir(t.TempDir())
	cells := 0
	show := func(code string) string {
		cells++
		out := &enginetest.Recorder{}
		r, err := s.Execute(t.Context(), engine.Cell{Number: cells, Code: code}, out)
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, code, out.Text(enginetest.Stderr))
		}
		text, _ := r.Value.Data["text/plain"].(string)
		return text
	}
	words := func(text string) string { return strings.Join(strings.Fields(text), " ") }
	shown := ""
	for _, m := range regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$").FindAllStringSubmatch(page, -1) {
		if m[1] == "go" {
			shown = show(m[2])
		} else if words(shown) != words(m[2]) {
			t.Errorf("the page says\n%s\nand the cell\n%s", m[2], shown)
		}
	}
	_, block, _ := strings.Cut(tasks, "```fetched\n")
	block, _, _ = strings.Cut(block, "```")
	get, block, _ := strings.Cut(block, "\n")
	compiled, rest, _ := strings.Cut(block, "\ndb := ")
	t.Chdir(t.TempDir())
	show(get)
	show(compiled)
	if got := show("db := " + rest); got != "3" {
		t.Errorf("the task shows\n%s", got)
	}
	if cells < 10 {
		t.Errorf("only %d cells", cells)
	}
}
