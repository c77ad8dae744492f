// Package farmserver carries the server of a farm, which is a program of its
// own (dacelib/farm/natsfarm/server), compressed in the command. So kernels,
// most of which never start a farm, do not have it in memory.
//
// The file server.zst in the repository is empty. `go run ./install` fills it by
// [Write] when it builds the command, with an overlay of the go command. A
// command that is built in another way has its server built by the go command,
// from the clone, when it is needed: start with [Program].
package farmserver

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/klauspost/compress/zstd"

	"dace.local/dacelib/files"
	"dace.local/kernel/buildinfo"
)

// Package is the server's path in the module.
const Package = "dacelib/farm/natsfarm/server"

//go:embed server.zst
var carried []byte

// Dir returns the folder in the user's cache where programs are unpacked. It
// need not exist.
func Dir() (string, error) {
	dir, err := buildinfo.CacheDir()
	return filepath.Join(dir, "farm-server"), err
}

// Program returns the path of the server's program, which it unpacks into the
// user's cache unless the same program is there.
func Program() (string, error) {
	dir, err := Dir()
	if err != nil {
		return "", fmt.Errorf("there is no folder for the farm's server: %w", err)
	}
	if err := private(dir); err != nil {
		return "", fmt.Errorf("the folder for the farm's server: %w", err)
	}
	if len(carried) > 0 {
		return unpack(carried, dir)
	}
	return build(buildinfo.Clone(), dir)
}

// private makes a folder that no other user can write to, and removes the
// programs in it that were last used a month ago.
func private(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if s, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || ok && int(s.Uid) != os.Geteuid() {
		return fmt.Errorf("%s is not a folder of this user: remove it", dir)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > 30*24*time.Hour {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
	return err
}

// unpack makes dir hold the program in a file that Write has made, under the
// name of its SHA-256, and returns its path.
func unpack(packed []byte, dir string) (string, error) {
	head, rest, _ := bytes.Cut(packed, []byte("\n"))
	want := string(head)
	path := filepath.Join(dir, want)
	if sum, err := sumOf(path); err == nil && sum == want {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // it is in use
		return path, nil
	}
	z, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1))
	if err != nil {
		return "", err
	}
	defer z.Close()
	var program []byte
	err = errors.New("no filter of that name")
	for _, f := range filters {
		if len(rest) > 0 && rest[0] == f.name {
			program, err = z.DecodeAll(rest[1:], nil)
			f.run(program, true)
		}
	}
	if sum := sha256.Sum256(program); err != nil || hex.EncodeToString(sum[:]) != want {
		return "", errors.New("the farm's server that the command carries is damaged: install the command again")
	}
	// Another process that starts a server at the same time sees all of it or nothing.
	if err := files.WriteProgram(path, program); err != nil {
		return "", fmt.Errorf("unpacking the farm's server: %w", err)
	}
	return path, nil
}

// sumOf returns the SHA-256 of a regular file that its user alone can write to.
func sumOf(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() || info.Mode().Perm() != 0o700 {
		return "", errors.New("not a program of ours")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// build has the go command build the server in the clone and returns its path.
func build(clone, dir string) (string, error) {
	const remedy = "this command was built without the farm's server: build it by go run ./install"
	if clone == "" {
		return "", errors.New(remedy)
	}
	if _, err := os.Stat(filepath.Join(clone, filepath.FromSlash(Package))); err != nil {
		return "", fmt.Errorf("%s; the clone in which it was built is no longer there (%w)", remedy, err)
	}
	sum := sha256.Sum256([]byte(clone + runtime.Version()))
	to := filepath.Join(dir, "built-"+hex.EncodeToString(sum[:8]))
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", to, "./"+Package)
	cmd.Dir = clone
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s; the go command cannot build it (%w): %s", remedy, err, strings.TrimSpace(string(out)))
	}
	return to, nil
}

// Write writes the file that the command carries: a line with the program's SHA-256,
// the name of a filter for its GOARCH, and the filtered program compressed. The same program always gives the same bytes.
func Write(w io.Writer, program []byte, goarch string) error {
	z, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithWindowSize(32<<20), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return err
	}
	f := filters[0]
	for _, other := range filters {
		if other.arch == goarch {
			f = other
		}
	}
	filtered := bytes.Clone(program)
	f.run(filtered, false)
	_, err = fmt.Fprintf(w, "%x\n%s", sha256.Sum256(program), z.EncodeAll(filtered, []byte{f.name}))
	return errors.Join(err, z.Close())
}
