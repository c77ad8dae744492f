package vm

import (
	"fmt"
	"runtime"
)

// A RuntimeError is the text of an error of Go's run time, such as an index out of
// range, without the words "runtime error: " before it.
type RuntimeError string

func (e RuntimeError) Error() string { return "runtime error: " + string(e) }

// RuntimeError makes e a runtime.Error.
func (e RuntimeError) RuntimeError() {}

var _ runtime.Error = RuntimeError("")

const NilDereference = RuntimeError("invalid memory address or nil pointer dereference")

// A Failure is the panic value with which must ends a cell: not a fault of the
// program, but an error that it has met.
type Failure struct{ Err error }

// Error returns the error's own text. An Error method that panics on a nil
// pointer does no harm.
func (f Failure) Error() string { return fmt.Sprint(f.Err) }

func (f Failure) Unwrap() error { return f.Err }

// Must fails with an error that is not nil.
func Must(err error) {
	if err != nil {
		panic(Failure{err})
	}
}

// PlainError is an error of Go's run time that does not say so: a failed type
// assertion, for one.
type PlainError string

func (e PlainError) Error() string { return string(e) }

// RuntimeError makes e a runtime.Error.
func (e PlainError) RuntimeError() {}
