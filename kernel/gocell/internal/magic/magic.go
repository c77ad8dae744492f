// Package magic implements the lines of a cell that are not Go: magics, which
// are commands to the kernel (`%time f()`, `%%bash`), and commands to the shell
// (`!ls`, `files := !ls`).
//
// [Split] cuts a cell into steps of Go and magics. [Set.Run] runs a magic; it
// reaches the session through the interface [Host]. [Set.Complete] and
// [Set.At] answer for the front end. A magic is a row of the table in table.go.
package magic

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/profile"
	"dace.local/kernel/internal/suggest"
)

// A Host is the session as magics use it.
type Host interface {
	// Run runs a cell that is part of the running cell and has its number:
	// positions in its code are positions in the running cell.
	Run(ctx context.Context, c engine.Cell, out engine.Outputs) (engine.Result, error)
	// RunFile runs a text that is no cell's, and reports its errors with this
	// name.
	RunFile(ctx context.Context, name, text string, out engine.Outputs) (engine.Result, error)
	// Values runs a cell, and returns the values of its last expression.
	Values(ctx context.Context, c engine.Cell, out engine.Outputs) ([]any, error)
	// Call calls a function that comes from Values.
	Call(ctx context.Context, out engine.Outputs, f func()) error
	// Profile runs the code at a position by run, and returns what its lines took of the processor's
	// time; nil where no profile can be taken. The error is run's.
	Profile(ctx context.Context, at token.Position, run func(context.Context) error) (*profile.Profile, error)
	// Surviving returns a test that fails where f panics.
	Surviving(f func(*testing.T)) func(*testing.T)
	// TestPackages runs the tests of packages on disk by the go command, of which
	// these are the arguments.
	TestPackages(c *Call, args []string) error
	// Declared returns what the cells have declared, sorted by name.
	Declared() []Declared
	// Texts returns the texts of the cells by their numbers.
	Texts() map[int]string
	// Reset forgets everything that the cells have declared.
	Reset()
	// SetArgs sets what follows the command's name in os.Args of the cells.
	SetArgs(args []string)
	// Program returns cells as one program of Go, with a sentence about each thing
	// that the program does not do; CellsOf returns the cells of such a program.
	Program(cells []string, name string) (text string, lacks []string, err error)
	CellsOf(program string) (cells []string, err error)
	// Remove forgets names. It returns those that are not declared, and which functions
	// no longer compile.
	Remove(names []string) (unknown, lost []string)
}

// A Declared is something that the cells have declared.
type Declared struct {
	Name string
	Kind string // "variable", "constant", "type", "function"
	Type string // "map[string]int"
	// Compiled says that a function is compiled; others are interpreted.
	Compiled bool
	Pos      token.Pos // of the declaration; later cells have greater ones
}

// A Magic is a command to the kernel.
type Magic struct {
	Name  string // with its percent signs: "%get", "%%compile"
	Usage string // "%get MODULE[@VERSION]"
	Short string // its effect, in one line
	Doc   string // more about it as a doc comment, possibly empty
	// Args says what Tab offers after the name.
	Args Args
	// Run runs the magic. An error that is not an *engine.Error is reported
	// with the magic's line.
	Run func(c *Call) (engine.Result, error)
}

// OfCell reports whether the magic processes a whole cell.
func (m Magic) OfCell() bool { return strings.HasPrefix(m.Name, "%%") }

// Args is what a magic takes.
type Args int

// What magics take.
const (
	Words   Args = iota // nothing that Tab could complete
	Files               // names of files
	Folders             // names of folders
	Go                  // Go
	GoBody              // words, and Go below the line
	Env                 // names of environment variables
	Names               // names of magics
)

// A Set is the magics of a session.
type Set struct {
	magics    []Magic
	functions func() []string // the names of functions that the cells have declared
	// OfCells returns the magics that functions of cells are; nil if there are none.
	OfCells func() []Magic
}

// NewSet returns the magics of this package and the session's own, sorted by
// name. Functions returns the names of the functions that cells have declared.
func NewSet(functions func() []string, own ...Magic) *Set {
	return &Set{magics: sorted(append(slices.Clone(own), table()...)), functions: functions}
}

func sorted(all []Magic) []Magic {
	slices.SortFunc(all, func(a, b Magic) int {
		return strings.Compare(strings.TrimLeft(a.Name, "%")+a.Name, strings.TrimLeft(b.Name, "%")+b.Name)
	})
	return all
}

// Lookup returns the magic with a name.
func (s *Set) Lookup(name string) (Magic, bool) {
	is := func(m Magic) bool { return m.Name == name }
	if i := slices.IndexFunc(s.magics, is); i >= 0 {
		return s.magics[i], true
	}
	if s.OfCells != nil && strings.HasPrefix(name, "%") {
		own := s.OfCells()
		if i := slices.IndexFunc(own, is); i >= 0 {
			return own[i], true
		}
	}
	return Magic{}, false
}

// all returns the magics with those of cells.
func (s *Set) all() []Magic {
	if s.OfCells == nil {
		return s.magics
	}
	return sorted(append(slices.Clone(s.magics), s.OfCells()...))
}

