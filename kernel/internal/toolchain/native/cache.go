package native

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"dace.local/dacelib/files"
)

// A cache is the folder with the plugins of one build of the program. Plugins
// run in this process, so no other user may write there, and a plugin is loaded
// only if its file is unchanged since it was stored. For this purpose each
// NAME.so has a NAME.sum: one line with the SHA-256 and the size of the
// plugin's file, and with "ID/NAME", the build and the plugin that it belongs
// to.
//
// A shared cache belongs to the installation of the program, for all its users.
// Users only read it; they trust it as they trust the program's file.
type cache struct {
	dir    string // BASE/compiled/ID, see openCache
	shared bool
	owner  int // who installed the program, for a shared cache
}

// trusts reports whether files of a user may be loaded.
func (c cache) trusts(uid uint32) bool {
	return int(uid) == os.Geteuid() || c.shared && (uid == 0 || int(uid) == c.owner)
}

// openShared returns the shared cache of build id in the folder dir. ok is false
// if there is none, or if somebody could write to it who could not replace the
// program as well.
func openShared(dir, id string) (c cache, ok bool) {
	exe, err := os.Executable()
	if err != nil {
		return c, false
	}
	info, err := os.Stat(exe)
	if err != nil {
		return c, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return c, false
	}
	c = cache{dir: filepath.Join(dir, id), shared: true, owner: int(st.Uid)}
	for _, d := range []string{filepath.Dir(dir), dir, c.dir} {
		info, err := os.Lstat(d)
		if err != nil || !info.IsDir() || info.Mode().Perm()&0o022 != 0 {
			return c, false
		}
		if st, ok := info.Sys().(*syscall.Stat_t); !ok || !c.trusts(st.Uid) {
			return c, false
		}
	}
	return c, true
}

// share copies the plugins of c that to lacks, readable for everybody, and
// returns their number.
func (c cache) share(to cache) (n int, err error) {
	for _, d := range []string{filepath.Dir(filepath.Dir(to.dir)), filepath.Dir(to.dir), to.dir} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return 0, err
		}
	}
	for _, d := range []string{filepath.Dir(to.dir), to.dir} { // whatever the umask
		if err := os.Chmod(d, 0o755); err != nil {
			return 0, err
		}
	}
	plugins, err := filepath.Glob(filepath.Join(c.dir, "*.so"))
	if err != nil {
		return 0, err
	}
	for _, p := range plugins {
		name := strings.TrimSuffix(filepath.Base(p), ".so")
		if f, err := to.open(name); err == nil {
			f.Close()
			continue
		}
		if err := c.shareOne(to, name); err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

func (c cache) shareOne(to cache, name string) error {
	from, err := c.open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	dir, err := os.MkdirTemp(to.dir, "build-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	copied := filepath.Join(dir, "plugin.so")
	w, err := os.OpenFile(copied, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(w, from)
	if err = errors.Join(err, w.Close()); err != nil {
		return err
	}
	if err := to.store(copied, name); err != nil {
		return err
	}
	return errors.Join(os.Chmod(sumFile(to.file(name)), 0o644), os.Chmod(to.file(name), 0o644))
}

// removeOthers removes from the folder of a shared cache what other builds of
// the program have there, unless a running process has it loaded.
func (c cache) removeOthers() {
	builds, _ := os.ReadDir(filepath.Dir(c.dir))
	for _, b := range builds {
		dir := filepath.Join(filepath.Dir(c.dir), b.Name())
		if dir == c.dir {
			continue
		}
		plugins, _ := filepath.Glob(filepath.Join(dir, "*.so"))
		for _, p := range plugins {
			if unused(p) {
				_ = remove(p)
			}
		}
		_ = os.Remove(dir) // fails if something is left
	}
}

// sourceDir is the folder in a cache that holds the program's unpacked source.
const sourceDir = "source"

// openCache makes the cache folder of build id below base, or checks that it
// belongs to this user. If others could write to one of the folders, openCache
// empties the cache and returns a sentence about that as notice; else notice is
// "".
func openCache(base, id string) (c cache, notice string, err error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return c, "", fmt.Errorf("the cache of compiled cells cannot be made: %w", err)
	}
	info, err := os.Stat(base)
	if err == nil {
		err = ours(base, info)
	}
	if err != nil {
		return c, "", err
	}
	open := "" // the last folder found that others could write to, if any
	if info.Mode().Perm()&0o022 != 0 {
		if err := os.Chmod(base, info.Mode().Perm()&^0o022); err != nil {
			return c, "", err
		}
		open = base
	}
	dir := base
	for _, name := range []string{"compiled", id} {
		dir = filepath.Join(dir, name)
		info, err := os.Lstat(dir)
		if err == nil && !info.IsDir() { // a file, or a link that may lead anywhere
			if err := os.Remove(dir); err != nil {
				return c, "", err
			}
			err, open = fs.ErrNotExist, dir
		}
		if errors.Is(err, fs.ErrNotExist) {
			if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return c, "", fmt.Errorf("the cache of compiled cells cannot be made: %w", err)
			}
			info, err = os.Lstat(dir)
		}
		if err == nil {
			err = ours(dir, info)
		}
		if err != nil {
			return c, "", err
		}
		if mode := info.Mode().Perm(); mode != 0o700 {
			if err := os.Chmod(dir, 0o700); err != nil {
				return c, "", err
			}
			if mode&0o022 != 0 {
				open = dir
			}
		}
	}
	c = cache{dir: dir}
	if open == "" {
		return c, "", nil
	}
	n, err := c.empty()
	if err != nil {
		return c, "", fmt.Errorf("others could write to %s, and it cannot be emptied: %w", open, err)
	}
	if n == 0 {
		return c, "", nil
	}
	return c, "others could write to " + open + ": what was stored there is built again", nil
}

// ours returns an error if dir is not a folder or belongs to another user.
func ours(dir string, info fs.FileInfo) error {
	if !info.IsDir() {
		return fmt.Errorf("%s is no folder: remove it, or let XDG_CACHE_HOME name another one", dir)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to another user: remove it, or let XDG_CACHE_HOME name another one", dir)
	}
	return nil
}

// empty removes everything in the folder and returns the number of entries.
func (c cache) empty() (n int, err error) {
	entries, err := os.ReadDir(c.dir)
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(c.dir, e.Name())))
	}
	return len(entries), err
}

