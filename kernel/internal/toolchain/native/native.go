// Package native builds Go packages with the go command and loads them into
// this process. It is what runs cells that begin with %%compile. A package
// becomes a plugin of the running program: it shares the program's values and
// types, and a call of one of its functions is an ordinary Go call.
//
// The alternatives share neither types nor memory with the program. All ways
// were measured (two cores, on a busy machine; Go 1.26, a 30-bit objective):
//
//	plugin                 0.3-1.1 s to build, 12-29 ms to load; ordinary Go calls
//	shared library         about the same CPU time to build; a second Go run time
//	  (c-shared)           in the process
//	worker process         0.9 s to build; a round trip through pipes is 120 us
//	wasm on wazero         0.9 s to build, 4.2 s to compile again; 0.9 us a call
//
// A cell whose modules conflict with the program's could run only in a worker
// process. It does not, and the cell says which versions conflict: with gob over
// two pipes a call with 30 bools took 11 us at best and 18 in the middle, a call
// with a million float64 21 ms, and 26 ms to start (two cores, load 34).
// Pointers, functions, channels and interfaces would lose their meaning on the
// way, so that few functions of such modules could be exported at all.
//
// Plugins have a price: the C compiler links the program, which grows from 74
// to 90 MB (its start and its resident memory grow by a tenth at most), and
// each plugin takes 2.5 to 3.6 MB that are never freed.
//
// Start with a [Loader]. It works if the program was built with cgo, and if the
// Go toolchain and a C compiler (for linking) are installed. Packages are
// compiled against the source that the program carries (package source), or
// against the clone that it was built in if it carries none. The modules that
// this source requires come from the user's module cache or proxy and are
// checked by go.sum. [Loader.Ready] says what is missing.
package native

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"plugin"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"dace.local/dacelib/files"
	"dace.local/kernel/buildinfo"
	"dace.local/kernel/internal/toolchain/background"
	"dace.local/kernel/setup/source"
)

// A Loader builds and loads packages. The zero value is ready to use.
type Loader struct {
	// Cache is the folder that keeps the plugins that were built; the default
	// is "dace" in the user's cache folder.
	Cache string
	// Shared is the folder with plugins for all users of the installation,
	// which is looked at first; "" for none. Package native only reads it, but
	// for [Loader.Share].
	Shared string
	// MaxAge is how long an unused plugin stays in the cache, and MaxSize is
	// how many bytes the cache may hold. Plugins that a running process has
	// loaded stay in any case. The defaults are 30 days and 1 GiB.
	MaxAge  time.Duration
	MaxSize int64
	// Env is the environment in which the go command and the C compiler are
	// searched for and run; the default is os.Environ().
	Env []string
	// Notice receives a line for the user when a cell is built again because
	// its stored plugin cannot be trusted. The default writes the line to
	// os.Stderr, which is the output of the running cell if a session has
	// redirected it there.
	Notice func(line string)

	mu     sync.Mutex // guards tools and stored
	tools  *toolchain // nil until a toolchain is found
	stored *cache     // nil until it is opened
}

// A toolchain holds the programs, folders and settings for a build.
type toolchain struct {
	goCommand string
	root      string   // folder of the module
	flags     []string // flags of go build that the program was built with
	env       []string
	follow    bool // the process's environment, as cells set it meanwhile
	cache     cache
	goCache   string // the go command's cache, GOCACHE
	// linked holds the import paths of the packages that are linked into the
	// program, nil if they are not known. versions holds the versions of the
	// program's modules by module path.
	linked   map[string]bool
	versions map[string]string
}

// An Unavailable error says why this machine cannot build a package. The
// package itself may be correct, so its cell can be interpreted instead.
type Unavailable struct{ Err error }

func (u *Unavailable) Error() string { return u.Err.Error() }
func (u *Unavailable) Unwrap() error { return u.Err }

// Unavailable marks the error for package compiled.
func (u *Unavailable) Unavailable() {}

// Ready returns nil if packages can be built, else an error for the user that
// says why not. [Loader.Load] loads a plugin that is in the cache even if
// nothing can be built.
func (l *Loader) Ready() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.ready()
	return err
}

// Missing returns nil if the program and the machine have what builds packages,
// else an error for the user that says what is missing. Unlike [Loader.Ready],
// it writes nothing.
func (l *Loader) Missing() error {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return errNoBuildInfo
	}
	_, _, err := l.programs(buildSettings(info))
	return err
}

