// Package native builds Go packages with the toolchain and loads them into
// this process: what is behind %%compile. A package becomes a plugin of the
// program that runs, so that its values and types are the program's own and a
// call of its functions is a call.
//
// Other ways were measured (two cores, beside other work; Go 1.26, a 30-bit
// objective). They share neither types nor memory with the program:
//
//	plugin                 0.3-1.1 s to build, 12-29 ms to load; a call is Go's
//	shared library in C's  a build of about the same CPU time; a second run time
//	  manner               of Go in the process
//	worker process         0.9 s to build; a round trip through pipes is 120 us
//	wasm on wazero         0.9 s to build, 4.2 s to compile again; 0.9 us a call
//
// A plugin's price: the program is linked by the C compiler and grows from 74
// to 90 MB (its start and its resident memory by a tenth at most), and each
// plugin takes 2.5 to 3.6 MB that are not given back.
//
// Start with a [Loader]. It works where the program was built with cgo, and
// the Go toolchain, a C compiler (for linking) and the program's source are at
// hand; [Loader.Ready] says what is missing.
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
	"os"
	"os/exec"
	"path/filepath"
	"plugin"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"
)

// module is the module that the program and its packages belong to.
const module = "dace.local"

// A Loader builds and loads packages. The zero value is ready to use.
type Loader struct {
	// Cache is the folder that keeps what was built; the default is "dace"
	// in the user's cache folder.
	Cache string
	// MaxAge is how long a plugin that nobody uses stays in the cache, and
	// MaxSize how many bytes the cache may hold; what a running process has
	// loaded stays in any case. The defaults are 30 days and 1 GiB.
	MaxAge  time.Duration
	MaxSize int64
	// Env is the environment that the toolchain is looked for and run in;
	// the default is os.Environ().
	Env []string

	find    sync.Once
	tools   toolchain
	missing error
}

// A toolchain is what a build needs.
type toolchain struct {
	goCommand string
	root      string   // of the module
	flags     []string // of go build, as the program was built
	env       []string
	cache     string // folder of the plugins of this very program
}

// Ready returns nil, or why nothing can be built, in words for a person.
func (l *Loader) Ready() error {
	l.find.Do(func() { l.tools, l.missing = l.look() })
	return l.missing
}

// look finds the toolchain.
func (l *Loader) look() (toolchain, error) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return toolchain{}, errors.New("the kernel does not know how it was built")
	}
	set := map[string]string{}
	for _, s := range info.Settings {
		set[s.Key] = s.Value
	}
	_, file, _, _ := runtime.Caller(0)
	return l.lookFor(set, file)
}

// lookFor finds the toolchain for a program that was built with some settings,
// of which this file was one.
func (l *Loader) lookFor(set map[string]string, file string) (t toolchain, err error) {
	if set["CGO_ENABLED"] != "1" {
		return t, errors.New("the kernel was built without cgo: with a C compiler on the PATH, go run ./install builds one that can")
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" && runtime.GOOS != "freebsd" {
		return t, errors.New("there are no plugins of Go on " + runtime.GOOS)
	}
	t.env = l.Env
	if t.env == nil {
		t.env = os.Environ()
	}
	if t.goCommand, err = lookPath("go", t.env); err != nil {
		return t, errors.New("there is no go command on the PATH")
	}
	cc := "gcc"
	if v := value(t.env, "CC"); v != "" {
		cc = strings.Fields(v)[0]
	} else if runtime.GOOS != "linux" {
		cc = "clang"
	}
	if _, err := lookPath(cc, t.env); err != nil {
		return t, fmt.Errorf("there is no C compiler on the PATH (%s), which links what the toolchain compiles", cc)
	}
	if !filepath.IsAbs(file) {
		return t, errors.New("the kernel was built with -trimpath and does not know where its source is: run go run ./install, which builds one that does")
	}
	t.root = filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if text, err := os.ReadFile(filepath.Join(t.root, "go.mod")); err != nil || !bytes.HasPrefix(text, []byte("module "+module)) {
		return t, fmt.Errorf("the source that the kernel was built from is no longer in %s: run go run ./install where it is now", t.root)
	}
	for _, f := range []string{"-race", "-msan", "-asan", "-tags", "-gcflags", "-asmflags", "-trimpath", "-covermode", "-pgo"} {
		if v := set[f]; v != "" && v != "false" {
			t.flags = append(t.flags, f+"="+v)
		}
	}
	// The very toolchain: what it compiles fits nothing else.
	t.env = append(t.env[:len(t.env):len(t.env)], "CGO_ENABLED=1", "GOTOOLCHAIN="+runtime.Version(), "GOWORK=off")
	for _, k := range []string{"GOAMD64", "GOARM64", "GOEXPERIMENT"} {
		if v := set[k]; v != "" {
			t.env = append(t.env, k+"="+v)
		}
	}
	dir := l.Cache
	if dir == "" {
		if dir, err = os.UserCacheDir(); err != nil {
			dir = os.TempDir()
		}
		dir = filepath.Join(dir, "dace")
	}
	id, err := identity()
	if err != nil {
		return t, fmt.Errorf("the kernel cannot read its own file: %w", err)
	}
	t.cache = filepath.Join(dir, "compiled", id)
	return t, nil
}

// identity is a digest of the program that runs.
func identity() (string, error) {
	name, err := os.Executable()
	if err != nil {
		return "", err
	}
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", err
	}
	// The build ID stands near the beginning of the file.
	h := sha256.New()
	if _, err := io.CopyN(h, f, 1<<16); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	fmt.Fprintln(h, st.Size())
	return hex.EncodeToString(h.Sum(nil)[:10]), nil
}

// value returns the last value of a name in an environment.
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

