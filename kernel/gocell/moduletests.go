package gocell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dace.local/kernel/gocell/internal/magic"
	"dace.local/kernel/internal/system/process"
	"dace.local/kernel/internal/toolchain/module"
)

// %test and %bench of packages run the module's own tests with the go command, as
// its author does; what fails is named by file and line.

// TestPackages implements magic.Host.
func (h host) TestPackages(c *magic.Call, args []string) error {
	goCmd, err := exec.LookPath("go")
	if err != nil {
		return errors.New("tests of packages need the go command, and there is none on PATH")
	}
	dir, args := h.s.fetched.testFolder(args)
	r := &testReport{dir: dir, show: c.Out.Stdout}
	r.module, r.root = "", dir
	if file := module.Find(dir); file != "" && filepath.Base(file) == "go.mod" {
		r.module, r.root = module.PathIn(file), filepath.Dir(file)
	}
	args = append([]string{goCmd, "-C", dir, "test"}, args...)
	err = process.Command{Args: args, Stdout: r.write, Stderr: r.write}.Run(c.Ctx)
	r.flush()
	if c.Ctx.Err() != nil {
		return interrupted("the tests were interrupted, with all that they started")
	}
	if ee := (*exec.ExitError)(nil); errors.As(err, &ee) {
		return r.err()
	}
	return err
}

// testFolder returns the folder to run the go command in, and the arguments as they
// mean there: packages of a module on disk may be named by their import paths, and those
// of one that the working folder is outside of by their folders.
func (g *fetched) testFolder(args []string) (dir string, there []string) {
	dir, err := os.Getwd()
	if err != nil {
		dir = "."
	}
	if !g.used && g.root != "" && module.Find(dir) != g.root {
		_ = g.useRoot(context.Background(), discard{})
	}
	there = slices.Clone(args)
	here := module.Find(dir)
	for i, a := range there {
		path, rest, _ := strings.Cut(a, "/...")
		if strings.HasPrefix(a, ".") || filepath.IsAbs(a) {
			folder, err := filepath.Abs(path)
			file := module.Find(folder)
			if err != nil || file == "" || file == here {
				continue
			}
			root := filepath.Dir(file)
			if rel, err := filepath.Rel(root, folder); err == nil {
				dir, there[i] = root, "./"+filepath.ToSlash(rel)+strings.TrimPrefix(a, path)
			}
			continue
		}
		m := g.moduleOf(path)
		if strings.HasPrefix(a, "-") || m.Path == "" {
			continue
		}
		dir, there[i] = m.Folder, "./"+strings.TrimPrefix(strings.TrimPrefix(path, m.Path), "/")
		if rest != "" || strings.HasSuffix(a, "/...") {
			there[i] = strings.TrimSuffix(there[i], "/") + "/..."
		}
	}
	return dir, there
}

// A testReport shows the output of go test, with the folders of the packages before
// the names of their files.
type testReport struct {
	dir          string // in which go test runs
	module, root string
	show         func(string)
	part         string   // of a line
	lines        []string // of a package whose name is not known yet
	failed       []string // places of failures
}

var (
	packageLineRE = regexp.MustCompile(`^(?:ok  |FAIL|---|\?   )\t(\S+)`)
	testPlaceRE   = regexp.MustCompile(`^(\s+)(?:(\w+): )?([^\s/:]+\.go):(\d+): (.*)`)
	buildPlaceRE  = regexp.MustCompile(`^(\S+\.go):(\d+):(?:\d+:)? .*`)
)

func (r *testReport) write(text string) {
	r.part += text
	for {
		line, rest, ok := strings.Cut(r.part, "\n")
		if !ok {
			return
		}
		r.part = rest
		r.line(line)
	}
}

// line takes a line of output. Those of a package come before the line that names it.
func (r *testReport) line(line string) {
	if m := packageLineRE.FindStringSubmatch(line); m != nil {
		folder := r.folderOf(m[1])
		for _, l := range r.lines {
			r.show(r.placed(l, folder) + "\n")
		}
		r.lines = nil
		r.show(line + "\n")
		return
	}
	if m := buildPlaceRE.FindStringSubmatch(line); m != nil {
		r.failed = append(r.failed, m[0])
	}
	r.lines = append(r.lines, line)
	if strings.HasPrefix(line, "Benchmark") || strings.HasPrefix(line, "=== ") || len(r.lines) > 1000 { // they take long
		r.flush()
	}
}

func (r *testReport) flush() {
	if r.part != "" {
		r.lines, r.part = append(r.lines, r.part), ""
	}
	for _, l := range r.lines {
		r.show(l + "\n")
	}
	r.lines = nil
}

// placed returns a line of a package's output with the folder before a file's name,
// and notes the place.
func (r *testReport) placed(line, folder string) string {
	m := testPlaceRE.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	place := folder + m[3] + ":" + m[4]
	r.failed = append(r.failed, place+": "+m[5])
	return m[1] + place + ": " + m[5]
}

// folderOf returns what stands before the name of a package's file in messages.
func (r *testReport) folderOf(pkg string) string {
	rest, ok := strings.CutPrefix(pkg, r.module)
	if !ok || r.module == "" {
		return ""
	}
	dir := filepath.Join(r.root, filepath.FromSlash(rest))
	if wd, err := os.Getwd(); err == nil {
		if rel, err := filepath.Rel(wd, dir); err == nil {
			if rel == "." {
				return ""
			}
			return filepath.ToSlash(rel) + "/"
		}
	}
	return filepath.ToSlash(dir) + "/"
}

// err returns the error of tests that have failed.
func (r *testReport) err() error {
	switch n := len(r.failed); n {
	case 0:
		return errors.New("a test has failed")
	case 1:
		return errors.New(r.failed[0])
	default:
		return fmt.Errorf("%s (and %d more)", r.failed[0], n-1)
	}
}
