package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/magic"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/internal/toolchain/module"
)

// A session that starts below a go.mod or go.work uses its modules: the first cell
// that does not check without them has the go command list them. From then on each
// cell begins with a look at their files, and packages that were edited are built
// anew before it is checked.

// onDisk is what a session has of modules on disk.
type onDisk struct {
	root    string                     // the go.work or go.mod above the folder in which the session began, or ""
	used    bool                       // it has been tried
	failure string                     // why it cannot be used, or ""
	modules []module.Module            // guarded by known.mu
	off     bool                       // %autoreload off
	noted   map[string]bool            // conflicts that the user has been told of
	relink  map[string]map[string]bool // what is linked with the next cell, by path and name
	// followed are instances of their generic types, and unnamed types made of their types, whose
	// methods are compiled with the next cell.
	followed []types.Type
}

// findRoot notes the module or workspace that the session starts in. The kernel's own
// module is none: what it offers is compiled in.
func (o *onDisk) findRoot() {
	o.noted, o.relink = map[string]bool{}, map[string]map[string]bool{}
	if dir, err := os.Getwd(); err == nil {
		o.root = module.Find(dir)
	}
	if module.PathIn(o.root) == buildinfo.Module() {
		o.root = ""
	}
}

// useOwn makes known what a cell that does not check may need of modules on disk:
// those that the session starts in, a package that was written since, a module that
// they require. It reports whether to check again.
func (s *Session) useOwn(ctx context.Context, src *check.Source, out engine.Outputs) (again bool) {
	g := &s.fetched
	if !g.used && g.root != "" {
		return g.useRoot(ctx, out) == nil
	}
	if len(g.onDisk.modules) == 0 {
		return false
	}
	listed := false
	for _, path := range src.Imports() {
		if _, known := symbols.Name(path); known || g.prog.Importer.Source(path) != nil {
			continue
		}
		if strings.HasPrefix(path, ".") {
			path = g.folderPath(path)
		}
		switch m := g.moduleOf(path); {
		case m.Path != "" && !listed:
			listed = true
			f, err := g.modules.List(ctx)
			if err == nil {
				_, _, err = g.prog.Importer.Rebuild(g.files, f, nil)
				again = again || err == nil
			}
			if err != nil {
				out.Stderr(err.Error() + "\n")
			}
		case m.Path == "":
			f, err := g.modules.Lookup(ctx, path)
			if err != nil {
				out.Stderr(err.Error() + "\n")
			} else if f != nil && f.All[path] != nil && f.All[path].Err == "" {
				g.prog.Importer.AddUnread(g.files, f)
				g.conflicts(f, out)
				again = true
			}
		}
	}
	return again
}

// useRoot uses the module or workspace that the session starts in.
func (g *fetched) useRoot(ctx context.Context, out engine.Outputs) error {
	g.used = true
	f, err := g.modules.Use(ctx, g.root)
	g.mu.Lock()
	defer g.mu.Unlock()
	if err != nil {
		if ctx.Err() != nil {
			g.used = false
		}
		g.failure = fmt.Sprintf("the module of this folder cannot be used: %v", err)
		return err
	}
	g.onDisk.modules = g.modules.Own()
	g.prog.Importer.AddUnread(g.files, f)
	g.conflicts(f, out)
	return nil
}

// needRoot uses the module or workspace that the session starts in, if that has not been
// tried, for a magic that is about it.
func (g *fetched) needRoot(c *magic.Call) error {
	if g.used || g.root == "" {
		return nil
	}
	if err := g.useRoot(c.Ctx, c.Out); err != nil {
		return errors.New(g.failure)
	}
	return nil
}

// moduleOf returns the module on disk that an import path belongs to.
func (o *onDisk) moduleOf(path string) (best module.Module) {
	for _, m := range o.modules {
		if module.Holds(m.Path, path) && len(m.Path) > len(best.Path) {
			best = m
		}
	}
	return best
}

