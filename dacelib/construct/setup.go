package construct

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// A Setup holds everything that determines a construction.
type Setup struct {
	// Method is the name of the method, such as "DACE".
	Method string `json:"method"`
	// Class is the name of the class from which instances are drawn; empty for
	// methods that draw none.
	Class string `json:"class,omitempty"`
	// Training identifies the training instances.
	Training []TrainingInstance `json:"training"`
	// Settings are the construction's, with defaults filled in, without
	// functions and fields that do not change a result.
	Settings Settings `json:"settings"`
	// Solvers are the names of those whose configurations are searched for; empty
	// for BRKGA with the paper's space.
	Solvers []string `json:"solvers,omitempty"`
	// Own identifies those of them that are not this library's, by their parameters.
	Own []string `json:"own,omitempty"`
	// OwnStop says that PGPE.Stop was set; its code is not recorded.
	OwnStop bool `json:"own_stop,omitempty"`
}

// A TrainingInstance identifies a training instance.
type TrainingInstance struct {
	// Name and Dim are the instance's name and dimension.
	Name string `json:"name"`
	Dim  int    `json:"dim"`
	// Digest identifies the instance by its JSON or, without JSON, by its
	// values on some solutions; empty if there is no record.
	Digest string `json:"digest,omitempty"`
}

// newSetup returns the setup of a construction.
func newSetup(ctx context.Context, method, class string, training []problem.Problem, s Settings) (Setup, error) {
	u := Setup{Method: method, Class: class, Settings: s, OwnStop: s.PGPE.Stop != nil, Solvers: s.theta(0).Solvers}
	for _, one := range s.Solvers {
		if s.Farm != nil {
			if err := solver.Stays(one.Name()); err != nil {
				return u, fmt.Errorf("construct: leave Settings.Farm out, or %q of Solvers: %w", one.Name(), err)
			}
		}
		if _, own := one.(beginner); own && !s.paper() {
			var what any = one.Space(1, 1)
			if m, ok := one.(json.Marshaler); ok {
				what = m
			}
			b, err := json.Marshal(what)
			if err != nil {
				return u, fmt.Errorf("construct: the solver %s: %w", one.Name(), err)
			}
			sum := sha256.Sum256(b)
			u.Own = append(u.Own, one.Name()+" "+hex.EncodeToString(sum[:8]))
		}
	}
	for _, p := range training {
		i := TrainingInstance{Name: p.Name(), Dim: p.Dim()}
		digest, err := Digest(ctx, p)
		if err != nil {
			return u, err
		}
		if described(p) {
			// An encoded instance needs no look, and may be large.
		} else if again, err := Digest(ctx, p); err != nil {
			return u, err
		} else if again != digest {
			return u, &NoiseError{p.Name()}
		}
		if s.Dir != "" {
			i.Digest = digest
		}
		u.Training = append(u.Training, i)
	}
	// Encode and decode, so that only the fields that are written count: a new
	// field of any settings counts unless its tag is json:"-".
	b, err := json.Marshal(u)
	if err != nil {
		return u, fmt.Errorf("construct: the settings cannot be recorded: %w", err)
	}
	var out Setup
	if err := json.Unmarshal(b, &out); err != nil {
		return u, fmt.Errorf("construct: the settings cannot be recorded: %w", err)
	}
	return out, nil
}

// A NoiseError says that an instance gives one solution different values.
type NoiseError struct {
	Name string // the instance's name
}

// Error returns the message, with what to do.
func (e *NoiseError) Error() string {
	return "construct: instance " + e.Name + " is noisy: one solution has different values, and a construction could not be repeated or gone on with; wrap it in problem.Noisy, which takes means of repeated values, or draw its random numbers from a fixed seed"
}

// digestSolutions is the number of solutions by whose values instances are
// identified.
const digestSolutions = 8

// described reports whether an instance has a JSON, by which it is identified.
func described(p problem.Problem) bool {
	_, ok := p.(json.Marshaler)
	return ok
}

// looks returns the number of evaluations of the training instances before a
// construction begins: solutions of each are evaluated twice.
func looks(training []problem.Problem) int {
	n := 0
	for _, p := range training {
		if !described(p) {
			n += 2 * digestSolutions
		}
	}
	return n
}

// Digest identifies an instance by its contents: its JSON or, without JSON, its
// values on eight solutions.
func Digest(ctx context.Context, p problem.Problem) (string, error) {
	var content []byte
	if m, ok := p.(json.Marshaler); ok {
		b, err := m.MarshalJSON()
		if err != nil {
			return "", fmt.Errorf("construct: instance %s: %w", p.Name(), err)
		}
		content = b
	} else if p.Dim() > 0 {
		const n = digestSolutions
		x := problem.Random(run.Rand(1, "construct: digest"), n, p.Dim())
		y := make([]float64, n)
		if err := p.Evaluate(ctx, y, x); err != nil {
			return "", fmt.Errorf("construct: instance %s: %w", p.Name(), err)
		}
		for _, v := range y {
			content = fmt.Appendf(content, "%x ", math.Float64bits(v))
		}
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:8]), nil
}

// differences lists where a recorded setup differs from u, one line per field.
func (u Setup) differences(recorded []byte) ([]string, error) {
	b, err := json.Marshal(u)
	if err != nil {
		return nil, err
	}
	now, there := map[string]string{}, map[string]string{}
	for _, d := range []struct {
		raw  []byte
		into map[string]string
	}{{b, now}, {recorded, there}} {
		var v any
		dec := json.NewDecoder(bytes.NewReader(d.raw))
		dec.UseNumber() // a seed may be too large for float64
		if err := dec.Decode(&v); err != nil {
			return nil, fmt.Errorf("the setup: %w", err)
		}
		flatten("", v, d.into)
	}
	var out []string
	for _, k := range slices.Sorted(maps.Keys(union(now, there))) {
		if a, b := there[k], now[k]; a != b && !(zero(a) && zero(b)) {
			line := fmt.Sprintf("%s: %s there, %s now", k, shown(a), shown(b))
			if strings.HasSuffix(k, "].digest") {
				line += " (the values of some solutions, or the instance's data, are others: it was changed, it reads what has changed, or it is noisy)"
			}
			out = append(out, line)
		}
	}
	return out, nil
}

func union(a, b map[string]string) map[string]string {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}

// flatten stores the values of a JSON document in into, by their paths.
func flatten(path string, v any, into map[string]string) {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			p := k
			if path != "" {
				p = path + "." + k
			}
			flatten(p, e, into)
		}
	case []any:
		for i, e := range v {
			flatten(fmt.Sprintf("%s[%d]", path, i), e, into)
		}
	default:
		into[path] = fmt.Sprint(v)
	}
}

// zero reports whether v is the value of a field that was not set, or that did
// not exist when the journal was written.
func zero(v string) bool {
	return slices.Contains([]string{"", "0", "false", "<nil>", "written", "authors"}, v)
}

func shown(v string) string {
	if v == "" {
		return "nothing"
	}
	return v
}
