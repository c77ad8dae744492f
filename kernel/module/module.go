// Package module fetches Go modules for a session and tells what is in their
// packages, by way of the go command: GOPROXY, GOFLAGS, GOPRIVATE, GONOSUMDB
// and the module cache are the person's own.
//
// Start with [Store.Get]. The package knows nothing of who compiles or
// interprets what it fetches; what keeps a package from being interpreted is
// said by [Package.Parse].
package module

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// ErrNoGo says that there is no go command.
var ErrNoGo = errors.New("%get needs the go command, and there is none on PATH: install Go (https://go.dev/dl) and start the kernel again")

// A Store is a scratch module whose requirements are what a session has
// fetched. The zero value is empty; its folder is made when it is first
// needed. Methods may be called from several goroutines.
type Store struct {
	mu  sync.Mutex
	dir string
}

// A Module is a module at a version.
type Module struct {
	Path, Version string
	// GoVersion is the language version of its go.mod, "1.17"; "" where it
	// has none.
	GoVersion string
}

func (m Module) String() string { return m.Path + " " + m.Version }

// A Package is a package as the go command lists it.
type Package struct {
	ImportPath string
	Name       string
	Dir        string
	Standard   bool   // of the standard library: the rest is not filled in
	Module     Module // that it belongs to
	// Files are the Go files that its build takes, without folder.
	Files []string
	// Imports are import paths as they stand in the files; ImportMap names
	// the packages that some of them mean.
	Imports   []string
	ImportMap map[string]string
	// Embeds are the files, relative to Dir, that go:embed directives name.
	Embeds []string
	// Foreign are files of other languages that its build takes: assembly,
	// C; cgo files among them.
	Foreign []string
	// Err says why the package cannot be built; "" where nothing is wrong.
	Err string
	// Portable is the same package as another kind of machine builds it, of
	// the same word size but without assembly; nil where that is no other.
	Portable *Package
}

// Size returns the size of the package's Go files in bytes.
func (p *Package) Size() int64 {
	n := int64(0)
	for _, f := range p.Files {
		if i, err := os.Stat(filepath.Join(p.Dir, f)); err == nil {
			n += i.Size()
		}
	}
	return n
}

// A Fetch is what Get has fetched.
type Fetch struct {
	Module Module
	// Path is the package or module that was asked for.
	Path string
	// Packages are those of the module that programs outside may import,
	// sorted by path.
	Packages []*Package
	// All holds these packages and all that they need, by import path.
	All map[string]*Package
}

// Dir returns the folder of the scratch module: its go.mod and go.sum are what
// a build needs to use what was fetched. It is "" while nothing was.
func (s *Store) Dir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir
}

// Close removes the scratch module.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	dir := s.dir
	s.dir = ""
	return os.RemoveAll(dir)
}

// Get fetches the module or package of spec, PATH or PATH@VERSION; without a
// version the latest. The error is a message for a person; after one the store is
// as it was.
func (s *Store) Get(ctx context.Context, spec string) (*Fetch, error) {
	path, version, hasVersion := strings.Cut(spec, "@")
	if err := checkPath(path); err != nil {
		return nil, err
	}
	if hasVersion && version == "" {
		return nil, fmt.Errorf("%s has no version after @: write %s@v1.2.3, or %s for the latest", spec, path, path)
	}
	if version == "none" {
		return nil, errors.New("a module cannot be taken away from a running session: restart the kernel")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	goCmd, err := exec.LookPath("go")
	if err != nil {
		return nil, ErrNoGo
	}
	if s.dir == "" {
		dir, err := os.MkdirTemp("", "dace-modules-")
		if err != nil {
			return nil, fmt.Errorf("cannot make a folder for the session's modules: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module session.local\n\ngo 1.22\n"), 0o666); err != nil {
			return nil, err
		}
		s.dir = dir
	}
	undo, err := s.snapshot()
	if err != nil {
		return nil, err
	}
	f, err := s.get(ctx, goCmd, path, spec)
	if err != nil {
		undo()
		return nil, err
	}
	return f, nil
}

// snapshot returns what puts the scratch module back.
func (s *Store) snapshot() (undo func(), err error) {
	saved := map[string][]byte{}
	for _, name := range []string{"go.mod", "go.sum"} {
		b, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return nil, err
		}
		saved[name] = b
	}
	return func() {
		for name, b := range saved {
			if b == nil {
				_ = os.Remove(filepath.Join(s.dir, name))
			} else {
				_ = os.WriteFile(filepath.Join(s.dir, name), b, 0o666)
			}
		}
	}, nil
}

