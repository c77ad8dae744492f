package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	dacerun "dace.local/dacelib/run"
	"dace.local/kernel/buildinfo"
	"dace.local/kernel/setup/farmserver"
)

// A target is a platform that a release is built for.
type target struct {
	name string // in the archive's name
	os   string
	arch string
	// cgo makes the build one that can load compiled cells. It needs the C
	// library that it was linked with; all others need nothing.
	cgo bool
}

var targets = []target{
	{name: "linux-amd64", os: "linux", arch: "amd64"},
	{name: "linux-amd64-glibc", os: "linux", arch: "amd64", cgo: true},
	{name: "linux-arm64", os: "linux", arch: "arm64"},
	{name: "darwin-arm64", os: "darwin", arch: "arm64"},
	{name: "darwin-amd64", os: "darwin", arch: "amd64"},
}

// small has the compiler not inline within packages that pass on messages, read and write
// files, draw and answer: two megabytes. None of them computes, so that results have the
// same bits without. With cgo cells are compiled against the command's own packages, which
// have to be compiled alike.
var small = func() (flags string) {
	for _, p := range []string{
		"google.golang.org/protobuf/...", "github.com/gogo/protobuf/...", "github.com/nats-io/...", "codeberg.org/go-pdf/...",
		"github.com/yuin/goldmark/...", "codeberg.org/go-latex/...", "golang.org/x/text/...", "gonum.org/v1/plot/...",
		"gonum.org/v1/gonum/graph/formats/...", "gonum.org/v1/gonum/graph/encoding/...", "gonum.org/v1/gonum/unit/...",
		"archive/zip", "crypto/tls", "crypto/x509", "database/sql", "go/doc/...", "go/printer", "mime/...", "net/http/...", "net/mail", "net/rpc/...",
		"dacelib/farm/...", "dacelib/solver/external", "kernel/display", "kernel/gocell", "kernel/gocell/internal/compiled",
		"kernel/gocell/internal/debug", "kernel/gocell/internal/magic", "kernel/gocell/internal/program", "kernel/internal/...", "kernel/notebook",
		"kernel/setup/...", "kernel/widget",
	} {
		if strings.HasPrefix(p, "dacelib/") || strings.HasPrefix(p, "kernel/") {
			p = buildinfo.Path(p)
		}
		flags += " -gcflags=" + p + "=-l"
	}
	return flags
}()

// env returns the variables that make a build depend on nothing of the machine
// but the version of Go and, with cgo, the C compiler.
func (t target) env() []string {
	cgo, flags := "CGO_ENABLED=0", small
	if t.cgo {
		cgo, flags = "CGO_ENABLED=1", ""
	}
	return []string{"GOOS=" + t.os, "GOARCH=" + t.arch, cgo, "GOAMD64=v1", "GOARM64=v8.0", "GOEXPERIMENT=", "GOFIPS140=off", "GOWORK=off",
		"GOFLAGS=-trimpath" + flags, "CGO_CFLAGS=-O2 -g0", "CGO_LDFLAGS=-O2", "GOTOOLCHAIN=go" + strings.TrimPrefix(runtime.Version(), "go")}
}

// howTo is the text beside the command in an archive.
const howTo = `DACE notebooks %s, %s

    ./dace install              for this user; -prefix DIR for all users of DIR
    ./dace doctor               what is there, what is missing, what that costs
    ./dace uninstall

The file dace is all there is; nothing of this folder is needed later. It needs
no network. Jupyter then shows the kernel "Go (dace)"; dace run and dace repl
work without Jupyter. %s

LICENSE is this program's licence, LICENSES.txt those of what is linked in.
`

// makeRelease builds the archives of a release and their checksums into a folder, for the
// targets of the names or, without names, for all. The same revision, version of Go and C
// compiler give the same bytes.
func (in *installer) makeRelease(ctx context.Context, root string, names []string) error {
	var known []string
	for _, t := range targets {
		known = append(known, t.name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no release for %s, there are those for %s", name, strings.Join(known, ", "))
		}
	}
	dir, err := filepath.Abs(in.release)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	if old, _ := filepath.Glob(filepath.Join(dir, "dace-*.tar.gz")); len(old) > 0 {
		return fmt.Errorf("%s holds a release already: name another folder, or remove it", dir)
	}
	id, when := revision(ctx, root)
	switch {
	case id == "":
		return errors.New("a release is made from a clone: git cannot tell the revision of this folder")
	case strings.HasSuffix(id, "+"):
		in.say("There are changes that are not committed: the version says so (+), and nobody can repeat this release.")
	}
	date, err := time.Parse(time.RFC3339, when)
	if err != nil {
		return err
	}
	var sums strings.Builder
	for _, t := range targets {
		if len(names) > 0 && !slices.Contains(names, t.name) {
			continue
		}
		if t.os == "linux" && t.cgo && (runtime.GOOS != t.os || runtime.GOARCH != t.arch) {
			in.say("%s is not built: it needs a C compiler for that system", t.name)
			continue
		}
		err := in.Step("Building for "+t.name, func() (string, error) {
			name := fmt.Sprintf("dace-%s-%s", dacerun.Version, t.name)
			sum, note, err := archive(ctx, root, dir, name, date, t)
			fmt.Fprintf(&sums, "%x  %s.tar.gz\n", sum, name)
			return note, err
		})
		if err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(sums.String()), 0o644)
}

