// Package failure puts what failed functions of users carry into messages: start
// with [Text].
package failure

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync/atomic"
	"unicode/utf8"
)

const (
	// lines and width bound what is quoted of a program's standard error.
	lines = 8
	width = 300
)

// Text returns an error, or a value that a function has panicked with, as text. Of
// a program that has failed, the last lines that it wrote to its standard error
// follow, which [exec.Cmd.Output] keeps in an [exec.ExitError].
func Text(v any) string {
	text := fmt.Sprint(v)
	err, ok := v.(error)
	if !ok {
		return text
	}
	return text + said(err)
}

// Panicked says that a function has panicked with a value, and where, if that is known.
func Panicked(v any) string {
	if f := place.Load(); f != nil {
		if at := (*f)(v); at != "" {
			return "the function panicked at " + at
		}
	}
	return "the function panicked"
}

// place is what SetPlace has set.
var place atomic.Pointer[func(value any) string]

// SetPlace has f say where in a user's code the panic came from that this goroutine has
// just recovered, by its value, or "".
func SetPlace(f func(value any) string) (undo func()) {
	place.Store(&f)
	return func() { place.CompareAndSwap(&f, nil) }
}

// Wrap returns an error whose text is [Text] of err, and that wraps err.
func Wrap(err error) error {
	if said := said(err); said != "" {
		return fmt.Errorf("%w%s", err, said)
	}
	return err
}

// said returns the last lines of a failed program's standard error, empty if
// there are none or the error's text has them.
func said(err error) string {
	if err == nil {
		return ""
	}
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return ""
	}
	all := strings.Split(strings.TrimSpace(strings.ToValidUTF8(string(exit.Stderr), "?")), "\n")
	all = all[max(0, len(all)-lines):]
	for i, l := range all {
		l = strings.TrimRight(l, "\r ")
		if len(l) > width {
			n := width
			for !utf8.RuneStart(l[n]) {
				n--
			}
			l = l[:n] + " ..."
		}
		all[i] = l
	}
	text := strings.Join(all, "\n\t")
	if text == "" || strings.Contains(err.Error(), all[len(all)-1]) {
		return ""
	}
	return "; its standard error ends with\n\t" + text
}
