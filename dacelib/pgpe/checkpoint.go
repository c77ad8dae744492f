package pgpe

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"dace.local/dacelib/files"
	"dace.local/dacelib/run"
)

// saveEvery is the minimal time between two saves of a run's state.
const saveEvery = 30 * time.Second

// fileHeader is the first line of a checkpoint. The second line is the SHA-256
// of the third, in hexadecimal; the third is a value of type saved as JSON.
const fileHeader = "dacelib pgpe checkpoint 1\n"

// saved is the content of a checkpoint.
type saved struct {
	Identity identity
	// Start is the start point of the run.
	Start []float64
	// Result is the state of the run after its last iteration.
	Result Result
}

// A checkpoint saves the state of a run to a file. A nil checkpoint does
// nothing.
type checkpoint struct {
	path  string
	start []float64
	id    identity
	last  time.Time // time of the last save
	kept  int       // number of iterations in the file
}

// openCheckpoint returns the checkpoint of a run, and the state in its file if
// the file exists.
func openCheckpoint(start []float64, s Settings) (*checkpoint, *Result, error) {
	c := &checkpoint{path: s.Checkpoint, start: start, id: s.identity(), last: time.Now()}
	b, err := files.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("pgpe: Settings.Checkpoint: %w", err)
	}
	sv, err := decode(b)
	switch {
	case errors.Is(err, errTorn):
		if s.OnEvent != nil {
			s.OnEvent(run.Event{
				Stage: "pgpe", Total: s.MaxIterations, Value: math.NaN(), Best: math.NaN(),
				Detail: c.path + " is damaged: beginning anew",
			})
		}
		return c, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("pgpe: Settings.Checkpoint: %s: %w; remove the file to begin anew, or give another path", c.path, err)
	case sv.Identity != c.id:
		return nil, nil, fmt.Errorf("pgpe: Settings.Checkpoint: %s holds a run with other settings; remove it to begin anew, or give another path\n  there: %+v\n  now:   %+v", c.path, sv.Identity, c.id)
	case !equalBits(sv.Start, start):
		return nil, nil, fmt.Errorf("pgpe: Settings.Checkpoint: %s holds a run from another start; remove it to begin anew, or give another path", c.path)
	}
	c.kept = sv.Result.Iterations
	return c, &sv.Result, nil
}

// saveLater saves the state if the last attempt is at least saveEvery ago. An
// error does not end the run: it is reported, and the next attempt comes after
// the same time.
func (c *checkpoint) saveLater(r *Result, onEvent func(run.Event)) {
	if c == nil || time.Since(c.last) < saveEvery {
		return
	}
	c.last = time.Now()
	if err := c.save(r); err != nil && onEvent != nil {
		onEvent(run.Event{Stage: "pgpe", Step: r.Iterations, Total: r.Settings.MaxIterations, Value: math.NaN(), Best: r.Value, Detail: err.Error()})
	}
}

// save saves the state, unless the file already holds it.
func (c *checkpoint) save(r *Result) error {
	if c == nil || r.Iterations <= c.kept {
		return nil
	}
	b, err := encode(saved{c.id, c.start, *r})
	if err == nil {
		err = files.WriteBytes(c.path, b)
	}
	if err != nil {
		return fmt.Errorf("pgpe: keeping iteration %d in Settings.Checkpoint: %w; the last one kept is %d, from which a run with the same settings goes on", r.Iterations, err, c.kept)
	}
	c.kept = r.Iterations
	return nil
}

// remove removes the file when the run has ended.
func (c *checkpoint) remove() error {
	if c == nil {
		return nil
	}
	if err := os.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("pgpe: removing Settings.Checkpoint after the run: %w", err)
	}
	return nil
}

// encode returns the content of a checkpoint file.
func encode(sv saved) ([]byte, error) {
	body, err := json.Marshal(sv)
	if err != nil {
		return nil, err
	}
	return seal(body), nil
}

// seal puts the header and the checksum before body, the third line.
func seal(body []byte) []byte {
	sum := sha256.Sum256(body)
	return fmt.Appendf(nil, "%s%x\n%s\n", fileHeader, sum, body)
}

// errTorn is returned for a checkpoint that was cut off or damaged.
var errTorn = errors.New("the file is damaged")

// decode parses a checkpoint file. It returns errTorn if b begins like a
// checkpoint but is damaged, and another error if it never was one.
func decode(b []byte) (*saved, error) {
	if n := min(len(b), len(fileHeader)); string(b[:n]) != fileHeader[:n] {
		return nil, errors.New("this is no checkpoint of PGPE, or one of another version")
	}
	lines := bytes.Split(b, []byte("\n"))
	if len(lines) != 4 || len(lines[3]) > 0 {
		return nil, errTorn
	}
	sum := sha256.Sum256(lines[2])
	if string(lines[1]) != hex.EncodeToString(sum[:]) {
		return nil, errTorn
	}
	var sv saved
	if err := json.Unmarshal(lines[2], &sv); err != nil {
		return nil, err
	}
	if err := sv.Result.check(len(sv.Start)); err != nil {
		return nil, err
	}
	if sv.Result.Settings.identity() != sv.Identity {
		return nil, errors.New("its settings contradict each other")
	}
	return &sv, nil
}

// check returns an error if a run of dim coordinates cannot continue from r,
// else nil.
func (r *Result) check(dim int) error {
	if len(r.Mean) != dim {
		return fmt.Errorf("it has %d coordinates, the start %d", len(r.Mean), dim)
	}
	if r.Iterations == 0 {
		return nil
	}
	moments := 0
	if r.Settings.Shaping == Ranks {
		moments = dim
	}
	vectors := []struct {
		name   string
		values []float64
		n      int
	}{
		{"Mean", r.Mean, dim},
		{"Sigma", r.Sigma, dim},
		{"Best", r.Best, dim},
		{"Moments[0]", r.Moments[0], moments},
		{"Moments[1]", r.Moments[1], moments},
	}
	for _, v := range vectors {
		if len(v.values) != v.n {
			return fmt.Errorf("its %s has %d coordinates; it must have %d", v.name, len(v.values), v.n)
		}
		for j, x := range v.values {
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return fmt.Errorf("coordinate %d of its %s is %v; it must be finite", j, v.name, x)
			}
		}
	}
	for j, v := range r.Sigma {
		if !(v > 0) {
			return fmt.Errorf("coordinate %d of its Sigma is %v; it must be positive", j, v)
		}
	}
	n := r.Iterations
	switch {
	case n < 0 || n != len(r.History) || r.History[n-1].Number != n || r.Evaluations != n*(2*r.Settings.Pairs+1):
		return fmt.Errorf("its %d iterations, history of %d and %d evaluations do not fit together", n, len(r.History), r.Evaluations)
	case math.IsNaN(r.Value) || math.IsInf(r.Value, 0):
		return fmt.Errorf("its Value is %v; it must be finite", r.Value)
	case !(r.Rate >= 0) || math.IsInf(r.Rate, 0):
		return fmt.Errorf("its Rate is %v; it must be finite and not negative", r.Rate)
	}
	return nil
}

// equalBits reports whether a and b are equal bit for bit.
func equalBits(a, b []float64) bool {
	if len(a) != len(b) {
		return false
	}
	for i, v := range a {
		if math.Float64bits(v) != math.Float64bits(b[i]) {
			return false
		}
	}
	return true
}
