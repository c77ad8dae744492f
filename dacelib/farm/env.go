package farm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"
)

// An Env is what a unit has on a worker besides its data: blobs, and objects
// made from them, which units share.
type Env struct {
	cores int
	get   func(ctx context.Context, key string) ([]byte, error)
	put   func(ctx context.Context, blob []byte) (string, error)

	mu      sync.Mutex        // guards the fields below
	objects []*object         // the most recently used last
	how     map[string]string // of problems made from functions, by name
}

// mostObjects is the number of objects that an Env keeps.
const mostObjects = 32

// An object is made from a blob once.
type object struct {
	key  string
	once sync.Mutex // guards v and done
	done bool
	v    any
}

// NewEnv returns the environment of a worker that computes as many units at
// once as it has cores. get and put fetch and store blobs.
func NewEnv(cores int, get func(ctx context.Context, key string) ([]byte, error), put func(ctx context.Context, blob []byte) (string, error)) *Env {
	return &Env{cores: max(1, cores), get: get, put: put}
}

// Cores returns the number of cores of the worker.
func (e *Env) Cores() int { return e.cores }

// Blob returns the blob of a key and checks that it is the one.
func (e *Env) Blob(ctx context.Context, key string) ([]byte, error) {
	b, err := e.get(ctx, key)
	if err != nil {
		return nil, err
	}
	if BlobKey(b) != key {
		return nil, fmt.Errorf("farm: the blob %.12s is damaged: its %d bytes have another SHA-256", key, len(b))
	}
	return b, nil
}

// Put stores a blob that a result refers to.
func (e *Env) Put(ctx context.Context, blob []byte) (string, error) { return e.put(ctx, blob) }

// Object returns what make makes from the blob of a key. The object is kept for
// other units, under the purpose and the key, so they must not change it.
func (e *Env) Object(ctx context.Context, purpose, key string, make func(blob []byte) (any, error)) (any, error) {
	o := e.object(purpose + " " + key)
	o.once.Lock()
	defer o.once.Unlock()
	if o.done {
		return o.v, nil
	}
	b, err := e.Blob(ctx, key)
	if err != nil {
		return nil, err
	}
	v, err := make(b)
	if err != nil {
		return nil, err
	}
	o.v, o.done = v, true
	return v, nil
}

// object returns the entry of a key and marks it as used.
func (e *Env) object(key string) *object {
	e.mu.Lock()
	defer e.mu.Unlock()
	i := slices.IndexFunc(e.objects, func(o *object) bool { return o.key == key })
	o := &object{key: key}
	if i >= 0 {
		o = e.objects[i]
		e.objects = slices.Delete(e.objects, i, i+1)
	}
	e.objects = append(e.objects, o)
	if n := len(e.objects) - mostObjects; n > 0 {
		e.objects = slices.Delete(e.objects, 0, n)
	}
	return o
}

// BlobKey returns the key of a blob, its SHA-256.
func BlobKey(blob []byte) string {
	sum := sha256.Sum256(blob)
	return hex.EncodeToString(sum[:])
}

// A Missing is the error of a unit whose blob a pool does not have.
type Missing struct {
	Key string // of the blob: its SHA-256
}

// Error says what is missing and what helps.
func (m *Missing) Error() string {
	return fmt.Sprintf("farm: the blob %.12s is missing from the farm: its storage was emptied or lost; the caller sends it again when it is started again", m.Key)
}

// MissingBlob is the error of a unit whose blob a pool does not have, a
// [*Missing]. If the caller still has the blob, it stores it again within the
// call.
func MissingBlob(key string) error { return &Missing{key} }