// file returns the name of a plugin's file.
func (c cache) file(name string) string { return filepath.Join(c.dir, name+".so") }

// sumFile returns the name of the file that holds a plugin's checksum.
func sumFile(plugin string) string { return strings.TrimSuffix(plugin, ".so") + ".sum" }

// sumLine returns the content of a plugin's sum file.
func (c cache) sumLine(name string, sum []byte, size int64) string {
	return fmt.Sprintf("%x %d %s/%s\n", sum, size, filepath.Base(c.dir), name)
}

// A damage is the reason why a stored plugin is not loaded.
type damage struct{ why string }

func (d *damage) Error() string { return d.why }

// open opens a stored plugin and verifies it. The error is fs.ErrNotExist if
// there is none, and a *damage if it cannot be trusted.
func (c cache) open(name string) (*os.File, error) {
	f, err := os.OpenFile(c.file(name), os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err == nil {
		if err = c.verify(f, name); err == nil {
			return f, nil
		}
		f.Close()
	}
	var d *damage
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.As(err, &d):
	case errors.Is(err, unix.ELOOP):
		err = &damage{"it is a symbolic link"}
	default:
		err = &damage{"it cannot be read: " + err.Error()}
	}
	return nil, err
}

// verify returns a *damage unless f is a regular file of this user's, not
// writable by others, with the content that was stored.
func (c cache) verify(f *os.File, name string) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return &damage{"it is no regular file"}
	case ok && !c.trusts(st.Uid):
		return &damage{"it belongs to another user"}
	case info.Mode().Perm()&0o022 != 0:
		return &damage{"others can write to it"}
	}
	want, err := readSmall(sumFile(c.file(name)))
	if err != nil {
		return &damage{"its checksum is not there"}
	}
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return err
	}
	if c.sumLine(name, h.Sum(nil), size) != want {
		return &damage{"it is not what was stored, by its checksum"}
	}
	return nil
}

// readSmall returns the first KiB of a file, enough for a file of one line.
func readSmall(name string) (string, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 1<<10))
	return string(b), err
}

// store moves a plugin that was built in a folder of the cache to its final
// name, with its sum file. If the machine crashes meanwhile, the cache holds
// the old plugin, the new one, or one that open reports as damaged.
func (c cache) store(built, name string) error {
	f, err := os.OpenFile(built, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err == nil {
		err = f.Chmod(0o600)
	}
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		return err
	}
	line := filepath.Join(filepath.Dir(built), "sum")
	if err := writeSynced(line, c.sumLine(name, h.Sum(nil), size)); err != nil {
		return err
	}
	to := c.file(name)
	if err := os.Rename(line, sumFile(to)); err != nil {
		return err
	}
	if err := os.Rename(built, to); err != nil {
		return err
	}
	d, err := os.Open(c.dir)
	if err != nil {
		return err
	}
	defer d.Close()
	_ = d.Sync() // some file systems cannot sync a folder
	return nil
}

