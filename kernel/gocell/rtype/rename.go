package rtype

import (
	"errors"
	"fmt"
	"go/token"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
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

// retext changes the text of the types of a module, and sorts its list of types again,
// in which package reflect searches by text. The new text is no longer than the old one:
// it takes its place.
//
//go:nocheckptr
func retext(section unsafe.Pointer, offsets []int32, rename func(text string) string) error {
	changed := false
	for _, off := range offsets {
		b := unsafe.Add(section, (*header)(unsafe.Add(section, off)).str)
		n, at := 0, 1
		for shift := 0; ; shift += 7 {
			x := *(*byte)(unsafe.Add(b, at))
			n |= int(x&0x7f) << shift
			if at++; x < 0x80 {
				break
			}
		}
		text := unsafe.String((*byte)(unsafe.Add(b, at)), n)
		renamed := rename(text)
		if renamed == text || len(renamed) > len(text) || *(*byte)(b)&(nameTag|namePkgPath) != 0 {
			continue
		}
		if err := writable(b, uintptr(at+n)); err != nil {
			return fmt.Errorf("rtype: the name of %s: %w", text, err)
		}
		to := encoded(renamed, "", true, false)
		to[0] = *(*byte)(b)
		copy(unsafe.Slice((*byte)(b), at+n), to)
		changed = true
	}
	if !changed {
		return nil
	}
	if err := writable(unsafe.Pointer(&offsets[0]), uintptr(len(offsets))*unsafe.Sizeof(offsets[0])); err != nil {
		return fmt.Errorf("rtype: the list of types: %w", err)
	}
	slices.SortStableFunc(offsets, func(a, b int32) int {
		return strings.Compare(typeIn(section, a).String(), typeIn(section, b).String())
	})
	return nil
}

// typeIn returns the type whose descriptor is at an offset in a module.
//
//go:nocheckptr
func typeIn(section unsafe.Pointer, off int32) reflect.Type { return typeOf(unsafe.Add(section, off)) }

// plugins holds the modules whose types RenameLoaded has seen, by where these begin.
// It grows with the plugins, which live as long as
// the process.
var plugins = struct {
	sync.Mutex // guards modules
	modules    map[unsafe.Pointer]bool
}{modules: map[unsafe.Pointer]bool{}}

// RenameLoaded does so for all struct types of the plugins that were loaded since it
// was called last, and, if [Retexts], changes the texts of all their types by text, which
// returns none that is longer. The run time has not allocated a plugin's memory, which the checks of
// pointers under the race detector take for a mistake.
//
//go:nocheckptr
func RenameLoaded(pkgPath string, rename, text func(string) string) error {
	plugins.Lock()
	defer plugins.Unlock()
	var errs []error
	sections, offsets := typelinks()
	for i, section := range sections {
		if i == 0 || plugins.modules[section] {
			continue
		}
		plugins.modules[section] = true
		for _, off := range offsets[i] {
			errs = append(errs, Rename(typeOf(unsafe.Add(section, off)), pkgPath, rename))
		}
		if retexts() {
			errs = append(errs, retext(section, offsets[i], text))
		}
	}
	return errors.Join(errs...)
}

// Retexts reports whether RenameLoaded changes texts: from Go 1.27 on typelinks returns
// copies of the lists in which package reflect searches by text, which then cannot be
// sorted again.
func Retexts() bool { return retexts() }

var retexts = sync.OnceValue(func() bool {
	_, one := typelinks()
	_, other := typelinks()
	return &one[0][0] == &other[0][0]
})

// typelinks returns, for each module, where its types begin, and the offsets of their
// descriptors: of a plugin it has all.
//
//go:linkname typelinks reflect.typelinks
func typelinks() (sections []unsafe.Pointer, offsets [][]int32)

// writable makes the pages that contain the memory writable.
func writable(p unsafe.Pointer, size uintptr) error {
	page := uintptr(os.Getpagesize())
	before := uintptr(p) % page
	n := (before + size + page - 1) / page * page
	return syscall.Mprotect(unsafe.Slice((*byte)(unsafe.Add(p, -int(before))), n), syscall.PROT_READ|syscall.PROT_WRITE)
}
