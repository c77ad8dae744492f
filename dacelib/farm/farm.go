// Package farm lets long computations use more than one process or machine. A
// computation is cut into units of work, which are pure data; a pool has them
// computed somewhere and returns their results. Results do not depend on the
// pool, on the number of its workers, or on what becomes of them on the way.
//
// Start with [Start], which starts a farm on this machine, or with [Join] for a
// farm that is running; then set the field Farm of any settings:
//
//	f := farm.Start(farm.Settings{Local: 2})
//	result, err := construct.DACE(ctx, training, construct.Settings{Farm: f})
//
// [Folder] is a pool in a folder that machines share, and needs no server.
// [Local] computes units in this process, by the same code as a worker.
//
// A new kind of work is a function that [Register] names: it receives the data
// of a unit and returns that of its result. The caller is the truth: it derives
// all units from settings and seeds, asks a pool for their results and puts
// them together. Package farmtest checks that a pool keeps the contract of
// [Pool].
package farm

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"dace.local/dacelib/internal/failure"
)

// A Unit is a piece of work: pure data, whose result depends on nothing else.
type Unit struct {
	// Kind is a name that [Register] knows.
	Kind string `json:"kind"`
	// Data is the JSON that the kind's function receives. Large data belong in
	// blobs, to which Data refers by their keys.
	Data json.RawMessage `json:"data"`
	// Items is the number of items in the unit, by which the time of units of
	// a kind is estimated; 0 means 1.
	Items int `json:"items,omitempty"`
	// Name says in words for a person what the input is, such as an instance and a
	// configuration. The unit's key does not depend on it.
	Name string `json:"name,omitempty"`
	// Needs names the traits in which the worker must equal the caller, such
	// as "arithmetic"; see [Trait]. They are sorted.
	Needs []string `json:"needs,omitempty"`
}

// NewUnit returns a unit whose data is the JSON of v.
func NewUnit(kind string, v any, items int, needs []string) (Unit, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return Unit{}, fmt.Errorf("farm: a unit of kind %s: %w", kind, err)
	}
	needs = slices.Clone(needs)
	slices.Sort(needs)
	return Unit{Kind: kind, Data: b, Items: items, Needs: slices.Compact(needs)}, nil
}

// Key returns the unit's content key, 40 hexadecimal digits: a hash of its
// kind, its data and the identity of the program, as far as the unit needs it.
// Units of one key have equal results.
func (u Unit) Key() string {
	h := sha256.New()
	for _, part := range []string{Class(u.Needs), u.Kind, string(u.Data)} {
		fmt.Fprintf(h, "%d ", len(part))
		h.Write([]byte(part))
	}
	return hex.EncodeToString(h.Sum(nil)[:20])
}

// Weight returns Items, or 1 if it is not set.
func (u Unit) Weight() int { return max(1, u.Items) }

// A Pool computes units. Its methods may be called from several goroutines at
// once. Package farmtest has a test for implementations.
type Pool interface {
	// Slots returns how many units the pool computes at the same time, as far
	// as it is known; at least 1. It only decides how finely work is cut.
	Slots() int
	// Rate returns the seconds that an item of a kind takes, by a running
	// estimate; 0 if nothing is known.
	Rate(kind string) float64
	// Put stores a blob and returns its key, its SHA-256 in hexadecimal. A blob
	// that the pool has is not sent again.
	Put(ctx context.Context, blob []byte) (key string, err error)
	// Get returns a blob; the caller must not change it.
	Get(ctx context.Context, key string) ([]byte, error)
	// Do computes units and calls done with the index and the result of each,
	// in any order, one call at a time. It returns when all are done, after
	// the first error of a unit or of done, or, with ctx's error, when ctx
	// ends; units that are still waiting are then withdrawn. An error of a unit
	// is a [*Failure]. A unit of which three workers died, or that took longer than
	// its limit three times, is set aside: Do returns its failure when the others
	// are done.
	Do(ctx context.Context, units []Unit, done func(i int, result []byte) error) error
}

// Do1 has one unit computed and decodes its result, JSON, into *result.
func Do1(ctx context.Context, p Pool, u Unit, result any) error {
	return p.Do(ctx, []Unit{u}, func(_ int, b []byte) error {
		if err := json.Unmarshal(b, result); err != nil {
			return fmt.Errorf("farm: the result of %s %s: %w", u.Kind, u.Key()[:12], err)
		}
		return nil
	})
}

// Piece returns how many of n items of a kind to put into a unit, a power of
// two: as many as take about 0.4 s at the pool's present rate, 64 while it is
// not known, but so few that every slot has two units if there are enough items.
func Piece(p Pool, kind string, n int) int {
	const aim = 0.4
	want := 64.0
	if r := p.Rate(kind); r > 0 {
		want = aim / r
	}
	want = min(want, float64(n)/float64(2*p.Slots()), 1<<20)
	k := 1
	for float64(2*k) <= want {
		k *= 2
	}
	return k
}

// A Func computes a unit's result from its data, JSON in and out. It must
// depend on nothing else, and its bytes must be the same each time. Blobs come
// from env. If ctx ends, it returns ctx's error.
type Func func(ctx context.Context, env *Env, data []byte) ([]byte, error)

// kinds holds the functions of all kinds of work. It only grows while packages
// are initialised, as the formats of package image do.
var kinds = struct {
	sync.RWMutex // guards of
	of           map[string]Func
}{of: map[string]Func{}}

