package debug

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strconv"
)

// Front ends and the debugger name a cell by its text: the name of a file that
// nobody writes, made of a hash of the text.

// seed is that of the hash.
const seed = 0xc70f6907

// suffix ends the paths of cells.
const suffix = ".go"

// newPrefix returns how the paths of this process's cells begin. JupyterLab shows
// a cell as "Cell [3]", and not by its path, if that contains "ipykernel_".
func newPrefix() string {
	return filepath.Join(os.TempDir(), "dace_ipykernel_"+strconv.Itoa(os.Getpid())) + string(filepath.Separator)
}

// pathOf returns the path of the cell with a text.
func (d *Debugger) pathOf(text string) string {
	return d.prefix + strconv.FormatUint(uint64(murmur2(text, seed)), 10) + suffix
}

// murmur2 is Austin Appleby's MurmurHash2 of 32 bits.
func murmur2(text string, seed uint32) uint32 {
	const m = 0x5bd1e995
	data := []byte(text)
	h := seed ^ uint32(len(data))
	for ; len(data) >= 4; data = data[4:] {
		k := binary.LittleEndian.Uint32(data) * m
		k ^= k >> 24
		h = h*m ^ k*m
	}
	for i := len(data) - 1; i >= 0; i-- {
		h ^= uint32(data[i]) << (8 * i)
		if i == 0 {
			h *= m
		}
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}
