package farm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"dace.local/dacelib/files"
	"dace.local/dacelib/files/disk"
	"dace.local/dacelib/problem"
)

// Problems of [problem.Command] travel as the command, with the files that its
// arguments name: a script, an instance. A worker has them under their names in a
// folder for the time of a batch, unless it has the same files where the caller
// has them. Interpreters, and what a script imports, must be there.
func init() {
	c := Codec{Encode: encodeCommand, Decode: decodeCommand, Expensive: true}
	RegisterProblem("command", problem.Command("", 1, "none"), c)
	RegisterProblem("command of seeds", problem.Program{Args: []string{"none"}, Seeds: true}.Problem("", 1), c)
}

// commandData describes a problem that a program computes.
type commandData struct {
	Name    string          `json:"name"`
	Dim     int             `json:"dim"`
	Program problem.Program `json:"program"`
	// Files holds the keys of the files that arguments name, by the index of the
	// argument.
	Files map[int]string `json:"files,omitempty"`
}

// largestFile bounds the files that travel, in bytes.
const largestFile = 16 << 20

func encodeCommand(pk *Packer, p problem.Problem) ([]byte, error) {
	prog, _ := problem.ProgramOf(p)
	d := commandData{Name: p.Name(), Dim: p.Dim(), Program: prog, Files: map[int]string{}}
	d.Program.Workers = 0 // workers have their own cores
	dir, err := filepath.Abs(prog.Dir)
	if err != nil {
		return nil, err
	}
	d.Program.Dir = dir
	for i, arg := range prog.Args {
		b, err := argumentFile(dir, arg, i == 0)
		if err != nil {
			return nil, err
		}
		if b == nil {
			continue
		}
		if d.Files[i], err = pk.Put(b); err != nil {
			return nil, err
		}
	}
	return json.Marshal(d)
}

// argumentFile returns the content of the file that an argument names, nil if it
// names none. A program without a slash is looked up in PATH and is no file.
func argumentFile(dir, arg string, program bool) ([]byte, error) {
	if arg == "" || program && filepath.Base(arg) == arg {
		return nil, nil
	}
	if !filepath.IsAbs(arg) {
		arg = filepath.Join(dir, arg)
	}
	info, err := disk.Stat(arg)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	if program && filepath.IsAbs(arg) && info.Size() > largestFile {
		return nil, nil // an interpreter
	}
	if info.Size() > largestFile {
		return nil, fmt.Errorf("its file %s has %d bytes; at most %d travel: have it on every machine and name it in a variable of the environment", arg, info.Size(), largestFile)
	}
	b, err := disk.ReadFile(arg)
	if b == nil && err == nil {
		b = []byte{}
	}
	return b, err
}

func decodeCommand(ctx context.Context, env *Env, data []byte) (problem.Problem, error) {
	var d commandData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	if d.Dim < 1 || d.Dim > problem.MaxDim || len(d.Program.Args) == 0 || d.Program.Args[0] == "" {
		return nil, errors.New("farm: a unit describes no command")
	}
	t := &travelled{d: d, blobs: map[int][]byte{}}
	for i, key := range d.Files {
		if i < 0 || i >= len(d.Program.Args) {
			return nil, errors.New("farm: a unit has a file of no argument")
		}
		if b, err := argumentFile(d.Program.Dir, d.Program.Args[i], i == 0); err == nil && b != nil && BlobKey(b) == key {
			continue // the same file is here
		}
		b, err := env.Blob(ctx, key)
		if err != nil {
			return nil, err
		}
		t.blobs[i] = b
	}
	if _, err := disk.Stat(d.Program.Dir); errors.Is(err, fs.ErrNotExist) {
		t.d.Program.Dir = ""
	}
	t.Problem = t.d.Program.Problem(d.Name, d.Dim)
	return t, nil
}

// travelled is a command on a worker.
type travelled struct {
	problem.Problem // with files that are here
	d               commandData
	blobs           map[int][]byte // of files that are not, by argument
}

// Evaluate evaluates a batch with the files in a folder of its own, which is
// removed after it.
func (t *travelled) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) (err error) {
	if len(t.blobs) == 0 {
		return t.Problem.Evaluate(ctx, dst, x)
	}
	dir, err := disk.MkdirTemp("", "dace-command")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	prog := t.d.Program
	prog.Args = append([]string(nil), prog.Args...)
	for i, b := range t.blobs {
		// Files of one name are told apart by their folder.
		at := filepath.Join(dir, fmt.Sprint(i))
		if err := disk.Mkdir(at, 0o700); err != nil {
			return err
		}
		at = filepath.Join(at, filepath.Base(prog.Args[i]))
		if err := files.WriteProgram(at, b); err != nil {
			return err
		}
		prog.Args[i] = at
	}
	p := prog.Problem(t.d.Name, t.d.Dim)
	defer problem.Release(p)
	return p.Evaluate(ctx, dst, x)
}