// errNoBuildInfo is the error of a program without build information.
var errNoBuildInfo = errors.New("the kernel does not know how it was built")

// buildSettings returns the settings of a build by key.
func buildSettings(info *debug.BuildInfo) map[string]string {
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	return set
}

// programs returns the environment for builds and the go command in it, for a
// program with the given build settings.
func (l *Loader) programs(set map[string]string) (env []string, goCommand string, err error) {
	if set["CGO_ENABLED"] != "1" {
		return nil, "", errors.New("the kernel was built without cgo: with a C compiler on the PATH, go run ./install builds one that can; of a release, the one for linux-amd64-glibc can")
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" && runtime.GOOS != "freebsd" {
		return nil, "", errors.New("there are no plugins of Go on " + runtime.GOOS)
	}
	env = l.Env
	if env == nil {
		env = os.Environ()
	}
	if goCommand, err = lookPath("go", env); err != nil {
		return nil, "", errors.New("there is no go command on the PATH")
	}
	cc := "gcc"
	if v := value(env, "CC"); v != "" {
		cc = strings.Fields(v)[0]
	} else if runtime.GOOS != "linux" {
		cc = "clang"
	}
	if _, err := lookPath(cc, env); err != nil {
		return nil, "", fmt.Errorf("there is no C compiler on the PATH (%s), which links what the toolchain compiles", cc)
	}
	return env, goCommand, nil
}

// ready finds the toolchain, once, and checks at each call that its cache
// folders are writable and have enough free space.
func (l *Loader) ready() (*toolchain, error) {
	c, err := l.cache()
	if err != nil {
		return nil, err
	}
	if l.tools == nil {
		t, err := l.look()
		if err != nil {
			return nil, err
		}
		l.tools = &t
	}
	l.tools.cache = c
	if err := room(c.dir, "the cache of compiled cells"); err != nil {
		return nil, err
	}
	if err := room(l.tools.goCache, "the go command's cache"); err != nil {
		return nil, err
	}
	return l.tools, nil
}

// cache opens the cache for this build of the program, once.
func (l *Loader) cache() (cache, error) {
	if l.stored != nil {
		return *l.stored, nil
	}
	base := l.Cache
	if base == "" {
		var err error
		if base, err = buildinfo.CacheDir(); err != nil {
			return cache{}, fmt.Errorf("there is no folder for a cache of compiled cells: %w", err)
		}
	}
	id, err := identity()
	if err != nil {
		return cache{}, fmt.Errorf("the kernel cannot read its own file: %w", err)
	}
	c, notice, err := openCache(base, id)
	if err != nil {
		return c, err
	}
	if notice != "" {
		l.notice(notice)
	}
	l.stored = &c
	return c, nil
}

// notice shows the user a line of text.
func (l *Loader) notice(text string) {
	if text = "%%compile: " + text + "\n"; l.Notice != nil {
		l.Notice(text)
	} else {
		_, _ = os.Stderr.WriteString(text)
	}
}

// look finds the toolchain that fits the running program.
func (l *Loader) look() (toolchain, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return toolchain{}, errNoBuildInfo
	}
	t, err := l.lookFor(buildSettings(info), source.Present(), buildinfo.Clone())
	if err != nil {
		return t, err
	}
	t.versions = map[string]string{}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		t.versions[m.Path] = m.Version
	}
	if text, err := os.ReadFile(filepath.Join(t.root, source.Linked)); err == nil {
		t.linked = map[string]bool{}
		for p := range strings.FieldsSeq(string(text)) {
			t.linked[p] = true
		}
	}
	return t, nil
}

