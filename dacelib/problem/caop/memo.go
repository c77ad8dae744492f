package caop

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// A key identifies a compilation.
type key [16]byte

// A memo remembers sizes. It has one book for each program, kept in a file if
// the memo has a folder.
type memo struct {
	dir   string
	mu    sync.Mutex // guards books
	books map[string]*book
}

func newMemo(dir string) *memo { return &memo{dir: dir, books: map[string]*book{}} }

func (m *memo) book(compiler, program string) (*book, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if b, ok := m.books[program]; ok {
		return b, nil
	}
	b := &book{sizes: map[key]int64{}, busy: map[key]chan struct{}{}}
	if m.dir != "" {
		name := strings.Map(func(r rune) rune {
			if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '-' {
				return r
			}
			return '_'
		}, compiler)
		if err := b.open(filepath.Join(m.dir, name, program)); err != nil {
			return nil, fmt.Errorf("caop: the memory of sizes: %w; name another folder in Memo or set NoMemo", err)
		}
	}
	m.books[program] = b
	return b, nil
}

// A book remembers the sizes of one program, in a file of lines "key size
// check". Lines are only appended, each by one write, and a line without its
// correct checksum is skipped. So a killed process loses at most its last line,
// and several processes may write at once.
type book struct {
	path  string
	mu    sync.Mutex // guards sizes and busy
	sizes map[key]int64
	busy  map[key]chan struct{} // closed when the size is known, or its computation was given up
	texts texts
}

func (b *book) open(path string) error {
	b.path = path
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return readBook(f, b.sizes)
}

// line returns the record of a size. It begins with a line end, which completes
// a line whose write was interrupted.
func (k key) line(size int64) []byte {
	text := fmt.Sprintf("%x %d", k[:], size)
	return fmt.Appendf(nil, "\n%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

// readBook adds the intact records of r to sizes.
func readBook(r io.Reader, sizes map[key]int64) error {
	in := bufio.NewReader(r)
	for {
		line, err := in.ReadSlice('\n')
		if k, size, ok := record(bytes.TrimSuffix(line, []byte("\n"))); ok && err == nil {
			sizes[k] = size
		}
		if err == io.EOF {
			return nil
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func record(line []byte) (k key, size int64, ok bool) {
	at := bytes.LastIndexByte(line, ' ')
	if at != len(line)-9 || at < 2*len(k)+2 {
		return k, 0, false
	}
	check, err := strconv.ParseUint(string(line[at+1:]), 16, 32)
	if err != nil || uint32(check) != crc32.ChecksumIEEE(line[:at]) || line[2*len(k)] != ' ' {
		return k, 0, false
	}
	if _, err := hex.Decode(k[:], line[:2*len(k)]); err != nil {
		return k, 0, false
	}
	size, err = strconv.ParseInt(string(line[2*len(k)+1:at]), 10, 64)
	return k, size, err == nil && size >= failedSize
}

func (b *book) get(k key) (int64, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	size, ok := b.sizes[k]
	return size, ok
}

// once returns the size of k, from memory or else by calling f, which only one
// caller at a time does. If keep is false, the size is not written to the file.
func (b *book) once(ctx context.Context, k key, f func() (size int64, keep bool, err error)) (int64, error) {
	for {
		b.mu.Lock()
		if size, ok := b.sizes[k]; ok {
			b.mu.Unlock()
			return size, nil
		}
		wait, ok := b.busy[k]
		if !ok {
			break
		}
		b.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
	done := make(chan struct{})
	b.busy[k] = done
	b.mu.Unlock()
	size, keep, err := f()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.busy, k)
	close(done)
	if err != nil {
		return 0, err
	}
	b.sizes[k] = size
	if keep && b.path != "" {
		err = b.write(k, size)
	}
	return size, err
}

func (b *book) write(k key, size int64) error {
	f, err := os.OpenFile(b.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("caop: the memory of sizes: %w", err)
	}
	_, err = f.Write(k.line(size))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("caop: the memory of sizes: %w", err)
	}
	return nil
}
