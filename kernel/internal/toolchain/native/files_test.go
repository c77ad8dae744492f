package native_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

var fetch = flag.Bool("fetch", false, "run TestFiles and TestUsualModules, which fetch modules and build them")

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
	page, tasks := read("../../../../dacelib/frame/FILES.md"), read("../../../../notebooks/tasks.md")
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