// A BuildError is what the toolchain says of a package.
type BuildError struct{ Output string }

func (e *BuildError) Error() string { return e.Output }

// loaded holds the tables of the packages in this process by import path.
var loaded = struct {
	sync.Mutex
	tables map[string]map[string]any
}{tables: map[string]map[string]any{}}

// Load builds the package with the given import path, below dace.local/, and
// loads it, unless that was done before: by its path a package is known for as
// long as the process lives, so a path names one text for ever. sources holds
// its text and those of the packages of its kind that it imports, by import
// path; other imports are the module's, and those that the go.mod in the folder
// modules requires, where that is not "". The package's variable Xˑˑ, a name for
// which no cell has a use, is returned. A package that does not compile gives a *BuildError.
func (l *Loader) Load(ctx context.Context, path string, sources map[string]string, modules string) (map[string]any, error) {
	if err := l.Ready(); err != nil {
		return nil, err
	}
	loaded.Lock()
	defer loaded.Unlock()
	if t, ok := loaded.tables[path]; ok {
		return t, nil
	}
	file := filepath.Join(l.tools.cache, filepath.Base(path)+".so")
	_, err := os.Stat(file)
	cached := err == nil
	if !cached {
		if err := l.tools.build(ctx, path, sources, modules, file); err != nil {
			return nil, err
		}
		defer sweep(filepath.Dir(l.tools.cache), cmp.Or(l.MaxAge, 30*24*time.Hour), cmp.Or(l.MaxSize, 1<<30))
	}
	t, err := open(file, modules)
	if err != nil && cached {
		// It may be damaged. A second name: the first is known as a failure.
		again := strings.TrimSuffix(file, ".so") + fmt.Sprintf("-%d.so", time.Now().UnixNano())
		if err := l.tools.build(ctx, path, sources, modules, again); err != nil {
			return nil, err
		}
		if t, err = open(again, modules); err == nil {
			err = os.Rename(again, file)
		}
	}
	if err != nil {
		return nil, err
	}
	hold(file)
	loaded.tables[path] = t
	return t, nil
}

// open loads a plugin, for which modules were fetched or not ("").
func open(file, modules string) (map[string]any, error) {
	p, err := plugin.Open(file)
	if err != nil {
		return nil, explainOpen(err, modules)
	}
	s, err := p.Lookup("Table")
	if err != nil {
		return nil, err
	}
	t, ok := s.(*map[string]any)
	if !ok {
		return nil, fmt.Errorf("the table of a package is a %T", s)
	}
	return *t, nil
}

// explainOpen says what to do about a plugin that does not load.
func explainOpen(err error, modules string) error {
	_, pkg, ok := strings.Cut(err.Error(), "different version of package ")
	switch {
	case !ok:
		return err
	case modules != "":
		return fmt.Errorf("what was fetched needs another version of package %s than the kernel is built with; or the clone or the toolchain has changed since that: then run go run ./install again", pkg)
	}
	return fmt.Errorf("package %s is not as it was when the kernel was built: the clone or the toolchain has changed since; run go run ./install again and restart the kernel", pkg)
}

// build writes the plugin of a package to a file.
func (t *toolchain) build(ctx context.Context, path string, sources map[string]string, modules, to string) error {
	if err := os.MkdirAll(t.cache, 0o755); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(t.cache, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// The texts stand in the module for the go command only.
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	add := func(ipath, name, text string) error {
		real := filepath.Join(dir, fmt.Sprintf("%d.go", len(overlay.Replace)))
		rel := strings.TrimPrefix(ipath, module+"/")
		overlay.Replace[filepath.Join(t.root, filepath.FromSlash(rel), name)] = real
		return os.WriteFile(real, []byte(text), 0o644)
	}
	for p, text := range sources {
		if err := add(p, "cell.go", text); err != nil {
			return err
		}
	}
	door := path + "/door"
	if err := add(door, "main.go", "package main\n\nimport cell "+fmt.Sprintf("%q", path)+"\n\nvar Table = cell.Xˑˑ\n\nfunc main() {}\n"); err != nil {
		return err
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
	args := append([]string{"build", "-buildmode=plugin", "-buildvcs=false", "-overlay=" + list, "-ldflags=-s -w", "-o", plug}, t.flags...)
	if modules == "" {
		args = append(args, "-mod=readonly")
	} else {
		file, err := t.require(dir, modules)
		if err != nil {
			return err
		}
		args = append(args, "-mod=mod", "-modfile="+file)
	}
	cmd := exec.CommandContext(ctx, t.goCommand, append(args, door)...)
	cmd.Dir, cmd.Env = t.root, t.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	out, err := cmd.CombinedOutput()
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && (bytes.Contains(out, []byte("go: download "+runtime.Version())) || bytes.Contains(out, []byte("GOTOOLCHAIN"))):
		return fmt.Errorf("the kernel was built by %s, which is no longer here: run go run ./install again and restart the kernel\n%s", runtime.Version(), bytes.TrimSpace(out))
	case err != nil:
		return &BuildError{Output: strings.TrimSpace(string(out))}
	}
	return os.Rename(plug, to)
}

var requireRE = regexp.MustCompile(`(?m)^\s*(?:require\s+)?([^\s(]+) (v[^\s/]+)(?:\s*//.*)?$`)

// require writes into dir a go.mod of the program's module that also has the
// requirements of the one in the folder modules, with its go.sum.
func (t *toolchain) require(dir, modules string) (file string, err error) {
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
	file = filepath.Join(dir, "go.mod")
	if err := os.WriteFile(file, mod.Bytes(), 0o644); err != nil {
		return "", err
	}
	return file, os.WriteFile(filepath.Join(dir, "go.sum"), append(append(texts[2], '\n'), texts[3]...), 0o644)
}
