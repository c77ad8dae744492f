package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
)

var ErrNotFound = errors.New("not found")

type QueryError struct {
	Query string
	Err   error
}

func (e *QueryError) Error() string { return e.Query + ": " + e.Err.Error() }
func (e *QueryError) Unwrap() error { return e.Err }

type Temp interface{ Temporary() bool }
type NetErr struct{ temp bool }

func (n NetErr) Error() string   { return "net" }
func (n NetErr) Temporary() bool { return n.temp }

type multi []error

func (m multi) Error() string   { return fmt.Sprint(len(m), " errors") }
func (m multi) Unwrap() []error { return m }

func find(k string) error {
	switch k {
	case "ok":
		return nil
	case "wrap":
		return fmt.Errorf("find %q: %w", k, ErrNotFound)
	case "query":
		return &QueryError{k, ErrNotFound}
	case "deep":
		return fmt.Errorf("deep: %w", &QueryError{k, fmt.Errorf("mid: %w", io.EOF)})
	case "net":
		return fmt.Errorf("n: %w", NetErr{true})
	case "multi":
		return multi{ErrNotFound, io.ErrUnexpectedEOF}
	case "join":
		return errors.Join(ErrNotFound, nil, io.EOF)
	case "two":
		return fmt.Errorf("%w and %w", io.EOF, fs.ErrExist)
	}
	return errors.New("unknown " + strconv.Quote(k))
}

func main() {
	for _, k := range []string{"ok", "wrap", "query", "deep", "net", "multi", "join", "two", "?"} {
		err := find(k)
		fmt.Println(k, err, err == nil, errors.Is(err, ErrNotFound), errors.Is(err, io.EOF), errors.Is(err, fs.ErrExist))
		var q *QueryError
		if errors.As(err, &q) {
			fmt.Println(" query", q.Query, errors.Unwrap(q))
		}
		var n NetErr
		fmt.Println(" net", errors.As(err, &n), n.temp)
	}
	fmt.Println(errors.Unwrap(find("wrap")) == ErrNotFound, errors.Unwrap(find("?")))
	_, err := os.Open("/does/not/exist")
	var pe *fs.PathError
	fmt.Println(errors.As(err, &pe), pe.Op, errors.Is(err, fs.ErrNotExist), os.IsNotExist(err))
	_, err = strconv.Atoi("zz")
	var ne *strconv.NumError
	if errors.As(err, &ne) {
		fmt.Println(ne.Func, ne.Num, ne.Err == strconv.ErrSyntax, err)
	}
	var nilq *QueryError
	var e error = nilq
	fmt.Println(e == nil, nilq == nil)
	e1, e2 := errors.New("same"), errors.New("same")
	fmt.Println(e1 == e2, e1 == e1, e1.Error() == e2.Error())
	fmt.Printf("%v|%s|%q|%+v\n", e1, e1, e1, e1)
}
