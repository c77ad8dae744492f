package external

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/files"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/solver"
)

// Programs travel to the workers of a farm with the files that their arguments name,
// and instances with those that their texts name. A worker that does not have the
// same files writes them into a folder for the time of some runs. Interpreters, and
// what else a program reads, must be there.

func init() {
	solver.RegisterCodec("program", (*family)(nil), solver.Codec{Encode: encodeRunner, Decode: decodeRunner})
	farm.RegisterProblem("instance of programs", (*opaque)(nil), farm.Codec{Encode: encodeInstance, Decode: decodeInstance, Expensive: true})
	farm.RegisterProblem("problem of programs", (*known)(nil), farm.Codec{Encode: encodeInstance, Decode: decodeInstance, Expensive: true})
}

// largestFile bounds the files that travel, in bytes.
const largestFile = 16 << 20

// fileOf returns the content of the file that a word of a command line names, nil if
// it names none. program says that the word is a program, which is looked up in PATH
// unless it has a slash.
func fileOf(dir, word string, program bool) ([]byte, error) {
	if word == "" || program && filepath.Base(word) == word {
		return nil, nil
	}
	if !filepath.IsAbs(word) {
		word = filepath.Join(dir, word)
	}
	info, err := os.Stat(word)
	if err != nil || !info.Mode().IsRegular() {
		return nil, nil
	}
	if info.Size() > largestFile {
		if program {
			return nil, nil // an interpreter
		}
		return nil, fmt.Errorf("its file %s has %d bytes; at most %d travel: have it on every machine, and name it in a variable of the environment", word, info.Size(), largestFile)
	}
	b, err := os.ReadFile(word)
	if b == nil && err == nil {
		b = []byte{}
	}
	return b, err
}

// putFiles stores the files that words name.
func putFiles(pk *farm.Packer, dir string, words []string, program bool) (map[string]string, error) {
	files := map[string]string{}
	for i, w := range words {
		b, err := fileOf(dir, w, program && i == 0)
		if err != nil {
			return nil, err
		}
		if b == nil {
			continue
		}
		if files[w], err = pk.Put(b); err != nil {
			return nil, err
		}
	}
	return files, nil
}

// missing returns the contents of the files that are not here.
func missing(ctx context.Context, env *farm.Env, dir string, files map[string]string) (map[string][]byte, error) {
	out := map[string][]byte{}
	for w, key := range files {
		if b, err := fileOf(dir, w, false); err == nil && b != nil && farm.BlobKey(b) == key {
			continue
		}
		b, err := env.Blob(ctx, key)
		if err != nil {
			return nil, err
		}
		out[w] = b
	}
	return out, nil
}

// runnerData describes a Runner.
type runnerData struct {
	Runner Runner            `json:"runner"`
	Files  map[string]string `json:"files,omitempty"` // keys by words
}

func encodeRunner(pk *farm.Packer, s solver.Solver) ([]byte, error) {
	d := runnerData{Runner: s.(*family).Runner}
	var err error
	if d.Runner.Dir, err = filepath.Abs(d.Runner.Dir); err != nil {
		return nil, err
	}
	words := append([]string(nil), d.Runner.Args...)
	if d.Runner.Target != "" {
		words = append(words, d.Runner.Target)
	}
	if d.Files, err = putFiles(pk, d.Runner.Dir, words, true); err != nil {
		return nil, err
	}
	return json.Marshal(d)
}

func decodeRunner(ctx context.Context, env *farm.Env, name string, data []byte) (solver.Solver, error) {
	var d runnerData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	s, err := d.Runner.Solver(name)
	if err != nil {
		return nil, err
	}
	e := s.(*family)
	if e.files, err = missing(ctx, env, d.Runner.Dir, d.Files); err != nil {
		return nil, err
	}
	if _, err := os.Stat(d.Runner.Dir); err != nil {
		e.Dir = ""
	}
	return e, nil
}

// instanceData describes an instance.
type instanceData struct {
	Text  string            `json:"text"`
	Files map[string]string `json:"files,omitempty"`
	Of    *farm.Spec        `json:"of,omitempty"`
}

func encodeInstance(pk *farm.Packer, p problem.Problem) ([]byte, error) {
	d := instanceData{Text: p.(text).instanceText()}
	w, err := words(d.Text)
	if err != nil {
		return nil, err
	}
	for i := range w {
		// Relative words are relative to the program's folder, which has them.
		if !filepath.IsAbs(w[i]) {
			w[i] = ""
		}
	}
	if d.Files, err = putFiles(pk, "", w, false); err != nil {
		return nil, err
	}
	if k, ok := p.(*known); ok {
		if d.Of, err = pk.Problem(k.Problem); err != nil {
			return nil, err
		}
	}
	return json.Marshal(d)
}

func decodeInstance(ctx context.Context, env *farm.Env, data []byte) (problem.Problem, error) {
	var d instanceData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	files, err := missing(ctx, env, "", d.Files)
	if err != nil {
		return nil, err
	}
	if d.Of == nil {
		return &opaque{d.Text, files}, nil
	}
	p, err := env.Problem(ctx, d.Of)
	if err != nil {
		return nil, err
	}
	return &known{p, d.Text, files}, nil
}

// placed returns the solver with the files of a farm that it and the instances need,
// in a folder that end removes.
func (e *family) placed(jobs []solver.Job) (out *family, end func() error, err error) {
	contents := map[string][]byte{}
	for w, b := range e.files {
		contents[w] = b
	}
	for _, j := range jobs {
		if t, ok := j.Problem.(text); ok {
			for w, b := range t.instanceFiles() {
				contents[w] = b
			}
		}
	}
	if len(contents) == 0 {
		return e, func() error { return nil }, nil
	}
	dir, err := os.MkdirTemp("", "dace-program")
	if err != nil {
		return nil, nil, err
	}
	end = func() error { return os.RemoveAll(dir) }
	out = &family{Runner: e.Runner, name: e.name, place: map[string]string{}}
	for w, b := range contents {
		// Files of one name are told apart by their folder.
		at := filepath.Join(dir, fmt.Sprint(len(out.place)))
		if err := os.Mkdir(at, 0o700); err != nil {
			return nil, nil, errors.Join(err, end())
		}
		at = filepath.Join(at, filepath.Base(w))
		if err := files.WriteProgram(at, b); err != nil {
			return nil, nil, errors.Join(err, end())
		}
		out.place[w] = at
	}
	return out, end, nil
}
