package farm

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"dace.local/dacelib/problem"
)

// A Codec makes problems of one type travel.
type Codec struct {
	// Encode returns the JSON of p; what is large goes into blobs by pk.Put.
	// It may be nil if p has a MarshalJSON.
	Encode func(pk *Packer, p problem.Problem) ([]byte, error)
	// Decode makes the problem again.
	Decode func(ctx context.Context, env *Env, data []byte) (problem.Problem, error)
	// Needs names the traits on which the problem's values depend.
	Needs []string
	// Expensive says that an evaluation takes much longer than sending a
	// solution and its value.
	Expensive bool
}

// codecs holds the codecs of all types of problems. It only grows while packages
// are initialised.
var codecs = struct {
	sync.RWMutex // guards names and of
	names        map[reflect.Type]string
	of           map[string]Codec
}{names: map[reflect.Type]string{}, of: map[string]Codec{}}

// RegisterProblem lets problems of sample's type travel under a name. Packages
// call it when they are initialised.
func RegisterProblem(name string, sample problem.Problem, c Codec) {
	codecs.Lock()
	defer codecs.Unlock()
	if _, ok := codecs.of[name]; ok {
		panic("farm: RegisterProblem called twice for one name")
	}
	codecs.names[reflect.TypeOf(sample)] = name
	codecs.of[name] = c
}

// A Spec describes a problem so that another process can make it.
type Spec struct {
	// Type names the codec that makes the problem from Data; Name is the
	// problem's.
	Type string          `json:"type"`
	Name string          `json:"name,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
	Of   *Spec           `json:"of,omitempty"` // the problem that is wrapped
}

// A Packer collects what a unit needs of other machines: blobs and equal
// traits.
type Packer struct {
	ctx    context.Context
	pool   Pool
	stored map[any]string
	needs  []string
}

// NewPacker returns a packer that stores blobs in a pool.
func NewPacker(ctx context.Context, p Pool) *Packer { return &Packer{ctx: ctx, pool: p} }

// Context returns the packer's context.
func (pk *Packer) Context() context.Context { return pk.ctx }

// Put stores a blob and returns its key.
func (pk *Packer) Put(blob []byte) (string, error) { return pk.pool.Put(pk.ctx, blob) }

// Needs returns the traits that the packed problems need, sorted.
func (pk *Packer) Needs() []string {
	slices.Sort(pk.needs)
	pk.needs = slices.Compact(pk.needs)
	return pk.needs
}

// Problem describes a problem.
func (pk *Packer) Problem(p problem.Problem) (*Spec, error) {
	if inner, wrap, name := problem.Unwrap(p); inner != nil {
		of, err := pk.Problem(inner)
		if err != nil || wrap == problem.WrapParallel {
			return of, err
		}
		return &Spec{Type: wrap, Name: name, Of: of}, nil
	}
	codecs.RLock()
	name, ok := codecs.names[reflect.TypeOf(p)]
	c := codecs.of[name]
	codecs.RUnlock()
	if !ok {
		return nil, fmt.Errorf("farm: the instance %s cannot travel: the farm does not know its type, %T; compute it in this process, without Farm, or make its type known by farm.RegisterProblem in a package that the workers contain", p.Name(), p)
	}
	encode := c.Encode
	if encode == nil {
		encode = func(_ *Packer, p problem.Problem) ([]byte, error) {
			m, ok := p.(json.Marshaler)
			if !ok {
				return nil, fmt.Errorf("its type %T has no MarshalJSON", p)
			}
			return m.MarshalJSON()
		}
	}
	b, err := encode(pk, p)
	if err != nil {
		return nil, fmt.Errorf("farm: the instance %s cannot travel: %w", p.Name(), err)
	}
	pk.needs = append(pk.needs, c.Needs...)
	return &Spec{Type: name, Data: b}, nil
}

// Problems stores a blob that describes several problems and returns its key.
func (pk *Packer) Problems(ps []problem.Problem) (string, error) {
	specs := make([]*Spec, len(ps))
	for i, p := range ps {
		s, err := pk.Problem(p)
		if err != nil {
			return "", err
		}
		specs[i] = s
	}
	b, err := json.Marshal(specs)
	if err != nil {
		return "", err
	}
	return pk.Put(b)
}

// Problem makes the problem that a spec describes.
func (e *Env) Problem(ctx context.Context, s *Spec) (problem.Problem, error) {
	if s == nil {
		return nil, fmt.Errorf("farm: a unit describes no problem")
	}
	if s.Of != nil {
		p, err := e.Problem(ctx, s.Of)
		if err != nil {
			return nil, err
		}
		return problem.Wrap(p, s.Type, s.Name)
	}
	codecs.RLock()
	c, ok := codecs.of[s.Type]
	codecs.RUnlock()
	if !ok {
		return nil, fmt.Errorf("farm: this program knows no problems of the type %q", s.Type)
	}
	return c.Decode(ctx, e, s.Data)
}

// Problems makes the problems that [Packer.Problems] has described. They are
// kept for other units.
func (e *Env) Problems(ctx context.Context, key string) ([]problem.Problem, error) {
	v, err := e.Object(ctx, "problems", key, func(blob []byte) (any, error) {
		var specs []*Spec
		if err := json.Unmarshal(blob, &specs); err != nil {
			return nil, fmt.Errorf("farm: the blob %.12s describes no problems: %w", key, err)
		}
		ps := make([]problem.Problem, len(specs))
		for i, s := range specs {
			p, err := e.Problem(ctx, s)
			if err != nil {
				return nil, err
			}
			ps[i] = p
		}
		return ps, nil
	})
	if err != nil {
		return nil, err
	}
	return v.([]problem.Problem), nil
}

// Instance is Problems for one of them, by its index. The error says if there is
// none.
func (e *Env) Instance(ctx context.Context, key string, index int) (problem.Problem, error) {
	ps, err := e.Problems(ctx, key)
	if err != nil {
		return nil, err
	}
	if index < 0 || index >= len(ps) {
		return nil, fmt.Errorf("farm: a unit on instance %d of %d", index, len(ps))
	}
	return ps[index], nil
}

// Once stores the blob that make returns, once for each id in a packer's life,
// and returns its key. The id is a pointer to what is packed.
func (pk *Packer) Once(id any, make func() ([]byte, error)) (string, error) {
	if key, ok := pk.stored[id]; ok {
		return key, nil
	}
	b, err := make()
	if err != nil {
		return "", err
	}
	key, err := pk.Put(b)
	if err == nil {
		if pk.stored == nil {
			pk.stored = map[any]string{}
		}
		pk.stored[id] = key
	}
	return key, err
}
