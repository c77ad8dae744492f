package rtype

import (
	"fmt"
	"go/token"
	"os"
	"reflect"
	"syscall"
	"unsafe"
)

// Rename changes the names of the fields of a struct type that the compiler
// made: rename returns the new name of a field. Unexported new names belong to
// pkgPath. Rename is for types of plugins, before other code has looked at them:
// their descriptors are in memory that can be made writable.
func Rename(t reflect.Type, pkgPath string, rename func(name string) string) error {
	if t.Kind() != reflect.Struct {
		return nil
	}
	st := (*structType)(unsafe.Pointer(descriptor(t)))
	open := false
	for i := range st.fields {
		f := t.Field(i)
		n := rename(f.Name)
		if n == f.Name {
			continue
		}
		if !open {
			err := writable(unsafe.Pointer(st), unsafe.Sizeof(*st))
			if err == nil {
				err = writable(unsafe.Pointer(&st.fields[0]), uintptr(len(st.fields))*unsafe.Sizeof(st.fields[0]))
			}
			if err != nil {
				return fmt.Errorf("rtype: the fields of %s: %w", t, err)
			}
			open = true
		}
		b := name(n, string(f.Tag), token.IsExported(n), f.Anonymous)
		pin(b)
		st.fields[i].name = b
		if !token.IsExported(n) {
			p := name(pkgPath, "", true, false)
			pin(p)
			st.pkgPath = p
		}
	}
	return nil
}

// writable makes the pages that contain the memory writable.
func writable(p unsafe.Pointer, size uintptr) error {
	page := uintptr(os.Getpagesize())
	before := uintptr(p) % page
	n := (before + size + page - 1) / page * page
	return syscall.Mprotect(unsafe.Slice((*byte)(unsafe.Add(p, -int(before))), n), syscall.PROT_READ|syscall.PROT_WRITE)
}
