package solver

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/smac"
)

// The solvers of this library are in every worker of a farm. Others travel with the
// units that need them: functions of cells as objectives do, by their source and the
// plain variables that they read; types that have a Codec by that.

// A Codec makes solvers of one type travel.
type Codec struct {
	// Encode returns the JSON of a solver; what is large goes into blobs.
	Encode func(pk *farm.Packer, s Solver) ([]byte, error)
	// Decode makes the solver of a name again.
	Decode func(ctx context.Context, env *farm.Env, name string, data []byte) (Solver, error)
}

// codecs holds the codecs by kind. It only grows while packages are initialised.
var codecs = struct {
	sync.RWMutex // guards kinds and of
	kinds        map[reflect.Type]string
	of           map[string]Codec
}{kinds: map[reflect.Type]string{}, of: map[string]Codec{}}

// RegisterCodec lets solvers of sample's type travel. Packages call it when they are
// initialised.
func RegisterCodec(kind string, sample Solver, c Codec) {
	codecs.Lock()
	defer codecs.Unlock()
	codecs.kinds[reflect.TypeOf(sample)] = kind
	codecs.of[kind] = c
}

func init() {
	RegisterCodec("function", (*funcSolver)(nil), Codec{encodeFunction, decodeFunction})
}

// codecOf returns the codec of a solver; ok is false if its type has none.
func codecOf(s Solver) (kind string, c Codec, ok bool) {
	codecs.RLock()
	defer codecs.RUnlock()
	kind, ok = codecs.kinds[reflect.TypeOf(s)]
	return kind, codecs.of[kind], ok
}

// library is what the paths of this library's packages begin with.
var library = strings.TrimSuffix(reflect.TypeFor[Job]().PkgPath(), "solver")

// here reports whether workers have a solver: it is one of this library.
func here(s Solver) bool {
	if _, _, own := codecOf(s); own {
		return false
	}
	t := reflect.TypeOf(s)
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return strings.HasPrefix(t.PkgPath(), library)
}

// Stays returns why the solver of a name cannot be used on a farm, nil if it can.
func Stays(name string) error {
	s, err := Lookup(name)
	if err != nil || here(s) {
		return err
	}
	if f, ok := s.(*funcSolver); ok {
		if _, err := farm.PackFunction(f.f); err != nil {
			return fmt.Errorf("solver: %s cannot travel to a farm: %w", name, err)
		}
		return nil
	}
	if _, _, ok := codecOf(s); !ok {
		return fmt.Errorf("solver: %s cannot travel to a farm: its type is %T; a function travels: solver.FromFunc(%q, space, func(s *solver.Search) error { ... }), which may use types of cells", name, s, name)
	}
	return nil
}

// Travels reports whether the solver of a name can be used on a farm: see [Stays].
func Travels(name string) bool { return Stays(name) == nil }

// packed describes a solver to another process.
type packed struct {
	Kind string          `json:"kind"`
	Name string          `json:"name"`
	Data json.RawMessage `json:"data"`
}

// Pack stores a blob that describes the solvers of names, as far as workers do not
// have them, and returns its key; "" if there are none.
func Pack(pk *farm.Packer, names []string) (key string, err error) {
	names = slices.Clone(names)
	slices.Sort(names)
	var all []packed
	for _, name := range slices.Compact(names) {
		s, err := Lookup(name)
		if err != nil {
			return "", err
		}
		if here(s) {
			continue
		}
		kind, c, ok := codecOf(s)
		if !ok {
			return "", Stays(name)
		}
		b, err := c.Encode(pk, s)
		if err != nil {
			return "", fmt.Errorf("solver: %s cannot travel to a farm: %w", name, err)
		}
		all = append(all, packed{kind, name, b})
	}
	if len(all) == 0 {
		return "", nil
	}
	b, err := json.Marshal(all)
	if err != nil {
		return "", err
	}
	return pk.Put(b)
}

