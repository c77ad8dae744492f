package module

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Modules on disk become part of the scratch module: it requires them, replaces
// them by their folders, and takes over what they require, replace and exclude, as
// their own go.mod or go.work has it. A vendor folder takes the place of the
// module cache: its modules are replaced by their folders there, which get the
// go.mod that they lack by an overlay. The user's files are only read.

// A root is a go.mod or go.work on disk that a session uses.
type root struct {
	file     string
	modules  []Module          // of the user's, with their folders
	requires []Module          // that the scratch module has because of it
	replaces map[string]string // PATH or PATH@VERSION -> what stands for it
	overlay  map[string]string // go.mod of a vendored module -> its text
	read     map[string]string // files that it was made of, with their texts
}

// goMod is a go.mod or a go.work as `go mod edit -json` and `go work edit -json`
// write it.
type goMod struct {
	Module  struct{ Path string }
	Go      string
	Require []Module
	Exclude []Module
	Replace []struct{ Old, New Module }
	Use     []struct{ DiskPath string }
	dir     string
}

// folderOf returns the folder by which the module of a path is replaced, or "".
func (m *goMod) folderOf(path string) string {
	best, dir := "", ""
	for _, r := range m.Replace {
		if r.New.Version == "" && Holds(r.Old.Path, path) && len(r.Old.Path) > len(best) {
			best, dir = r.Old.Path, r.New.Path
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(m.dir, dir)
			}
		}
	}
	return dir
}

// Find returns the go.work or go.mod that the go command uses in a folder, or "".
func Find(dir string) string {
	switch work := os.Getenv("GOWORK"); {
	case work == "off":
	case filepath.IsAbs(work):
		return work
	default:
		if file := Above(dir, "go.work"); file != "" {
			return file
		}
	}
	return Above(dir, "go.mod")
}

// Above returns the file with a name in a folder or the nearest one above it, or "".
func Above(dir, name string) string {
	for {
		file := filepath.Join(dir, name)
		if i, err := os.Stat(file); err == nil && i.Mode().IsRegular() {
			return file
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// PathIn returns the module path that a go.mod declares, without the go command;
// "" if it declares none.
func PathIn(file string) string {
	text, _ := os.ReadFile(file)
	if m := moduleRE.FindSubmatch(text); m != nil {
		return string(m[1])
	}
	return ""
}

// Holds reports whether a package may be, by its import path, of a module.
func Holds(module, path string) bool {
	return path == module || strings.HasPrefix(path, module+"/")
}

var moduleRE = regexp.MustCompile("(?m)^module[ \t]+[\"`]?([^\\s\"`/]+(?:/[^\\s\"`]*)?)")

// Use makes the modules of a go.mod or go.work on disk part of the scratch module,
// and lists their packages.
func (s *Store) Use(ctx context.Context, file string) (*Fetch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	goCmd, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	if err := s.use(ctx, goCmd, file); err != nil {
		return nil, err
	}
	return s.listOwn(ctx, goCmd)
}

// GetFolder makes the module of a folder on disk part of the scratch module, and
// lists its packages; path is how the user has written the folder.
func (s *Store) GetFolder(ctx context.Context, dir, path string) (*Fetch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch info, err := os.Stat(dir); {
	case err != nil:
		return nil, fmt.Errorf("there is no folder %s: a module on disk is named by the folder of its go.mod", path)
	case !info.IsDir():
		return nil, fmt.Errorf("%s is no folder: a module on disk is named by the folder of its go.mod", path)
	}
	goCmd, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	return s.useFolder(ctx, goCmd, dir, "")
}

// useFolder is GetFolder for a folder that is there. path is the path of the
// package or module that is asked for; "" stands for the package of the folder.
func (s *Store) useFolder(ctx context.Context, goCmd, dir, path string) (*Fetch, error) {
	file := Above(dir, "go.mod")
	if file == "" {
		return nil, fmt.Errorf("neither %s nor a folder above it has a go.mod: go mod init example.com/NAME makes one there", dir)
	}
	if err := s.use(ctx, goCmd, file); err != nil {
		return nil, err
	}
	var m Module
	for _, r := range s.roots {
		for _, own := range r.modules {
			if r.file == file || own.Folder == filepath.Dir(file) {
				m = own
			}
		}
	}
	if path == "" {
		path = m.Path
		if rel, err := filepath.Rel(m.Folder, dir); err == nil && rel != "." {
			path += "/" + filepath.ToSlash(rel)
		}
	}
	f := &Fetch{Module: m, Path: path, All: map[string]*Package{}}
	return f, explain(path, m.String(), s.packages(ctx, goCmd, f, []string{m.Path + "/..."}))
}

// Own returns the modules on disk that the session uses.
func (s *Store) Own() (list []Module) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.roots {
		list = append(list, r.modules...)
	}
	return list
}

// Got returns MODULE@VERSION of what was fetched, in order.
func (s *Store) Got() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.got)
}

