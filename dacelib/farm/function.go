package farm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"dace.local/dacelib/problem"
)

// Problems that are made from a function travel if the function does: one that
// the cells of a notebook have made, and that the kernel can describe.

// A Carrier lets functions that cells have made travel. The command dace sets
// one by [SetCarrier].
type Carrier struct {
	// Pack describes a function value: its source, with all that it uses, and
	// the values of the variables that it reads. The bytes depend on nothing
	// else. The error says in words what cannot travel, and where it stands.
	// Pack is nil in a process without cells.
	Pack func(f any) (source []byte, err error)
	// Make makes the function again and returns the value of a Go expression in which
	// %s stands for it. built is the function as another process of the same program
	// has built it, or nil.
	Make func(ctx context.Context, source, built []byte, expression string) (Carried, error)
}

// Carried is a function that was made again.
type Carried struct {
	// Value is that of the expression.
	Value any
	// Built is the function as built by this process, nil if it was not.
	Built []byte
	// How says in words how the function is computed.
	How string
}

// carrier is what SetCarrier has received.
var carrier struct {
	sync.RWMutex // guards c
	c            Carrier
}

// SetCarrier sets how functions of cells travel.
func SetCarrier(c Carrier) {
	carrier.Lock()
	defer carrier.Unlock()
	carrier.c = c
}

func theCarrier() Carrier {
	carrier.RLock()
	defer carrier.RUnlock()
	return carrier.c
}

func init() {
	c := Codec{Encode: encodeFunction, Decode: decodeFunction}
	RegisterProblem("function", problem.FromFunc("", 1, func([]bool) float64 { return 0 }), c)
	RegisterProblem("batch function", problem.FromBatch("", 1, func([]float64, problem.Solutions) {}), c)
	RegisterProblem("function of a seed", problem.FromSeeded("", 1, func(context.Context, []bool, uint64) (float64, error) { return 0, nil }), c)
	RegisterProblem("function of a context", problem.FromContext("", 1, func(context.Context, []bool) (float64, error) { return 0, nil }), c)
	RegisterProblem("packed function", (*packed)(nil), c)
}

// packed is a problem made from a function as it was when it was packed.
type packed struct {
	problem.Problem
	d             functionData
	source, built []byte
	err           error
}

// pack returns p with the functions that it is made from as they are now.
func pack(ctx context.Context, p problem.Problem) problem.Problem {
	if inner, wrap, name := problem.Unwrap(p); inner != nil {
		if now := pack(ctx, inner); now != inner {
			if q, err := problem.Wrap(now, wrap, name); err == nil {
				return q
			}
		}
		return p
	}
	f := problem.Function(p)
	if f == nil {
		return p
	}
	q := &packed{Problem: p, d: functionData{Name: p.Name(), Dim: p.Dim()}}
	switch f.(type) {
	case func([]float64, problem.Solutions):
		q.d.Batch = true
	case func(context.Context, []bool) (float64, error):
		q.d.Context = true
	case func(context.Context, []bool, uint64) (float64, error):
		q.d.Seeded = true
	}
	if q.source, q.err = PackFunction(f); q.err == nil {
		q.built, q.err = q.d.proven(ctx, p, q.source)
	}
	return q
}

// PackFunction describes a function value that cells have made: see [Carrier].
func PackFunction(f any) ([]byte, error) {
	c := theCarrier()
	if c.Pack == nil {
		return nil, errors.New("it is made from a function of this program, which workers do not have: only functions that the cells of a notebook declare travel")
	}
	source, err := c.Pack(f)
	if err != nil {
		return nil, fmt.Errorf("its function stays here: %w", err)
	}
	return source, nil
}

// MakeFunction makes the function that [PackFunction] has described, and returns the
// value of a Go expression in which %s stands for it.
func MakeFunction(ctx context.Context, source, built []byte, expression string) (Carried, error) {
	c := theCarrier()
	if c.Make == nil {
		return Carried{}, errors.New("farm: this program cannot make functions of cells: the command dace can")
	}
	return c.Make(ctx, source, built, expression)
}

// FunctionBlobs are the keys of the blobs of a function.
type FunctionBlobs struct {
	Source string `json:"source"`          // the blob of its source
	Built  string `json:"built,omitempty"` // the blob of its build, empty for one that was not built
}

// Put adds the blobs; built is nil for a function that was not built.
func (b *FunctionBlobs) Put(pk *Packer, source, built []byte) (err error) {
	if b.Source, err = pk.Put(source); err != nil || built == nil {
		return err
	}
	b.Built, err = pk.Put(built)
	return err
}

// Get returns the blobs.
func (b FunctionBlobs) Get(ctx context.Context, env *Env) (source, built []byte, err error) {
	if source, err = env.Blob(ctx, b.Source); err != nil || b.Built == "" {
		return source, nil, err
	}
	built, err = env.Blob(ctx, b.Built)
	return source, built, err
}

