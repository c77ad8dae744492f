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

// A memo remembers sizes: one book for each compiler and program, which is a
// file where the memo has a folder.
type memo struct {
	dir   string
	mu    sync.Mutex
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

// A book remembers sizes, in a file of lines "key size check". Lines are only
// ever added, each by one write, and one that does not hold its own checksum
// is skipped: a process that is killed loses nothing but its last line, and
// several may write at once.
type book struct {
	path  string
	mu    sync.Mutex
	sizes map[key]int64
	busy  map[key]chan struct{} // closed when the size is there, or nobody works on it any more
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

// line is a record: it ends the line of a write that was broken off, if any.
func (k key) line(size int64) []byte {
	text := fmt.Sprintf("%x %d", k[:], size)
	return fmt.Appendf(nil, "\n%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

// readBook adds the records that are whole to sizes.
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

// once returns the size of k: the one remembered, or that of f, which one
// caller at a time runs. Where keep is false the file does not get it.
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