// elsewhere says what does here what magics of IPython do there.
var elsewhere = map[string]string{
	"pdb":        "%debug shows the variables of the last panic, and JupyterLab's debugger, the bug above the notebook, stops where a cell panics",
	"pip":        "%get fetches modules, and packages need no import",
	"matplotlib": "figures are shown without",
	"load_ext":   "a function magic_NAME(line string) of a cell is a magic %NAME",
	"lprun":      "%prun says it for each line",
	"memit":      "%bench -benchmem counts a benchmark's allocations",
	"edit":       "%load and %%file read and write files",
	"pinfo":      "?NAME documents a name, ??NAME shows its source",
}

// unknown returns the error for an unknown magic.
func (s *Set) unknown(name string) error {
	word := strings.TrimLeft(name, "%")
	word = cmp.Or(map[string]string{"conda": "pip", "pylab": "matplotlib", "pinfo2": "pinfo"}[word], word)
	if here := elsewhere[word]; here != "" {
		return fmt.Errorf("unknown magic %s: %s", name, here)
	}
	if other := "%" + name; strings.HasPrefix(name, "%") && !strings.HasPrefix(name, "%%") {
		if _, ok := s.Lookup(other); ok {
			return fmt.Errorf("unknown magic %s: %s processes a whole cell, and stands on its first line", name, other)
		}
	}
	if line := strings.TrimPrefix(name, "%"); strings.HasPrefix(name, "%%") {
		if _, ok := s.Lookup(line); ok {
			return fmt.Errorf("unknown magic %s: %s is a line, with one percent sign", name, line)
		}
	}
	if meant := s.Meant(name); meant != "" {
		return errors.New("unknown magic " + name + meant)
	}
	if program := strings.TrimPrefix(name, "%%"); program != name {
		if _, err := exec.LookPath(program); err == nil {
			return fmt.Errorf("unknown magic %s (%%%%script %s gives that program the cell)", name, program)
		}
	}
	return fmt.Errorf("unknown magic %s (%%lsmagic lists all)", name)
}

// Meant returns a suggestion for an unknown magic, for a message.
func (s *Set) Meant(name string) string {
	return suggest.DidYouMean("", name, func(yield func(string) bool) {
		for _, m := range s.all() {
			if !yield(m.Name) {
				return
			}
		}
	})
}

// All returns all magics, sorted by name.
func (s *Set) All() []Magic { return slices.Clone(s.magics) }

// A Call is one use of a magic.
type Call struct {
	Host
	Set *Set
	Ctx context.Context
	Out engine.Outputs
	// Cell is the cell that the magic stands in.
	Cell engine.Cell
	Use
}

// Words returns the arguments, split at spaces; single or double quotes keep
// spaces.
func (c *Call) Words() ([]string, error) { return words(c.Args) }

// Go returns the Go code in the magic's arguments as a cell in which it has its
// place.
func (c *Call) Go() engine.Cell { return c.at(blank(c.Cell.Code[:c.ArgsAt]) + c.Args) }

// Body returns the lines below the magic as a cell in which they have their
// place.
func (c *Call) Body() engine.Cell {
	return c.at(blank(c.Cell.Code[:c.End]) + c.Cell.Code[c.End:])
}

func (c *Call) at(code string) engine.Cell {
	cell := c.Cell
	cell.Code = code
	return cell
}

// Text returns the lines below the magic.
func (c *Call) Text() string {
	_, text, _ := strings.Cut(c.Cell.Code[c.End:], "\n")
	return text
}

// Run runs a step's magic.
func (s *Set) Run(ctx context.Context, h Host, cell engine.Cell, u Use, out engine.Outputs) (engine.Result, error) {
	m, ok := s.Lookup(u.Name)
	if !ok {
		return engine.Result{}, s.unknown(u.Name)
	}
	return m.Run(&Call{Host: h, Set: s, Ctx: ctx, Out: out, Cell: cell, Use: u})
}

// words splits a line as a shell does.
func words(line string) ([]string, error) {
	var list []string
	var b strings.Builder
	var quote rune
	inWord := false
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			b.WriteRune(r)
		case r == '"' || r == '\'':
			quote, inWord = r, true
		case r == ' ' || r == '\t':
			if inWord {
				list = append(list, b.String())
				b.Reset()
			}
			inWord = false
		default:
			b.WriteRune(r)
			inWord = true
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("the quote %c is not closed", quote)
	}
	if inWord {
		list = append(list, b.String())
	}
	return list, nil
}

// home replaces a leading ~ by the user's home.
func home(path string) string {
	if rest, ok := strings.CutPrefix(path, "~"); ok && (rest == "" || rest[0] == filepath.Separator) {
		if dir, err := os.UserHomeDir(); err == nil {
			return dir + rest
		}
	}
	return path
}

// blank returns the newlines of a text, and for its last line as many spaces as
// that has bytes.
func blank(text string) string {
	last := strings.LastIndexByte(text, '\n') + 1
	return strings.Repeat("\n", strings.Count(text, "\n")) + strings.Repeat(" ", len(text)-last)
}
