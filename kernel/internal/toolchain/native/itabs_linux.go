package native

import (
	"debug/elf"
	"errors"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unifies says that the references of plugins can be set on this system.
const unifies = true

// unifyTables sets the references of a loaded plugin to tables of methods, and returns
// where its references are. table is the address of its variable Table.
func unifyTables(f *os.File, table unsafe.Pointer) (*image, error) {
	e, err := elf.NewFile(f)
	if err != nil {
		return nil, err
	}
	symbols, err := e.DynamicSymbols()
	if err != nil {
		return nil, err
	}
	base := uintptr(0)
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && strings.HasSuffix(s.Name, "/door.Table") {
			base = uintptr(table) - uintptr(s.Value)
		}
	}
	if base == 0 {
		return nil, errors.New("a plugin has no symbol of its table")
	}
	im := &image{}
	for _, s := range e.Sections {
		if s.Type != elf.SHT_RELA {
			continue
		}
		data, err := s.Data()
		if err != nil {
			return nil, err
		}
		const size = 24 // of an elf.Rela64
		for ; len(data) >= size; data = data[size:] {
			off, info, addend := e.ByteOrder.Uint64(data), e.ByteOrder.Uint64(data[8:]), e.ByteOrder.Uint64(data[16:])
			i := elf.R_SYM64(info)
			switch {
			case i == 0 || addend != 0:
			case strings.HasPrefix(symbols[i-1].Name, "go:itab."):
				im.tables = append(im.tables, base+uintptr(off))
			case isDescriptor(symbols[i-1].Name):
				im.types = append(im.types, base+uintptr(off))
			}
		}
	}
	page := uint64(os.Getpagesize())
	for _, p := range e.Progs {
		if p.Type == elf.PT_LOAD {
			im.spans = append(im.spans, [2]uintptr{base + uintptr(p.Vaddr), base + uintptr(p.Vaddr+p.Memsz)})
		}
		if p.Type == elf.PT_GNU_RELRO {
			from, to := p.Vaddr&^(page-1), (p.Vaddr+p.Memsz)&^(page-1)
			im.fixed = unsafe.Slice((*byte)(unsafe.Pointer(reference(base+uintptr(from)))), to-from)
		}
	}
	used := map[uintptr]unsafe.Pointer{}
	for _, at := range im.tables {
		x := (*itab)(*reference(at))
		if y := x.used(); y != x {
			used[at] = unsafe.Pointer(y)
		}
	}
	return im, im.set(used)
}

// isDescriptor reports whether a symbol is the descriptor of a type: not what these refer to.
func isDescriptor(symbol string) bool {
	return strings.HasPrefix(symbol, "type:") && !strings.HasPrefix(symbol, "type:.") && symbol != "type:*"
}

// set sets references, by where they are.
//
//go:nocheckptr
func (im *image) set(values map[uintptr]unsafe.Pointer) error {
	if len(values) == 0 {
		return nil
	}
	if len(im.fixed) > 0 {
		if err := unix.Mprotect(im.fixed, unix.PROT_READ|unix.PROT_WRITE); err != nil {
			return err
		}
	}
	for at, v := range values {
		*reference(at) = v
	}
	if len(im.fixed) > 0 {
		return unix.Mprotect(im.fixed, unix.PROT_READ)
	}
	return nil
}
