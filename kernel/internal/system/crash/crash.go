// Package crash preserves the last output of a process that crashes, so that
// the next process can report it. Some errors end a Go process and cannot be
// recovered: out of memory, stack overflow, concurrent map writes in compiled
// code, a fault in C, SIGKILL. Start with [Keep].
package crash

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"
)

// The first page of the file is mapped into memory, so that its content survives
// any end of the process. The runtime's traceback follows it.
//
//	0     magic
//	16    what the process was doing, padded with zeros
//	128   what the runtime has printed (see words.go)
//	4096  the traceback
const (
	magic     = "dace crash 1\n\n\n\n"
	doingAt   = 16
	doingSize = 112
	wordsAt   = doingAt + doingSize
	pageSize  = 4096
)

// An End describes how a process ended that could not clean up.
type End struct {
	// Doing is the text of the process's last call of [Note.Doing], "" if it
	// was doing nothing.
	Doing string
	// Words is the runtime's output: the lines with the error, and the stack
	// of the goroutine that caused it. It is empty if the process was killed.
	Words string
}

// A Note is the file that a process keeps for as long as it runs.
type Note struct {
	mu   sync.Mutex // guards file and page
	name string
	file *os.File
	page []byte // nil after Close
}

// Keep begins a note in the file name. It returns how the previous process with
// this note ended, or nil if there was none or it called Close. A process can
// keep only one note at a time. A symbolic link in the place of the file is not
// followed. Keep also removes notes NAME.json.crash in the same folder whose
// NAME.json does not exist any more.
func Keep(name string) (*Note, *End, error) {
	last := read(name)
	sweep(filepath.Dir(name))
	if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, last, err
	}
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, last, err
	}
	n := &Note{name: name, file: file}
	// The page is written rather than left as a hole in the file, so that a
	// full disk is an error here and not a fault when the page is used.
	_, err = file.Write(append([]byte(magic), make([]byte, pageSize-len(magic))...))
	if err == nil {
		n.page, err = unix.Mmap(int(file.Fd()), 0, pageSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	}
	if err == nil {
		err = debug.SetCrashOutput(file, debug.CrashOptions{}) // the runtime will write after the page
	}
	if err != nil {
		n.Close()
		return nil, last, err
	}
	listen(n.page[wordsAt:])
	return n, last, nil
}

// Doing records what the process is doing now; "" means nothing.
func (n *Note) Doing(what string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.page == nil {
		return
	}
	field := n.page[doingAt : doingAt+doingSize]
	clear(field[copy(field, what):])
}

// Close removes the note, because the process ends normally.
func (n *Note) Close() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.file == nil {
		return
	}
	listen(nil)
	_ = debug.SetCrashOutput(nil, debug.CrashOptions{})
	// The page stays mapped: the runtime may be writing to it concurrently.
	n.page = nil
	_ = n.file.Close()
	_ = os.Remove(n.name)
	n.file = nil
}

// maxRead bounds the number of bytes that are read of a note.
const maxRead = 64 << 10

// read reads the note that an earlier process left, and returns how it ended.
func read(name string) *End {
	f := open(name)
	if f == nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRead))
	if err != nil || len(text) < pageSize || !bytes.HasPrefix(text, []byte(magic)) {
		return nil
	}
	doing := string(bytes.TrimRight(text[doingAt:doingAt+doingSize], "\x00"))
	return &End{Doing: doing, Words: lastWords(printed(text[wordsAt:pageSize]), string(text[pageSize:]))}
}

// open opens a file for reading if it is a regular file owned by this user.
func open(name string) *os.File {
	f, err := os.OpenFile(name, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil
	}
	info, err := f.Stat()
	if err == nil && info.Mode().IsRegular() {
		if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) == os.Geteuid() {
			return f
		}
	}
	f.Close()
	return nil
}

// sweep removes the notes in a folder whose connection file is gone, since no
// kernel will be started with it again.
func sweep(dir string) {
	const suffix = ".crash"
	notes, _ := filepath.Glob(filepath.Join(dir, "*.json"+suffix))
	for _, name := range notes {
		if _, err := os.Lstat(strings.TrimSuffix(name, suffix)); !errors.Is(err, os.ErrNotExist) {
			continue
		}
		f := open(name)
		if f == nil {
			continue
		}
		head := make([]byte, len(magic))
		n, _ := io.ReadFull(f, head)
		f.Close()
		if string(head[:n]) == magic || oldRE.Match(head[:n]) {
			_ = os.Remove(name)
		}
	}
}

// oldRE matches the first line of a note of an earlier version of this package.
var oldRE = regexp.MustCompile(`^(In\[\d+\])? *$`)

// errorRE matches the runtime's line with the fatal error, and the explanations
// above it.
var errorRE = regexp.MustCompile(`(?m)^(runtime: .*\n)*fatal error: .*$`)

// lastWords joins the fatal error that the runtime printed and the first stack
// of its traceback. After a panic, the traceback contains the error already.
func lastWords(before, trace string) string {
	stacks := strings.Split(strings.TrimSpace(trace), "\n\n")
	first := 1
	if strings.HasPrefix(stacks[0], "runtime stack:") || strings.HasPrefix(stacks[0], "SIG") {
		first = 2 // also the stack of the goroutine that the runtime worked for, or that called C
	}
	stacks = stacks[:min(first, len(stacks))]
	for i, s := range stacks {
		lines := strings.Split(s, "\n")
		if more := len(lines) - maxLines; more > 0 {
			lines = append(lines[:maxLines:maxLines], fmt.Sprintf("... %d more lines", more))
		}
		stacks[i] = strings.Join(lines, "\n")
	}
	trace = strings.Join(stacks, "\n\n")
	// If there are several such lines, only the last can have been fatal; the
	// program printed the others.
	if all := errorRE.FindAllString(before, -1); len(all) > 0 && trace != "" {
		return all[len(all)-1] + "\n\n" + trace
	}
	return trace
}

// maxLines is how many lines of a stack are shown.
const maxLines = 16