// lookFor finds the toolchain for a program with the given build settings, which
// carries its source or was built in a clone.
func (l *Loader) lookFor(set map[string]string, carried bool, clone string) (t toolchain, err error) {
	if t.env, t.goCommand, err = l.programs(set); err != nil {
		return t, err
	}
	if t.root, err = l.root(carried, clone); err != nil {
		return t, err
	}
	for _, f := range []string{"-race", "-msan", "-asan", "-tags", "-gcflags", "-asmflags", "-trimpath", "-covermode", "-pgo"} {
		if v := set[f]; v != "" && v != "false" {
			t.flags = append(t.flags, f+"="+v)
		}
	}
	// GOTOOLCHAIN: only packages that the same Go version compiles fit the
	// program. GOFLAGS: the user's own flags for the go command (-tags,
	// -mod=vendor) would make packages that differ from the program's; an empty
	// GOFLAGS would not override those that `go env -w` has set.
	t.follow = l.Env == nil
	t.env = append(t.env[:len(t.env):len(t.env)], "CGO_ENABLED=1", "GOTOOLCHAIN="+runtime.Version(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
	if strings.Contains(value(t.env[:len(t.env)-1], "GOFLAGS"), "-modcacherw") {
		t.env = append(t.env, "GOFLAGS=-modcacherw")
	}
	for _, k := range []string{"GOAMD64", "GOARM64", "GOEXPERIMENT"} {
		if v := set[k]; v != "" {
			t.env = append(t.env, k+"="+v)
		}
	}
	if t.goCache, err = goCache(t.goCommand, t.env); err != nil {
		return t, err
	}
	return t, nil
}

// root returns the folder of the module's source: the source that the program
// carries, unpacked into the cache, or the clone.
func (l *Loader) root(carried bool, clone string) (string, error) {
	switch {
	case carried:
		c, err := l.cache()
		if err != nil {
			return "", err
		}
		dir := filepath.Join(c.dir, sourceDir)
		if err := source.Unpack(dir); err != nil {
			return "", fmt.Errorf("the kernel's source cannot be unpacked: %w", err)
		}
		return dir, nil
	case clone == "":
		return "", errors.New("the kernel was built with -trimpath and without its source: go run ./install builds one that carries it")
	}
	if text, err := os.ReadFile(filepath.Join(clone, "go.mod")); err != nil || !bytes.HasPrefix(text, []byte("module "+buildinfo.Module())) {
		return "", fmt.Errorf("the source that the kernel was built from is no longer in %s: run go run ./install where it is now", clone)
	}
	return clone, nil
}

// goCache returns the folder in which the go command caches compiled packages.
// It runs the go command only if the environment does not name the folder.
func goCache(command string, env []string) (string, error) {
	if dir := value(env, "GOCACHE"); filepath.IsAbs(dir) {
		return dir, nil
	}
	cmd := exec.Command(command, "env", "GOCACHE", "GOMODCACHE")
	cmd.Env = env
	out, err := cmd.Output()
	dir, modules, _ := strings.Cut(strings.TrimRight(string(out), "\n"), "\n")
	switch {
	case err != nil:
		return "", fmt.Errorf("the go command does not answer: %w", err)
	case !filepath.IsAbs(dir):
		return "", errors.New("the go command has no folder for its cache: set HOME or GOCACHE")
	case modules == "":
		return "", errors.New("the go command has no folder for modules: set HOME or GOMODCACHE")
	}
	return dir, nil
}

// value returns the last value of a variable in an environment.
func value(env []string, name string) string {
	v := ""
	for _, e := range env {
		if s, ok := strings.CutPrefix(e, name+"="); ok {
			v = s
		}
	}
	return v
}

// lookPath finds a command on the PATH of an environment.
func lookPath(name string, env []string) (string, error) {
	if strings.ContainsRune(name, filepath.Separator) {
		return exec.LookPath(name)
	}
	for _, dir := range filepath.SplitList(value(env, "PATH")) {
		if filepath.IsAbs(dir) {
			if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
				return p, nil
			}
		}
	}
	return "", exec.ErrNotFound
}

// A BuildError holds the go command's messages about a package that does not
// compile.
type BuildError struct{ Output string }

func (e *BuildError) Error() string { return e.Output }

// loaded holds the tables of the packages in this process by import path. Its
// mutex guards tables, and held in cache.go.
var loaded = struct {
	sync.Mutex // guards tables, and held in cache.go
	tables     map[string]map[string]any
}{tables: map[string]map[string]any{}}

// Load builds the package with the given import path, which is below
// dace.local/, loads it, and returns its variable Xˑˑ (a name that no cell
// uses). A path that was loaded before is not built again: a package stays
// loaded as long as the process lives, so callers must never use one path for
// two texts.
//
// sources holds, by import path, the text of the package and of the packages
// that it imports and that are also built from cells. Its other imports come
// from the program's module and, unless modules is "", from the modules that
// the go.mod in the folder modules requires.
//
// The error is a *BuildError if the package does not compile, and an
// [*Unavailable] if the package is not in the cache and cannot be built here. A
// stored plugin that was changed in the cache is not loaded but built again,
// with a notice.
func (l *Loader) Load(ctx context.Context, path string, sources map[string]string, modules string) (map[string]any, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if t, ok := loaded.tables[path]; ok {
		return t, nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.cache()
	if err != nil {
		return nil, &Unavailable{err}
	}
	name := filepath.Base(path)
	if modules != "" {
		sum, err := required(modules)
		if err != nil {
			return nil, err
		}
		name += "-" + sum
	}
	if t, im, ok := l.loadShared(name, modules); ok {
		loaded.tables[path] = t
		im.keep(path)
		return t, nil
	}
	build := func(name string) (*os.File, error) {
		t, err := l.ready()
		if err != nil {
			return nil, &Unavailable{err}
		}
		if err := t.build(ctx, path, sources, modules, name); err != nil {
			return nil, err
		}
		return c.open(name)
	}
	f, err := c.open(name)
	cached := err == nil
	if !cached {
		var d *damage
		if errors.As(err, &d) {
			l.notice("a stored cell is built again: " + d.why)
			if err := os.RemoveAll(c.file(name)); err != nil {
				return nil, &Unavailable{fmt.Errorf("a stored cell cannot be trusted (%w) and cannot be removed: %w", d, err)}
			}
		}
		if f, err = build(name); err != nil {
			return nil, err
		}
		defer sweep(filepath.Dir(c.dir), cmp.Or(l.MaxAge, 30*24*time.Hour), cmp.Or(l.MaxSize, 1<<30))
	}
	t, im, err := open(f, modules)
	if err != nil && cached {
		// The stored plugin was built against other versions of its imports
		// than this session has loaded. Package plugin remembers the failure by
		// the file's name, so the second attempt uses another name.
		f.Close()
		again := name + fmt.Sprintf("-%d", time.Now().UnixNano())
		if f, err = build(again); err != nil {
			return nil, err
		}
		if t, im, err = open(f, modules); err == nil {
			err = c.store(c.file(again), name)
			_ = os.Remove(sumFile(c.file(again)))
		} else {
			_ = remove(c.file(again))
		}
	}
	if err != nil {
		f.Close()
		_ = remove(c.file(name)) // so that it is built again once the cause is gone
		return nil, err
	}
	hold(f)
	loaded.tables[path] = t
	im.keep(path)
	return t, nil
}

// loadShared loads a plugin from the shared cache, if it is there and fits what
// this session has loaded.
func (l *Loader) loadShared(name, modules string) (map[string]any, *image, bool) {
	id, err := identity()
	if l.Shared == "" || err != nil {
		return nil, nil, false
	}
	c, ok := openShared(l.Shared, id)
	if !ok {
		return nil, nil, false
	}
	f, err := c.open(name)
	if err != nil {
		return nil, nil, false
	}
	t, im, err := open(f, modules)
	if err != nil {
		f.Close()
		return nil, nil, false
	}
	hold(f)
	return t, im, true
}

// Share copies the plugins of this build that this user has to the shared
// cache, for all users, and removes there what other builds have left behind. It
// returns the number of new ones.
func (l *Loader) Share() (n int, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Shared == "" {
		return 0, errors.New("this file is not part of an installation: dace install -prefix DIR makes one")
	}
	own, err := l.cache()
	if err != nil {
		return 0, err
	}
	to := cache{dir: filepath.Join(l.Shared, filepath.Base(own.dir)), shared: true, owner: os.Geteuid()}
	if n, err = own.share(to); err != nil {
		return n, err
	}
	to.removeOthers()
	return n, nil
}

// Stored returns the plugin that was built for an import path, in a form that
// [Loader.Accept] takes in another process of the same program; nil if there is
// none.
func (l *Loader) Stored(path string) []byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.cache()
	if err != nil {
		return nil
	}
	name := filepath.Base(path)
	f, err := c.open(name)
	if err != nil {
		return nil
	}
	defer f.Close()
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil
	}
	b, err := io.ReadAll(f)
	if err != nil {
		return nil
	}
	return append([]byte(name+"\n"), b...)
}

