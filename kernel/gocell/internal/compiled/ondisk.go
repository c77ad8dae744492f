package compiled

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/check"
)

// Packages of modules on disk are edited while the session runs, and a process can
// load one version of a package only. So a compiled cell gets a copy of those that
// it imports, whose import paths depend on their texts, and on those of the copies
// that they import themselves.

// onDisk returns the import path by which the cell imports a package: that of a copy
// for one on disk.
func (g *generator) onDisk(path string) string {
	sp := g.set.Source(path)
	if sp == nil || sp.Module.Folder == "" {
		return path
	}
	for _, need := range sp.OnDisk() {
		if g.copies[need.ImportPath] == "" {
			g.copies[need.ImportPath] = g.copyPackage(need)
		}
	}
	return g.copies[path]
}

// copyPackage adds a copy of a package to what is built, after those that it imports,
// and returns its import path.
func (g *generator) copyPackage(sp *check.FetchedPackage) string {
	texts := map[string]string{}
	h := sha256.New()
	names := sp.Build()
	slices.Sort(names)
	for _, name := range slices.Compact(names) {
		file := filepath.Join(sp.Dir, filepath.FromSlash(name))
		b, err := os.ReadFile(file)
		if err != nil {
			g.err = err
			return ""
		}
		text := constraintRE.ReplaceAllString(string(b), "// (of this build) $1")
		if filepath.Ext(name) == ".go" {
			text = "//line " + file + ":1\n" + g.redirect(text, sp)
		}
		texts[name] = text
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
	}
	for _, need := range sp.Needs() {
		if need.Module.Folder == "" {
			g.n.Fetched = true
			fmt.Fprintf(h, "%s: %s\n", need.ImportPath, need.Module)
		}
	}
	path := check.NativePath + "o" + hex.EncodeToString(h.Sum(nil)[:10])
	for name, text := range texts {
		g.sources[path+"/"+name] = text
	}
	return path
}

// constraintRE matches build constraints. The files of a copy are those of the build, also
// where GOFLAGS has tags, which a build of the copy has not.
var constraintRE = regexp.MustCompile(`(?m)^//(go:build |\s*\+build )`)

// redirect returns the text of a file with the imports of packages on disk leading to
// their copies.
func (g *generator) redirect(text string, sp *check.FetchedPackage) string {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, "", text, parser.ImportsOnly)
	if err != nil {
		g.err = err
		return text
	}
	for _, is := range slices.Backward(f.Imports) {
		path := check.ImportPath(is)
		if need := sp.Imported(path); need != nil {
			path = need.ImportPath
		}
		if copied := g.copies[path]; copied != "" {
			from, to := fset.Position(is.Path.Pos()).Offset, fset.Position(is.Path.End()).Offset
			text = text[:from] + strconv.Quote(copied) + text[to:]
		}
	}
	return text
}

// preamble returns the import of C with the cell's text in C before it, "" if the
// cell has none. The headers that it includes from the working folder are part of the
// text by their digests, so that an edit of one is another package.
func (g *generator) preamble() string {
	if g.n.C == nil {
		return ""
	}
	wd, err := os.Getwd()
	if err != nil {
		wd = "."
	}
	text := strings.ReplaceAll(g.n.C.Preamble, "${SRCDIR}", wd)
	var b strings.Builder
	dirs := []string{wd}
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "#cgo ") {
			for _, m := range includePathRE.FindAllStringSubmatch(line, -1) {
				dirs = append(dirs, strings.Trim(m[1], `"'`))
			}
		}
	}
	for _, name := range included(text, dirs, map[string]bool{}) {
		if t, err := os.ReadFile(name); err == nil {
			fmt.Fprintf(&b, "// %s: %x\n", name, sha256.Sum256(t))
		}
	}
	for _, name := range []string{"PKG_CONFIG_PATH", "CPATH", "C_INCLUDE_PATH", "LIBRARY_PATH"} {
		if v := os.Getenv(name); v != "" {
			fmt.Fprintf(&b, "// %s: %q\n", name, v)
		}
	}
	// Functions of C are hidden from other plugins: an edited one is not to call that
	// of the plugin before.
	fmt.Fprintf(&b, "\n//line c%d.go:%d\n\n%s\n// #cgo CFLAGS: -fvisibility=hidden %q\nimport \"C\"\n\n", g.file(cell.FileName(g.n.C.Cell)), max(g.n.C.Line-1, 1), comment(text), "-I"+wd)
	return b.String()
}

// comment returns a text in C, without its marks, as a comment.
func comment(text string) string {
	var b strings.Builder
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		b.WriteString("//" + line + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

var (
	includePathRE = regexp.MustCompile(`\s-I\s*(\S+)`)
	includeRE     = regexp.MustCompile(`(?m)^\s*#\s*include\s*["<]([^">]+)[">]`)
)

// included returns the files in some folders that a text in C includes, directly or by
// others; folders of the system are none of these.
func included(text string, dirs []string, seen map[string]bool) (names []string) {
	for _, m := range includeRE.FindAllStringSubmatch(text, -1) {
		for _, dir := range dirs {
			file := filepath.Join(dir, m[1])
			b, err := os.ReadFile(file)
			if err != nil {
				continue
			}
			if !seen[file] {
				seen[file] = true
				names = append(append(names, file), included(string(b), append([]string{filepath.Dir(file)}, dirs...), seen)...)
			}
			break
		}
	}
	return names
}

// exportedToC returns the name that a declaration is exported to C by.
func exportedToC(text string) (name string, ok bool) {
	line, _, _ := strings.Cut(text, "\n")
	name, ok = strings.CutPrefix(line, "//export ")
	return strings.TrimSpace(name), ok
}
