package program

import (
	"errors"
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
	case "%%script":
		return call("shell.Run(%s)", strconv.Quote(u.Args+" <<'END OF CELL'\n"+strings.TrimRight(body, "\n")+"\nEND OF CELL"))
	case "%cd":
		if len(words) == 1 && words[0] != "-" && !strings.HasPrefix(words[0], "~") {
			return call("must(os.Chdir(%s))", quoted[0])
		}
	case "%env":
		if env := environment(u.Args); env != "" {
			return call("%s", env)
		}
	case "%%writefile", "%%file":
		switch {
		case len(words) != 1:
		case m.modules != nil && m.modules.Has(words[0]):
			return "// " + words[0] + " is a file of a module, whose text is there: " + line
		default:
			return call("%s", written(words[0], body, u.Name == "%%file"))
		}
	case "%%html", "%%markdown", "%%latex":
		f := map[string]string{"%%html": "HTML", "%%markdown": "Markdown", "%%latex": "LaTeX"}[u.Name]
		return call("display.%s(%s)", f, strconv.Quote(body))
	case "%%javascript":
		return call("display.Mime(\"application/javascript\", %s)", strconv.Quote(body))
	case "%precision":
		return call("must(display.SetPrecision(%q))", u.Args)
	case "%figure":
		return call("must(display.SetFigure(must(display.ParseFigure(%q))))", u.Args)
	case "%args":
		return call("os.Args = append(os.Args[:1], %s)", strings.Join(quoted, ", "))
	case "%get":
		if err := m.get(words); err != nil {
			return lacks(strings.TrimSuffix(err.Error(), "."))
		}
		return "// The go.mod of the program's module has " + strings.Join(words, ", ") + "."
	}
	if m, ok := m.set.Lookup(u.Name); ok && m.OfCell() {
		body = "\n// " + strings.ReplaceAll(strings.TrimRight(body, "\n"), "\n", "\n// ")
		return lacks("a program has nothing like it") + body
	}
	return lacks("a program has nothing like it")
}

// get adds modules to the go.mod of the program's module.
func (m *maker) get(specs []string) error {
	if m.modules == nil || len(specs) == 0 {
		return errors.New("go get fetches the module in a folder with a go.mod")
	}
	for _, spec := range specs {
		if err := m.modules.Get(spec); err != nil {
			return err
		}
	}
	return nil
}

// environment returns the call that %env with these arguments makes, or "".
func environment(args string) string {
	name, value, set := strings.Cut(args, "=")
	if !set {
		name, value, set = strings.Cut(args, " ")
	}
	name, value = strings.TrimSpace(name), strings.Trim(strings.TrimSpace(value), `"'`)
	switch {
	case set:
		return fmt.Sprintf("must(os.Setenv(%q, %q))", name, value)
	case name != "":
		return fmt.Sprintf("fmt.Println(os.Getenv(%q))", name)
	}
	return ""
}

// written returns the call that writes a file, with its folder.
func written(name, text string, folder bool) string {
	write := fmt.Sprintf("must(os.WriteFile(%q, []byte(%q), 0o644))", name, text)
	if dir := path.Dir(filepath.ToSlash(name)); folder && dir != "." {
		return fmt.Sprintf("must(os.MkdirAll(%q, 0o755))\n%s", dir, write)
	}
	return write
}
