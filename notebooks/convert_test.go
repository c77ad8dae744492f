package notebooks_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dace.local/kernel/notebook"
)

var programs = flag.String("programs", "^paper-(figures|tables)$", "the notebooks whose programs TestConverted runs, beside what it does with all: a `regexp`")

// The programs that dace convert makes of the notebooks lack nothing but farms, go vet
// accepts them, and they print what the committed cells have shown.
func TestConverted(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	run := regexp.MustCompile(*programs)
	dace := command(t)
	dir, err := os.MkdirTemp(".", "_programs-") // in the module, where ./... does not see them
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	farms := map[string]bool{"any-solver": true, "farm": true} // whose workers are of the command alone
	all := map[string]*notebook.Notebook{}
	each(t, func(t *testing.T, nb *notebook.Notebook) {
		name := filepath.Base(t.Name())
		all[name] = nb
		main := filepath.Join(dir, name, "main.go")
		if err := os.Mkdir(filepath.Dir(main), 0o755); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.CommandContext(t.Context(), dace, "convert", name+".ipynb", "-to", "go", "-o", main).CombinedOutput(); err != nil || strings.Contains(string(out), "dace convert:") != farms[name] {
			t.Fatalf("%v: %s", err, out)
		}
		marked(t, main)
	})
	names := slices.Sorted(maps.Keys(all))
	if out, err := goTool(t.Context(), dir, "vet", names); err != nil {
		t.Fatalf("go vet: %v\n%s", err, out)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !run.MatchString(name) || farms[name] })
	if len(names) == 0 {
		t.Fatal("no notebook is named so")
	}
	if out, err := goTool(t.Context(), dir, "build", names, "-o", dir+"/bin/"); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), "./"+filepath.Join(dir, "bin", name))
			cmd.Env = append(os.Environ(), "GODEBUG=cpu.avx512f=off") // as they are committed
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if name == "nir" { // at another scale
				return
			}
			stored, again := texts(all[name]), texts(all[name])
			sections := strings.Split(string(out), cellMark)
			for i, c := range slices.DeleteFunc(again.Cells, func(c *notebook.Cell) bool { return c.Type != notebook.Code }) {
				c.Outputs = nil
				if i+1 < len(sections) && sections[i+1] != "" {
					c.Outputs = []*notebook.Output{{Type: notebook.Stream, Name: "stdout", Text: figureLine.ReplaceAllString(sections[i+1], "<figure>")}}
				}
			}
			for _, d := range notebook.Compare(stored, again, notebook.CompareSettings{}) {
				t.Error(d)
			}
		})
	}
}

// command returns the dace command, which is built unless `go run ./install -test` has.
func command(t *testing.T) string {
	dace := os.Getenv("DACE_TEST_COMMAND")
	if dace == "" {
		dace = filepath.Join(t.TempDir(), "dace")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", dace, "../kernel").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	return dace
}

// goTool runs the go command for programs.
func goTool(ctx context.Context, dir, verb string, names []string, flags ...string) ([]byte, error) {
	args := append([]string{verb}, flags...)
	for _, name := range names {
		args = append(args, "./"+filepath.Join(dir, name))
	}
	return exec.CommandContext(ctx, "go", args...).CombinedOutput()
}

// cellMark is printed by the programs where a code cell begins.
const cellMark = "\x00"

var (
	cellLine   = regexp.MustCompile(`(?m)^\t// %%(.*)$`)
	osName     = regexp.MustCompile(`ToText\((\w+)\.Stdout\)`)
	figureLine = regexp.MustCompile(`(?m)^<(figure|[0-9]+ figures).*>$`)
)

// marked has a program print a mark where the text of a code cell begins.
func marked(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	os1 := osName.FindSubmatch(text)
	if os1 == nil {
		t.Fatalf("the program does not show its values as text:\n%s", text)
	}
	text = cellLine.ReplaceAllFunc(text, func(line []byte) []byte {
		if bytes.Contains(line, []byte("[markdown]")) || bytes.Contains(line, []byte("[raw]")) {
			return line
		}
		return fmt.Appendf(bytes.Clone(line), "\n\t%s.Stdout.WriteString(%q)", os1[1], cellMark)
	})
	if err := os.WriteFile(file, text, 0o644); err != nil {
		t.Fatal(err)
	}
}

// texts returns a notebook whose cells have printed all that they have shown, as a
// program does. A figure is a line that begins alike: the rest is its alternative text.
func texts(nb *notebook.Notebook) *notebook.Notebook {
	only := *nb
	only.Cells = nil
	for _, c := range nb.Cells {
		cell := *c
		text := ""
		for _, o := range c.Outputs {
			plain, isText := o.Data["text/plain"].(string)
			_, png := o.Data["image/png"]
			_, svg := o.Data["image/svg+xml"]
			_, bar := o.Metadata[notebook.Progress]
			switch {
			case bar:
			case o.Type == notebook.Stream:
				text += o.Text
			case png || svg:
				text += "<figure>\n"
			case isText:
				text += strings.TrimSuffix(plain, "\n") + "\n"
			default:
				for _, mime := range []string{"text/markdown", "text/latex", "text/html"} {
					if s, ok := o.Data[mime].(string); ok {
						text += strings.TrimSuffix(s, "\n") + "\n"
						break
					}
				}
			}
		}
		cell.Outputs = nil
		if text != "" {
			cell.Outputs = []*notebook.Output{{Type: notebook.Stream, Name: "stdout", Text: text}}
		}
		only.Cells = append(only.Cells, &cell)
	}
	return &only
}