// archive builds the command for a target and writes its archive. It returns
// the archive's checksum and a line about sizes.
func archive(ctx context.Context, root, dir, name string, date time.Time, t target) (sum []byte, note string, err error) {
	temp, err := os.MkdirTemp(dir, ".release-")
	if err != nil {
		return nil, "", err
	}
	defer os.RemoveAll(temp)
	binary := filepath.Join(temp, "dace")
	if out, err := buildFor(ctx, root, binary, t.env()...); err != nil {
		return nil, "", fmt.Errorf("it does not build for %s (%w):\n%s", t.name, err, tail(out, 30))
	}
	program, err := os.ReadFile(binary)
	if err != nil {
		return nil, "", err
	}
	licence, err := os.ReadFile(filepath.Join(root, "LICENSE"))
	if err != nil {
		return nil, "", err
	}
	others, err := licences(ctx, root, t)
	if err != nil {
		return nil, "", err
	}
	cells := "Cells that begin with %%compile run interpreted in this build."
	switch {
	case t.cgo:
		cells = "This build needs glibc; cells that begin\nwith %%compile need Go and a C compiler."
	case t.os == "linux" && t.arch == "amd64":
		cells = "Cells that begin with %%compile run\ninterpreted in this build; linux-amd64-glibc compiles them."
	}
	file := filepath.Join(dir, name+".tar.gz")
	w, err := os.Create(file)
	if err != nil {
		return nil, "", err
	}
	h := sha256.New()
	err = pack(io.MultiWriter(w, h), name, date, []packed{
		{"dace", 0o755, program},
		{"README.txt", 0o644, fmt.Appendf(nil, howTo, dacerun.Version, t.name, cells)},
		{"LICENSE", 0o644, licence},
		{"LICENSES.txt", 0o644, others},
	})
	if err = errors.Join(err, w.Close()); err != nil {
		return nil, "", err
	}
	info, err := os.Stat(file)
	if err != nil {
		return nil, "", err
	}
	return h.Sum(nil), fmt.Sprintf("%.1f MB, packed %.1f MB", float64(len(program))/1e6, float64(info.Size())/1e6), nil
}

// A packed is a file of an archive.
type packed struct {
	name string
	mode int64
	text []byte
}

// pack writes a compressed archive of one folder, whose bytes depend on the
// arguments alone.
func pack(w io.Writer, folder string, date time.Time, files []packed) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	a := tar.NewWriter(z)
	for _, f := range files {
		head := &tar.Header{Typeflag: tar.TypeReg, Name: folder + "/" + f.name, Mode: f.mode, Size: int64(len(f.text)), ModTime: date, Format: tar.FormatUSTAR}
		if err := a.WriteHeader(head); err != nil {
			return err
		}
		if _, err := a.Write(f.text); err != nil {
			return err
		}
	}
	return errors.Join(a.Close(), z.Close())
}

// licenceFile matches the names of files with terms of use.
var licenceFile = regexp.MustCompile(`(?i)^(un)?(licen[cs]e|copying|notice|patents|copyright)([.-].*)?$`)

// licences returns the texts of the licences of everything that is linked for a
// target: of the modules, of Go itself, and of parts of modules that have their
// own. A module without a licence is an error.
func licences(ctx context.Context, root string, t target) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Dir,Standard,Module", "./kernel", "./"+farmserver.Package)
	var stderr bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stderr = root, append(os.Environ(), t.env()...), &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("cannot list what is linked (%w):\n%s", err, tail(stderr.Bytes(), 10))
	}
	found := map[string]map[string]string{} // texts by module, and by file in it
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			Dir      string
			Standard bool
			Module   *struct {
				Path, Version, Dir string
				Main               bool
			}
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		name := p.Module.Path + " " + p.Module.Version
		if found[name] == nil {
			found[name] = map[string]string{}
		}
		// From the package up to the module: parts may have licences.
		for dir := p.Dir; ; dir = filepath.Dir(dir) {
			if err := addLicences(found[name], p.Module.Dir, dir); err != nil {
				return nil, err
			}
			if dir == p.Module.Dir || !strings.HasPrefix(dir, p.Module.Dir) {
				break
			}
		}
	}
	goroot, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	itself := "Go " + runtime.Version()
	found[itself] = map[string]string{}
	if err := addLicences(found[itself], "", strings.TrimSpace(string(goroot))); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if len(found[name]) == 0 {
			return nil, fmt.Errorf("%s is linked in and has no licence: it cannot be released", name)
		}
		for _, file := range slices.Sorted(maps.Keys(found[name])) {
			fmt.Fprintf(&b, "==== %s: %s\n\n%s\n\n", name, file, strings.TrimSpace(found[name][file]))
		}
	}
	return b.Bytes(), nil
}

// addLicences adds the licences in a folder, by their paths relative to root.
func addLicences(to map[string]string, root, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Type()&fs.ModeType != 0 || !licenceFile.MatchString(e.Name()) || strings.HasSuffix(e.Name(), ".go") {
			continue
		}
		name := e.Name()
		if rel, err := filepath.Rel(root, filepath.Join(dir, name)); root != "" && err == nil {
			name = filepath.ToSlash(rel)
		}
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		to[name] = string(text)
	}
	return nil
}
