// Package pack keeps many small files compressed in one. Neighbours are compressed
// together, in blocks: so they take a sixth to a quarter less than in a zip file,
// and one is read by decompressing its block.
package pack

import (
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// A File is a file to pack. Its name has no blanks.
type File struct {
	Name string
	Data []byte
}

// Write returns files as [New] takes them. The same arguments always give the same
// bytes. A block ends behind the file with which it has at least block bytes.
func Write(list []File, block int) ([]byte, error) {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return nil, err
	}
	defer z.Close()
	// For each block: its size, the name and size of each file, and an empty line.
	var index, files strings.Builder
	var blocks, open []byte
	for i, f := range list {
		fmt.Fprintln(&files, f.Name, len(f.Data))
		open = append(open, f.Data...)
		if len(open) >= block || i == len(list)-1 {
			packed := z.EncodeAll(open, nil)
			fmt.Fprintf(&index, "%d\n%s\n", len(packed), files.String())
			files.Reset()
			blocks, open = append(blocks, packed...), open[:0]
		}
	}
	head := z.EncodeAll([]byte(index.String()), nil)
	all := binary.BigEndian.AppendUint32(nil, uint32(len(head)))
	return append(append(all, head...), blocks...), nil
}

// Files are files that Write has packed, for one goroutine at a time.
type Files struct {
	z     *zstd.Decoder
	at    map[string]place
	last  []byte // the packed block that was read last
	plain []byte // and its content
}

// A place is where a file is.
type place struct {
	block    []byte // packed
	from, to int    // in its content
}

var errDamaged = errors.New("the packed files are damaged")

// New returns the files of several calls of Write. It keeps data. Empty data holds
// no files.
func New(data ...[]byte) (*Files, error) {
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	f := &Files{z: z, at: map[string]place{}}
	for _, d := range data {
		if err := f.add(d); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// add adds the files of one call of Write.
func (f *Files) add(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	if len(data) < 4 || uint64(binary.BigEndian.Uint32(data)) > uint64(len(data)-4) {
		return errDamaged
	}
	n := 4 + binary.BigEndian.Uint32(data)
	index, err := f.z.DecodeAll(data[4:n], nil)
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	blocks := data[n:]
	for b := range strings.SplitAfterSeq(string(index), "\n\n") {
		if b == "" {
			break
		}
		b = strings.TrimSuffix(b, "\n\n")
		head, files, _ := strings.Cut(b, "\n")
		packed, err := strconv.Atoi(head)
		if err != nil || packed < 0 || packed > len(blocks) {
			return errDamaged
		}
		from := 0
		for line := range strings.SplitSeq(files, "\n") {
			name, size, _ := strings.Cut(line, " ")
			n, err := strconv.Atoi(size)
			if err != nil {
				return errDamaged
			}
			f.at[name] = place{block: blocks[:packed], from: from, to: from + n}
			from += n
		}
		blocks = blocks[packed:]
	}
	return nil
}

// Read returns a file's content, which the caller must not modify. It is valid until
// the next call.
func (f *Files) Read(name string) ([]byte, error) {
	p, ok := f.at[name]
	if !ok {
		return nil, fmt.Errorf("there is no %s", name)
	}
	if p.from == p.to {
		return nil, nil
	}
	if len(p.block) == 0 {
		return nil, errDamaged
	}
	if len(f.last) == 0 || &f.last[0] != &p.block[0] {
		plain, err := f.z.DecodeAll(p.block, f.plain[:0])
		if err != nil {
			f.last = nil
			return nil, fmt.Errorf("%w: %w", errDamaged, err)
		}
		f.last, f.plain = p.block, plain
	}
	if p.from < 0 || p.to < p.from || p.to > len(f.plain) {
		return nil, errDamaged
	}
	return f.plain[p.from:p.to:p.to], nil
}
