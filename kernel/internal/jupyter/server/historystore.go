package server

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"dace.local/dacelib/files"
	"dace.local/dacelib/files/disk"
)

// A historyStore holds the cells of all sessions in one file that several
// kernels share: one line of JSON a cell, oldest first. Lines that cannot be
// decoded are skipped.
type historyStore struct {
	file string
}

const (
	// A file that has become larger than historyMax is cut to its newest
	// historyKept bytes.
	historyMax  = 2 << 20
	historyKept = 1 << 20
	// historyCell is the largest cell that is stored, in bytes.
	historyCell = 64 << 10
	// historyPatience is how long to wait for the lock while another kernel
	// holds it.
	historyPatience = 200 * time.Millisecond
)

// A historyLine is one line of the file. Each session begins with a line that
// has no cell.
type historyLine struct {
	Session int    `json:"session"`
	Line    int    `json:"line,omitempty"`
	Input   string `json:"input,omitempty"`
}

// begin starts a new session in the file and returns its number.
func (h *historyStore) begin() (session int, err error) {
	if err := disk.MkdirAll(filepath.Dir(h.file), 0o700); err != nil {
		return 0, err
	}
	err = h.locked(func() error {
		session = 1
		err := h.read(func(l historyLine) { session = max(session, l.Session+1) })
		if err != nil {
			return err
		}
		return h.append(historyLine{Session: session})
	})
	return session, err
}

// add appends a cell.
func (h *historyStore) add(e historyEntry) error {
	if len(e.input) > historyCell {
		return errors.New("it is too large")
	}
	return h.locked(func() error {
		return h.append(historyLine{e.session, e.line, e.input})
	})
}

// entries returns the cells, oldest first.
func (h *historyStore) entries() (all []historyEntry, err error) {
	err = h.locked(func() error {
		return h.read(func(l historyLine) {
			if l.Line > 0 {
				all = append(all, historyEntry{session: l.Session, line: l.Line, input: l.Input})
			}
		})
	})
	return all, err
}

// locked calls f while no other kernel uses the history file. It locks a
// separate file, because cut replaces the history file.
func (h *historyStore) locked(f func() error) error {
	lock, err := disk.OpenFile(h.file+".lock", os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer lock.Close() // also releases the lock
	for end := time.Now().Add(historyPatience); ; time.Sleep(time.Millisecond) {
		err := files.Lock(lock.File)
		switch {
		case err == nil:
			return f()
		case !errors.Is(err, files.ErrLocked), time.Now().After(end):
			return fmt.Errorf("%s: %w", lock.Name(), err)
		}
	}
}

// read calls f with each line of the file.
func (h *historyStore) read(f func(historyLine)) error {
	file, err := disk.OpenFile(h.file, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	// Kernels never write a larger file; anything beyond is ignored.
	r := bufio.NewReader(io.LimitReader(file, 2*historyMax))
	for {
		line, err := r.ReadBytes('\n')
		var l historyLine
		if json.Unmarshal(line, &l) == nil && l.Session > 0 {
			f(l)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// append writes a line at the end of the file. If the file has become too
// large, the oldest lines are dropped.
func (h *historyStore) append(l historyLine) error {
	b, _ := json.Marshal(l) // texts and numbers
	file, err := disk.OpenFile(h.file, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a file", h.file)
	}
	size := info.Size()
	if size > historyMax {
		return h.cut(file, size, b)
	}
	if tail := make([]byte, 1); size > 0 {
		if _, err := file.ReadAt(tail, size-1); err == nil && tail[0] != '\n' {
			b = append([]byte{'\n'}, b...) // a kernel died in the middle of a write
		}
	}
	_, err = file.Write(append(b, '\n'))
	return err
}

// cut replaces the file with its newest lines, followed by line.
func (h *historyStore) cut(file *disk.File, size int64, line []byte) error {
	b := make([]byte, historyKept)
	n, err := file.ReadAt(b, size-historyKept)
	if err != nil {
		return err
	}
	_, b, _ = bytes.Cut(b[:n], []byte("\n"))
	return files.Settings{Mode: 0o600, NoSync: true}.WriteBytes(h.file, append(append(bytes.TrimRight(b, "\n"), '\n'), append(line, '\n')...))
}
