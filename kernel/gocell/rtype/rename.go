package rtype

import (
	"fmt"
	"os"
	"reflect"
	"syscall"
	"unsafe"
)

// Rename gives the fields of a struct type that the compiler made other names
// and tags: rename returns those of a field, which to reflection is exported
// then. It is for types of plugins, before anyone has looked at them: their
// descriptors are in memory that can be made writable.
func Rename(t reflect.Type, rename func(name, tag string) (newName, newTag string)) error {
	if t.Kind() != reflect.Struct {
		return nil
	}
	fields := (*structType)(unsafe.Pointer(descriptor(t))).fields
	open := false
	for i := range fields {
		f := t.Field(i)
		n, tag := rename(f.Name, string(f.Tag))
		if n == f.Name && tag == string(f.Tag) {
			continue
		}
		if !open {
			if err := writable(unsafe.Pointer(&fields[0]), uintptr(len(fields))*unsafe.Sizeof(fields[0])); err != nil {
				return fmt.Errorf("rtype: the fields of %s: %w", t, err)
			}
			open = true
		}
		b := name(n, tag, f.Anonymous)
		pin(b)
		fields[i].name = b
	}
	return nil
}

// writable makes memory writable, and the pages that it is on.
func writable(p unsafe.Pointer, size uintptr) error {
	page := uintptr(os.Getpagesize())
	before := uintptr(p) % page
	n := (before + size + page - 1) / page * page
	return syscall.Mprotect(unsafe.Slice((*byte)(unsafe.Add(p, -int(before))), n), syscall.PROT_READ|syscall.PROT_WRITE)
}
