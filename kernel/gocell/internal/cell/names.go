package cell

import (
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
)

const (
	// Mark begins every generated name: a letter that nobody types.
	Mark = "ˑ"
	// ExportMark begins the names that fields and methods which are not exported
	// have in a compiled cell's text: other cells are other packages there.
	ExportMark = "X" + Mark
	// CellsPath is what the import paths of compiled cells begin with where they
	// are checked.
	CellsPath = "cells/"
	// PointerMark begins the name of the pointer to a compiled cell's variable.
	PointerMark = Mark + "p"
	// FileBase is the base name of every cell's file.
	FileBase = "_.go"
)

// Alias is the name under which a compiled cell imports a package.
func Alias(ipath string) string {
	return Mark + strings.NewReplacer("/", "_", ".", "_", "-", "_").Replace(ipath)
}

// FileName is the name under which the file set knows the text of a cell.
func FileName(number int) string { return "In[" + strconv.Itoa(number) + "]/" + FileBase }

// Name returns what the user sees for the name of a cell's file: In[3], or the
// name of the file that %run has read.
func Name(file string) string {
	if n, ok := Number(file); ok && n < 0 {
		if name, ok := files.Load(n); ok {
			return name.(string)
		}
	}
	return strings.TrimSuffix(file, "/"+FileBase)
}

// files maps the numbers of texts that are no cells to their names. It holds an
// entry for each use of %run.
var files sync.Map // int -> string

// NewFile returns a number, less than 0, for a text that is no cell's, which
// messages call by this name.
func NewFile(name string) int {
	n := -NextNumber()
	files.Store(n, name)
	return n
}

// Number returns the number of the cell that a file name belongs to.
func Number(file string) (int, bool) {
	s, ok := strings.CutPrefix(file, "In[")
	if !ok {
		return 0, false
	}
	s, _, ok = strings.Cut(s, "]")
	if !ok {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

// numbers counts the generated names of the process that contain a number.
var numbers atomic.Int64

// NextNumber returns a new number for a generated name.
func NextNumber() int { return int(numbers.Add(1)) }

// shown maps a generated name to what messages call it. It holds one entry for
// each fetched declaration that cells have used, and lives as long as the process.
var shown sync.Map // string -> string

// Show sets what messages call a generated name.
func Show(name, as string) { shown.Store(name, as) }

var madeRE = regexp.MustCompile(Mark + `[\pL\pN_]*`)

// Clean replaces generated names in a message.
func Clean(s string) string {
	return madeRE.ReplaceAllStringFunc(strings.ReplaceAll(s, ExportMark, ""), func(name string) string {
		if as, ok := shown.Load(name); ok {
			return as.(string)
		}
		name = strings.TrimPrefix(name, Mark)
		return name[strings.LastIndexByte(name, '_')+1:]
	})
}

var fileRE = regexp.MustCompile(`In\[-?\d+\]/_\.go`)

// Places replaces the names of cells' files in a message by what the user sees:
// "other declaration at In[1]/_.go:2:8" is at In[1]:2:8. It drops " (declared at -)", since
// declarations of libraries have no place.
func Places(s string) string {
	return fileRE.ReplaceAllStringFunc(strings.ReplaceAll(s, " (declared at -)", ""), Name)
}
