package construct

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// A journal keeps the outcomes of a construction's steps in a file, a JSON
// line each, and gives them back when the construction is repeated. Steps are
// determined by the settings, so a repetition is a continuation. A nil journal
// keeps nothing.
type journal struct {
	mu   sync.Mutex
	dir  string
	file *os.File
	seen map[string]json.RawMessage
}

type line struct {
	Step  string          `json:"step"`
	Value json.RawMessage `json:"value"`
}

const journalName = "journal.jsonl"

// openJournal opens the journal in a folder, which it makes; an empty dir
// means none. It refuses one of other settings.
func openJournal(dir, setup string) (*journal, error) {
	if dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("construct: Settings.Dir: %w", err)
	}
	path := filepath.Join(dir, journalName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("construct: Settings.Dir: %w", err)
	}
	j := &journal{dir: dir, file: f, seen: map[string]json.RawMessage{}}
	if err := j.read(); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	var was string
	err = j.do("setup", &was, func() error { was = setup; return nil })
	if err == nil && was != setup {
		err = fmt.Errorf("construct: %s holds another construction; give Settings.Dir a folder of its own, or remove it.\n  there: %s\n  now:   %s", path, was, setup)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return j, nil
}

// read takes in the lines, and cuts off a last one that was not finished.
func (j *journal) read() error {
	r := bufio.NewReader(j.file)
	var end int64
	for n := 1; ; n++ {
		b, err := r.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("construct: reading %s: %w", j.file.Name(), err)
		}
		var l line
		if err := json.Unmarshal(b, &l); err != nil {
			return fmt.Errorf("construct: %s, line %d: %w; remove the file to begin again", j.file.Name(), n, err)
		}
		j.seen[l.Step] = l.Value
		end += int64(len(b))
	}
	if err := j.file.Truncate(end); err != nil {
		return err
	}
	_, err := j.file.Seek(end, io.SeekStart)
	return err
}

// do sets *v to the outcome of a step: the one recorded, or that of f, which
// sets *v, and is then recorded. An error of f is returned and not recorded.
func (j *journal) do(step string, v any, f func() error) error {
	if found, err := j.get(step, v); found || err != nil {
		return err
	}
	if err := f(); err != nil {
		return err
	}
	return j.put(step, v)
}

// get reads the outcome of a step, if it was recorded.
func (j *journal) get(step string, v any) (bool, error) {
	if j == nil {
		return false, nil
	}
	j.mu.Lock()
	raw, ok := j.seen[step]
	j.mu.Unlock()
	if !ok {
		return false, nil
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return false, fmt.Errorf("construct: %s, step %q: %w", j.file.Name(), step, err)
	}
	return true, nil
}

// put records the outcome of a step; the last one counts.
func (j *journal) put(step string, v any) error {
	if j == nil {
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("construct: recording step %q: %w", step, err)
	}
	b, err := json.Marshal(line{step, raw})
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.seen[step] = raw
	if _, err := j.file.Write(append(b, '\n')); err != nil {
		return fmt.Errorf("construct: recording step %q: %w", step, err)
	}
	return nil
}

// path returns the path of a further file in the journal's folder, empty where
// there is no journal.
func (j *journal) path(name string) string {
	if j == nil {
		return ""
	}
	return filepath.Join(j.dir, name)
}

func (j *journal) close() error {
	if j == nil {
		return nil
	}
	return j.file.Close()
}