// folderPath returns the import path of a relative one, "" if no module on disk holds
// the folder.
func (o *onDisk) folderPath(relative string) (path string) {
	dir, err := filepath.Abs(filepath.FromSlash(relative))
	if err != nil {
		return ""
	}
	depth := -1
	for _, m := range o.modules {
		rel, err := filepath.Rel(m.Folder, dir)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") || len(m.Folder) < depth {
			continue
		}
		depth, path = len(m.Folder), m.Path
		if rel != "." {
			path += "/" + filepath.ToSlash(rel)
		}
	}
	return path
}

// missing says why there is no package at an import path that has to do with modules
// on disk; "" for other paths.
func (o *onDisk) missing(path string) string {
	if strings.HasPrefix(path, ".") {
		if o.failure != "" {
			return o.failure
		}
		return fmt.Sprintf("%s is relative, and the folder is of no module that the session uses: %%get %s adds its module", path, path)
	}
	if o.failure != "" && module.Holds(module.PathIn(o.root), path) {
		return o.failure
	}
	m := o.moduleOf(path)
	if m.Path == "" {
		return o.outside(path)
	}
	dir := filepath.Join(m.Folder, filepath.FromSlash(strings.TrimPrefix(path, m.Path)))
	if _, err := os.Stat(dir); err != nil {
		return fmt.Sprintf("the module %s has no package %s: there is no folder %s", m.Path, path, dir)
	}
	return fmt.Sprintf("the module %s has no package %s: no file of Go in %s is for this machine", m.Path, path, dir)
}

// outside says why a package of the folder's module is unknown where a workspace is in
// use; "" for other paths.
func (o *onDisk) outside(path string) string {
	dir, err := os.Getwd()
	if err != nil || filepath.Base(o.root) != "go.work" {
		return ""
	}
	own := module.PathIn(module.Above(dir, "go.mod"))
	switch {
	case own == "" || !module.Holds(own, path):
		return ""
	case o.failure != "":
		return o.failure
	}
	return fmt.Sprintf("the workspace %s is in use, and does not name the module %s of this folder: !go work use . adds it", o.root, own)
}

// conflicts tells of packages that are compiled into the kernel in another version
// than the modules of a fetch ask for, once for each module.
func (g *fetched) conflicts(f *module.Fetch, out engine.Outputs) {
	ours := versions()
	found := map[string]string{}
	for path, p := range f.All {
		m := p.Module
		if _, known := symbols.Name(path); !known || p.Standard || g.noted[m.Path] {
			continue
		}
		switch have := ours[m.Path]; {
		case m.Folder != "":
			found[m.Path] = fmt.Sprintf("%s is compiled into this kernel%s, and cells use that, not the folder %s: under another module path (go mod edit -module, a copy) the folder could be imported beside it\n",
				m.Path, strings.TrimSuffix(" "+have, " "), m.Folder)
		case have != "" && have != m.Version:
			found[m.Path] = fmt.Sprintf("%s is asked for as %s, and this kernel is built with %s, which interpreted cells use for both\n", m.Path, m.Version, have)
		}
	}
	var lines []string
	for path, line := range found {
		g.noted[path] = true
		lines = append(lines, line)
	}
	slices.Sort(lines)
	out.Stderr(strings.Join(lines, ""))
}

// versions returns the versions of the modules that the program is built with.
var versions = func() map[string]string {
	v := map[string]string{}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			v[m.Path] = m.Version
		}
	}
	return v
}

// reload builds packages on disk anew that were edited. If they do not compile, a
// cell that uses them fails with their errors, and the session is as before.
func (s *Session) reload(ctx context.Context, src *check.Source) error {
	g := &s.fetched
	if len(g.onDisk.modules) == 0 || g.off {
		return nil
	}
	edited, list := g.prog.Importer.Edited()
	var f *module.Fetch
	if list || g.modules.Changed() {
		var err error
		if f, err = g.modules.List(ctx); err != nil {
			if ctx.Err() != nil {
				return interrupted("the cell was interrupted before it began")
			}
			return s.ifReached(src, g.prog.Importer.Packages(), err)
		}
	} else if len(edited) == 0 {
		return nil
	}
	s.mu.Lock()
	old, broken, err := s.prog.Importer.Rebuild(g.files, f, edited)
	if f != nil {
		g.onDisk.modules = g.modules.Own()
	}
	if len(old) > 0 {
		g.onDisk.followed = append(g.onDisk.followed, s.types.Follow(s.prog.Importer.SameTypes(old, true))...)
		s.prog = s.prog.Reloaded(old)
		g.linkAgain(old)
	}
	s.mu.Unlock()
	if err != nil {
		return s.ifReached(src, broken, err)
	}
	return nil
}

