package setup

import (
	"context"
	debuginfo "debug/buildinfo"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"dace.local/dacelib/files"
	"dace.local/kernel/buildinfo"
	"dace.local/kernel/setup/farmserver"
)

// A Place holds the paths to install to.
type Place struct {
	Spec   string // the folder of the kernelspec, with kernel.json
	Binary string // the file of the kernel's command
	Share  string // the folder for what else belongs to an installation
	// Path is the folder that JUPYTER_PATH must hold; it is "" if Jupyter
	// searches that folder anyway.
	Path string
}

// Compiled returns the folder with compiled cells for all users of the
// installation.
func (at Place) Compiled() string { return filepath.Join(at.Share, "compiled") }

// Shared returns the folder with compiled cells for all users of the installation
// that the running program belongs to; "" if it is not in a folder bin.
func Shared() string {
	exe, err := os.Executable()
	if err != nil || filepath.Base(filepath.Dir(exe)) != "bin" {
		return ""
	}
	prefix := filepath.Dir(filepath.Dir(exe))
	return Place{Share: filepath.Join(prefix, "share", filepath.Base(exe))}.Compiled()
}

// kernelName matches the names that Jupyter allows for a kernel.
var kernelName = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)

// Place returns the paths to install to.
func (in *Installer) Place(ctx context.Context) (Place, error) {
	name := in.name()
	if !kernelName.MatchString(name) {
		return Place{}, fmt.Errorf("%q is no name for a kernel: letters, digits and . _ - are allowed, and it begins with a letter or digit", name)
	}
	prefix := in.Prefix
	if in.SysPrefix {
		var err error
		if prefix, err = sysPrefix(ctx); err != nil {
			return Place{}, err
		}
	}
	if prefix != "" {
		prefix, err := filepath.Abs(prefix)
		if err != nil {
			return Place{}, err
		}
		at := Place{
			Spec:   filepath.Join(prefix, "share", "jupyter", "kernels", name),
			Binary: filepath.Join(prefix, "bin", name),
			Share:  filepath.Join(prefix, "share", name),
		}
		if !in.SysPrefix && prefix != "/usr" && prefix != "/usr/local" {
			at.Path = filepath.Join(prefix, "share", "jupyter")
		}
		return at, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return Place{}, fmt.Errorf("cannot tell the user's folder (%w): set HOME, or install with -prefix DIR", err)
	}
	share := filepath.Join(home, ".local", "share")
	if xdg := os.Getenv("XDG_DATA_HOME"); filepath.IsAbs(xdg) {
		share = xdg
	}
	// The same rules as in jupyter_core.paths.jupyter_data_dir.
	data := filepath.Join(share, "jupyter")
	if runtime.GOOS == "darwin" {
		data = filepath.Join(home, "Library", "Jupyter")
	}
	if dir := os.Getenv("JUPYTER_DATA_DIR"); dir != "" {
		if data, err = filepath.Abs(dir); err != nil {
			return Place{}, err
		}
	}
	return Place{
		Spec:   filepath.Join(data, "kernels", name),
		Binary: filepath.Join(home, ".local", "bin", name),
		Share:  filepath.Join(share, name),
	}, nil
}

// sysPrefix returns the folder of the active virtual or conda environment, else
// the prefix of python3.
func sysPrefix(ctx context.Context) (string, error) {
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX"} {
		if dir := os.Getenv(name); dir != "" {
			return dir, nil
		}
	}
	out, err := exec.CommandContext(ctx, "python3", "-c", "import sys; print(sys.prefix)").Output()
	if err != nil {
		return "", fmt.Errorf("-sys-prefix asks python3 for its prefix, and that failed: %w; activate an environment, or name a folder with -prefix DIR", err)
	}
	return strings.TrimSpace(string(out)), nil
}

//go:embed logo/*
var logos embed.FS

// specFile is the main file of a kernelspec; the others are logos.
const specFile = "kernel.json"

