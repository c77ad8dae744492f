// Package disk has the functions of package os on files, of which a test can let any
// fail: see [Fail]. Packages that must not lose a user's work use it in place of os.
package disk

import (
	"io/fs"
	"os"
	"sync/atomic"
)

// A Fault returns the error of a call, nil if it is to be made. op is the function's
// name, "ReadFile" or, of an open file, "Write"; path is what it is called with.
type Fault func(op, path string) error

var fault atomic.Pointer[Fault] // nil but in tests

// Fail has calls of this process fail as f says, until mend is called. A write that
// fails has written half of its bytes. f may be called by several goroutines at once.
func Fail(f Fault) (mend func()) {
	if !fault.CompareAndSwap(nil, &f) {
		panic("disk: Fail called twice")
	}
	return func() { fault.Store(nil) }
}

// fails returns the error of a call that is to fail.
func fails(op, path string) error {
	f := fault.Load()
	if f == nil {
		return nil
	}
	if err := (*f)(op, path); err != nil {
		return &fs.PathError{Op: op, Path: path, Err: err}
	}
	return nil
}

// try makes a call unless it is to fail.
func try[T any](op, path string, call func() (T, error)) (v T, err error) {
	if err := fails(op, path); err != nil {
		return v, err
	}
	return call()
}

// do is try for calls without a value.
func do(op, path string, call func() error) error {
	if err := fails(op, path); err != nil {
		return err
	}
	return call()
}

func ReadFile(name string) ([]byte, error) {
	return try("ReadFile", name, func() ([]byte, error) { return os.ReadFile(name) })
}

func ReadDir(name string) ([]fs.DirEntry, error) {
	return try("ReadDir", name, func() ([]fs.DirEntry, error) { return os.ReadDir(name) })
}

func Stat(name string) (fs.FileInfo, error) {
	return try("Stat", name, func() (fs.FileInfo, error) { return os.Stat(name) })
}

func Mkdir(name string, mode fs.FileMode) error {
	return do("Mkdir", name, func() error { return os.Mkdir(name, mode) })
}

func MkdirAll(name string, mode fs.FileMode) error {
	return do("MkdirAll", name, func() error { return os.MkdirAll(name, mode) })
}

func MkdirTemp(dir, pattern string) (string, error) {
	return try("MkdirTemp", dir, func() (string, error) { return os.MkdirTemp(dir, pattern) })
}

func Link(old, name string) error {
	return do("Link", name, func() error { return os.Link(old, name) })
}

func Rename(old, name string) error {
	return do("Rename", name, func() error { return os.Rename(old, name) })
}

func Remove(name string) error {
	return do("Remove", name, func() error { return os.Remove(name) })
}

// WriteFile is os.WriteFile; see [File.Write].
func WriteFile(name string, b []byte, mode fs.FileMode) error {
	if err := fails("WriteFile", name); err != nil {
		_ = os.WriteFile(name, b[:len(b)/2], mode)
		return err
	}
	return os.WriteFile(name, b, mode)
}

// A File is an open file.
type File struct{ *os.File }

func OpenFile(name string, flag int, mode fs.FileMode) (*File, error) {
	return try("OpenFile", name, func() (*File, error) {
		f, err := os.OpenFile(name, flag, mode)
		return &File{f}, err
	})
}

func CreateTemp(dir, pattern string) (*File, error) {
	return try("CreateTemp", dir, func() (*File, error) {
		f, err := os.CreateTemp(dir, pattern)
		return &File{f}, err
	})
}

// Write writes half of b if it is to fail.
func (f *File) Write(b []byte) (int, error) {
	if err := fails("Write", f.Name()); err != nil {
		n, _ := f.File.Write(b[:len(b)/2])
		return n, err
	}
	return f.File.Write(b)
}

// WriteAt writes half of b if it is to fail.
func (f *File) WriteAt(b []byte, at int64) (int, error) {
	if err := fails("WriteAt", f.Name()); err != nil {
		n, _ := f.File.WriteAt(b[:len(b)/2], at)
		return n, err
	}
	return f.File.WriteAt(b, at)
}

func (f *File) WriteString(s string) (int, error) { return f.Write([]byte(s)) }

func (f *File) Read(b []byte) (int, error) {
	return try("Read", f.Name(), func() (int, error) { return f.File.Read(b) })
}

func (f *File) ReadAt(b []byte, at int64) (int, error) {
	return try("ReadAt", f.Name(), func() (int, error) { return f.File.ReadAt(b, at) })
}

func (f *File) Seek(offset int64, whence int) (int64, error) {
	return try("Seek", f.Name(), func() (int64, error) { return f.File.Seek(offset, whence) })
}

func (f *File) Stat() (fs.FileInfo, error) {
	return try("Stat", f.Name(), f.File.Stat)
}

func (f *File) Truncate(size int64) error {
	return do("Truncate", f.Name(), func() error { return f.File.Truncate(size) })
}

func (f *File) Sync() error { return do("Sync", f.Name(), f.File.Sync) }

func (f *File) Close() error {
	err := do("Close", f.Name(), func() error { return nil })
	if e := f.File.Close(); err == nil {
		err = e
	}
	return err
}