// functionData describes a problem made from a function.
type functionData struct {
	Name  string `json:"name"`
	Dim   int    `json:"dim"`
	Batch bool   `json:"batch,omitempty"`
	FunctionBlobs
	// Context says that the function is one of FromContext.
	Context bool `json:"context,omitempty"`
	// Seeded says that it is one of FromSeeded.
	Seeded bool `json:"seeded,omitempty"`
}

// expression returns the Go expression that makes the problem.
func (d functionData) expression() string {
	call := "FromFunc"
	switch {
	case d.Batch:
		call = "FromBatch"
	case d.Context:
		call = "FromContext"
	case d.Seeded:
		call = "FromSeeded"
	}
	return fmt.Sprintf("import carriedˑproblem \"dace.local/dacelib/problem\"\n[]carriedˑproblem.Problem{carriedˑproblem.%s(%s, %d, %%s)}", call, strconv.Quote(d.Name), d.Dim)
}

// make makes the problem again.
func (d functionData) make(ctx context.Context, source, built []byte) (problem.Problem, Carried, error) {
	m, err := MakeFunction(ctx, source, built, d.expression())
	if err != nil {
		return nil, m, fmt.Errorf("farm: the function of the instance %s cannot be made again: %w", d.Name, err)
	}
	ps, ok := m.Value.([]problem.Problem)
	if !ok || len(ps) != 1 {
		return nil, m, fmt.Errorf("farm: the function of the instance %s became a %T", d.Name, m.Value)
	}
	return ps[0], m, nil
}

func encodeFunction(pk *Packer, p problem.Problem) ([]byte, error) {
	of, ok := p.(*packed)
	if !ok {
		of = pack(pk.ctx, p).(*packed)
	}
	if of.err != nil {
		return nil, of.err
	}
	d := of.d
	if err := d.Put(pk, of.source, of.built); err != nil {
		return nil, err
	}
	return json.Marshal(d)
}

// mostProven bounds the functions that are remembered.
const mostProven = 16

// proven holds functions that were made again in this process with the same
// values, as built, by description and source.
var proven struct {
	sync.Mutex // guards built, and is held while one is proven
	built      map[string][]byte
}

// proven makes the problem again in this process, compares its values with p's,
// and returns the function as built.
func (d functionData) proven(ctx context.Context, p problem.Problem, source []byte) ([]byte, error) {
	proven.Lock()
	defer proven.Unlock()
	key := fmt.Sprintf("%+v %s", d, BlobKey(source))
	if b, ok := proven.built[key]; ok {
		return b, nil
	}
	q, m, err := d.make(ctx, source, nil)
	if err != nil {
		return nil, err
	}
	if err := sameValues(ctx, p, q); err != nil {
		return nil, err
	}
	if len(proven.built) >= mostProven || proven.built == nil {
		proven.built = map[string][]byte{}
	}
	proven.built[key] = m.Built
	return m.Built, nil
}

// Solutions on which a function is compared with what it has become, and the
// time after which one is enough.
const (
	mostCompared    = 8
	enoughComparing = 200 * time.Millisecond
)

// sameValues compares the values of two problems on a few solutions.
func sameValues(ctx context.Context, p, q problem.Problem) error {
	begun := time.Now()
	rng := rand.New(rand.NewPCG(1, 2))
	for range mostCompared {
		x := make([]bool, p.Dim())
		for i := range x {
			x[i] = rng.IntN(2) == 1
		}
		a, err := problem.Value(ctx, p, x)
		if err != nil {
			return err
		}
		b, err := problem.Value(ctx, q, x)
		if err != nil {
			return err
		}
		if math.Float64bits(a) != math.Float64bits(b) {
			return fmt.Errorf("its function gives %v here and %v where only what it declares is there, of one solution: it depends on more than the solution and plain variables", a, b)
		}
		if time.Since(begun) > enoughComparing {
			return nil
		}
	}
	return nil
}

func decodeFunction(ctx context.Context, env *Env, data []byte) (problem.Problem, error) {
	var d functionData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	if d.Dim < 1 || d.Dim > problem.MaxDim {
		return nil, fmt.Errorf("farm: a function of %d bits", d.Dim)
	}
	source, built, err := d.Get(ctx, env)
	if err != nil {
		return nil, err
	}
	p, m, err := d.make(ctx, source, built)
	if err == nil {
		env.made(d.Name, m.How)
	}
	return p, err
}

// made records how the problem of a name is computed in this environment.
func (e *Env) made(name, how string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.how == nil || len(e.how) >= mostObjects {
		e.how = map[string]string{}
	}
	e.how[name] = how
}

// Made tells how problems that notebooks have made are computed in this
// environment, by their names: as a plugin, as source built here, or
// interpreted.
func (e *Env) Made() map[string]string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return maps.Clone(e.how)
}