func (s *Store) get(ctx context.Context, goCmd, path, spec string) (*Fetch, error) {
	if _, err := s.run(ctx, goCmd, nil, "get", "--", spec); err != nil {
		return nil, explain(path, spec, err)
	}
	m, err := s.moduleOf(ctx, goCmd, path)
	if err != nil {
		return nil, err
	}
	tags, err := s.tags(ctx, goCmd)
	if err != nil {
		return nil, err
	}
	patterns := []string{m.Path + "/..."}
	if path != m.Path {
		patterns = append(patterns, path) // also where no file of it is for this machine
	}
	list, err := s.list(ctx, goCmd, patterns, runtime.GOARCH, tags)
	if err != nil {
		return nil, err
	}
	f := &Fetch{Module: m, Path: path, All: map[string]*Package{}}
	odd := false
	for _, p := range list {
		f.All[p.ImportPath] = p
		if p.Standard {
			continue
		}
		odd = odd || len(p.Foreign) > 0 || p.Err != "" || slices.Contains(p.Imports, "unsafe")
		if p.Module.Path == m.Path && p.Name != "main" && !internal(p.ImportPath) && (len(p.Files) > 0 || p.ImportPath == path) {
			f.Packages = append(f.Packages, p)
		}
	}
	slices.SortFunc(f.Packages, func(a, b *Package) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	if !odd {
		return f, nil
	}
	// What is not plain Go may be on a machine that nobody has written
	// assembly for, or where the author asks for plain Go.
	list, err = s.list(ctx, goCmd, patterns, portableArch, append(slices.Clip(tags), plainTags...))
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if q := f.All[p.ImportPath]; p.Standard || p.Err != "" {
			continue
		} else if q == nil {
			f.All[p.ImportPath] = p
		} else if !slices.Equal(p.Files, q.Files) && !slices.ContainsFunc(p.Files, func(n string) bool { return strings.Contains(n, portableArch) }) {
			q.Portable = p
		}
	}
	return f, nil
}

// plainTags ask packages for their variants in plain Go.
var plainTags = []string{"purego", "appengine", "noasm", "nounsafe", "safe"}

// portableArch has the word size and byte order of ours and next to no
// assembly in anybody's packages.
var portableArch = func() string {
	if strconv.IntSize == 64 {
		return "mips64le"
	}
	return "mipsle"
}()

// checkPath says what is wrong with a module path before the network is asked.
func checkPath(path string) error {
	bad := ""
	first, _, _ := strings.Cut(path, "/")
	switch {
	case path == "":
		bad = "it is empty"
	case strings.HasPrefix(path, "-"):
		bad = "it begins with -"
	case strings.Contains(path, "://"):
		bad = "it is an address: leave out what stands before the host's name"
	case strings.ContainsAny(path, " \t\"'`\\*?<>|:") || strings.Contains(path, "..."):
		bad = "it holds a character that no path has"
	case !strings.Contains(first, "."):
		bad = "its first part, " + first + ", is no host's name (packages of the standard library need no %get)"
	case strings.HasPrefix(path, "."):
		bad = "it is relative"
	}
	if bad == "" {
		return nil
	}
	return fmt.Errorf("%q is no module path: %s", path, bad)
}

// internal reports whether a package is for its own module only.
func internal(path string) bool {
	return slices.Contains(strings.Split(path, "/"), "internal")
}

// moduleOf returns the module of the build list that holds a package.
func (s *Store) moduleOf(ctx context.Context, goCmd, path string) (Module, error) {
	var args []string
	for p := path; p != "." && p != "/"; p = parent(p) {
		args = append(args, p)
	}
	out, err := s.run(ctx, goCmd, nil, append([]string{"list", "-mod=readonly", "-e", "-m", "-json=Path,Version,GoVersion,Dir,Error", "--"}, args...)...)
	if err != nil {
		return Module{}, err
	}
	var best Module
	err = decode(out, func(m struct {
		Module
		Error *struct{ Err string }
	}) {
		if m.Error == nil && m.Version != "" && len(m.Path) > len(best.Path) {
			best = m.Module
		}
	})
	if err == nil && best.Path == "" {
		err = fmt.Errorf("the go command fetched %s, but names no module that holds it", path)
	}
	return best, err
}

