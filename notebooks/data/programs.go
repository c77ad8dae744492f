//go:build ignore

// Command programs makes packages.csv and programs.csv, data of your-problem.ipynb: the 40
// packages of Go's standard library that most of its files import, with the bytes of
// machine code of each in the go command, and all files that import no others, with what
// they import.
//
//	cd notebooks/data && go run programs.go
//
// The sources and the command are those of GOROOT, so that another version of Go gives
// other numbers; the files are of go1.26 on amd64.
package main

import (
	"cmp"
	"encoding/csv"
	"go/parser"
	"go/token"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const packages = 40

func main() {
	log.SetFlags(0)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		log.Fatal(err)
	}
	goroot := strings.TrimSpace(string(root))
	imports, err := read(filepath.Join(goroot, "src"))
	if err != nil {
		log.Fatal(err)
	}
	importers := map[string]int{}
	for _, of := range imports {
		for _, name := range of {
			importers[name]++
		}
	}
	var names []string
	for name := range importers {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Or(importers[b]-importers[a], strings.Compare(a, b))
	})
	names = names[:packages]
	bytes, err := sizes(filepath.Join(goroot, "bin", "go"))
	if err != nil {
		log.Fatal(err)
	}
	rows := [][]string{{"package", "bytes"}}
	for _, name := range names {
		rows = append(rows, []string{name, strconv.Itoa(bytes[name])})
	}
	write("packages.csv", rows)
	rows = nil
	for file, of := range imports {
		if !slices.ContainsFunc(of, func(name string) bool { return !slices.Contains(names, name) }) {
			rows = append(rows, []string{file, strings.Join(of, " ")})
		}
	}
	slices.SortFunc(rows, func(a, b []string) int { return strings.Compare(a[0], b[0]) })
	write("programs.csv", append([][]string{{"file", "imports"}}, rows...))
}

// read returns what each file imports of what any program can, where it imports something.
func read(src string) (map[string][]string, error) {
	imports := map[string][]string{}
	err := filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && slices.Contains([]string{"testdata", "vendor", "cmd", "internal"}, d.Name()) {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		var of []string
		for _, i := range f.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if name != "C" && name != "unsafe" && !strings.Contains(name, "internal") && !slices.Contains(of, name) {
				of = append(of, name)
			}
		}
		if len(of) > 0 {
			name, err := filepath.Rel(src, path)
			if err != nil {
				return err
			}
			imports[filepath.ToSlash(name)] = of
		}
		return nil
	})
	return imports, err
}

// sizes returns the bytes of each package's symbols in a command.
func sizes(command string) (map[string]int, error) {
	out, err := exec.Command("go", "tool", "nm", "-size", command).Output()
	if err != nil {
		return nil, err
	}
	bytes := map[string]int{}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if len(f) < 4 || f[2] != "T" && f[2] != "t" {
			continue
		}
		n, err := strconv.Atoi(f[1])
		if err != nil {
			return nil, err
		}
		slash := strings.LastIndex(f[3], "/") + 1
		if dot := strings.Index(f[3][slash:], "."); dot >= 0 {
			bytes[f[3][:slash+dot]] += n
		}
	}
	return bytes, nil
}

func write(name string, rows [][]string) {
	f, err := os.Create(name)
	if err != nil {
		log.Fatal(err)
	}
	if err := csv.NewWriter(f).WriteAll(rows); err != nil {
		log.Fatal(err)
	}
	if err := f.Close(); err != nil {
		log.Fatal(err)
	}
}
