package problem

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"

	"dace.local/dacelib/files"
	"dace.local/dacelib/run"
)

// A Kept problem remembers its values in a file. Make one with [Keep].
type Kept struct {
	p    Problem
	path string

	mu   sync.Mutex // guards the fields below
	file *os.File   // nil: closed
	size int64      // of what is written whole
	seen map[string]float64
	busy map[string]chan struct{} // closed when the value is there, or given up
}

// Keep returns p with a memory of its values in a file, which is created if it is
// not there: each solution is evaluated once, in this process and in later ones.
// To go on with a run that was interrupted, or whose process was killed, make it
// again with the file: it takes what it had computed from there. A value is written
// as soon as it is known, so a kill loses at most the one under way in each worker
// (see below). The values of a program that are random become fixed by it.
//
// Solutions are evaluated one by one, or, if p is of [Parallel], [Command] or
// [Program], as many at once as it has workers. The file has a line for each value
// with a checksum; a line that was torn is dropped. One process at a time uses a
// file: for another, Keep returns an error. So it does for a file of a problem of
// another name or dimension: give a changed objective another name. If the disk is
// full, Evaluate returns an error and the file stays whole.
//
// Close releases the file.
func Keep(p Problem, path string) (*Kept, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("problem %s: its values cannot be kept: %w", p.Name(), err)
	}
	k := &Kept{p: p, path: path, file: f, seen: map[string]float64{}, busy: map[string]chan struct{}{}}
	if err := k.open(); err != nil {
		f.Close()
		if errors.Is(err, files.ErrLocked) {
			err = errors.New("another process, or another Keep of this one, uses the file: wait until it ends, close it, or name another file")
		}
		return nil, fmt.Errorf("problem %s: its values cannot be kept in %s: %w", p.Name(), path, err)
	}
	return k, nil
}

// keptHead is the first line of a file of values.
type keptHead struct {
	Values  int    `json:"dace_values"` // version of the format
	Problem string `json:"problem"`
	Dim     int    `json:"dim"`
}

// open locks and reads the file, or writes its head.
func (k *Kept) open() error {
	if err := files.Lock(k.file); err != nil {
		return err
	}
	head := keptHead{1, k.p.Name(), k.p.Dim()}
	in := bufio.NewReaderSize(k.file, 1<<16)
	first, err := in.ReadBytes('\n')
	switch {
	case err == io.EOF: // an empty file, or one whose first line was torn
		b, err := json.Marshal(head)
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(b, first) {
			return errors.New("the file holds something else")
		}
		return k.append(append(b, '\n'))
	case err != nil:
		return err
	}
	var found keptHead
	if json.Unmarshal(first, &found) != nil || found.Values != 1 {
		return errors.New("the file holds something else")
	}
	if found != head {
		return fmt.Errorf("it holds values of %s of dimension %d, not of %s of dimension %d", found.Problem, found.Dim, head.Problem, head.Dim)
	}
	k.size = int64(len(first))
	for {
		line, err := in.ReadBytes('\n')
		if err == io.EOF {
			return nil // a torn line is overwritten
		}
		if err != nil {
			return err
		}
		k.size += int64(len(line))
		if x, v, ok := keptRecord(line, head.Dim); ok {
			k.seen[x] = v
		}
	}
}

// keptLine returns the line of a solution, as d characters 0 or 1, and its value.
func keptLine(x string, v float64) []byte {
	text := x + " " + strconv.FormatFloat(v, 'g', -1, 64)
	return fmt.Appendf(nil, "%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

// keptRecord reads a line that [keptLine] has written; ok is false if it is
// damaged.
func keptRecord(line []byte, d int) (x string, v float64, ok bool) {
	fields := strings.Split(strings.TrimSuffix(string(line), "\n"), " ")
	if len(fields) != 3 || len(strings.TrimLeft(fields[0], "fv")) != d || strings.Trim(fields[0][len(fields[0])-d:], "01") != "" {
		return "", 0, false
	}
	v, err := strconv.ParseFloat(fields[1], 64)
	if err != nil || math.IsNaN(v) {
		return "", 0, false
	}
	return fields[0], v, bytes.Equal(keptLine(fields[0], v), line)
}

// append writes bytes behind what is whole.
func (k *Kept) append(b []byte) error {
	if k.file == nil {
		return os.ErrClosed
	}
	n, err := k.file.WriteAt(b, k.size)
	if err == nil {
		err = k.file.Truncate(k.size + int64(n)) // what a torn line has left
	}
	if err != nil {
		_ = k.file.Truncate(k.size)
		return err
	}
	k.size += int64(n)
	return nil
}

// Name returns the problem's name.
func (k *Kept) Name() string { return k.p.Name() }

// Dim returns the problem's dimension.
func (k *Kept) Dim() int { return k.p.Dim() }

// Optimum returns the known optimum of the problem, if any.
func (k *Kept) Optimum() (float64, bool) { return Optimum(k.p) }

// Costly reports whether a value that is not in the file costs much; see [Costly].
func (k *Kept) Costly() bool { return costly(k.p) }

// Len returns the number of values in the file.
func (k *Kept) Len() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.seen)
}