// Register names a function that computes units. Packages call it when they are
// initialised. It panics if the name is taken.
func Register(kind string, f Func) {
	kinds.Lock()
	defer kinds.Unlock()
	if kinds.of[kind] != nil {
		panic("farm: Register called twice for one kind")
	}
	kinds.of[kind] = f
}

// Kinds returns the names that [Register] has received, sorted.
func Kinds() []string {
	kinds.RLock()
	defer kinds.RUnlock()
	return slices.Sorted(maps.Keys(kinds.of))
}

// Execute computes a unit in this process. A panic becomes an error with the
// position at which it arose.
func Execute(ctx context.Context, env *Env, u Unit) (result []byte, err error) {
	kinds.RLock()
	f := kinds.of[u.Kind]
	kinds.RUnlock()
	if f == nil {
		return nil, fmt.Errorf("this program has no work of the kind %q; it has %s", u.Kind, strings.Join(Kinds(), ", "))
	}
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %s\n%s", failure.Text(r), origin(debug.Stack()))
		}
	}()
	return f(ctx, env, u.Data)
}

// origin returns the frames of a stack from the one that panicked, at most six.
func origin(stack []byte) string {
	lines := strings.Split(string(stack), "\n")
	for i, l := range lines {
		if strings.HasPrefix(l, "panic(") && i+2 < len(lines) {
			lines = lines[i+2:]
			break
		}
	}
	return strings.Join(lines[:min(12, len(lines))], "\n")
}

// A Failure is a unit that failed: its function returned an error, workers died
// of it, or it took too long.
type Failure struct {
	// Kind and Key identify the unit; [Again] takes the key.
	Kind string `json:"kind"`
	Key  string `json:"key"`
	// Worker and Host tell where it failed last.
	Worker string `json:"worker"`
	Host   string `json:"host"`
	// Input says what the unit is about: its name, or the beginning of its data.
	Input string `json:"input"`
	// Deaths is the number of workers that died while they computed it, Late how
	// often it took longer than its limit.
	Deaths int `json:"deaths,omitempty"`
	Late   int `json:"late,omitempty"`
	// More units were set aside in the same call.
	More int `json:"more,omitempty"`
	// Words are the error, or the last words of the worker that died.
	Words string `json:"words"`
	// When it failed.
	When time.Time `json:"when"`
}

// Error returns the failure as a message.
func (f *Failure) Error() string {
	at := ""
	if f.Worker != "" {
		at = fmt.Sprintf(" on worker %s of %s", f.Worker, f.Host)
	}
	text := fmt.Sprintf("farm: a unit of kind %s failed%s: %s", f.Kind, at, f.Words)
	switch {
	case f.Late > 0:
		text = fmt.Sprintf("farm: a unit of kind %s was set aside, as it took too long %d times, the last time%s: %s", f.Kind, f.Late, at, f.Words)
	case f.Deaths > 0:
		text = fmt.Sprintf("farm: %d workers died of a unit of kind %s, which was set aside, the last time%s, where it ran alone: %s", f.Deaths, f.Kind, at, f.Words)
	}
	if f.Input != "" {
		text += "\nits input: " + f.Input
	}
	if f.More > 0 {
		text += fmt.Sprintf("\n%d units more were set aside; farm.Failures() lists them", f.More)
	}
	return text + fmt.Sprintf("\nfarm.Again(%q) computes it in this process", f.Key)
}

// mostInput bounds the characters of a unit's data in a failure.
const mostInput = 300

// input says what a unit is about.
func (u Unit) input() string {
	if u.Name != "" {
		return u.Name
	}
	if text := []rune(string(u.Data)); len(text) > mostInput {
		return fmt.Sprintf("%s ... (%d bytes)", string(text[:mostInput]), len(u.Data))
	}
	return string(u.Data)
}

// mostFailures bounds the failures that are remembered.
const mostFailures = 100

// failed holds the last units that failed, for Again.
var failed struct {
	sync.Mutex // guards units
	units      []failedUnit
}

type failedUnit struct {
	Failure
	unit Unit
	env  *Env
}

// Remember returns the failure of a unit, and keeps the unit for [Again]. Pools
// call it; env gives the unit's blobs.
func Remember(f Failure, u Unit, env *Env) *Failure {
	f.Kind, f.Key, f.Input, f.When = u.Kind, u.Key(), u.input(), time.Now()
	failed.Lock()
	defer failed.Unlock()
	failed.units = append(failed.units, failedUnit{f, u, env})
	if n := len(failed.units) - mostFailures; n > 0 {
		failed.units = slices.Delete(failed.units, 0, n)
	}
	return &f
}

// Again computes a unit that failed in this process, where its error or its
// panic can be examined, and returns its error. The key is that of the
// [Failure]; its first characters are enough.
func Again(key string) error {
	failed.Lock()
	i := -1
	for k, f := range failed.units {
		if key != "" && strings.HasPrefix(f.Key, key) {
			i = k
		}
	}
	var f failedUnit
	if i >= 0 {
		f = failed.units[i]
	}
	failed.Unlock()
	if i < 0 {
		return fmt.Errorf("farm: no unit with the key %q has failed in this process", key)
	}
	_, err := Execute(context.Background(), f.env, f.unit)
	return err
}

// Failures returns the units that failed in this process, the latest last; at
// most 100 are remembered.
func Failures() []Failure {
	failed.Lock()
	defer failed.Unlock()
	out := make([]Failure, len(failed.units))
	for i, f := range failed.units {
		out[i] = f.Failure
	}
	return out
}

// isEnd reports whether err is a context's error.
func isEnd(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}
