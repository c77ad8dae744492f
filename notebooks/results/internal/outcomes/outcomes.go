// Package outcomes keeps what a long comparison measures in a file of JSON, a line for
// each cell of its plan, so that it may be ended at any time and goes on with what the
// file holds.
package outcomes

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// Read reads the outcomes in a file; a file that does not exist has none.
func Read[R any](file string) ([]R, error) {
	f, err := os.Open(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var rows []R
	for d := json.NewDecoder(f); ; {
		var r R
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return rows, nil
		} else if err != nil {
			return nil, fmt.Errorf("%s: outcome %d: %w", file, len(rows)+1, err)
		}
		rows = append(rows, r)
	}
}

// Extend measures the cells of a plan that rows, the outcomes in the file, do not hold,
// and appends each outcome to the file. cellOf returns the cell of an outcome; done is
// told of each new one, with the index of its cell.
func Extend[C comparable, R any](file string, cells []C, rows []R, cellOf func(R) C, measure func(C) (R, error), done func(i int, r R)) (err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	have := map[C]bool{}
	for _, r := range rows {
		have[cellOf(r)] = true
	}
	for i, c := range cells {
		if have[c] {
			continue
		}
		r, err := measure(c)
		if err != nil {
			return fmt.Errorf("%+v: %w", c, err)
		}
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if _, err := f.Write(append(line, '\n')); err != nil {
			return err
		}
		have[c] = true
		done(i, r)
	}
	return nil
}
