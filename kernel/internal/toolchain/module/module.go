// Package module fetches Go modules for a session and lists their packages. It
// runs the go command with the user's own settings and module cache (GOPROXY,
// GOFLAGS, GOPRIVATE, GONOSUMDB).
//
// Start with [Store.Get]. The package does not depend on the code that compiles
// or interprets the fetched packages. [Package.Parse] lists the reasons why a
// package cannot be interpreted.
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

	"dace.local/dacelib/files"
)

// ErrNoGo is the error of [Store.Get] if there is no go command.
var ErrNoGo = errors.New("%get needs the go command, and there is none on PATH: install Go (https://go.dev/dl) and start the kernel again")

// A Store is a scratch module that requires the modules that a session has
// fetched. The zero value is empty; the module's folder is made at the first
// Get. Methods may be called from several goroutines.
type Store struct {
	mu    sync.Mutex // guards the following, and serializes go commands
	dir   string
	lock  *os.File // a file in dir, locked as long as the session lives
	roots []*root  // go.mod and go.work files on disk that the session uses
	got   []string // MODULE@VERSION of what Get has fetched, in order
	flags string   // GOFLAGS without what names modules; "" until it is known
}

// A Module is a module path with a version.
type Module struct {
	Path, Version string
	// GoVersion is the language version of the module's go.mod, such as "1.17";
	// "" if it has none.
	GoVersion string
	// Folder is the folder of a module on disk, whose files may be edited; "" for
	// one in the module cache.
	Folder string
	// Own says that the module is one that [Store.Use] was asked for, whose internal
	// packages cells may import.
	Own bool
}

func (m Module) String() string {
	if m.Folder != "" {
		return m.Path + " (" + m.Folder + ")"
	}
	return m.Path + " " + m.Version
}

// A Package describes a package, from the output of `go list`.
type Package struct {
	ImportPath string
	Name       string
	Dir        string
	Standard   bool   // in the standard library; the fields below and Dir are then empty
	Module     Module // the module that contains it
	// Files are the names, without folder, of the Go files in the package's
	// build.
	Files []string
	// Imports are the import paths as the files spell them. ImportMap maps
	// those that stand for another package to its path.
	Imports   []string
	ImportMap map[string]string
	// Embeds are the files, relative to Dir, that go:embed directives name.
	Embeds []string
	// Foreign are the files in its build that are not plain Go: assembly, C,
	// and Go files that use cgo.
	Foreign []string
	// Headers are the C headers beside them.
	Headers []string
	// Err says why the package cannot be built; "" if it can.
	Err string
	// Portable is the same package as built for a machine of the same word size
	// for which there is no assembly; nil if there is no such build that
	// differs.
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

// hasGo reports whether the package's build has Go files, perhaps only such that
// use cgo.
func (p *Package) hasGo() bool {
	return len(p.Files) > 0 || slices.ContainsFunc(p.Foreign, func(name string) bool { return strings.HasSuffix(name, ".go") })
}

// A Fetch is the result of [Store.Get].
type Fetch struct {
	Module Module
	// Path is the path that Get was asked for, of a package or module.
	Path string
	// Packages are the packages of the module that code outside of it may
	// import, sorted by path.
	Packages []*Package
	// All holds Packages and all their dependencies, by import path.
	All map[string]*Package
}

// Dir returns the folder of the scratch module, "" if nothing was fetched yet.
// A build that imports fetched packages needs its go.mod and go.sum.
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
	return errors.Join(os.RemoveAll(dir), s.lock.Close())
}

// Get fetches the module or package of spec, which is PATH or PATH@VERSION;
// without a version it fetches the latest. The error is a message for the user;
// after an error the store is unchanged.
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
	goCmd, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if !hasVersion {
		// The latest version of a module that go.mod replaces by a folder is there.
		mod, err := s.read(ctx, goCmd, filepath.Join(s.dir, "go.mod"))
		if err != nil {
			return nil, err
		}
		if dir := mod.folderOf(path); dir != "" {
			return s.useFolder(ctx, goCmd, dir, path)
		}
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
	s.got = append(slices.DeleteFunc(s.got, func(g string) bool { return strings.HasPrefix(g, f.Module.Path+"@") }), f.Module.Path+"@"+f.Module.Version)
	return f, nil
}

// open makes the scratch module, if there is none yet, and returns the go command.
func (s *Store) open(ctx context.Context) (goCmd string, err error) {
	if goCmd, err = exec.LookPath("go"); err != nil {
		return "", ErrNoGo
	}
	if s.dir != "" {
		return goCmd, s.readFlags(ctx, goCmd)
	}
	dir, lock, err := scratch()
	if err != nil {
		return "", fmt.Errorf("cannot make a folder for the session's modules: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module session.local\n\ngo 1.22\n"), 0o666); err != nil {
		return "", errors.Join(err, lock.Close(), os.RemoveAll(dir))
	}
	s.dir, s.lock = dir, lock
	return goCmd, s.readFlags(ctx, goCmd)
}