// Unpack returns a context in which the solvers that [Pack] has described are known,
// before registered ones.
func Unpack(ctx context.Context, env *farm.Env, key string) (context.Context, error) {
	if key == "" {
		return ctx, nil
	}
	v, err := env.Object(ctx, "solvers", key, func(blob []byte) (any, error) {
		var all []packed
		if err := json.Unmarshal(blob, &all); err != nil {
			return nil, fmt.Errorf("solver: the blob %.12s describes no solvers: %w", key, err)
		}
		made := map[string]Solver{}
		for _, p := range all {
			codecs.RLock()
			c, ok := codecs.of[p.Kind]
			codecs.RUnlock()
			if !ok || !isName(p.Name) {
				return nil, fmt.Errorf("solver: this program knows no solvers of the kind %q", p.Kind)
			}
			s, err := c.Decode(ctx, env, p.Name, p.Data)
			if err != nil {
				return nil, fmt.Errorf("solver: %s: %w", p.Name, err)
			}
			made[p.Name] = s
		}
		return made, nil
	})
	if err != nil {
		return nil, err
	}
	return context.WithValue(ctx, knownHere{}, v), nil
}

// knownHere is the key of a context's own solvers.
type knownHere struct{}

// Find returns the solver of a name that a context knows by [Unpack], or that is
// registered.
func Find(ctx context.Context, name string) (Solver, error) {
	if made, ok := ctx.Value(knownHere{}).(map[string]Solver); ok && made[name] != nil {
		return made[name], nil
	}
	return Lookup(name)
}

// functionData describes a solver of FromFunc.
type functionData struct {
	Space smac.Space `json:"space"`
	farm.FunctionBlobs
}

// MarshalJSON identifies the solver: by its space and, in a notebook, its source.
func (f *funcSolver) MarshalJSON() ([]byte, error) {
	d := functionData{Space: f.space}
	if b, err := farm.PackFunction(f.f); err == nil {
		sum := sha256.Sum256(b)
		d.Source = hex.EncodeToString(sum[:])
	}
	return json.Marshal(d)
}

func encodeFunction(pk *farm.Packer, s Solver) ([]byte, error) {
	f := s.(*funcSolver)
	source, err := farm.PackFunction(f.f)
	if err != nil {
		return nil, err
	}
	built, err := f.proven(pk, source)
	if err != nil {
		return nil, err
	}
	d := functionData{Space: f.space}
	if err := d.Put(pk, source, built); err != nil {
		return nil, err
	}
	return json.Marshal(d)
}

// proven makes the function again in this process, once for each source, compares
// its runs with those of f, and returns it as built.
func (f *funcSolver) proven(pk *farm.Packer, source []byte) ([]byte, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.source != nil && bytes.Equal(f.source, source) {
		return f.built, nil
	}
	again, m, err := remake(pk.Context(), f.name, f.space, source, nil)
	if err != nil {
		return nil, err
	}
	p := problem.FromFunc("proof", 11, func(x []bool) float64 {
		v := 0.0
		for i, b := range x {
			if b != (i > 0 && x[i-1]) {
				v += float64(i%4) - 0.5
			}
		}
		return v
	})
	c, err := New(f.name, nil)
	if err != nil {
		return nil, err
	}
	for seed := range uint64(3) {
		j := Job{Problem: p, Config: c, Evaluations: 60, Seed: seed}
		var got [2]Result
		for i, s := range []Solver{f, again} {
			r, err := s.Run(pk.Context(), []Job{j}, 1)
			if err != nil {
				return nil, err
			}
			got[i] = r[0]
		}
		if !reflect.DeepEqual(got[0], got[1]) {
			return nil, errors.New("its function makes another run here than where only what it declares is there, under one seed: it depends on more than the search and plain variables, or does not draw its random numbers from s.Rand")
		}
	}
	f.source, f.built = source, m.Built
	return f.built, nil
}

// remake makes the solver of a function again.
func remake(ctx context.Context, name string, space smac.Space, source, built []byte) (*funcSolver, farm.Carried, error) {
	m, err := farm.MakeFunction(ctx, source, built, "import carriedˑsolver \"dace.local/dacelib/solver\"\n[]func(*carriedˑsolver.Search) error{%s}")
	if err != nil {
		return nil, m, fmt.Errorf("its function cannot be made again: %w", err)
	}
	f, ok := m.Value.([]func(*Search) error)
	if !ok || len(f) != 1 || f[0] == nil {
		return nil, m, fmt.Errorf("its function became a %T", m.Value)
	}
	return &funcSolver{name: name, space: space, f: f[0]}, m, nil
}

func decodeFunction(ctx context.Context, env *farm.Env, name string, data []byte) (Solver, error) {
	var d functionData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	source, built, err := d.Get(ctx, env)
	if err != nil {
		return nil, err
	}
	f, _, err := remake(ctx, name, d.Space, source, built)
	return f, err
}
