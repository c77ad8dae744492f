// Package joinfile reads and writes the join file of a farm, and holds what its
// server and those who join it agree on. The two are different programs: start
// with [File].
package joinfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"dace.local/dacelib/files"
	"dace.local/dacelib/internal/process"
)

const (
	// Name is the name of the join file in a farm's folder.
	Name = "farm.join"
	// MaxPayload is the size of the largest message, in bytes.
	MaxPayload = 8 << 20
)

// A File says how to reach a farm. Whoever holds it may run code as the farm's
// user.
type File struct {
	Version   int      `json:"version"`
	Addresses []string `json:"addresses"`
	Token     string   `json:"token"`
	// Pin is the SHA-256 of the server's certificate; empty without TLS.
	Pin string `json:"pin,omitempty"`
	// Host and Dir are the server's machine and folder. A caller there starts the
	// server again if it has died, by a command of its own: nothing in the file
	// is run.
	Host string `json:"host"`
	Dir  string `json:"dir"`
	// Disk bounds the bytes that each caller may use; 0 means that nothing does.
	Disk int64 `json:"disk,omitempty"`
}

// room is how many bytes a server needs to start: those of its empty storage, and
// some to spare.
const room = 1 << 20

// Room reports whether the file system of a folder has room for a server, by
// writing a file: quotas count, too.
func Room(dir string) error {
	path := filepath.Join(dir, ".room")
	err := os.WriteFile(path, make([]byte, room), 0o600)
	_ = os.Remove(path)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("farm: the file system of %s is full: the server needs %d MB there to start; make room, or name a folder of another file system (-dir)", dir, room>>20)
	}
	if err != nil {
		return fmt.Errorf("farm: the folder of the server: %w", err)
	}
	return nil
}

// Read reads a join file, which must be this user's, and for this user alone.
func Read(path string) (File, error) {
	var j File
	info, err := os.Stat(path)
	if err != nil {
		return j, fmt.Errorf("farm: the join file: %w", err)
	}
	if !info.Mode().IsRegular() { // a pipe would be opened when somebody writes to it
		return j, fmt.Errorf("farm: %s is no join file, but a folder, a pipe or a device", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return j, fmt.Errorf("farm: the join file: %w", err)
	}
	defer f.Close()
	if info, err = f.Stat(); err != nil {
		return j, err
	}
	if !process.Owned(info) {
		return j, fmt.Errorf("farm: the join file %s belongs to another user, whose farm could run code as you: use a farm of your own; if the file should be yours, chown it", path)
	}
	if !process.Private(info) {
		return j, fmt.Errorf("farm: others can read or write the join file %s, and whoever holds it can run code as you: chmod 600 it, and start the farm anew if they may have", path)
	}
	if info.Size() > 1<<20 {
		return j, fmt.Errorf("farm: %s is no join file", path)
	}
	if err := json.NewDecoder(f).Decode(&j); err != nil || j.Version != 1 || len(j.Addresses) == 0 || j.Token == "" {
		return j, fmt.Errorf("farm: %s is no join file of this version: \"dace farm start\" writes one", path)
	}
	return j, nil
}

// Write writes a join file.
func Write(path string, j File) error {
	b, err := json.MarshalIndent(j, "", "  ")
	if err != nil {
		return err
	}
	if err := WritePrivate(path, append(b, '\n')); err != nil {
		return fmt.Errorf("farm: writing the join file: %w", err)
	}
	return nil
}

// WritePrivate writes a file that only its owner can read, also while it is
// written.
func WritePrivate(path string, b []byte) error {
	return files.Settings{Mode: 0o600}.WriteBytes(path, b)
}

// Pin returns the pin of a certificate.
func Pin(der []byte) string {
	sum := sha256.Sum256(der)
	return hex.EncodeToString(sum[:])
}

// Serving reports whether a server holds the lock of a folder.
func Serving(dir string) bool {
	f, err := os.OpenFile(LockName(dir), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(files.LockShared(f), files.ErrLocked) // shared: another may look, too
}

// LockName returns the path of the file that the server of a folder locks.
func LockName(dir string) string { return filepath.Join(dir, "lock") }

// StoppedName returns the path of the file that says that the farm of a folder
// was stopped on purpose.
func StoppedName(dir string) string { return filepath.Join(dir, "stopped") }