// Open returns the folder of the scratch module, and makes it if there is none.
func (s *Store) Open(ctx context.Context) (dir string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, err = s.open(ctx)
	return s.dir, err
}

// snapshot returns a function that restores the go.mod and go.sum of the
// scratch module.
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
		return nil, explain(path, spec, askGit(ctx, path, err))
	}
	m, err := s.moduleOf(ctx, goCmd, path)
	if err != nil {
		return nil, err
	}
	patterns := []string{m.Path + "/..."}
	if path != m.Path {
		patterns = append(patterns, path) // list it even if no file of it is for this machine
	}
	f := &Fetch{Module: m, Path: path, All: map[string]*Package{}}
	return f, s.packages(ctx, goCmd, f, patterns)
}

// packages lists the packages that match the patterns into f.
func (s *Store) packages(ctx context.Context, goCmd string, f *Fetch, patterns []string) error {
	tags := s.tags()
	list, err := s.list(ctx, goCmd, patterns, []string{"GOARCH=" + runtime.GOARCH, "CGO_ENABLED=" + cgo()}, tags)
	if err != nil {
		return err
	}
	own := map[string]bool{}
	for _, r := range s.roots {
		for _, m := range r.modules {
			own[m.Path] = true
		}
	}
	odd := false
	for _, p := range list {
		f.All[p.ImportPath] = p
		if p.Standard {
			continue
		}
		p.Module.Own = own[p.Module.Path]
		odd = odd || len(p.Foreign) > 0 || p.Err != "" || slices.Contains(p.Imports, "unsafe")
		if (p.Module.Path == f.Module.Path || f.Module.Path == "" && p.Module.Own) && p.Name != "main" && (!internal(p.ImportPath) || p.Module.Own) && (p.hasGo() || p.ImportPath == f.Path) {
			f.Packages = append(f.Packages, p)
		}
	}
	slices.SortFunc(f.Packages, func(a, b *Package) int { return strings.Compare(a.ImportPath, b.ImportPath) })
	if !odd {
		return nil
	}
	// List the packages again for a machine that has next to no assembly, and
	// with the tags that ask for plain Go: this may give a variant that can be
	// interpreted.
	list, err = s.list(ctx, goCmd, patterns, []string{"GOARCH=" + portableArch}, append(slices.Clip(tags), plainTags...))
	if err != nil {
		return err
	}
	for _, p := range list {
		p.Module.Own = own[p.Module.Path]
		if q := f.All[p.ImportPath]; p.Standard || p.Err != "" {
			continue
		} else if q == nil {
			f.All[p.ImportPath] = p
		} else if !slices.Equal(p.Files, q.Files) && !slices.ContainsFunc(p.Files, func(n string) bool { return strings.Contains(n, portableArch) }) {
			q.Portable = p
		}
	}
	return nil
}

// cgo returns "1" if compiled cells can use packages with cgo, else "0".
func cgo() string {
	if os.Getenv("CGO_ENABLED") == "0" {
		return "0"
	}
	compiler := strings.Fields(os.Getenv("CC"))
	if len(compiler) == 0 {
		compiler = []string{"gcc"}
	}
	if _, err := exec.LookPath(compiler[0]); err != nil {
		return "0"
	}
	return "1"
}

// plainTags are the build tags that select a package's plain Go variant.
var plainTags = []string{"purego", "appengine", "noasm", "nounsafe", "safe"}

// portableArch is an architecture with our word size and byte order for which
// hardly any package has assembly.
var portableArch = func() string {
	if strconv.IntSize == 64 {
		return "mips64le"
	}
	return "mipsle"
}()

// checkPath returns an error for a malformed module path, before any use of the
// network.
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
		bad = "its first part, " + first + ", is no host's name (packages of the standard library need no %get; a folder begins with ./ or /)"
	case strings.HasPrefix(path, "."):
		bad = "it is relative"
	}
	if bad == "" {
		return nil
	}
	return fmt.Errorf("%q is no module path: %s", path, bad)
}

// internal reports whether a package path has an element "internal": only
// packages of the same module may import it.
func internal(path string) bool {
	return slices.Contains(strings.Split(path, "/"), "internal")
}

// moduleOf returns the module of the build list that contains a package.
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

// tags returns the build tags in the user's GOFLAGS.
func (s *Store) tags() (tags []string) {
	for f := range strings.FieldsSeq(s.flags) {
		f = strings.Trim(f, `'"`)
		for _, flag := range []string{"-tags=", "--tags="} {
			if t, ok := strings.CutPrefix(f, flag); ok {
				tags = strings.Split(t, ",")
			}
		}
	}
	return tags
}