// Close releases the file. Evaluate then returns errors for new solutions.
func (k *Kept) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil {
		return nil
	}
	err := k.file.Close()
	k.file = nil
	return err
}

// finalMarks stand before solutions with values by final repeats, by their purpose.
var finalMarks = map[string]string{toChoose: "f", toValue: "v"}

// Evaluate evaluates the solutions that are not in the file; see [Keep].
func (k *Kept) Evaluate(ctx context.Context, dst []float64, x Solutions) error {
	return k.evaluate(ctx, dst, x, "", k.p.Evaluate)
}

func (k *Kept) finalists() int { return Finalists(k.p) }

func (k *Kept) final(ctx context.Context, purpose string, dst []float64, x Solutions) error {
	f, sign := finalistOf(k.p)
	return k.evaluate(ctx, dst, x, finalMarks[purpose], func(ctx context.Context, dst []float64, x Solutions) error {
		err := f.final(ctx, purpose, dst, x)
		for i := range x.Len() {
			dst[i] *= sign
		}
		return err
	})
}

// evaluate sets values that are in the file after a mark, or are computed by f.
func (k *Kept) evaluate(ctx context.Context, dst []float64, x Solutions, mark string, f func(context.Context, []float64, Solutions) error) error {
	if err := CheckBatch(k.p, dst, x); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	var fresh []int // the first appearance of each new solution
	again := map[string]bool{}
	texts := make([]string, x.Len())
	k.mu.Lock()
	for i := range texts {
		texts[i] = mark + x.Slice(i, i+1).String()
		if _, ok := k.seen[texts[i]]; !ok && !again[texts[i]] {
			again[texts[i]] = true
			fresh = append(fresh, i)
		}
	}
	k.mu.Unlock()
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err := run.Each(atOnce(k.p), len(fresh), func(i int) error {
		err := k.once(ctx, texts[fresh[i]], x.Slice(fresh[i], fresh[i]+1), f)
		if err != nil {
			cancel() // the others need not go on
		}
		return err
	})
	if outer.Err() != nil {
		return outer.Err()
	}
	if err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, text := range texts {
		dst[i] = k.seen[text]
	}
	return nil
}

// once evaluates and keeps a solution, unless another goroutine does so.
func (k *Kept) once(ctx context.Context, text string, x Solutions, f func(context.Context, []float64, Solutions) error) error {
	for {
		k.mu.Lock()
		if _, ok := k.seen[text]; ok {
			k.mu.Unlock()
			return nil
		}
		wait, ok := k.busy[text]
		if !ok {
			break
		}
		k.mu.Unlock()
		select {
		case <-wait:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	done := make(chan struct{})
	k.busy[text] = done
	k.mu.Unlock()
	var v [1]float64
	err := f(ctx, v[:], x)
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.busy, text)
	close(done)
	if err != nil {
		return err
	}
	if err := k.append(keptLine(text, v[0])); err != nil {
		return fmt.Errorf("problem %s: a value cannot be kept in %s: %w; the %d values before it are there: make room, and start again", k.Name(), k.path, err, len(k.seen))
	}
	k.seen[text] = v[0]
	return nil
}

// atOnce returns how many solutions p evaluates at once.
func atOnce(p Problem) int {
	if p, ok := p.(parallel); ok {
		return p.workers
	}
	if c := commandOf(p); c != nil {
		return c.Workers
	}
	if inner, _, _ := Unwrap(p); inner != nil {
		return atOnce(inner)
	}
	if w, ok := p.(withOptimum); ok {
		return atOnce(w.Problem)
	}
	return 1
}