// Accept stores a plugin that [Loader.Stored] of another process of the same
// program has returned, so that [Loader.Load] finds it, also where nothing can
// be built. Who can choose the plugin can run code as this user.
func (l *Loader) Accept(stored []byte) error {
	name, plugin, ok := bytes.Cut(stored, []byte{'\n'})
	if !ok || !acceptRE.Match(name) {
		return errors.New("it is no stored plugin")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	c, err := l.cache()
	if err != nil {
		return err
	}
	if f, err := c.open(string(name)); err == nil {
		return f.Close()
	}
	dir, err := os.MkdirTemp(c.dir, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	built := filepath.Join(dir, "plugin.so")
	if err := os.WriteFile(built, plugin, 0o600); err != nil {
		return err
	}
	return c.store(built, string(name))
}

// acceptRE matches the names under which cells are stored.
var acceptRE = regexp.MustCompile(`^c[0-9a-f]{20}$`)

// open loads a plugin and returns its table. modules is the folder of the
// fetched modules that it was built with, "" for none. On Linux, package plugin
// gets a name that leads through the open file: if the verified file has been
// replaced in the meantime, that name no longer exists and nothing is loaded.
func open(f *os.File, modules string) (map[string]any, *image, error) {
	name := f.Name()
	if runtime.GOOS == "linux" {
		name = fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	}
	p, err := plugin.Open(name)
	if err != nil {
		return nil, nil, explainOpen(err, modules)
	}
	s, err := p.Lookup("Table")
	if err != nil {
		return nil, nil, err
	}
	t, ok := s.(*map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("the table of a package is a %T", s)
	}
	im, err := unifyTables(f, unsafe.Pointer(t))
	return *t, im, err
}

// explainOpen adds advice to the error of a plugin that does not load.
func explainOpen(err error, modules string) error {
	_, pkg, ok := strings.Cut(err.Error(), "different version of package ")
	switch {
	case !ok:
		return err
	case modules != "" && !inProgram(pkg, dependencies()):
		return fmt.Errorf("an earlier compiled cell uses another version of package %s than this one, and both cannot be in one session: restart the kernel, and run the lines %%get of both before the first of these cells", pkg)
	case modules != "":
		return fmt.Errorf("what was fetched needs another version of package %s than the kernel is built with; or the clone or the toolchain has changed since that: then run go run ./install again", pkg)
	}
	return fmt.Errorf("package %s is not as it was when the kernel was built: the clone or the toolchain has changed since; run go run ./install again and restart the kernel", pkg)
}

// dependencies returns the modules that the program is built with; those of a
// test are not known.
func dependencies() []*debug.Module {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Deps
	}
	return nil
}

// inProgram reports whether a package is the standard library's, or of a module
// that the program is built with, as far as these are known.
func inProgram(pkg string, modules []*debug.Module) bool {
	first, _, _ := strings.Cut(pkg, "/")
	return !strings.Contains(first, ".") || len(modules) == 0 ||
		slices.ContainsFunc(modules, func(m *debug.Module) bool { return pkg == m.Path || strings.HasPrefix(pkg, m.Path+"/") })
}

// build builds the plugin of a package and stores it in the cache under a name.
// The error is an *Unavailable if the machine is the cause, not the package.
func (t *toolchain) build(ctx context.Context, path string, sources map[string]string, modules, name string) (err error) {
	defer func() {
		for _, e := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG, syscall.EROFS, syscall.EACCES} {
			if errors.Is(err, e) {
				err = &Unavailable{err}
				return
			}
		}
	}()
	dir, err := os.MkdirTemp(t.cache.dir, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The source texts exist only in an overlay: the go command sees them as
	// files of the module, but no file of the module changes.
	// But the C compiler needs files: if one of the packages has a text in C, they are
	// a module of their own, in the folder of the build.
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	ownModule := ""
	if hasC(sources) {
		ownModule = filepath.Join(dir, "cells")
	}
	add := func(ipath, name, text string) error {
		rel := strings.TrimPrefix(ipath, buildinfo.Path(""))
		real := filepath.Join(dir, rel, name)
		if err := os.MkdirAll(filepath.Dir(real), 0o755); err != nil {
			return err
		}
		if ownModule == "" {
			overlay.Replace[filepath.Join(t.root, filepath.FromSlash(rel), name)] = real
		}
		return os.WriteFile(real, []byte(text), 0o644)
	}
	for p, text := range sources {
		name := "cell.go"
		// The key of a file of a package has more below the package's folder.
		if parts := strings.SplitN(strings.TrimPrefix(p, buildinfo.Path("cells/")), "/", 2); len(parts) == 2 {
			p, name = buildinfo.Path("cells/"+parts[0]), parts[1]
		}
		if err := add(p, name, text); err != nil {
			return err
		}
	}
	door := path + "/door"
	if err := add(door, "main.go", "package main\n\nimport cell "+fmt.Sprintf("%q", path)+"\n\nvar Table = cell.Xˑˑ\n\nfunc main() {}\n"); err != nil {
		return err
	}
	if modules != "" {
		if err := addOverlay(overlay.Replace, filepath.Join(modules, "overlay.json")); err != nil {
			return err
		}
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		return err
	}
	list := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(list, text, 0o644); err != nil {
		return err
	}
	plug := filepath.Join(dir, "plugin.so")
	linkFlags := "-s -w -compressdwarf=false"
	if modules == "" && runtime.GOOS == "linux" {
		linker, err := t.linker(dir)
		if err != nil {
			return err
		}
		linkFlags += " '-extld=" + linker + "'"
	}
	args := append([]string{"build", "-buildmode=plugin", "-buildvcs=false", "-overlay=" + list, "-ldflags=" + linkFlags, "-o", plug}, t.flags...)
	if modules == "" && ownModule == "" {
		args = append(args, "-mod=readonly")
	} else {
		file, err := t.require(dir, modules, ownModule)
		if err != nil {
			return err
		}
		choice := []string{"-mod=mod", "-modfile=" + file}
		if err := t.conflict(ctx, append(choice, "-overlay="+list), door); err != nil {
			return err
		}
		args = append(args, choice...)
	}
	var b bytes.Buffer
	cmd := t.command(ctx, append(args, door)...)
	cmd.Stdout, cmd.Stderr = &b, &b
	err = cmd.Start()
	if err == nil {
		if background.Is(ctx) {
			_ = syscall.Setpriority(syscall.PRIO_PGRP, cmd.Process.Pid, 10)
		}
		err = cmd.Wait()
	}
	out := b.Bytes()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && (bytes.Contains(out, []byte("go: download "+runtime.Version())) || bytes.Contains(out, []byte("GOTOOLCHAIN"))):
		return fmt.Errorf("the kernel was built by %s, which is no longer here: run go run ./install again and restart the kernel\n%s", runtime.Version(), bytes.TrimSpace(out))
	case err != nil && machineRE.Match(out):
		return &Unavailable{fmt.Errorf("the go command cannot fetch or write what it needs: %s", bytes.TrimSpace(out))}
	case err != nil:
		return &BuildError{Output: strings.TrimSpace(string(out))}
	}
	return t.cache.store(plug, name)
}

