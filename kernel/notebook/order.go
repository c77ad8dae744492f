package notebook

import (
	"fmt"
	"regexp"
	"strings"
)

// Order returns why the outputs of a notebook cannot come from running it once from top
// to bottom in a new session, by the execution counts; nothing if they can.
func Order(nb *Notebook) (why []string) {
	last, lastCell, ran := 0, 0, false
	for _, c := range nb.Cells {
		ran = ran || c.Type == Code && c.Count > 0
	}
	for i, c := range nb.Cells {
		if c.Type != Code || strings.TrimSpace(c.Source) == "" || c.HasTag("skip-execution") || !ran {
			continue
		}
		switch {
		case c.Count == 0 && len(c.Outputs) > 0:
			why = append(why, fmt.Sprintf("cell %d has outputs and no execution count", i+1))
		case c.Count == 0:
			why = append(why, fmt.Sprintf("cell %d has not been run", i+1))
		case c.Count <= last:
			why = append(why, fmt.Sprintf("cell %d (In[%d]) was run before cell %d (In[%d])", i+1, c.Count, lastCell, last))
		case c.Count > last+1:
			after := "before it"
			if last > 0 {
				after = fmt.Sprintf("between it and In[%d]", last)
			}
			why = append(why, fmt.Sprintf("cell %d is In[%d]: %s cells were run that are not there, or were run again since", i+1, c.Count, after))
		}
		if c.Count > 0 {
			last, lastCell = c.Count, i+1
		}
	}
	return why
}

var undefinedRE = regexp.MustCompile(`undefined: ([\pL_][\pL\pN_]*)`)

// DeclaredBelow returns a sentence about each name that a cell's error calls undefined
// and that a cell below declares.
func DeclaredBelow(nb *Notebook, failed *Cell, message string) (why []string) {
	below := false
	for i, c := range nb.Cells {
		if c == failed {
			below = true
			continue
		}
		if !below || c.Type != Code {
			continue
		}
		for _, m := range undefinedRE.FindAllStringSubmatch(message, -1) {
			name := regexp.QuoteMeta(m[1])
			declares := regexp.MustCompile(`(?m)^(?:(?:func|var|const|type)\s+` + name + `\b|(?:[\pL_][\pL\pN_]*\s*,\s*)*` + name + `\s*(?:,[^=\n]*)?:=)`)
			if declares.MatchString(c.Source) {
				why = append(why, fmt.Sprintf("it uses %s, which is declared below, in cell %d", m[1], i+1))
			}
		}
	}
	return why
}
