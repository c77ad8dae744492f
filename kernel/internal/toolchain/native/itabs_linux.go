package native

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// unifyTables sets the references of a loaded plugin to tables of methods. table is
// the address of its variable Table.
func unifyTables(f *os.File, table unsafe.Pointer) error {
	e, err := elf.NewFile(f)
	if err != nil {
		return err
	}
	symbols, err := e.DynamicSymbols()
	if err != nil {
		return err
	}
	base := uintptr(0)
	for _, s := range symbols {
		if s.Section != elf.SHN_UNDEF && strings.HasSuffix(s.Name, "/door.Table") {
			base = uintptr(table) - uintptr(s.Value)
		}
	}
	if base == 0 {
		return errors.New("a plugin has no symbol of its table")
	}
	for _, s := range e.Sections {
		if s.Type != elf.SHT_RELA {
			continue
		}
		for r := s.Open(); ; {
			var x elf.Rela64
			if err := binary.Read(r, e.ByteOrder, &x); err == io.EOF {
				break
			} else if err != nil {
				return err
			}
			if i := elf.R_SYM64(x.Info); i > 0 && x.Addend == 0 && strings.HasPrefix(symbols[i-1].Name, "go:itab.") {
				if err := unifyTable(e, base, uintptr(x.Off)); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// unifyTable sets one reference. A plugin's memory is none that the run time allocated,
// which the checks of pointers under the race detector take for a mistake.
//
//go:nocheckptr
func unifyTable(e *elf.File, base, off uintptr) error {
	at := (**itab)(unsafe.Add(unsafe.Pointer(nil), base+off))
	used := (*at).used()
	if used == *at {
		return nil
	}
	size := uintptr(os.Getpagesize())
	page := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(nil), (base+off)&^(size-1))), size)
	if err := unix.Mprotect(page, unix.PROT_READ|unix.PROT_WRITE); err != nil {
		return err
	}
	*at = used
	for _, p := range e.Progs {
		// What is only read after the plugin has been loaded.
		if p.Type == elf.PT_GNU_RELRO && off >= uintptr(p.Vaddr) && off < (uintptr(p.Vaddr)+uintptr(p.Memsz))&^(size-1) {
			return unix.Mprotect(page, unix.PROT_READ)
		}
	}
	return nil
}