// linker writes a program into dir that links as the C compiler does, and
// returns its name. To Go's linker, which compiles and links a C program for
// each flag that it might pass on, it says no at once: that is half of the
// processor time of a build.
func (t *toolchain) linker(dir string) (string, error) {
	name := filepath.Join(dir, "cc")
	text := "#!/bin/sh\ncase $* in *trivial.c) exit 1 ;; esac\nexec " + cmp.Or(value(t.env, "CC"), "gcc") + " \"$@\"\n"
	return name, files.WriteProgram(name, []byte(text))
}

// followed are the variables that cells may set (%env) also after the first build: none
// of them changes what the program's own packages become.
var followed = []string{"PKG_CONFIG_PATH", "CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH", "GOPROXY", "GOPRIVATE", "GONOPROXY", "GONOSUMDB", "GOSUMDB",
	"GOINSECURE", "GOAUTH", "NETRC", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"}

// command returns a run of the go command in the module. When ctx ends, the
// command and the processes that it has started are killed.
func (t *toolchain) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, t.goCommand, args...)
	cmd.Dir, cmd.Env = t.root, t.env
	for _, name := range followed {
		if v, ok := os.LookupEnv(name); ok && t.follow {
			cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], name+"="+v)
		}
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	return cmd
}

// conflict returns an error if the plugin would link a package in another
// version than the program does. Such a plugin cannot be loaded, and building
// it may take minutes. flags select the modules.
func (t *toolchain) conflict(ctx context.Context, flags []string, pkg string) error {
	if t.linked == nil {
		return nil // open reports the conflict when the plugin does not load
	}
	args := append([]string{"list", "-deps", "-f", "{{with .Module}}{{$.ImportPath}} {{.Path}} {{.Version}}{{end}}"}, flags...)
	out, err := t.command(ctx, append(args, pkg)...).Output()
	if err != nil {
		return ctx.Err() // the build reports what is wrong
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) != 3 || !t.linked[f[0]] {
			continue
		}
		if ours, ok := t.versions[f[1]]; ok && ours != f[2] {
			return &BuildError{Output: fmt.Sprintf("what the cell imports needs %s %s, and the kernel is built with %s: code that is compiled into the kernel can use the kernel's version only. Fetch an older version of what the cell imports (%%get MODULE@VERSION), or use it in a cell without %%%%compile", f[1], f[2], ours)}
		}
	}
	return nil
}