// ifReached returns the error of packages on disk as that of a cell that uses them,
// and nil for another cell.
func (s *Session) ifReached(src *check.Source, paths []string, err error) error {
	s.mu.Lock()
	reached := s.prog.Reaches(src, paths)
	s.mu.Unlock()
	if !reached {
		return nil
	}
	var broken *check.BrokenPackage
	if !errors.As(err, &broken) {
		return s.compileError(src.Number, err)
	}
	e := &check.Error{}
	for line := range strings.SplitSeq(broken.Why, "\n\t") {
		at := fileLineRE.FindStringSubmatch(line)
		if at == nil {
			return s.compileError(src.Number, err)
		}
		p := token.Position{Filename: at[1] + "/" + cell.FileBase}
		p.Line, _ = strconv.Atoi(at[2])
		p.Column, _ = strconv.Atoi(at[3])
		p.Column = max(p.Column, 1)
		e.List = append(e.List, &scanner.Error{Pos: p, Msg: at[4]})
	}
	found := s.compileError(src.Number, e)
	found.Traceback = append(found.Traceback, broken.Path+" is as it was before; the cell has not run")
	return found
}

var fileLineRE = regexp.MustCompile(`^(\S[^:]*\.go):(\d+):(?:(\d+):)? (.*)`)

// linkAgain has types that were linked, of packages that are replaced, linked anew
// with the next cell: values in interfaces find the new methods.
func (g *fetched) linkAgain(old []*check.FetchedPackage) {
	for _, sp := range old {
		for o, d := range sp.ByObject {
			if _, ok := o.(*types.TypeName); ok && g.linked[d] {
				g.again(sp.ImportPath, o.Name())
			}
			delete(g.linked, d)
		}
		delete(g.initialized, sp)
	}
}

// again has the next cell link what a package declares by a name.
func (g *fetched) again(path, name string) {
	if g.relink[path] == nil {
		g.relink[path] = map[string]bool{}
	}
	g.relink[path][name] = true
}

// addLinked adds to a linkage the types that were linked before their packages were
// replaced.
func (k *linkage) addLinked() {
	for path, names := range k.have.relink {
		sp := k.have.prog.Importer.Source(path)
		if sp == nil {
			continue
		}
		for name := range names {
			k.add(sp.Lookup(name))
		}
	}
}

// autoReload implements the magic %autoreload.
func (s *Session) autoReload(_ context.Context, args []string, out engine.Outputs) error {
	switch strings.Join(args, " ") {
	case "":
		out.Stdout("%autoreload " + map[bool]string{true: "off", false: "on"}[s.fetched.off] + "\n")
	case "on":
		s.fetched.off = false
	case "off":
		s.fetched.off = true
	default:
		return errors.New("%autoreload takes on or off: it is on unless you say off")
	}
	return nil
}

// getFolder implements %get of a folder on disk, and of a module that the session
// uses from one. ok is false for other arguments.
func (g *fetched) getFolder(ctx context.Context, spec string, out engine.Outputs) (f *module.Fetch, ok bool, err error) {
	path, version, _ := strings.Cut(spec, "@")
	if !g.used && g.root != "" && !isFolder(path) {
		if filepath.Base(g.root) != "go.mod" || module.Holds(module.PathIn(g.root), path) {
			_ = g.useRoot(ctx, out) // if it fails, the module is fetched
		}
	}
	if m := g.moduleOf(path); m.Path != "" {
		if version != "" {
			out.Stdout(fmt.Sprintf("%s is used from %s; the version is for machines without the folder\n", m.Path, m.Folder))
		}
		f, err = g.modules.GetFolder(ctx, m.Folder, m.Folder)
		if f != nil {
			f.Path = path
		}
		return f, true, err
	}
	if !isFolder(spec) {
		return nil, false, nil
	}
	dir := spec
	if home, err := os.UserHomeDir(); err == nil && (dir == "~" || strings.HasPrefix(dir, "~/")) {
		dir = home + dir[1:]
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, true, err
	}
	f, err = g.modules.GetFolder(ctx, dir, spec)
	return f, true, err
}

