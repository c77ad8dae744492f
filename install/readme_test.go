package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLinks checks that the links of all guides lead to files and headings that are
// there.
func TestLinks(t *testing.T) {
	links := 0
	for _, name := range repositoryFiles(t) {
		if !strings.HasSuffix(name, ".md") {
			continue
		}
		text, err := os.ReadFile("../" + name)
		if errors.Is(err, os.ErrNotExist) {
			continue // deleted, and the deletion is not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		text = regexp.MustCompile("(?sm)^```.*?^```$|`[^`]*`").ReplaceAll(text, nil)
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(string(text), -1) {
			file, heading, _ := strings.Cut(link[1], "#")
			if strings.Contains(file, "://") {
				continue
			}
			links++
			to := path.Join("..", path.Dir(name), file)
			if file == "" {
				to = "../" + name
			}
			page, err := os.ReadFile(to)
			if info, e := os.Stat(to); e == nil && info.IsDir() {
				err = nil
			}
			if err != nil {
				t.Errorf("%s: a link leads nowhere: %v", name, err)
			} else if heading != "" && !slices.Contains(anchors(page), heading) {
				t.Errorf("%s: %s has no heading %s", name, file, heading)
			}
		}
	}
	if links < 50 {
		t.Errorf("%d links were found: is the pattern still right?", links)
	}
}

// anchors returns the names by which links lead to a page's headings.
func anchors(page []byte) (names []string) {
	for _, m := range regexp.MustCompile("(?m)^#+ (.*)$").FindAllSubmatch(page, -1) {
		kept := regexp.MustCompile(`[^\w -]`).ReplaceAll(bytes.ToLower(m[1]), nil)
		names = append(names, strings.ReplaceAll(string(kept), " ", "-"))
	}
	return names
}

// TestReadme runs the README's cells, and checks that it is short: a page, not a
// report.
func TestReadme(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	prose := regexp.MustCompile("(?sm)^```.*?^```$").ReplaceAll(text, nil)
	if lines, numbers := bytes.Count(text, []byte("\n")), len(regexp.MustCompile(`\d+([.,]\d+)*`).FindAll(prose, -1)); lines > 120 || numbers > 25 {
		t.Errorf("it has %d lines and %d numbers; at most 120 and 25 are wanted", lines, numbers)
	}
	guides, err := filepath.Glob("../*/docs/*.md")
	if err != nil || len(guides) < 10 {
		t.Fatalf("%d guides, %v", len(guides), err)
	}
	for _, guide := range guides {
		if name := strings.TrimPrefix(filepath.ToSlash(guide), "../"); !bytes.Contains(text, []byte("]("+name+")")) {
			t.Errorf("the list of guides lacks %s", name)
		}
	}
	cells := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllSubmatch(text, -1)
	if len(cells) == 0 {
		t.Fatal("there is no cell in it")
	}
	dace, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	for _, cell := range cells {
		cmd := exec.CommandContext(t.Context(), dace, "script", "-")
		cmd.Dir = t.TempDir() // figures are saved where the script runs
		cmd.Stdin = strings.NewReader(string(cell[1]))
		cmd.Env = append(os.Environ(), "GODEBUG=cpu.avx512f=off") // the same digits on all processors
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, out, cell[1])
		}
		drawn, err := readPNG(filepath.Join(cmd.Dir, "script-1.png"))
		if shown, e := readPNG("portfolio.png"); err != nil || e != nil || !reflect.DeepEqual(drawn, shown) {
			t.Errorf("install/portfolio.png is not what the cell draws: %v, %v. `dace script` of the cell writes it", err, e)
		}
	}
}

// readPNG reads a picture. Its bytes depend on the version of Go that has compressed it.
func readPNG(name string) (image.Image, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return png.Decode(bytes.NewReader(b))
}

// TestReadmePicture checks that the README's picture is of the notebook as it is
// committed: `install/jupyterlab/run.sh screenshot`, which takes it, writes the
// notebook's SHA-256 into the file.
func TestReadmePicture(t *testing.T) {
	picture, err := os.ReadFile("screenshot.png")
	if err != nil {
		t.Fatal(err)
	}
	notebook, err := os.ReadFile("../notebooks/quickstart.ipynb")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Appendf(nil, "tEXtNotebook\x00%x", sha256.Sum256(notebook)); !bytes.Contains(picture, want) {
		t.Error("install/screenshot.png is not of notebooks/quickstart.ipynb as it is: run install/jupyterlab/run.sh screenshot, with the kernel installed")
	}
}

// TestCheatSheet checks that the cheat sheet as a PDF is one page, and of the guide as it
// is committed.
func TestCheatSheet(t *testing.T) {
	pdf, err := os.ReadFile("../kernel/docs/cheatsheet.pdf")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../kernel/docs/cheatsheet.md")
	if err != nil {
		t.Fatal(err)
	}
	if want := fmt.Appendf(nil, "%%of %x\n", sha256.Sum256(page)); !bytes.HasSuffix(pdf, want) {
		t.Error("kernel/docs/cheatsheet.pdf is not of cheatsheet.md as it is: run install/jupyterlab/run.sh cheatsheet")
	}
	if n := len(regexp.MustCompile(`/Type /Page\b`).FindAll(pdf, -1)); n != 1 {
		t.Errorf("kernel/docs/cheatsheet.pdf has %d pages", n)
	}
}