// Changed reports whether a go.mod, go.work, go.sum or list of vendored modules on
// disk has been edited since it was read.
func (s *Store) Changed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.roots, (*root).changed)
}

func (r *root) changed() bool {
	for file, text := range r.read {
		if b, _ := os.ReadFile(file); string(b) != text {
			return true
		}
	}
	return false
}

// List lists the packages of the modules on disk again, by their go.mod as it is
// now.
func (s *Store) List(ctx context.Context) (*Fetch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	goCmd, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Clone(s.roots) {
		if r.changed() {
			if err := s.use(ctx, goCmd, r.file); err != nil {
				return nil, err
			}
		}
	}
	return s.listOwn(ctx, goCmd)
}

func (s *Store) listOwn(ctx context.Context, goCmd string) (*Fetch, error) {
	f := &Fetch{All: map[string]*Package{}}
	var patterns, names []string
	for _, r := range s.roots {
		for _, m := range r.modules {
			patterns, names = append(patterns, m.Path+"/..."), append(names, m.String())
		}
	}
	if len(patterns) == 0 {
		return f, nil
	}
	what := strings.Join(names, ", ")
	return f, explain(what, what, s.packages(ctx, goCmd, f, patterns))
}

// Lookup lists a package of a module that one of the modules on disk requires, with
// what it imports; nil if none requires such a module.
func (s *Store) Lookup(ctx context.Context, path string) (*Fetch, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var m Module
	for _, r := range s.roots {
		for _, q := range r.requires {
			if Holds(q.Path, path) && len(q.Path) > len(m.Path) {
				m = q
			}
		}
	}
	if m.Path == "" {
		return nil, nil
	}
	goCmd, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	f := &Fetch{Module: m, Path: path, All: map[string]*Package{}}
	if err := s.packages(ctx, goCmd, f, []string{path}); err != nil {
		return nil, explain(path, m.String(), err)
	}
	if p := f.All[path]; p != nil {
		f.Module = p.Module
	}
	return f, nil
}

// read reads a go.mod or go.work by the go command.
func (s *Store) read(ctx context.Context, goCmd, file string) (*goMod, error) {
	kind := strings.TrimPrefix(filepath.Ext(file), ".")
	out, err := s.run(ctx, goCmd, nil, kind, "edit", "-json", file)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", file, err)
	}
	m := &goMod{dir: filepath.Dir(file)}
	return m, json.Unmarshal(out, m)
}

// use makes a go.mod or go.work part of the scratch module, in place of what it
// was before. After an error the scratch module is as it was.
func (s *Store) use(ctx context.Context, goCmd, file string) error {
	r, err := s.readRoot(ctx, goCmd, file)
	if err != nil {
		return err
	}
	for _, other := range s.roots {
		for _, m := range other.modules {
			for _, own := range r.modules {
				switch {
				case other.file == file || own.Path != m.Path:
				case own.Folder == m.Folder && len(r.modules) == 1:
					return nil // it is part of a go.work
				case own.Folder != m.Folder:
					return fmt.Errorf("the session has the module %s already, in %s: a session has one folder of a module, and kernels that start elsewhere have another", m.Path, m.Folder)
				}
			}
		}
	}
	undo, err := s.snapshot()
	if err != nil {
		return err
	}
	roots := slices.Clone(s.roots)
	i := slices.IndexFunc(s.roots, func(o *root) bool { return o.file == file })
	var old *root
	if i < 0 {
		s.roots = append(s.roots, r)
	} else {
		old, s.roots[i] = s.roots[i], r
	}
	if err = s.edit(ctx, goCmd, old, r); err == nil {
		err = s.writeOverlay()
	}
	if err != nil {
		s.roots = roots
		undo()
		return fmt.Errorf("%s cannot be used: %w", file, err)
	}
	return nil
}

