package caop

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// A Program is the C source text that an instance compiles.
type Program struct {
	// Name identifies the program.
	Name string `json:"name"`
	// Files holds the program's sources and headers. Each .c file is compiled
	// separately; the value of a solution is minus the sum of the sizes.
	Files []File `json:"files"`
	// Include holds additional folders with headers, as absolute paths.
	Include []string `json:"include,omitempty"`
}

// A File is a source file: a name without a folder, and its text.
type File struct {
	// Name and Text of the file.
	Name string `json:"name"`
	Text string `json:"text"`
}

// check returns an error if the program is invalid.
func (p Program) check() error {
	sources := 0
	seen := map[string]bool{}
	for _, f := range p.Files {
		if f.Name == "" || f.Name != filepath.Base(f.Name) || strings.HasPrefix(f.Name, ".") || strings.HasPrefix(f.Name, "-") {
			return fmt.Errorf("program %q: %q is no name of a file", p.Name, f.Name)
		}
		if seen[f.Name] {
			return fmt.Errorf("program %q: two files have the name %s", p.Name, f.Name)
		}
		seen[f.Name] = true
		if strings.HasSuffix(f.Name, ".c") {
			sources++
		}
	}
	if sources == 0 {
		return fmt.Errorf("program %q has no .c file", p.Name)
	}
	for _, dir := range p.Include {
		if !filepath.IsAbs(dir) {
			return fmt.Errorf("program %q: the folder of headers %q is not an absolute path", p.Name, dir)
		}
	}
	return nil
}

// hash returns a hash of the program's text.
func (p Program) hash() string {
	h := sha256.New()
	for _, f := range p.Files {
		fmt.Fprintf(h, "%q %q\n", f.Name, f.Text)
	}
	fmt.Fprintf(h, "%q\n", p.Include)
	return hex.EncodeToString(h.Sum(nil))[:16]
}

func (p Program) clone() Program {
	p.Files = slices.Clone(p.Files)
	p.Include = slices.Clone(p.Include)
	return p
}

//go:embed programs/*.c
var programs embed.FS

// Programs returns the programs of the library, sorted by name: numeric
// kernels, strings and tables, compressors, hashes, parsers, an interpreter.
// Each is one file with a main function that checks its results.
func Programs() []Program {
	var all []Program
	files, err := fs.ReadDir(programs, "programs")
	for _, f := range files {
		text, e := programs.ReadFile(path.Join("programs", f.Name()))
		err = errors.Join(err, e)
		all = append(all, Program{Name: strings.TrimSuffix(f.Name(), ".c"), Files: []File{{f.Name(), string(text)}}})
	}
	if err != nil {
		panic("caop: an embedded program cannot be read: " + err.Error())
	}
	return all
}

// maxSource is the maximal size of a program's file, in bytes.
const maxSource = 16 << 20

// ReadPrograms reads the C programs of a folder, such as a checkout of cBench
// or PolyBench. Each .c file directly in the folder is a program, together with
// the folder's headers; each folder below that holds .c files is one program of
// all of them. Headers elsewhere are found in the folders of include.
func ReadPrograms(dir string, include []string) ([]Program, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, d := range include {
		if d, err = filepath.Abs(d); err != nil {
			return nil, err
		}
		dirs = append(dirs, d)
	}
	var all []Program
	err = filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		if at != dir && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		sources, headers, err := readSources(at)
		if err != nil || len(sources) == 0 {
			return err
		}
		if at == dir {
			for _, f := range sources {
				all = append(all, Program{
					Name: strings.TrimSuffix(f.Name, ".c"), Files: append([]File{f}, headers...), Include: dirs,
				})
			}
			return nil
		}
		name, err := filepath.Rel(dir, at)
		all = append(all, Program{Name: filepath.ToSlash(name), Files: append(sources, headers...), Include: dirs})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("caop: %w", err)
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("caop: there is no .c file in %s or below", dir)
	}
	return all, nil
}

// readSources reads the .c and .h files of one folder.
func readSources(dir string) (sources, headers []File, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, e := range entries {
		ext := filepath.Ext(e.Name())
		if e.IsDir() || ext != ".c" && ext != ".h" || strings.HasPrefix(e.Name(), ".") {
			continue
		}
		at := filepath.Join(dir, e.Name())
		info, err := os.Stat(at)
		if err != nil {
			return nil, nil, err
		}
		if info.Size() > maxSource {
			return nil, nil, fmt.Errorf("%s has %d bytes: too many for a source", at, info.Size())
		}
		text, err := os.ReadFile(at)
		if err != nil {
			return nil, nil, err
		}
		if f := (File{e.Name(), string(text)}); ext == ".c" {
			sources = append(sources, f)
		} else {
			headers = append(headers, f)
		}
	}
	return sources, headers, nil
}