// readFlags reads the user's GOFLAGS, and leaves out -mod and -modfile: these are
// about the user's module, and the scratch module is another one.
func (s *Store) readFlags(ctx context.Context, goCmd string) error {
	s.flags = ""
	out, err := s.run(ctx, goCmd, nil, "env", "GOFLAGS")
	if err != nil {
		return err
	}
	s.flags = strings.Join(slices.DeleteFunc(strings.Fields(string(out)), func(f string) bool {
		f = strings.TrimLeft(f, `'"-`)
		return strings.HasPrefix(f, "mod=") || strings.HasPrefix(f, "modfile=")
	}), " ")
	if s.flags == "" {
		s.flags = "-buildvcs=false" // an empty one would not override go env -w
	}
	return nil
}

// list returns the packages that match the patterns, and all their
// dependencies.
func (s *Store) list(ctx context.Context, goCmd string, patterns, env, tags []string) ([]*Package, error) {
	// -mod=mod adds what the module's other packages import to go.mod and
	// go.sum: go get adds only what the package at its path imports.
	args := []string{"list", "-mod=mod", "-e", "-deps",
		"-json=ImportPath,Name,Dir,Standard,Module,GoFiles,Imports,ImportMap,EmbedFiles,CgoFiles,CFiles,CXXFiles,MFiles,HFiles,FFiles,SFiles,SwigFiles,SwigCXXFiles,SysoFiles,Error"}
	if len(tags) > 0 {
		args = append(args, "-tags="+strings.Join(tags, ","))
	}
	args = append(args, s.overlay()...)
	out, err := s.run(ctx, goCmd, env, append(append(args, "--"), patterns...)...)
	if err != nil {
		return nil, err
	}
	var list []*Package
	err = decode(out, func(p listed) { list = append(list, p.pkg()) })
	return list, err
}

// listed is a package in the JSON output of `go list`.
type listed struct {
	Package
	Module *struct {
		Module
		Dir     string
		Main    bool
		Replace *Module
	}
	GoFiles, EmbedFiles                                                                            []string
	CgoFiles, CFiles, CXXFiles, MFiles, HFiles, FFiles, SFiles, SwigFiles, SwigCXXFiles, SysoFiles []string
	Error                                                                                          *struct {
		Pos, Err    string
		ImportStack []string
	}
}

func (l *listed) pkg() *Package {
	p := &l.Package
	if p.Standard {
		return &Package{ImportPath: p.ImportPath, Name: p.Name, Standard: true}
	}
	if m := l.Module; m != nil {
		p.Module = m.Module
		if m.Replace != nil && m.Replace.Version == "" {
			p.Module.Folder = m.Dir
		}
	}
	p.Files, p.Embeds, p.Headers = l.GoFiles, l.EmbedFiles, l.HFiles
	p.Foreign = slices.Concat(l.CgoFiles, l.CFiles, l.CXXFiles, l.MFiles, l.FFiles, l.SFiles, l.SwigFiles, l.SwigCXXFiles, l.SysoFiles)
	if l.Error != nil {
		p.Err = strings.TrimSpace(l.Error.Err)
		if strings.Contains(p.Err, "build constraints exclude all Go files") {
			p.Err = "its build constraints exclude all files on " + runtime.GOOS + "/" + runtime.GOARCH + map[string]string{"0": ", where cgo is off: it may need a C compiler"}[cgo()]
		}
	}
	return p
}

// decode calls f with each JSON value of a stream.
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

// A commandError is the error of a go command that failed.
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

// run runs the go command in the scratch module and returns its output. When
// ctx ends, the command is interrupted, and killed if it does not end soon.
func (s *Store) run(ctx context.Context, goCmd string, env []string, args ...string) ([]byte, error) {
	return s.runIn(ctx, goCmd, s.dir, env, args...)
}

// runIn is run in another folder.
func (s *Store) runIn(ctx context.Context, goCmd, dir string, env []string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, goCmd, args...)
	cmd.Dir = dir
	// Plain Go (no cgo) for this machine, unless env says otherwise. No
	// toolchain is downloaded: the kernel could not interpret a newer language.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GO111MODULE=on", "CGO_ENABLED=0", "GOTOOLCHAIN=local", "GOOS="+runtime.GOOS, "GOARCH="+runtime.GOARCH, "PWD="+dir)
	if s.flags != "" {
		cmd.Env = append(cmd.Env, "GOFLAGS="+s.flags)
	}
	cmd.Env = append(cmd.Env, env...)
	gently(cmd)
	out, stderr, err := files.Output(cmd) // git may leave a process that tidies its repository
	if err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, &commandError{string(stderr), err}
	}
	return out, nil
}