// readRoot reads a go.mod or go.work with all that belongs to it.
func (s *Store) readRoot(ctx context.Context, goCmd, file string) (*root, error) {
	r := &root{file: file, replaces: map[string]string{}, overlay: map[string]string{}, read: map[string]string{}}
	first, err := s.read(ctx, goCmd, file)
	if err != nil {
		return nil, err
	}
	r.note(file)
	mods := []*goMod{first}
	if filepath.Base(file) != "go.mod" {
		for _, u := range first.Use {
			dir := u.DiskPath
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(first.dir, dir)
			}
			m, err := s.read(ctx, goCmd, filepath.Join(dir, "go.mod"))
			if err != nil {
				return nil, fmt.Errorf("%s names the folder %s: %w", file, u.DiskPath, err)
			}
			mods = append(mods, m)
		}
		r.note(filepath.Join(first.dir, "go.work.sum"))
	}
	for _, m := range mods { // go.work, whose replaces come first, and go.mod files
		r.note(filepath.Join(m.dir, "go.sum"))
		if m.Module.Path != "" {
			r.note(filepath.Join(m.dir, "go.mod"))
			r.modules = append(r.modules, Module{Path: m.Module.Path, Version: emptyVersion(m.Module.Path), GoVersion: m.Go, Folder: m.dir, Own: true})
		}
		r.requires = append(r.requires, m.Require...)
		for _, p := range m.Replace {
			old, by := p.Old.Path, p.New.Path
			if p.Old.Version != "" {
				old += "@" + p.Old.Version
			}
			if p.New.Version != "" {
				by += "@" + p.New.Version
			} else if !filepath.IsAbs(by) {
				by = filepath.Join(m.dir, by)
			}
			if r.replaces[old] == "" {
				r.replaces[old] = by
			}
		}
	}
	if len(r.modules) == 0 {
		return nil, fmt.Errorf("%s names no module", file)
	}
	for _, m := range r.modules { // they stand for themselves, whatever else replaces them
		r.replaces[m.Path] = m.Folder
		r.requires = append(slices.DeleteFunc(r.requires, func(q Module) bool { return q.Path == m.Path }), m)
	}
	return r, r.vendor(first)
}

// note notes a file that the root is made of, which need not be there.
func (r *root) note(file string) {
	text, _ := os.ReadFile(file)
	r.read[file] = string(text)
}

// emptyVersion returns the version by which the scratch module requires a module
// on disk: it must be one that the path allows.
func emptyVersion(path string) string {
	if m := majorRE.FindStringSubmatch(path); m != nil {
		return "v" + m[1] + ".0.0"
	}
	return "v0.0.0"
}

var majorRE = regexp.MustCompile(`[/.]v([0-9]+)$`)

// vendor replaces the modules in a vendor folder by their folders there, if the go
// command would use it.
func (r *root) vendor(m *goMod) error {
	dir := filepath.Join(m.dir, "vendor")
	list := filepath.Join(dir, "modules.txt")
	r.note(list)
	if r.read[list] == "" || modFlag() != "" && modFlag() != "vendor" {
		return nil
	}
	own := map[string]bool{}
	for _, m := range r.modules {
		own[m.Path] = true
	}
	path := ""
	for line := range strings.Lines(r.read[list]) {
		f := strings.Fields(line)
		switch {
		case len(f) >= 3 && f[0] == "#" && !own[f[1]] && f[2] != "=>":
			path = f[1]
			r.requires = append(r.requires, Module{Path: path, Version: f[2]})
			isOf := func(old string) bool { return old == path || strings.HasPrefix(old, path+"@") }
			for old := range r.replaces {
				if isOf(old) {
					delete(r.replaces, old)
				}
			}
			folder := filepath.Join(dir, filepath.FromSlash(path))
			r.replaces[path] = folder
			r.overlay[filepath.Join(folder, "go.mod")] = "module " + path + "\n\ngo 1.16\n"
		case len(f) > 1 && f[0] == "##" && path != "":
			if _, version, ok := strings.Cut(line, "go "); ok {
				r.overlay[filepath.Join(r.replaces[path], "go.mod")] = "module " + path + "\n\ngo " + strings.TrimSpace(version) + "\n"
			}
		}
	}
	return nil
}

