package magic

import "strings"

// Rewrite returns a cell as Go: commands become calls of package shell, and each
// magic what of returns for it, given the cell's lines below the magic if it has
// them.
func (s *Set) Rewrite(code string, isName func(string) bool, of func(u Use, body string) string) (string, error) {
	code = blankShebang(code)
	if Plain(code) {
		return code, nil
	}
	var b strings.Builder
	c := cutter{set: s, code: code, isName: isName}
	for c.at < len(code) {
		before := c.text.Len()
		kind, err := c.line()
		if err != nil {
			return "", err
		}
		if kind != magicLine {
			b.WriteString(c.text.String()[before:])
			continue
		}
		u := *c.steps[len(c.steps)-1].Use
		body := ""
		if m, _ := s.Lookup(u.Name); m.OfCell() {
			_, body, _ = strings.Cut(code[u.End:], "\n")
		}
		b.WriteString(of(u, body) + "\n")
	}
	return b.String(), nil
}

// Words splits the arguments of a magic as a shell does.
func (u Use) Words() ([]string, error) { return words(u.Args) }