// machineRE matches the messages of builds that fail because of the machine,
// not because of the package.
var machineRE = regexp.MustCompile(`dial tcp|no such host|i/o timeout|TLS handshake|proxyconnect|module lookup disabled|no space left on device|read-only file system|disk quota exceeded|[Ff]ile too large|[Ff]ile size limit exceeded|signal: file size|failed to initialize build cache|build cache is required|module cache not found`)

var requireRE = regexp.MustCompile(`(?m)^\s*(?:require\s+)?([^\s(]+) (v[^\s/]+)(?:\s*//.*)?$`)

// required returns a digest of the go.mod and go.sum in a folder.
func required(modules string) (string, error) {
	h := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(modules, name))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		fmt.Fprintf(h, "%d\n%s", len(text), text)
	}
	return hex.EncodeToString(h.Sum(nil)[:6]), nil
}

var replaceRE = regexp.MustCompile(`(?m)^\s*(?:replace\s+)?(\S+(?: v\S+)? => \S+(?: v\S+)?)\s*$`)

// hasC reports whether a package among the sources is built by the C compiler too.
func hasC(sources map[string]string) bool {
	for p, text := range sources {
		if strings.Contains(text, "\nimport \"C\"\n") || strings.Contains(text, "import \"C\"") && strings.HasSuffix(p, ".go") {
			return true
		}
		switch filepath.Ext(p) {
		case ".c", ".s", ".S", ".h", ".cc", ".cpp", ".cxx":
			return true
		}
	}
	return false
}

