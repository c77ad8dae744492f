package program

import (
	"fmt"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"dace.local/kernel/gocell/internal/magic"
)

// asGo returns the Go that does what a magic does, or a comment that says what is
// missing.
func (m *maker) asGo(u magic.Use, body string) string {
	words, err := u.Words()
	if err != nil {
		words = nil
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	line := strings.TrimSpace(u.Name + " " + u.Args)
	call := func(format string, args ...any) string { return fmt.Sprintf(format, args...) + " // " + line }
	lacks := func(what string) string {
		m.lacks = append(m.lacks, fmt.Sprintf("In[%d]: %s: %s", m.number, line, what))
		return "// " + notHere + line + ": " + what + "."
	}
	switch u.Name {
	case "%time":
		return lacks("the statement runs without being timed") + "\n" + u.Args
	case "%%time", "%%prun":
		return lacks("the cell runs without being timed") + "\n" + body
	case "%prun":
		return lacks("the statement runs without a profile") + "\n" + u.Args[magic.PrunFlags(u.Args):]
	case "%timeit", "%%timeit", "%test":
		return lacks("a benchmark or test of package testing does this in a program")
	case "%%test":
		return lacks("the tests are declared, and go test runs them in a file whose name ends in _test.go") + "\n" + body
	case "%%capture":
		return lacks("what the cell shows is not kept") + "\n" + body
	case "%%compile":
		return body
	case "%bash":
		return call("shell.Run(%q)", u.Args)
	case "%ls":
		return call("shell.Run(%q)", strings.TrimSpace("ls "+u.Args))
	case "%pwd":
		return call("fmt.Println(must(os.Getwd()))")
	case "%%bash", "%%sh":
		return call("shell.Run(%s)", strconv.Quote(body))
	case "%cd":
		if len(words) == 1 && words[0] != "-" && !strings.HasPrefix(words[0], "~") {
			return call("must(os.Chdir(%s))", quoted[0])
		}
	case "%env":
		name, value, set := strings.Cut(u.Args, "=")
		if !set {
			name, value, set = strings.Cut(u.Args, " ")
		}
		name, value = strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"'`)
		if set {
			return call("must(os.Setenv(%q, %q))", name, value)
		}
		if name != "" {
			return call("fmt.Println(os.Getenv(%q))", name)
		}
	case "%%writefile", "%%file":
		if len(words) == 1 && m.modules != nil && m.modules.Has(words[0]) {
			return "// " + words[0] + " is a file of a module, whose text is there: " + line
		}
		if len(words) == 1 {
			write := fmt.Sprintf("must(os.WriteFile(%s, []byte(%s), 0o644))", quoted[0], strconv.Quote(body))
			if dir := path.Dir(filepath.ToSlash(words[0])); u.Name == "%%file" && dir != "." {
				return call("must(os.MkdirAll(%q, 0o755))\n%s", dir, write)
			}
			return call("%s", write)
		}
	case "%%html":
		return call("display.HTML(%s)", strconv.Quote(body))
	case "%%markdown":
		return call("display.Markdown(%s)", strconv.Quote(body))
	case "%%latex":
		return call("display.LaTeX(%s)", strconv.Quote(body))
	case "%precision":
		return call("must(display.SetPrecision(%q))", u.Args)
	case "%figure":
		return call("must(display.SetFigure(must(display.ParseFigure(%q))))", u.Args)
	case "%args":
		return call("os.Args = append(os.Args[:1], %s)", strings.Join(quoted, ", "))
	case "%get":
		if m.modules == nil || len(words) == 0 {
			return lacks("go get fetches the module in a folder with a go.mod")
		}
		for _, spec := range words {
			if err := m.modules.Get(spec); err != nil {
				return lacks(strings.TrimSuffix(err.Error(), "."))
			}
		}
		return "// The go.mod of the program's module has " + strings.Join(words, ", ") + "."
	}
	if m, ok := m.set.Lookup(u.Name); ok && m.OfCell() {
		body = "\n// " + strings.ReplaceAll(strings.TrimRight(body, "\n"), "\n", "\n// ")
		return lacks("a program has nothing like it") + body
	}
	return lacks("a program has nothing like it")
}
