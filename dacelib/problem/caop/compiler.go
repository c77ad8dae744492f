package caop

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/internal/process"
)

// CompilerSettings selects a GCC and how to run it. The zero value is the gcc
// of the PATH on all cores, with sizes remembered on disk.
type CompilerSettings struct {
	// Path is the command; empty means the value of the environment variable
	// DACE_GCC, or gcc if it is not set.
	Path string
	// Workers is the number of concurrent compilations; 0 means one per core.
	Workers int
	// Farm, if not nil, has the solutions of this compiler's instances whose
	// sizes are not remembered here compiled by the workers of a pool, as by
	// farm.Problem. It does not change values: workers have the same GCC, that of
	// the zero Path, or get no work.
	Farm farm.Pool
	// TimeOut is the maximal time for the compilation of one file; 0 means a
	// minute.
	TimeOut time.Duration
	// Memo is the folder in which sizes are remembered; empty means dace/caop
	// in the user's cache.
	Memo string
	// NoMemo remembers sizes in memory only.
	NoMemo bool
	// Scratch is the folder for object files; empty means /dev/shm (a folder in
	// memory) if it exists, else the system's folder for temporary files.
	Scratch string
}

// A Compiler is a GCC with the flags that it was found to know and the sizes
// that it has produced. It is safe for use by several goroutines.
type Compiler struct {
	path, id string
	timeout  time.Duration
	scratch  string
	dropped  map[int]bool
	slots    chan struct{} // semaphore of capacity Workers: each compilation holds a slot
	memo     *memo
	farm     farm.Pool // nil means this process
	stats    struct{ compiled, failed, timedOut, remembered atomic.Int64 }
}

