package gocell

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/notebook"
)

var runProgram = flag.Bool("program.run", false, "run a program that is made of a notebook")

// TestProgramModules makes modules of notebooks that import packages of modules on
// disk, and builds them; with -program.run it also runs one, which links the library.
func TestProgramModules(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	clone, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	root := writeOnDisk(t, `
-- mymod/go.mod --
module example.com/mymod

go 1.24

require example.com/helper/v2 v2.0.0

replace example.com/helper/v2 => ../helper
-- mymod/stats/stats.go --
package stats

import (
	_ "embed"

	"example.com/helper/v2"
)

//go:embed word.txt
var word string

func Word() string { return help.Loud(word) }
-- mymod/stats/word.txt --
word
-- mymod/stats/stats_test.go --
package stats
-- mymod/internal/secret/secret.go --
package secret

const Number = 42
-- mymod/unused/unused.go --
package unused
-- helper/go.mod --
module example.com/helper/v2

go 1.24
-- helper/help.go --
package help

import "strings"

func Loud(s string) string { return strings.ToUpper(strings.TrimSpace(s)) }
-- away/own/go.mod --
module own

go 1.24
-- away/own/mean/mean.go --
package mean

func Of(x ...float64) float64 { return x[0] }
`, "")
	cwd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GOFLAGS", "-mod=mod") // what is needed is in the module cache
	t.Setenv("GOPROXY", "off")
	mod, err := os.ReadFile(filepath.Join(clone, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(clone, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	// made returns the folder of the module that is made of a notebook in a folder.
	made := func(dir string, cells ...string) string {
		t.Helper()
		nb := &notebook.Notebook{}
		for _, c := range cells {
			nb.Cells = append(nb.Cells, &notebook.Cell{Type: notebook.Code, Source: c})
		}
		p, err := Program(nb, "nb", filepath.Join(root, dir))
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()
		if len(p.Lacks) > 0 {
			t.Errorf("the program lacks %q", p.Lacks)
		}
		out := t.TempDir()
		writeFile(t, filepath.Join(out, "main.go"), string(p.Text))
		writeFile(t, filepath.Join(out, "go.mod"), strings.Replace(string(mod), "module "+buildinfo.Module(), "module nb.notebook", 1)+"\nrequire "+buildinfo.Module()+" v0.0.0\n\nreplace "+buildinfo.Module()+" => "+clone+"\n")
		writeFile(t, filepath.Join(out, "go.sum"), string(sum))
		for range 2 { // what was made before is replaced
			relative, err := filepath.Rel(cwd, out)
			if err == nil {
				err = p.Export(relative, "nb.notebook")
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	runs := func(dir, want string) {
		t.Helper()
		verb := "run"
		if !*runProgram {
			verb, want = "vet", ""
		}
		cmd := exec.Command("go", verb, ".")
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=readonly -trimpath", "PWD="+dir)
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%v: %s\nwant %s", err, out, want)
		}
	}
	out := made("mymod", "import \"example.com/mymod/stats\"\nimport \"example.com/mymod/internal/secret\"\nword := stats.Word()",
		"import \"example.com/helper/v2\"\nfmt.Println(word, secret.Number, help.Loud(\"x\"))",
		"%%file fresh.txt\ntext", "%get ../away/own\nimport \"own/mean\"\nmean.Of(3)")
	if err := os.Rename(filepath.Join(root, "mymod"), filepath.Join(root, "elsewhere")); err != nil { // it stands alone
		t.Fatal(err)
	}
	runs(out, "WORD 42 X\n3\n")
	for name, want := range map[string]bool{"modules/example.com/mymod/stats/stats.go": true, "modules/example.com/mymod/stats/word.txt": true, "modules/example.com/mymod/stats/stats_test.go": false, "modules/example.com/mymod/unused": false} {
		if _, err := os.Stat(filepath.Join(out, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	mod, err = os.ReadFile(filepath.Join(out, "go.mod"))
	if err != nil || !strings.HasPrefix(string(mod), "module example.com/mymod/nb.notebook\n") {
		t.Errorf("%v: %.200s", err, mod)
	}
	// What the notebook itself has written; a folder that is no copy of ours stays.
	nb := &notebook.Notebook{Cells: []*notebook.Cell{{Type: notebook.Code, Source: "%%file own/mean/mean.go\npackage mean"}, {Type: notebook.Code, Source: "%get ./own\nimport \"own/mean\"\nmean.Of(3)"}}}
	p, err := Program(nb, "nb", filepath.Join(root, "away"))
	if err != nil || len(p.Lacks) > 0 || strings.Contains(string(p.Text), "WriteFile") {
		t.Fatalf("%v, %q\n%s", err, p.Lacks, p.Text)
	}
	defer p.Close()
	writeFile(t, filepath.Join(out, "modules/own/go.mod"), "module own\n")
	if err := p.Export(out, "nb.notebook"); err == nil || !strings.Contains(err.Error(), "modules/own that dace convert has not written") {
		t.Errorf("a folder of the user's: %v", err)
	}
	nb.Cells = append(nb.Cells[:1], &notebook.Cell{Type: notebook.Code, Source: "%get ./nowhere"})
	lacking, err := Program(nb, "nb", filepath.Join(root, "away"))
	if err != nil || len(lacking.Lacks) != 1 || !strings.Contains(lacking.Lacks[0], "there is no folder ./nowhere") {
		t.Errorf("%v, %q", err, lacking.Lacks)
	}
	defer lacking.Close()
}