// A Spec is the content of kernel.json.
type Spec struct {
	Argv          []string          `json:"argv"`
	DisplayName   string            `json:"display_name"`
	Language      string            `json:"language"`
	InterruptMode string            `json:"interrupt_mode"`
	Env           map[string]string `json:"env,omitempty"`
	Metadata      struct {
		// Debugger has JupyterLab offer its debugger.
		Debugger bool `json:"debugger"`
		// The key belongs to the file's format, whatever the module's path.
		Record *Record `json:"dace.local,omitempty"`
	} `json:"metadata"`
}

// recordFile holds the record until our kernel.json is written. It is a
// separate file because Jupyter must not see a kernel that is still being
// built.
const recordFile = "install.json"

// A Record lists, in kernel.json, the other files and folders that were
// installed. Its presence shows that the kernelspec is ours. It is written
// before anything that it lists, so that -uninstall also removes the remains of
// an installation that was killed.
type Record struct {
	Binary string   `json:"binary"`
	Made   []string `json:"made,omitempty"`  // folders that were made, to be removed if they are empty
	Trees  []string `json:"trees,omitempty"` // folders to be removed with their content
}

// ReadSpec reads kernel.json in a folder.
func ReadSpec(dir string) (Spec, error) {
	var spec Spec
	name := filepath.Join(dir, specFile)
	text, err := os.ReadFile(name)
	if err != nil {
		return spec, err
	}
	if err := json.Unmarshal(text, &spec); err != nil {
		return spec, fmt.Errorf("%s: %w", name, err)
	}
	return spec, nil
}