// NewCompiler finds GCC and tries the flags of the [Table]. If GCC is missing,
// the error says which package to install.
func NewCompiler(ctx context.Context, s CompilerSettings) (*Compiler, error) {
	if s.Path == "" {
		s.Path = defaultPath()
	}
	if s.Workers <= 0 {
		s.Workers = runtime.GOMAXPROCS(0)
	}
	if s.TimeOut <= 0 {
		s.TimeOut = time.Minute
	}
	if s.Scratch == "" {
		s.Scratch = memoryFolder()
	}
	if s.Memo == "" && !s.NoMemo {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("caop: no folder for the memory of sizes: %w; name one in Memo or set NoMemo", err)
		}
		s.Memo = filepath.Join(cache, "dace", "caop")
	}
	path, err := exec.LookPath(s.Path)
	if err != nil {
		return nil, fmt.Errorf("caop: GCC is needed and %q was not found: install the package gcc (Debian and Ubuntu: sudo apt install gcc; Fedora: sudo dnf install gcc; macOS: brew install gcc, then set DACE_GCC to gcc-14 or the like)", s.Path)
	}
	c := &Compiler{path: path, timeout: s.TimeOut, scratch: s.Scratch, slots: make(chan struct{}, s.Workers), memo: newMemo(s.Memo), farm: s.Farm}
	if c.id, err = c.identify(ctx); err != nil {
		return nil, err
	}
	if s.Farm != nil {
		if err := c.travels(); err != nil {
			return nil, err
		}
	}
	if c.dropped, err = c.probe(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// defaultPath returns the command of the zero settings.
func defaultPath() string {
	if path := os.Getenv("DACE_GCC"); path != "" {
		return path
	}
	return "gcc"
}

// compilerID returns the [Compiler.ID] of the compiler of the zero settings. It
// is faster than [DefaultCompiler], which tries the flags.
func compilerID(ctx context.Context) (string, error) {
	path, err := exec.LookPath(defaultPath())
	if err != nil {
		return "", err
	}
	return (&Compiler{path: path, timeout: time.Minute}).identify(ctx)
}

// found holds the compiler of the zero settings. Its mutex guards c.
var found struct {
	sync.Mutex
	c *Compiler
}

// DefaultCompiler returns the compiler that NewCompiler makes for the zero
// settings. It is made once per process.
func DefaultCompiler(ctx context.Context) (*Compiler, error) {
	found.Lock()
	defer found.Unlock()
	if found.c != nil {
		return found.c, nil
	}
	c, err := NewCompiler(ctx, CompilerSettings{})
	if err == nil {
		found.c = c
	}
	return c, err
}

// memoryFolder returns a folder for short-lived files, in memory if possible.
func memoryFolder() string {
	const shm = "/dev/shm"
	if f, err := os.CreateTemp(shm, "dace-caop-"); err == nil {
		f.Close()
		os.Remove(f.Name())
		return shm
	}
	return os.TempDir()
}

// identify returns GCC's version and target, on which sizes depend.
func (c *Compiler) identify(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	say := func(arg string) (string, error) {
		out, err := exec.CommandContext(ctx, c.path, arg).CombinedOutput()
		text := strings.TrimSpace(string(out))
		if err != nil {
			return "", fmt.Errorf("caop: %s %s: %w: %s", c.path, arg, err, text)
		}
		return text, nil
	}
	about, err := say("--version")
	if err != nil {
		return "", err
	}
	first, _, _ := strings.Cut(about, "\n")
	if !strings.Contains(about, "Free Software Foundation") {
		return "", fmt.Errorf("caop: %s is not GCC but %q: install GCC (macOS: brew install gcc) and set DACE_GCC to its command", c.path, first)
	}
	version, err := say("-dumpfullversion")
	if err != nil {
		return "", err
	}
	target, err := say("-dumpmachine")
	if err != nil {
		return "", err
	}
	// Builds of one version may differ; the first line names the build in
	// brackets.
	if _, build, ok := strings.Cut(first, "("); ok {
		build, _, _ = strings.Cut(build, ")")
		version += " (" + build + ")"
	}
	return "gcc " + version + " " + target, nil
}

// ID returns the version and the target of the compiler, on which sizes depend.
func (c *Compiler) ID() string { return c.id }

// Flags returns the flags of the [Table] that this GCC knows.
func (c *Compiler) Flags() []Flag {
	return slices.DeleteFunc(Table(), func(f Flag) bool { return c.dropped[f.ID] })
}

// Dropped returns the flags of the [Table] that this GCC refuses.
func (c *Compiler) Dropped() []Flag {
	return slices.DeleteFunc(Table(), func(f Flag) bool { return !c.dropped[f.ID] })
}

// Notice describes which flags are dropped; it is empty if none is.
func (c *Compiler) Notice() string {
	var names []string
	for _, f := range c.Dropped() {
		names = append(names, f.Enable)
	}
	if names == nil {
		return ""
	}
	return fmt.Sprintf("%s refuses %d of the %d flags, which are left out: %s", c.id, len(names), len(table()), strings.Join(names, " "))
}

// Stats counts the compilations of a compiler.
type Stats struct {
	// Compiled is the number of argument lists that were compiled. Failed of
	// them did not compile, and TimedOut took too long.
	Compiled, Failed, TimedOut int
	// Remembered is the number of sizes found in the memory.
	Remembered int
}

// Stats returns the counts so far.
func (c *Compiler) Stats() Stats {
	s := &c.stats
	return Stats{int(s.compiled.Load()), int(s.failed.Load()), int(s.timedOut.Load()), int(s.remembered.Load())}
}

var unknown = regexp.MustCompile(`(?:unrecognized command[- ]line option|unrecognized argument in option|unknown option) ['"]([^'"]+)['"]`)

// probe finds the flags that this GCC refuses. One run finds the unknown flags;
// if the rest fails together, bisection finds the refused ones. Of several
// values of one argument, the later ones are only tested for being known.
func (c *Compiler) probe(ctx context.Context) (map[int]bool, error) {
	dir, remove, err := c.folder(Program{Name: "probe", Files: []File{{"probe.c", "int probe(int i) { return i + 1; }\n"}}})
	if err != nil {
		return nil, err
	}
	defer remove()
	try := func(args []string) (ok bool, message string, err error) {
		size, message, err := c.compile(ctx, dir, "probe.c", "probe.o", args)
		return size >= 0, message, err
	}
	if ok, message, err := try(nil); err != nil || !ok {
		return nil, errors.Join(err, fmt.Errorf("caop: %s cannot compile a function of one line: %s", c.path, message))
	}
	var all []string
	for _, f := range table() {
		all = append(all, f.Enable)
		if f.Disable != "" {
			all = append(all, f.Disable)
		}
	}
	_, message, err := try(all)
	if err != nil {
		return nil, err
	}
	refused := map[string]bool{}
	for _, m := range unknown.FindAllStringSubmatch(message, -1) {
		refused[m[1]] = true
	}
	dropped := map[int]bool{}
	on := map[int]bool{}
	for _, f := range table() {
		dropped[f.ID] = refused[f.Enable] || refused[f.Disable]
		on[f.ID] = true
	}
	var alone []string
	for _, args := range [][]string{arguments(on, dropped, false), arguments(nil, dropped, false)} {
		more, err := refusedOf(args, func(args []string) (bool, error) {
			ok, _, err := try(args)
			return ok, err
		})
		if err != nil {
			return nil, err
		}
		alone = append(alone, more...)
	}
	for _, f := range table() {
		if slices.Contains(alone, f.Enable) || f.Disable != "" && slices.Contains(alone, f.Disable) {
			dropped[f.ID] = true
		}
	}
	return dropped, nil
}

// refusedOf returns the arguments that fail alone, found by bisection.
func refusedOf(args []string, try func([]string) (bool, error)) ([]string, error) {
	ok, err := try(args)
	if ok || err != nil {
		return nil, err
	}
	if len(args) == 1 {
		return args, nil
	}
	half := len(args) / 2
	first, err := refusedOf(args[:half], try)
	if err != nil {
		return nil, err
	}
	second, err := refusedOf(args[half:], try)
	return append(first, second...), err
}

// folder makes a scratch folder with the files of a program.
func (c *Compiler) folder(p Program) (dir string, remove func(), err error) {
	c.sweep()
	dir, err = os.MkdirTemp(c.scratch, "dace-caop-")
	if err != nil {
		return "", nil, fmt.Errorf("caop: cannot make a scratch folder: %w; name another in Scratch", err)
	}
	remove = func() { os.RemoveAll(dir) }
	for _, f := range p.Files {
		if err := os.WriteFile(filepath.Join(dir, f.Name), []byte(f.Text), 0o600); err != nil {
			remove()
			return "", nil, fmt.Errorf("caop: program %s: %w", p.Name, err)
		}
	}
	return dir, remove, nil
}

// sweep removes scratch folders, at least a day old, that killed processes left
// behind.
func (c *Compiler) sweep() {
	left, _ := filepath.Glob(filepath.Join(c.scratch, "dace-caop-*"))
	for _, dir := range left {
		if info, err := os.Stat(dir); err == nil && time.Since(info.ModTime()) > 24*time.Hour {
			os.RemoveAll(dir)
		}
	}
}

// failedSize is the size recorded for a program that does not compile.
const failedSize = -1

// compile compiles one file of a scratch folder and returns the size of the
// object file, which it removes. Otherwise it is as gcc.
func (c *Compiler) compile(ctx context.Context, dir, source, object string, args []string) (size int64, message string, err error) {
	size, message, err = c.gcc(ctx, dir, "-c", source, object, args)
	if err == nil && size != failedSize {
		err = os.Remove(filepath.Join(dir, object))
	}
	return size, message, err
}

// gcc compiles (-c) or preprocesses (-E) one file of a scratch folder and returns
// the size of the output. If GCC refuses the file, it returns failedSize with GCC's
// message; if a failure has another cause, an error. It returns errTimeOut
// after the time-out.
func (c *Compiler) gcc(ctx context.Context, dir, mode, source, output string, args []string) (size int64, message string, err error) {
	limited, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	all := append([]string{"-Os"}, args...)
	all = append(all, "-w", "-I.", mode, source, "-o", output)
	cmd := exec.CommandContext(limited, c.path, all...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C", "LANGUAGE=C", "TMPDIR="+dir)
	process.Group(cmd)
	cmd.WaitDelay = time.Second
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	switch {
	case ctx.Err() != nil:
		return 0, "", ctx.Err()
	case limited.Err() != nil:
		return failedSize, "", errTimeOut
	case err == nil:
		info, err := os.Stat(filepath.Join(dir, output))
		if err != nil {
			return 0, "", fmt.Errorf("caop: %w", err)
		}
		return info.Size(), out.String(), nil
	}
	message = out.String()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || !exit.Exited() {
		return 0, "", fmt.Errorf("caop: %s: %w", c.path, err)
	}
	for _, trouble := range []string{"No space left", "Cannot allocate memory", "virtual memory exhausted", "Killed signal", "Resource temporarily unavailable"} {
		if strings.Contains(message, trouble) {
			return 0, "", fmt.Errorf("caop: %s: %s", c.path, firstLines(message))
		}
	}
	return failedSize, message, nil
}

var errTimeOut = errors.New("the time-out was reached")

func firstLines(s string) string {
	lines := strings.SplitN(strings.TrimSpace(s), "\n", 6)
	return strings.Join(lines[:min(len(lines), 5)], "\n")
}

// key identifies a compilation: the compiler, the program and the arguments.
func (c *Compiler) key(program string, args []string) key {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n-Os %s\n", c.id, program, strings.Join(args, " "))
	return key(h.Sum(nil)[:len(key{})])
}

// sizes returns the sizes of a program for lists of arguments, failedSize if it
// does not compile. Each list is compiled once, even if several goroutines ask
// for it, now or later.
func (c *Compiler) sizes(ctx context.Context, p Program, hash string, lists [][]string) ([]int64, error) {
	book, err := c.memo.book(c.id, hash)
	if err != nil {
		return nil, err
	}
	var (
		size   = make([]int64, len(lists))
		dir    func() (string, error)
		remove = func() {}
	)
	dir = sync.OnceValues(func() (d string, err error) {
		d, r, err := c.folder(p)
		if err == nil {
			remove = r
		}
		return d, err
	})
	defer func() { remove() }()
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	for i, args := range lists {
		k := c.key(hash, args)
		if s, ok := book.get(k); ok {
			c.stats.remembered.Add(1)
			size[i] = s
			continue
		}
		if !c.acquire(ctx) {
			break
		}
		wg.Go(func() {
			defer func() { <-c.slots }()
			s, err := book.once(ctx, k, func() (int64, bool, error) {
				d, err := dir()
				if err != nil {
					return 0, false, err
				}
				return c.program(ctx, &book.texts, d, fmt.Sprint(i), p, args)
			})
			if err != nil {
				cancel(err)
			}
			size[i] = s
		})
	}
	wg.Wait()
	if err := outer.Err(); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return size, nil
}

// acquire waits for a free slot, and returns false if ctx ends first.
func (c *Compiler) acquire(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case c.slots <- struct{}{}:
		return true
	case <-ctx.Done():
		return false
	}
}

// program compiles all sources of a program; keep is false for a result that
// may differ another time, which must not be stored.
func (c *Compiler) program(ctx context.Context, t *texts, dir, prefix string, p Program, args []string) (size int64, keep bool, err error) {
	c.stats.compiled.Add(1)
	var include []string
	for _, d := range p.Include {
		include = append(include, "-I", d)
	}
	for _, f := range p.Files {
		if !strings.HasSuffix(f.Name, ".c") {
			continue
		}
		s, err := c.file(ctx, t, dir, prefix, f.Name, args, include)
		switch {
		case errors.Is(err, errTimeOut):
			c.stats.timedOut.Add(1)
			return failedSize, false, nil
		case err != nil:
			return 0, false, err
		case s == failedSize:
			c.stats.failed.Add(1)
			return failedSize, true, nil
		}
		size += s
	}
	return size, true, nil
}

// explain returns an error with the reason why a program does not compile with
// -Os alone.
func (c *Compiler) explain(ctx context.Context, p Program) error {
	dir, remove, err := c.folder(p)
	if err != nil {
		return err
	}
	defer remove()
	var include []string
	for _, d := range p.Include {
		include = append(include, "-I", d)
	}
	for _, f := range p.Files {
		if !strings.HasSuffix(f.Name, ".c") {
			continue
		}
		size, message, err := c.compile(ctx, dir, f.Name, "explain.o", include)
		if err != nil {
			return fmt.Errorf("caop: program %s: %s: %w", p.Name, f.Name, err)
		}
		if size == failedSize {
			return fmt.Errorf("caop: program %s does not compile: %s", p.Name, firstLines(message))
		}
	}
	return fmt.Errorf("caop: program %s did not compile, and now does", p.Name)
}
