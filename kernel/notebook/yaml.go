package notebook

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// The headers of notebooks in text formats are YAML of a few forms: mappings and
// lists by indentation, texts plain or in quotes, and JSON, which YAML contains.

// readYAML reads a mapping. first is the number of its first line, for errors.
func readYAML(list []string, first int) (map[string]any, error) {
	p := &yamlReader{list: list, first: first}
	v, err := p.block(0)
	if err == nil && p.blank() {
		err = p.fail("it is indented in no way that is understood")
	}
	if err != nil {
		return nil, err
	}
	m, ok := v.(map[string]any)
	if !ok && v != nil {
		return nil, fmt.Errorf("line %d: the header is no mapping (name: value)", first)
	}
	return m, nil
}

type yamlReader struct {
	list  []string
	at    int
	first int
}

func (p *yamlReader) fail(what string) error {
	return fmt.Errorf("line %d: in the header, %s", p.first+min(p.at, len(p.list)-1), what)
}

// blank skips empty lines and comments, and reports whether a line is left.
func (p *yamlReader) blank() bool {
	for p.at < len(p.list) {
		if s := strings.TrimSpace(p.list[p.at]); s != "" && s[0] != '#' {
			return true
		}
		p.at++
	}
	return false
}

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

var yamlKey = regexp.MustCompile(`^("(?:[^"\\]|\\.)*"|'[^']*'|[^\s"'#\[\]{},:&*!|>%@-][^:#]*?|-[^\s:#]*?)\s*:(?:\s+(.*))?$`)

// block reads a mapping or a list whose lines are indented by at least n.
func (p *yamlReader) block(n int) (any, error) {
	if !p.blank() || indentOf(p.list[p.at]) < n {
		return nil, nil
	}
	n = indentOf(p.list[p.at])
	var items []any
	var m map[string]any
	for p.blank() && indentOf(p.list[p.at]) == n {
		line := p.list[p.at][n:]
		item, isItem := strings.CutPrefix(line, "- ")
		if line == "-" {
			item, isItem = "", true
		}
		if isItem {
			if m != nil {
				return nil, p.fail("a list stands among names")
			}
			if item == "" {
				p.at++
				v, err := p.block(n + 1)
				if err != nil {
					return nil, err
				}
				items = append(items, v)
				continue
			}
			if yamlKey.MatchString(item) { // a mapping that begins on the dash's line
				p.list[p.at] = strings.Repeat(" ", n+2) + item
				v, err := p.block(n + 2)
				if err != nil {
					return nil, err
				}
				items = append(items, v)
				continue
			}
			v, err := p.scalar(item)
			if err != nil {
				return nil, err
			}
			items = append(items, v)
			p.at++
			continue
		}
		k := yamlKey.FindStringSubmatch(line)
		if k == nil || items != nil {
			return nil, p.fail("this is no name: value")
		}
		key, err := p.scalar(k[1])
		if err != nil {
			return nil, err
		}
		if m == nil {
			m = map[string]any{}
		}
		name := fmt.Sprint(key)
		if k[2] != "" && k[2][0] != '#' {
			if m[name], err = p.scalar(k[2]); err != nil {
				return nil, err
			}
			p.at++
			continue
		}
		p.at++
		inner := n + 1
		if p.blank() && indentOf(p.list[p.at]) == n && strings.HasPrefix(p.list[p.at][n:], "-") {
			inner = n // a list may stand below its name
		}
		if m[name], err = p.block(inner); err != nil {
			return nil, err
		}
	}
	if m != nil {
		return m, nil
	}
	return items, nil
}

var yamlNumber = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?$`)

func (p *yamlReader) scalar(s string) (any, error) {
	s = strings.TrimSpace(s)
	switch {
	case s == "", s == "null", s == "~":
		return nil, nil
	case s == "true", s == "false":
		return s == "true", nil
	case s[0] == '\'':
		if n := len(s); n > 1 && s[n-1] == '\'' {
			return strings.ReplaceAll(s[1:n-1], "''", "'"), nil
		}
		return nil, p.fail("a quoted text does not end on its line")
	case strings.ContainsRune(`"[{`, rune(s[0])):
		v, err := decodeJSON([]byte(s))
		if err != nil {
			return nil, p.fail("a value in quotes or brackets is no JSON: " + s)
		}
		return v, nil
	case strings.ContainsRune("&*!|>%@`", rune(s[0])):
		return nil, p.fail("YAML beyond names, lists, texts and JSON is not read: " + s)
	case yamlNumber.MatchString(s):
		return json.Number(s), nil
	}
	if i := strings.Index(s, " #"); i >= 0 {
		s = strings.TrimSpace(s[:i])
	}
	return s, nil
}

// yamlLines returns a mapping as lines of YAML, nested mappings by indentation
// where Jupytext writes them so.
func yamlLines(m map[string]any) []string {
	var list []string
	for _, k := range slices.Sorted(maps.Keys(m)) {
		key := yamlScalar(k)
		if inner, ok := m[k].(map[string]any); ok && len(inner) > 0 {
			list = append(list, key+":")
			for _, line := range yamlLines(inner) {
				list = append(list, "  "+line)
			}
			continue
		}
		list = append(list, key+": "+yamlScalar(m[k]))
	}
	return list
}

var yamlPlain = regexp.MustCompile(`^[a-zA-Z_./][\w./() +-]*$`)

// yamlScalar returns a value on one line.
func yamlScalar(v any) string {
	s, ok := v.(string)
	switch {
	case !ok:
		return inlineJSON(v)
	case yamlNumber.MatchString(s):
		return "'" + s + "'"
	case !yamlPlain.MatchString(s) || strings.HasSuffix(s, " ") || slices.Contains([]string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}, strings.ToLower(s)):
		return inlineJSON(v)
	}
	return s
}
