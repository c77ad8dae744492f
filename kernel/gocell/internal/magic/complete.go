package magic

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dace.local/kernel/engine"
)

// Complete returns the completions of a magic's name, its arguments or a
// command. It reports false where the cursor is in Go.
func (s *Set) Complete(code string, cursor int, isName func(string) bool) (engine.Completions, bool) {
	if m, ok := s.Lookup(strings.TrimRight(firstWord(code), " ")); ok && m.OfCell() && strings.Contains(code[:cursor], "\n") && m.Args != Go && m.Args != GoBody {
		return completePath(code, cursor, false), true // a script
	}
	c := cutter{set: s, code: code[:cursor], isName: isName}
	start := strings.LastIndexByte(code[:cursor], '\n') + 1
	for c.at < start {
		_, _ = c.line() // an unknown magic above changes nothing here
	}
	line := strings.TrimLeft(code[start:cursor], " \t")
	from := cursor - len(line)
	if !strings.HasPrefix(line, "%") {
		if !special.MatchString(line) || c.inside() {
			return engine.Completions{}, false
		}
		assign, shell, ok := c.command(line)
		if line == "!" || strings.TrimSpace(line) != "" && ok {
			word := len(shell) == len(strings.TrimSpace(shell)) && !strings.ContainsAny(shell, " /.~") && !strings.HasSuffix(line, " ")
			if word && assign == "" {
				return programs(code, cursor), true
			}
			return completePath(code, cursor, false), true
		}
		return engine.Completions{}, false
	}
	if c.inside() {
		return engine.Completions{}, false
	}
	u := use(line, from)
	if u.Args == "" && !strings.HasSuffix(line, " ") {
		return s.names(line, from, cursor), true
	}
	m, ok := s.Lookup(u.Name)
	if !ok {
		return engine.Completions{Start: cursor, End: cursor}, true
	}
	return s.arguments(m, code, cursor)
}

// At returns the magic on whose line the cursor is, if it is on its name or
// behind it.
func (s *Set) At(code string, cursor int, isName func(string) bool) (Magic, bool) {
	start := strings.LastIndexByte(code[:cursor], '\n') + 1
	line := strings.TrimSpace(nextLine(code[start:]))
	if !strings.HasPrefix(line, "%") {
		return Magic{}, false
	}
	c := cutter{set: s, code: code[:start], isName: isName}
	for c.at < start {
		_, _ = c.line()
	}
	if c.inside() {
		return Magic{}, false
	}
	u := use(line, start)
	m, ok := s.Lookup(u.Name)
	if m.Args == Go && cursor > start+strings.Index(code[start:], u.Name)+len(u.Name) {
		return Magic{}, false
	}
	return m, ok
}

// arguments returns the completions of what follows a magic's name.
func (s *Set) arguments(m Magic, code string, cursor int) (engine.Completions, bool) {
	switch m.Args {
	case Go:
		return engine.Completions{}, false
	case Files:
		return completePath(code, cursor, false), true
	case Folders:
		return completePath(code, cursor, true), true
	case Names:
		start := wordStart(code, cursor)
		return s.names(code[start:cursor], start, cursor), true
	case Env:
		start := wordStart(code, cursor)
		c := engine.Completions{Start: start, End: cursor}
		for _, e := range os.Environ() {
			if name, _, _ := strings.Cut(e, "="); strings.HasPrefix(name, code[start:cursor]) {
				c.Matches = append(c.Matches, engine.Completion{Text: name, Type: "variable"})
			}
		}
		sortMatches(&c)
		return c, true
	}
	return engine.Completions{Start: cursor, End: cursor}, true
}

// names returns the magics whose names begin with a word.
func (s *Set) names(word string, from, cursor int) engine.Completions {
	c := engine.Completions{Start: from, End: cursor}
	for _, m := range s.all() {
		if strings.HasPrefix(m.Name, word) {
			c.Matches = append(c.Matches, engine.Completion{Text: m.Name, Type: "keyword", Signature: strings.TrimPrefix(m.Usage, m.Name)})
		}
	}
	return c
}

func firstWord(code string) string {
	line := strings.TrimSpace(nextLine(strings.TrimLeft(code, " \t\r\n")))
	if i := strings.IndexAny(line, " \t"); i >= 0 {
		return line[:i]
	}
	return line
}

// wordStart returns where the word before the cursor begins.
func wordStart(code string, cursor int) int {
	return strings.LastIndexAny(code[:cursor], " \t\n!\"'=<>|&;()") + 1
}

// most is the largest number of files or programs that are offered.
const most = 500

// completePath completes the path before the cursor.
func completePath(code string, cursor int, folders bool) engine.Completions {
	start := wordStart(code, cursor)
	word := code[start:cursor]
	dir, prefix := filepath.Split(word)
	c := engine.Completions{Start: start, End: cursor}
	list, err := os.ReadDir(filepath.Join(".", home(dir)))
	if filepath.IsAbs(home(dir)) {
		list, err = os.ReadDir(home(dir))
	}
	if err != nil {
		return c
	}
	for _, e := range list {
		name := e.Name()
		if !strings.HasPrefix(name, prefix) || name[0] == '.' && !strings.HasPrefix(prefix, ".") || len(c.Matches) == most {
			continue
		}
		info, err := os.Stat(filepath.Join(home(dir), name))
		isDir := err == nil && info.IsDir()
		if folders && !isDir {
			continue
		}
		kind := "file"
		if isDir {
			name, kind = name+"/", "folder"
		}
		c.Matches = append(c.Matches, engine.Completion{Text: dir + name, Type: kind})
	}
	return c
}

// programs completes the name of a program.
func programs(code string, cursor int) engine.Completions {
	start := wordStart(code, cursor)
	c := engine.Completions{Start: start, End: cursor}
	prefix := code[start:cursor]
	seen := map[string]bool{}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		list, err := os.ReadDir(dir)
		if err != nil || prefix == "" {
			continue
		}
		for _, e := range list {
			if name := e.Name(); strings.HasPrefix(name, prefix) && !seen[name] && len(seen) < most {
				seen[name] = true
				c.Matches = append(c.Matches, engine.Completion{Text: name, Type: "function"})
			}
		}
	}
	sortMatches(&c)
	return c
}

func sortMatches(c *engine.Completions) {
	slices.SortFunc(c.Matches, func(a, b engine.Completion) int { return strings.Compare(a.Text, b.Text) })
}