// modFlag returns the value of -mod in GOFLAGS.
func modFlag() string {
	for f := range strings.FieldsSeq(os.Getenv("GOFLAGS")) {
		if v, ok := strings.CutPrefix(strings.TrimLeft(f, `'"-`), "mod="); ok {
			return strings.Trim(v, `'"`)
		}
	}
	return ""
}

// edit changes the scratch go.mod from what an older root required to what r
// does. old is nil for a new root.
func (s *Store) edit(ctx context.Context, goCmd string, old, r *root) error {
	args := []string{"mod", "edit"}
	if old != nil {
		for _, m := range old.requires {
			if !slices.ContainsFunc(s.got, func(g string) bool { return strings.HasPrefix(g, m.Path+"@") }) {
				args = append(args, "-droprequire="+m.Path)
			}
		}
		for p := range old.replaces {
			args = append(args, "-dropreplace="+p)
		}
	}
	for _, p := range slices.Sorted(maps.Keys(r.replaces)) {
		args = append(args, "-replace="+p+"="+r.replaces[p])
	}
	version := "1.22"
	for _, m := range r.modules {
		if newer(m.GoVersion, version) {
			version = m.GoVersion
		}
	}
	file := filepath.Join(s.dir, "go.mod")
	now, err := s.read(ctx, goCmd, file)
	if err != nil {
		return err
	}
	if newer(version, now.Go) {
		args = append(args, "-go="+version)
	}
	if len(args) > 2 {
		if _, err := s.run(ctx, goCmd, nil, args...); err != nil {
			return err
		}
	}
	// Several requirements of one module are fine: the go command takes the highest.
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	b := bytes.NewBuffer(text)
	for _, m := range r.requires {
		fmt.Fprintf(b, "\nrequire %s %s\n", m.Path, m.Version)
	}
	if err := os.WriteFile(file, b.Bytes(), 0o666); err != nil {
		return err
	}
	return s.addSums(r)
}

// addSums adds the checksums of a root to those of the scratch module.
func (s *Store) addSums(r *root) error {
	var sums []string
	for _, name := range slices.Sorted(maps.Keys(r.read)) {
		if strings.HasSuffix(name, ".sum") {
			sums = append(sums, r.read[name])
		}
	}
	return addLines(filepath.Join(s.dir, "go.sum"), sums...)
}

// addLines adds the lines of texts to a file that lacks them, which need not exist.
func addLines(file string, texts ...string) error {
	all, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	have := map[string]bool{"": true}
	for line := range strings.Lines(string(all)) {
		have[strings.TrimSpace(line)] = true
	}
	for _, text := range texts {
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); !have[line] {
				have[line] = true
				all = append(all, line+"\n"...)
			}
		}
	}
	return os.WriteFile(file, all, 0o666)
}

// newer reports whether a version of Go is above another.
func newer(a, b string) bool {
	var x, y [3]int
	_, _ = fmt.Sscanf(a, "%d.%d.%d", &x[0], &x[1], &x[2])
	_, _ = fmt.Sscanf(b, "%d.%d.%d", &y[0], &y[1], &y[2])
	return slices.Compare(x[:], y[:]) > 0
}

// overlayName is the file in the scratch folder that lists what vendored modules
// lack.
const overlayName = "overlay.json"

// writeOverlay writes the go.mod files of vendored modules.
func (s *Store) writeOverlay() error {
	replace := map[string]string{}
	for _, r := range s.roots {
		for file, text := range r.overlay {
			real := filepath.Join(s.dir, fmt.Sprintf("vendored-%d.mod", len(replace)))
			if err := os.WriteFile(real, []byte(text), 0o666); err != nil {
				return err
			}
			replace[file] = real
		}
	}
	if len(replace) == 0 {
		return nil
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(s.dir, overlayName), b, 0o666)
}

// overlay returns the flag for commands in the scratch module.
func (s *Store) overlay() []string {
	file := filepath.Join(s.dir, overlayName)
	if _, err := os.Stat(file); err != nil {
		return nil
	}
	return []string{"-overlay=" + file}
}
