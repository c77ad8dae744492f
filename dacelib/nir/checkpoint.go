package nir

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"dace.local/dacelib/files"
	"dace.local/dacelib/run"
)

// A checkpoint is the state of a training between two steps. It holds no state
// of random numbers, because every step draws from its own streams.
type checkpoint struct {
	step          int       // steps done
	params        []float32 // after the last step; the model has the best ones
	stats         []float32
	first, second []float32 // Adam's moments
	best          float64   // smallest validation loss so far
}

// clone returns a copy that shares no memory with c.
func (c *checkpoint) clone() *checkpoint {
	out := *c
	out.params, out.stats = slices.Clone(c.params), slices.Clone(c.stats)
	out.first, out.second = slices.Clone(c.first), slices.Clone(c.second)
	return &out
}

// fingerprint returns the SHA-256 of the training data: names, solutions and
// values.
func fingerprint(data []Data) string {
	h := sha256.New()
	var b []byte
	for _, d := range data {
		b = binary.LittleEndian.AppendUint64(b[:0], uint64(len(d.Name)))
		b = append(b, d.Name...)
		b = binary.LittleEndian.AppendUint64(b, uint64(d.X.D))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(d.Y)))
		for i, y := range d.Y {
			for _, w := range d.X.Row(i) {
				b = binary.LittleEndian.AppendUint64(b, w)
			}
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(y))
			if len(b) > 1<<16 {
				h.Write(b)
				b = b[:0]
			}
		}
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// differences names the settings that differ between a and b, with both values.
// It ignores settings that do not change a training: those that are not saved
// with a model, and the size of the normalising sample.
func differences(a, b Settings) []string {
	var out []string
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		f := x.Type().Field(i)
		if f.Tag.Get("json") == "-" || f.Name == "NormaliseSample" {
			continue
		}
		if p, q := x.Field(i).Interface(), y.Field(i).Interface(); p != q {
			out = append(out, fmt.Sprintf("%s %v, not %v", f.Name, p, q))
		}
	}
	return out
}

// mismatch returns an error that describes how the training of p differs from
// that of m, or nil if p is a state of the same training.
func (p *Model) mismatch(m *Model) error {
	var of []string
	if !slices.Equal(p.names, m.names) {
		of = append(of, fmt.Sprintf("the instances %s, not %s", strings.Join(p.names, ", "), strings.Join(m.names, ", ")))
	} else if p.data != "" && p.data != m.data {
		of = append(of, "the same instances with other solutions or values")
	}
	of = append(of, differences(p.settings, m.settings)...)
	if len(of) == 0 {
		return nil
	}
	return errors.New(strings.Join(of, "; "))
}

// resume continues from the state p of an unfinished training.
func (t *trainer) resume(p *Model) {
	m := t.model
	m.params, m.stats, m.history = slices.Clone(p.params), slices.Clone(p.stats), slices.Clone(p.history)
	t.checkpoint = p.training.clone()
}

// resumeFile continues from the file Settings.Checkpoint, if there is one. It
// returns true if the file holds the finished model. A damaged file is reported
// as an event and ignored; a file of any other kind is an error.
func (t *trainer) resumeFile() (finished bool, err error) {
	path := t.settings.Checkpoint
	refuse := func(format string, args ...any) (bool, error) {
		return false, fmt.Errorf("nir: Settings.Checkpoint: "+format, args...)
	}
	if dir := filepath.Dir(path); !isDir(dir) {
		return refuse("there is no folder %s", dir)
	}
	file, err := files.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return refuse("%w", err)
	}
	p, err := Read(bytes.NewReader(file), int64(len(file)))
	var newer *versionError
	switch {
	case errors.As(err, &newer):
		return refuse("%s: %w", path, err)
	case err != nil && !fileBegins(file):
		return refuse("%s is not the state of a training, and it is not overwritten; use another path (%w)", path, err)
	case err != nil:
		t.report(fmt.Sprintf("%s is damaged and of no use: training from the start (%v)", path, err))
		return false, nil
	}
	if err := p.mismatch(t.model); err != nil {
		return refuse("%s belongs to another training (%w); use another path, or delete it", path, err)
	}
	if p.training == nil {
		m := t.model
		m.params, m.stats, m.history, m.status = p.params, p.stats, p.history, p.status
		if n := len(m.history); n > 0 {
			t.step = m.history[n-1].Step
		}
		t.report("finished before: read from " + path)
		return true, nil
	}
	t.resume(p)
	t.report(fmt.Sprintf("goes on from step %d, read from %s", t.step, path))
	return false, nil
}

// report sends an event with the given detail.
func (t *trainer) report(detail string) {
	if t.settings.OnEvent == nil {
		return
	}
	value, best := math.NaN(), math.NaN()
	if n := len(t.model.history); n > 0 {
		value = t.model.history[n-1].Validation.Total
	}
	if l := t.model.Losses(); l.Scorer != nil {
		best = l.Total
	}
	t.settings.OnEvent(run.Event{Stage: "train", Step: t.step, Total: t.settings.Steps, Value: value, Best: best, Detail: detail})
}

// keep writes the state of the training, or after its end the model, to
// Settings.Checkpoint.
func (t *trainer) keep(training bool) error {
	s := t.settings
	if s.Checkpoint == "" {
		return nil
	}
	t.kept = time.Now()
	write := t.model.Write
	if training {
		write = func(w io.Writer) error { return t.model.write(w, run.Cancelled, t.checkpoint) }
	}
	if err := files.Write(s.Checkpoint, write); err != nil {
		return fmt.Errorf("nir: Settings.Checkpoint: keeping the state of step %d: %w", t.step, err)
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// fileBegins reports whether b can be the beginning of a file that
// [Model.Write] wrote. An empty b counts, because a file system may leave an
// empty file after a power failure.
func fileBegins(b []byte) bool {
	const signature, name, at = "PK\x03\x04", "meta.json", 30 // layout of a zip entry
	if bytes.Count(b, []byte{0}) == len(b) {
		return true
	}
	return len(b) >= at+len(name) && string(b[:len(signature)]) == signature && string(b[at:at+len(name)]) == name
}
