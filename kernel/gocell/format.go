package gocell

import (
	"context"
	"errors"
	"strings"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/magic"
	"dace.local/kernel/gocell/internal/program"
	"dace.local/kernel/notebook"
)

// Format returns a cell as gofmt writes Go; its magics and commands stay as they
// are. The error of a cell that is not Go begins with its line.
func Format(code string) (string, error) { return new(Session).newMagics().Format(code) }

// Program returns a notebook as a program of Go. Name is the notebook's, and dir its
// folder, whose module it uses.
func Program(nb *notebook.Notebook, name, dir string) (*notebook.Program, error) {
	m, err := newProgramModules(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	p := &notebook.Program{Close: m.store.Close}
	p.Text, p.Lacks, err = program.Make(new(Session).newMagics(), nb, name, m)
	p.Export = func(dir, path string) error { return m.export(dir, path, p.Text) }
	return p, err
}

// FromProgram returns the notebook of a program that Program has written; ok is false
// if the text is none.
func FromProgram(text []byte) (nb *notebook.Notebook, ok bool) {
	return program.Notebook(new(Session).newMagics(), text)
}

// format is the magic %fmt.
func (s *Session) format(c *magic.Call) (res engine.Result, err error) {
	switch c.Args {
	case "on", "off":
		s.formats.Store(c.Args == "on")
		return res, nil
	case "":
	default:
		return res, errors.New("want on, off or nothing: %fmt [on|off]")
	}
	rest := strings.TrimSpace(c.Cell.Code[c.End:])
	if before := strings.TrimSpace(c.Cell.Code[:c.Start]); before != "" {
		rest = strings.TrimSpace(before + "\n" + rest)
	}
	if rest == "" {
		return res, errors.New("there is nothing to format: %fmt stands in the cell that it formats, %fmt on formats each cell that runs, and dace fmt a notebook")
	}
	text, err := c.Set.Format(rest)
	if err != nil {
		return res, err
	}
	res.Next = &engine.NextInput{Text: text, Replace: true}
	return res, nil
}

// formatted returns what replaces a cell that has run; nil if it is formatted.
func (s *Session) formatted(code string) *engine.NextInput {
	text, err := s.magics().Format(code)
	if err != nil || text == code {
		return nil
	}
	return &engine.NextInput{Text: text, Replace: true}
}

func (h host) Program(cells []string, name string) (text string, lacks []string, err error) {
	nb := &notebook.Notebook{}
	for _, c := range cells {
		nb.Cells = append(nb.Cells, &notebook.Cell{Type: notebook.Code, Source: c})
	}
	m, err := newProgramModules(context.Background(), ".")
	if err != nil {
		return "", nil, err
	}
	defer m.store.Close()
	out, lacks, err := program.Make(h.s.magics(), nb, name, m)
	return string(out), lacks, err
}

func (h host) CellsOf(text string) (cells []string, err error) {
	nb, ok := program.Notebook(h.s.magics(), []byte(text))
	if !ok {
		return nil, errors.New("it is no program that %save or dace convert has written")
	}
	for _, c := range nb.Cells {
		if c.Type == notebook.Code {
			cells = append(cells, c.Source)
		}
	}
	return cells, nil
}
