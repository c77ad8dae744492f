package caop

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unique"
)

// definesMacros matches the arguments by which macros that GCC defines change, as
// __FINITE_MATH_ONLY__ does: what the preprocessor makes of a program may depend on
// these, and on no other argument of the [Table].
var definesMacros = regexp.MustCompile(`math|nans|zeros|cx-|precision|fp-|^-f(no-)?inline$`)

// A texts holds the sources of a program as the preprocessor leaves them, a twentieth
// of a compilation's time, by file and the arguments that matter to it. The zero
// value is empty.
type texts struct {
	mu      sync.Mutex // guards all
	known   map[string]unique.Handle[string]
	checked map[unique.Handle[string]]bool // false where the size is another one
}

// file compiles one source of a program and returns the object's size, as compile
// does. It preprocesses once for all lists that agree in definesMacros. Each
// text's first object is compared with the source's: where their sizes differ, and where
// GCC refuses the text, the source is compiled.
func (c *Compiler) file(ctx context.Context, t *texts, dir, prefix, source string, args, include []string) (int64, error) {
	plain := func() (int64, error) {
		size, _, err := c.compile(ctx, dir, source, prefix+".o", slices.Concat(args, include))
		return size, err
	}
	name := prefix + ".i"
	text, err := c.text(ctx, t, dir, name, source, args, include)
	if err != nil {
		return 0, err
	}
	t.mu.Lock()
	same, checked := t.checked[text]
	t.mu.Unlock()
	if text.Value() == "" || checked && !same {
		return plain()
	}
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text.Value()), 0o600); err != nil {
		return 0, err
	}
	size, _, err := c.compile(ctx, dir, name, prefix+".o", args)
	if err != nil || checked && size != failedSize {
		return size, err
	}
	want, err := plain()
	if err == nil && want != failedSize && !checked {
		t.mu.Lock()
		t.checked[text] = size == want
		t.mu.Unlock()
	}
	return want, err
}

// text returns a source as the preprocessor leaves it, empty if GCC refuses it.
func (c *Compiler) text(ctx context.Context, t *texts, dir, name, source string, args, include []string) (unique.Handle[string], error) {
	matter := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return !definesMacros.MatchString(a) })
	k := source + " " + strings.Join(matter, " ")
	t.mu.Lock()
	text, ok := t.known[k]
	t.mu.Unlock()
	if ok {
		return text, nil
	}
	size, _, err := c.gcc(ctx, dir, "-E", source, name, append(matter, include...))
	if err != nil {
		return text, err
	}
	var b []byte
	if size != failedSize {
		if b, err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return text, err
		}
	}
	text = unique.Make(string(b))
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known, t.checked = map[string]unique.Handle[string]{}, map[unique.Handle[string]]bool{}
	}
	t.known[k] = text
	return text, nil
}