func writeSynced(name, text string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// remove removes a plugin and its sum file from the cache.
func remove(plugin string) error {
	_ = os.Remove(sumFile(plugin)) // if this fails, a sum file without a plugin does no harm
	return os.Remove(plugin)
}

// spare is the free space in bytes that a build needs for its result and its
// temporary files. The first build of a library needs more.
const spare = 64 << 20

// room returns nil if a build can write to dir and finds enough free space
// there. It makes the folder if it does not exist.
func room(dir, what string) error {
	err := os.MkdirAll(dir, 0o700)
	var f *os.File
	if err == nil {
		if f, err = os.CreateTemp(dir, "build-*.probe"); err == nil {
			_, err = f.Write(make([]byte, 64<<10))
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	if err != nil {
		return fmt.Errorf("%s cannot be written to (%s): %w", what, dir, err)
	}
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) == nil && st.Blocks > 0 {
		if left := uint64(st.Bavail) * uint64(st.Bsize); left < spare {
			return fmt.Errorf("the disk of %s is full (%s): a build needs %d MB, and %d are left", what, dir, spare>>20, left>>20)
		}
	}
	return nil
}

// hold locks a plugin's file, which keeps it in the cache while this process
// runs, and sets its time of last use. It takes ownership of f.
func hold(f *os.File) {
	now := time.Now()
	_ = os.Chtimes(f.Name(), now, now) // if this fails, the plugin only looks older than it is
	_ = files.LockShared(f)
	held = append(held, f)
}

// held are the open and locked files of the loaded plugins. The mutex of loaded
// guards it.
var held []*os.File

// sweep removes from a folder of caches the plugins that were not used for
// maxAge, then the longest unused ones until all together are at most maxSize
// bytes. It also removes the temporary files of interrupted builds, and old
// unpacked sources in caches without plugins. Plugins that a running process
// has loaded stay.
func sweep(dir string, maxAge time.Duration, maxSize int64) {
	type plug struct {
		name string
		fs.FileInfo
	}
	var all []plug
	total := int64(0)
	now := time.Now()
	kernels, _ := os.ReadDir(dir)
	for _, k := range kernels {
		entries, _ := os.ReadDir(filepath.Join(dir, k.Name()))
		plugins := slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), ".so") })
		for _, e := range entries {
			name := filepath.Join(dir, k.Name(), e.Name())
			info, err := e.Info()
			switch {
			case err != nil:
			case e.Name() == sourceDir:
				if !plugins && now.Sub(info.ModTime()) > maxAge {
					_ = os.RemoveAll(name)
					_ = os.Remove(filepath.Dir(name))
				}
			case strings.HasPrefix(e.Name(), "build-") && now.Sub(info.ModTime()) > 24*time.Hour:
				_ = os.RemoveAll(name)
			case strings.HasSuffix(e.Name(), ".so"):
				all = append(all, plug{name, info})
				total += info.Size()
			}
		}
	}
	slices.SortFunc(all, func(a, b plug) int { return a.ModTime().Compare(b.ModTime()) })
	for _, p := range all {
		if now.Sub(p.ModTime()) <= maxAge && total <= maxSize {
			break
		}
		if unused(p.name) && remove(p.name) == nil {
			total -= p.Size()
			_ = os.Remove(filepath.Dir(p.name)) // succeeds if the plugin was the last file
		}
	}
}

// unused reports whether no process holds a lock on the plugin, that is, has it
// loaded.
func unused(file string) bool {
	f, err := os.Open(file)
	if err != nil {
		return false
	}
	defer f.Close()
	return files.Lock(f) == nil
}

// identity returns a digest that identifies this build of the program.
func identity() (string, error) {
	name := "/proc/self/exe" // this program even if its file was replaced since
	if runtime.GOOS != "linux" {
		var err error
		if name, err = os.Executable(); err != nil {
			return "", err
		}
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
	// The first 64 KiB suffice: the build ID is near the beginning of the file.
	h := sha256.New()
	if _, err := io.CopyN(h, f, 1<<16); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	fmt.Fprintln(h, st.Size())
	return hex.EncodeToString(h.Sum(nil)[:10]), nil
}