func parent(p string) string {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return "."
	}
	return p[:i]
}

// tags returns the build tags that the person's GOFLAGS ask for.
func (s *Store) tags(ctx context.Context, goCmd string) ([]string, error) {
	out, err := s.run(ctx, goCmd, nil, "env", "GOFLAGS")
	if err != nil {
		return nil, err
	}
	var tags []string
	for f := range strings.FieldsSeq(string(out)) {
		f = strings.Trim(f, `'"`)
		for _, flag := range []string{"-tags=", "--tags="} {
			if t, ok := strings.CutPrefix(f, flag); ok {
				tags = strings.Split(t, ",")
			}
		}
	}
	return tags, nil
}

// list lists packages with all that they need.
func (s *Store) list(ctx context.Context, goCmd string, patterns []string, arch string, tags []string) ([]*Package, error) {
	args := []string{"list", "-mod=readonly", "-e", "-deps",
		"-json=ImportPath,Name,Dir,Standard,Module,GoFiles,Imports,ImportMap,EmbedFiles,CgoFiles,CFiles,CXXFiles,MFiles,HFiles,FFiles,SFiles,SwigFiles,SwigCXXFiles,SysoFiles,Error"}
	if len(tags) > 0 {
		args = append(args, "-tags="+strings.Join(tags, ","))
	}
	out, err := s.run(ctx, goCmd, []string{"GOARCH=" + arch}, append(append(args, "--"), patterns...)...)
	if err != nil {
		return nil, err
	}
	var list []*Package
	err = decode(out, func(p listed) { list = append(list, p.pkg()) })
	return list, err
}

// listed is the go command's account of a package.
type listed struct {
	Package
	GoFiles, EmbedFiles                                                                    []string
	CgoFiles, CFiles, CXXFiles, MFiles, FFiles, SFiles, SwigFiles, SwigCXXFiles, SysoFiles []string
	Error                                                                                  *struct {
		Pos, Err    string
		ImportStack []string
	}
}

func (l *listed) pkg() *Package {
	p := &l.Package
	if p.Standard {
		return &Package{ImportPath: p.ImportPath, Name: p.Name, Standard: true}
	}
	p.Files, p.Embeds = l.GoFiles, l.EmbedFiles
	p.Foreign = slices.Concat(l.CgoFiles, l.CFiles, l.CXXFiles, l.MFiles, l.FFiles, l.SFiles, l.SwigFiles, l.SwigCXXFiles, l.SysoFiles)
	if l.Error != nil {
		p.Err = strings.TrimSpace(l.Error.Err)
		for _, prefix := range []string{"no required module provides package ", "cannot find module providing package ", "missing go.sum entry for module providing package "} {
			if pkg, ok := strings.CutPrefix(p.Err, prefix); ok {
				pkg = strings.FieldsFunc(pkg, func(r rune) bool { return r == ';' || r == ':' || r == ' ' })[0]
				p.Err = "it was not fetched: %get " + pkg
			}
		}
		if strings.Contains(p.Err, "build constraints exclude all Go files") {
			p.Err = "its build constraints exclude all files in plain Go on " + runtime.GOOS + "/" + runtime.GOARCH + " (cgo is off)"
		}
	}
	return p
}

// decode calls f for each JSON value of a stream.
func decode[T any](b []byte, f func(T)) error {
	for dec := json.NewDecoder(bytes.NewReader(b)); ; {
		var v T
		if err := dec.Decode(&v); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("the go command's answer cannot be read: %w", err)
		}
		f(v)
	}
}

// A commandError is a go command that failed.
type commandError struct {
	stderr string
	err    error
}

func (e *commandError) Error() string {
	if t := strings.TrimSpace(e.stderr); t != "" {
		return t
	}
	return e.err.Error()
}

func (e *commandError) Unwrap() error { return e.err }

// run runs the go command in the scratch module. When ctx ends, the command is
// asked to end and, if it does not, ended.
func (s *Store) run(ctx context.Context, goCmd string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, goCmd, args...)
	cmd.Dir = s.dir
	// Plain Go of this machine; no toolchain is downloaded, for the kernel
	// could not interpret a newer language.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "PWD="+s.dir)
	cmd.Env = append(cmd.Env, env...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	gently(cmd)
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &commandError{stderr.String(), err}
	}
	return out.Bytes(), nil
}
