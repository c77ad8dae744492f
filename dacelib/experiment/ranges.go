package experiment

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"dace.local/dacelib/construct"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/problem"
)

// ranges caches the ranges of instances in a file of JSON lines, for use by
// later tests. Several processes may append to the file.
type ranges struct {
	path  string
	file  *os.File
	known map[rangeKey]portfolio.Range
}

// A rangeKey identifies a range: an instance and the sample that found it.
type rangeKey struct {
	Instance string `json:"instance"` // construct.Digest
	Sample   int    `json:"sample"`
	Seed     uint64 `json:"seed"`
}

type rangeLine struct {
	rangeKey
	Range portfolio.Range `json:"range"`
}

// openRanges reads the ranges in a file; with an empty path they stay in
// memory.
func openRanges(path string) (*ranges, error) {
	r := &ranges{path: path, known: map[rangeKey]portfolio.Range{}}
	if path == "" {
		return r, nil
	}
	if f, err := os.Open(path); err == nil {
		lines := bufio.NewScanner(f)
		for lines.Scan() {
			var l rangeLine
			// Skip a line that is incomplete, or that two processes wrote at
			// the same time: its range will be found again.
			if json.Unmarshal(lines.Bytes(), &l) == nil && l.Instance != "" && l.Range.Max >= l.Range.Min {
				r.known[l.rangeKey] = l.Range
			}
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			return nil, fmt.Errorf("experiment: Settings.Ranges: reading %s: %w", path, err)
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("experiment: Settings.Ranges: %w", err)
	}
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err != nil {
		return nil, fmt.Errorf("experiment: Settings.Ranges: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("experiment: Settings.Ranges: %w", err)
	}
	r.file = f
	// Start a new line if the last one is incomplete.
	if b, err := os.ReadFile(path); err == nil && len(b) > 0 && b[len(b)-1] != '\n' {
		_, _ = f.WriteString("\n")
	}
	return r, nil
}

func (r *ranges) close() {
	if r.file != nil {
		_ = r.file.Close()
	}
}

// normalise returns p normalised by its extremes over a sample.
func (r *ranges) normalise(ctx context.Context, p problem.Problem, sample int, seed uint64) (*portfolio.Instance, error) {
	var key rangeKey
	if r.file != nil {
		digest, err := construct.Digest(ctx, p)
		if err != nil {
			return nil, err
		}
		key = rangeKey{digest, sample, seed}
		if found, ok := r.known[key]; ok {
			return portfolio.Within(p, found), nil
		}
	}
	n, err := portfolio.Normalise(ctx, []problem.Problem{p}, sample, seed)
	if err != nil {
		return nil, err
	}
	i := n[0].(*portfolio.Instance)
	return i, r.keep(key, i.Range())
}

// keep adds a range to the file, if there is one.
func (r *ranges) keep(key rangeKey, found portfolio.Range) error {
	if r.file == nil {
		return nil
	}
	r.known[key] = found
	if err := writeLine(r.file, rangeLine{key, found}); err != nil {
		return fmt.Errorf("experiment: writing %s: %w", r.path, err)
	}
	return nil
}
