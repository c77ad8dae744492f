//go:build !linux

package native

import (
	"os"
	"unsafe"
)

const unifies = false

// unifyTables is for plugins of Linux; those of other systems have another format.
func unifyTables(*os.File, unsafe.Pointer) (*image, error) { return nil, nil }

func (*image) set(map[uintptr]unsafe.Pointer) error { return nil }