// readRecord returns the record in a folder: that of kernel.json, merged with
// that of an installation that did not finish. It is nil if there is neither.
func readRecord(dir string) (*Record, error) {
	var note *Record
	spec, err := ReadSpec(dir)
	if err == nil {
		note = spec.Metadata.Record
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	name := filepath.Join(dir, recordFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return note, nil
	}
	pending := &Record{}
	if err == nil {
		err = json.Unmarshal(text, pending)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if note != nil {
		pending.Merge(note)
	}
	return pending, nil
}

// Merge adds the folders that an earlier record lists.
func (r *Record) Merge(earlier *Record) {
	join := func(a, b []string) []string {
		for _, s := range b {
			if !slices.Contains(a, s) {
				a = append(a, s)
			}
		}
		return a
	}
	r.Made, r.Trees = join(slices.Clip(earlier.Made), r.Made), join(slices.Clip(earlier.Trees), r.Trees)
}

// begin writes the record of an installation that has not registered its kernel
// yet.
func (at Place) begin(note *Record) error {
	text, err := json.Marshal(note)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(at.Spec, recordFile), append(text, '\n'), 0o644)
}

// building returns the folder in which the command is built. It is beside the
// command, so that a rename can move the result to its place.
func (at Place) building() string {
	return filepath.Join(filepath.Dir(at.Binary), "."+filepath.Base(at.Binary)+"-building")
}

// prepare checks that the installation overwrites only our own files and can
// write to its folders; then it makes the folders and records them. The new
// record includes that of an earlier installation.
func (in *Installer) prepare(at Place) (*Record, error) {
	note := &Record{Binary: at.Binary, Trees: []string{at.building(), at.Compiled()}}
	spec, err := ReadSpec(at.Spec)
	var unread *fs.PathError
	switch {
	case err == nil && spec.Metadata.Record != nil, errors.Is(err, fs.ErrNotExist):
	case errors.As(err, &unread):
		return nil, Denied(at.Spec, err)
	case !in.Force:
		what := "a kernel named " + in.name() + " that this installer did not write"
		if spec.DisplayName != "" {
			what += fmt.Sprintf(" (%q)", spec.DisplayName)
		}
		return nil, fmt.Errorf("%s holds %s. Move it away, or overwrite it with -force", at.Spec, what)
	}
	if _, err := os.Lstat(at.Binary); err == nil && !IsOurs(at.Binary) && !in.Force {
		return nil, fmt.Errorf("%s is another program. Install elsewhere with -prefix DIR, or overwrite it with -force", at.Binary)
	}
	earlier, err := readRecord(at.Spec)
	if err != nil && !in.Force {
		return nil, err
	}
	if earlier != nil {
		note.Merge(earlier)
	}
	// Kernels make the folders of own, and Jupyter makes its data folder when it
	// is asked for kernelspecs.
	dirs := append([]string{at.Spec, filepath.Dir(at.Binary), at.Share}, own()...)
	if user, err := new(Installer).Place(context.Background()); err == nil {
		dirs = append(dirs, filepath.Dir(filepath.Dir(user.Spec)))
	}
	for _, dir := range dirs {
		note.Merge(&Record{Made: Absent(dir)})
	}
	for _, dir := range []string{at.Spec, filepath.Dir(at.Binary)} {
		made := Absent(dir)
		err := Writable(dir)
		for _, dir := range made {
			if in.Prefix != "" || in.SysPrefix { // for all users, whatever the umask
				err = errors.Join(err, os.Chmod(dir, 0o755))
			}
		}
		if err == nil && dir == at.Spec {
			err = at.begin(note)
		}
		if err != nil {
			in.abandon(at, note)
			return nil, Denied(dir, err)
		}
	}
	return note, nil
}

// abandon removes everything that an installation made before it registered a
// kernel. Files of an earlier installation stay unchanged.
func (in *Installer) abandon(at Place, note *Record) {
	_ = os.RemoveAll(at.building())
	_ = os.Remove(filepath.Join(at.Spec, recordFile))
	RemoveEmpty(note.Made)
}

// Denied returns an error that says what to do if dir cannot be written to.
func Denied(dir string, err error) error {
	var perr *fs.PathError
	if errors.As(err, &perr) {
		err = perr.Err
	}
	return fmt.Errorf("cannot write into %s: %w. Install for yourself with -user, or into a folder of yours with -prefix DIR", dir, err)
}

// IsOurs reports whether a file is a build of our kernel.
func IsOurs(file string) bool {
	info, err := debuginfo.ReadFile(file)
	return err == nil && info.Path == buildinfo.Path("kernel")
}

// Register writes the kernelspec, with note as its record.
func (in *Installer) Register(at Place, note *Record) error {
	spec := Spec{
		Argv:        []string{at.Binary, "jupyter", "-f", "{connection_file}"},
		DisplayName: in.displayName(),
		Language:    "go",
		// Interrupts come as messages, which reach only the cell: a signal
		// would go to the whole process group, and so also to programs that a
		// cell has started.
		InterruptMode: "message",
	}
	if in.other() {
		spec.Argv = slices.Insert(spec.Argv, 2, "-engine", in.Engine)
	}
	note.Trees = slices.DeleteFunc(note.Trees, func(dir string) bool { return dir == at.building() })
	spec.Metadata.Debugger = !in.other()
	spec.Metadata.Record = note
	text, err := json.MarshalIndent(spec, "", "  ")
	if err != nil {
		return err
	}
	list := specFiles()
	list[specFile] = append(text, '\n')
	for name, data := range list {
		err := files.Settings{Mode: 0o644, NoSync: true}.WriteBytes(filepath.Join(at.Spec, name), data)
		if err != nil {
			return Denied(at.Spec, err)
		}
	}
	if err := os.Remove(filepath.Join(at.Spec, recordFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Denied(at.Spec, err)
	}
	return nil
}

// specFiles returns the other files of the kernelspec (the logos) by name.
func specFiles() map[string][]byte {
	list := make(map[string][]byte)
	entries, err := logos.ReadDir("logo")
	if err != nil {
		panic(err) // cannot happen: the logos are embedded
	}
	for _, e := range entries {
		if list[e.Name()], err = logos.ReadFile(path.Join("logo", e.Name())); err != nil {
			panic(err)
		}
	}
	return list
}

// Uninstall removes exactly what Install wrote, and what kernels keep for this
// user if no other of our kernels is left (and Keep is not set).
func (in *Installer) Uninstall(at Place) error {
	note, err := readRecord(at.Spec)
	if err != nil {
		return err
	}
	if note == nil {
		if _, err := os.Stat(filepath.Join(at.Spec, specFile)); err == nil {
			return fmt.Errorf("%s was not written by this installer and stays", at.Spec)
		}
		in.say("Nothing to remove: there is no kernelspec in %s.", at.Spec)
		return nil
	}
	if in.Dry {
		in.say("Would remove %s and %s.", at.Spec, note.Binary)
		return in.removeOwn(at)
	}
	if _, err := os.Lstat(note.Binary); err == nil {
		if !IsOurs(note.Binary) {
			in.say("%s is another program by now and stays.", note.Binary)
		} else if err := os.Remove(note.Binary); err != nil {
			return fmt.Errorf("cannot remove the command: %w", err)
		}
	}
	for _, dir := range note.Trees {
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("cannot remove %s: %w", dir, err)
		}
	}
	list := make(map[string][]byte)
	if spec, err := ReadSpec(at.Spec); err != nil || spec.Metadata.Record != nil {
		list = specFiles()
		list[specFile] = nil
	}
	list[recordFile] = nil
	leftovers, _ := filepath.Glob(filepath.Join(at.Spec, ".*.tmp"))
	for _, name := range leftovers { // temporary files of an interrupted write
		list[filepath.Base(name)] = nil
	}
	for name := range list {
		if err := os.Remove(filepath.Join(at.Spec, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("cannot remove the kernelspec: %w", err)
		}
	}
	in.say("Removed %s and %s.", at.Spec, note.Binary)
	if err := in.removeOwn(at); err != nil {
		return err
	}
	RemoveEmpty(note.Made)
	return nil
}

// own returns the folders in which kernels keep what belongs to their user: the
// history of cells, compiled cells, and the unpacked server of farms.
func own() []string {
	var dirs []string
	if dir, err := buildinfo.StateDir(); err == nil {
		dirs = append(dirs, dir)
	}
	if dir, err := buildinfo.CacheDir(); err == nil {
		dirs = append(dirs, filepath.Join(dir, "compiled"))
	}
	if dir, err := farmserver.Dir(); err == nil {
		dirs = append(dirs, dir)
	}
	return dirs
}

// removeOwn removes what kernels keep for this user, unless another of our
// kernels that the user has would lose it.
func (in *Installer) removeOwn(at Place) error {
	if in.Keep {
		return nil
	}
	folders := []string{filepath.Dir(at.Spec), "/usr/local/share/jupyter/kernels", "/usr/share/jupyter/kernels"}
	for _, other := range []*Installer{{}, {SysPrefix: true}} {
		if p, err := other.Place(context.Background()); err == nil {
			folders = append(folders, filepath.Dir(p.Spec))
		}
	}
	for _, dir := range folders {
		entries, _ := os.ReadDir(dir)
		for _, e := range entries {
			spec, err := ReadSpec(filepath.Join(dir, e.Name()))
			if err == nil && spec.Metadata.Record != nil && filepath.Join(dir, e.Name()) != at.Spec {
				in.say("The history and the compiled cells of this user stay, for the kernel in %s.", filepath.Join(dir, e.Name()))
				return nil
			}
		}
	}
	for _, dir := range own() {
		if _, err := os.Stat(dir); err != nil {
			continue
		}
		if in.Dry {
			in.say("Would remove %s.", dir)
			continue
		}
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("cannot remove %s: %w", dir, err)
		}
		in.say("Removed %s.", dir)
	}
	if dir, err := buildinfo.CacheDir(); err == nil && !in.Dry {
		if entries, err := os.ReadDir(dir); err == nil && len(entries) == 0 {
			_ = os.Remove(dir)
		} else if err == nil {
			in.say("%s stays: downloaded data and results of tests.", dir)
		}
	}
	return nil
}

// Absent returns the folders on the path to dir that do not exist, dir
// included, outermost first.
func Absent(dir string) []string {
	if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
		return nil
	}
	return append(Absent(filepath.Dir(dir)), dir)
}

// RemoveEmpty removes the given folders that are empty, innermost first.
func RemoveEmpty(dirs []string) {
	dirs = slices.SortedFunc(slices.Values(dirs), func(a, b string) int { return len(b) - len(a) })
	for _, dir := range dirs {
		_ = os.Remove(dir) // fails if the folder is not empty
	}
}

// tempPrefix is the beginning of the names of temporary files.
const tempPrefix = ".dace-"

// Writable makes the folder dir if it does not exist and checks that files can
// be written there.
func Writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, tempPrefix+"*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}
