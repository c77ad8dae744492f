package rtype

import (
	"errors"
	"fmt"
	"go/token"
	"os"
	"reflect"
	"runtime"
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
// in which package reflect searches by text: list, or offsets if that is nil. The new text
// is no longer than the old one: it takes its place.
//
//go:nocheckptr
func retext(section unsafe.Pointer, offsets []int32, list []unsafe.Pointer, rename func(text string) string) error {
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
	if list != nil {
		sort(list, typeOf)
		return nil
	}
	if err := writable(unsafe.Pointer(&offsets[0]), uintptr(len(offsets))*unsafe.Sizeof(offsets[0])); err != nil {
		return fmt.Errorf("rtype: the list of types: %w", err)
	}
	sort(offsets, func(off int32) reflect.Type { return typeOf(unsafe.Add(section, off)) })
	return nil
}

// sort orders a list of types as package reflect searches it, by text.
//
//go:nocheckptr
func sort[T any](list []T, typ func(T) reflect.Type) {
	slices.SortStableFunc(list, func(a, b T) int { return strings.Compare(typ(a).String(), typ(b).String()) })
}

// plugins holds the modules whose types RenameLoaded has seen, by where these begin.
// It grows with the plugins, which live as long as
// the process.
var plugins = struct {
	sync.Mutex // guards modules
	modules    map[unsafe.Pointer]bool
}{modules: map[unsafe.Pointer]bool{}}

// RenameLoaded does so for all struct types of the plugins that were loaded since it
// was called last, and changes the texts of all their types by text, which returns none
// that is longer. The run time has not allocated a plugin's memory, which the checks of
// pointers under the race detector take for a mistake.
//
//go:nocheckptr
func RenameLoaded(pkgPath string, rename, text func(string) string) error {
	plugins.Lock()
	defer plugins.Unlock()
	var errs []error
	sections, offsets := typelinks()
	lists, found := sorted(offsets)
	for i, section := range sections {
		if i == 0 || plugins.modules[section] {
			continue
		}
		plugins.modules[section] = true
		for _, off := range offsets[i] {
			errs = append(errs, Rename(typeOf(unsafe.Add(section, off)), pkgPath, rename))
		}
		if !found {
			continue // as they are not found by other texts
		}
		var list []unsafe.Pointer
		if lists != nil {
			list = lists[i]
		}
		errs = append(errs, retext(section, offsets[i], list, text))
	}
	return errors.Join(errs...)
}

// sorted returns the lists of each module's types in which package reflect searches by
// text, nil where these are the offsets that typelinks returns. It reports whether it
// found them.
func sorted(offsets [][]int32) (lists [][]unsafe.Pointer, found bool) {
	if _, again := typelinks(); &offsets[0][0] == &again[0][0] {
		return nil, true
	}
	compiled := compiledTypelinks()
	if compiled == nil {
		return nil, false
	}
	first, rest := compiled()
	lists = append([][]unsafe.Pointer{first}, rest...)
	for i := range offsets {
		if i >= len(lists) || len(lists[i]) != len(offsets[i]) {
			return nil, false
		}
	}
	return lists, true
}

// compiledTypelinks returns reflect.compiledTypelinks, which has the lists since Go 1.27
// (typelinks returns copies there), nil if there is none. The linker refuses references
// to it, so it is looked for by name in the code of the run time, of which typelinks is
// a part.
var compiledTypelinks = sync.OnceValue(func() func() (first []unsafe.Pointer, rest [][]unsafe.Pointer) {
	const align, most = 16, 1 << 20 // of functions; bytes of code
	near := reflect.ValueOf(typelinks).Pointer()
	for d := uintptr(align); d < most; d += align {
		for _, pc := range []uintptr{near + d, near - d} {
			f := runtime.FuncForPC(pc)
			if f == nil || f.Entry() != pc || f.Name() != "reflect.compiledTypelinks" && f.Name() != "runtime.reflect_compiledTypelinks" {
				continue
			}
			code := &pc // a func value points to its code's address
			return *(*func() ([]unsafe.Pointer, [][]unsafe.Pointer))(unsafe.Pointer(&code))
		}
	}
	return nil
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