// isFolder reports whether an argument of %get names a folder on disk.
func isFolder(spec string) bool {
	return spec == "." || spec == ".." || spec == "~" || strings.HasPrefix(spec, "./") || strings.HasPrefix(spec, "../") || strings.HasPrefix(spec, "~/") || filepath.IsAbs(spec)
}

// goMod implements the magic %gomod.
func (g *fetched) goMod(c *magic.Call) (engine.Result, error) {
	switch strings.TrimSpace(c.Args) {
	case "":
		return engine.Result{}, g.showMod(c)
	case "freeze":
		return g.freeze(c)
	}
	dir, err := g.modules.Open(c.Ctx)
	if err != nil {
		return engine.Result{}, err
	}
	return engine.Result{}, c.Execute(commandIn(dir, c.Args))
}

// showMod shows the session's go.mod, and the modules on disk.
func (g *fetched) showMod(c *magic.Call) error {
	if err := g.needRoot(c); err != nil {
		return err
	}
	dir := g.modules.Dir()
	if dir == "" {
		c.Out.Stdout("the session uses no modules: none is above its folder, and nothing has been fetched (%get)\n")
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, m := range g.modules.Own() {
		fmt.Fprintf(&b, "on disk: %s\n", m)
	}
	c.Out.Stdout(b.String() + string(text))
	return nil
}

// freeze implements %gomod freeze: it writes the lines %get with which the notebook
// runs elsewhere.
func (g *fetched) freeze(c *magic.Call) (engine.Result, error) {
	if err := g.needRoot(c); err != nil {
		return engine.Result{}, err
	}
	var lines []string
	for _, m := range g.modules.Own() {
		line, note := freezeFolder(c.Ctx, m)
		lines = append(lines, line)
		if note != "" {
			c.Out.Stderr(m.Path + ": " + note + "\n")
		}
	}
	for _, spec := range g.modules.Got() {
		lines = append(lines, "%get "+spec)
	}
	if len(lines) == 0 {
		return engine.Result{}, errors.New("the session uses no modules: there is nothing to write")
	}
	text := strings.Join(lines, "\n")
	c.Out.Stdout(text + "\n")
	return engine.Result{Next: &engine.NextInput{Text: text}}, nil
}

// shown returns a folder as %get takes it, relative to the working folder.
func shown(folder string) string {
	wd, err := os.Getwd()
	if err != nil {
		return folder
	}
	rel, err := filepath.Rel(wd, folder)
	if err != nil {
		return folder
	}
	if rel = filepath.ToSlash(rel); !strings.HasPrefix(rel, ".") {
		rel = "./" + rel
	}
	return rel
}

// freezeFolder returns the line %get for a module on disk: with its commit where
// others can fetch that, else with its folder, and a sentence that says why.
func freezeFolder(ctx context.Context, m module.Module) (line, note string) {
	git := func(args ...string) string {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", m.Folder}, args...)...).Output()
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	line = "%get " + shown(m.Folder)
	commit := git("rev-parse", "--short=12", "HEAD")
	switch {
	case commit == "":
		return line, "the line is for a machine that has the folder: it is not in a git repository that others could fetch it from"
	case git("status", "--porcelain", "--", ".") != "":
		return line, "the line is for a machine that has the folder: it has changes that are not committed"
	case git("branch", "-r", "--contains", "HEAD") == "":
		return line, "the line is for a machine that has the folder: its commit is not pushed"
	}
	return "%get " + m.Path + "@" + commit, ""
}