// addOverlay adds the files of an overlay on disk, if there is one.
func addOverlay(to map[string]string, file string) error {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var other struct{ Replace map[string]string }
	if err == nil {
		err = json.Unmarshal(text, &other)
	}
	maps.Copy(to, other.Replace)
	return err
}

// require writes into dir a go.mod and a go.sum for the build: those of the
// program's module, with the requirements, replacements and checksums of the ones in
// the folder modules added, if there is one, and with the module of the cells in the
// folder cells, if there is one.
func (t *toolchain) require(dir, modules, cells string) (file string, err error) {
	if cells != "" {
		path := strings.TrimSuffix(buildinfo.Path("cells"), "/")
		if err := os.WriteFile(filepath.Join(cells, "go.mod"), []byte("module "+path+"\n\ngo 1.24\n"), 0o644); err != nil {
			return "", err
		}
		defer func() {
			if err == nil {
				err = appendText(file, "\nrequire "+path+" v0.0.0\n\nreplace "+path+" => "+cells+"\n")
			}
		}()
	}
	if modules == "" {
		modules = dir // which has neither
	}
	var texts [4][]byte
	for i, name := range []string{filepath.Join(t.root, "go.mod"), filepath.Join(modules, "go.mod"), filepath.Join(t.root, "go.sum"), filepath.Join(modules, "go.sum")} {
		if texts[i], err = os.ReadFile(name); err != nil && !errors.Is(err, os.ErrNotExist) {
			return "", err
		}
	}
	mod := bytes.NewBuffer(texts[0])
	for _, m := range requireRE.FindAllSubmatch(texts[1], -1) {
		fmt.Fprintf(mod, "\nrequire %s %s\n", m[1], m[2])
	}
	for _, m := range replaceRE.FindAllSubmatch(texts[1], -1) {
		fmt.Fprintf(mod, "\nreplace %s\n", m[1])
	}
	file = filepath.Join(dir, "go.mod")
	if err := os.WriteFile(file, mod.Bytes(), 0o644); err != nil {
		return "", err
	}
	return file, os.WriteFile(filepath.Join(dir, "go.sum"), append(append(texts[2], '\n'), texts[3]...), 0o644)
}

// appendText appends a text to a file.
func appendText(file, text string) error {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return errors.Join(err, f.Close())
}
