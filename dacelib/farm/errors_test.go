package farm_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/files/disk"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/onemax"
)

// says fails the test unless err says want.
func says(t *testing.T, what string, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%s: %v, want an error that says %q", what, err, want)
	}
}

// A faulty pool refuses to keep blobs once it has kept a number of them.
type faulty struct {
	farm.Pool
	keeps int
}

func (f *faulty) Put(ctx context.Context, b []byte) (string, error) {
	if f.keeps--; f.keeps < 0 {
		return "", errors.New("no space left on device")
	}
	return f.Pool.Put(ctx, b)
}

// carry lets functions travel as the kernel does: they are all of the text source, and
// become what again returns.
func carry(t *testing.T, source *string, again func(expression string) (any, error)) {
	farm.SetCarrier(farm.Carrier{
		Pack: func(any) ([]byte, error) {
			if *source == "" {
				return nil, errors.New("it reads the variable ch")
			}
			return []byte(*source), nil
		},
		Make: func(_ context.Context, _, _ []byte, expression string) (farm.Carried, error) {
			v, err := again(expression)
			return farm.Carried{Value: v, Built: []byte("as built"), How: "again"}, err
		},
	})
	t.Cleanup(func() { farm.SetCarrier(farm.Carrier{}) })
}

// Problems made from functions of all kinds travel, each by its own constructor; one
// that would have other values stays, and so does one that cannot be made again.
func TestFunctions(t *testing.T) {
	ones := func(x []bool) (v float64) {
		for i, b := range x {
			if b {
				v += float64(i)
			}
		}
		return v
	}
	kinds := map[string]problem.Problem{
		"FromFunc": problem.FromFunc("f", 9, ones),
		"FromBatch": problem.FromBatch("f", 9, func(dst []float64, x problem.Solutions) {
			for i := range dst {
				dst[i] = ones(x.Bools(i))
			}
		}),
		"FromContext": problem.FromContext("f", 9, func(_ context.Context, x []bool) (float64, error) { return ones(x), nil }),
		"FromSeeded":  problem.FromSeeded("f", 9, func(_ context.Context, x []bool, _ uint64) (float64, error) { return ones(x), nil }),
	}
	source, made := "", 0
	var again any
	var fails error
	expression := ""
	carry(t, &source, func(e string) (any, error) { made++; expression = e; return again, fails })
	pool := farm.Local(1)
	for name, p := range kinds {
		source, again, made = "ones "+name+rand.Text(), []problem.Problem{p}, 0 // a text that nothing has compared yet
		for range 2 {                                                           // the second time it is known
			y := make([]float64, 2)
			x := problem.Pack([]bool{true, true, true, false, false, false, false, false, true}, make([]bool, 9))
			if err := farm.Problem(pool, problem.Named(p, "named")).Evaluate(t.Context(), y, x); err != nil || y[0] != 11 || y[1] != 0 {
				t.Errorf("%s: %v, %v", name, y, err)
			}
		}
		if made != 2 || !strings.Contains(expression, "."+name+`("f", 9, %s)`) {
			t.Errorf("%s: made %d times, want twice: to compare it and by the worker; the last by %s", name, made, expression)
		}
	}
	p := kinds["FromFunc"]
	evaluate := func() error {
		return farm.Problem(pool, p).Evaluate(t.Context(), make([]float64, 1), problem.NewSolutions(1, 9))
	}
	for i, x := range []struct {
		again any
		fails error
		want  string
	}{
		{[]problem.Problem{problem.FromFunc("f", 9, func(x []bool) float64 { return 1 + ones(x) })}, nil, "where only what it declares is there"},
		{[]problem.Problem{problem.FromContext("f", 9, func(context.Context, []bool) (float64, error) { return 0, errors.New("no file") })}, nil, "no file"},
		{[]problem.Problem{p, p}, nil, "the function of the instance f became a []problem.Problem"},
		{7, nil, "the function of the instance f became a int"},
		{nil, errors.New("no compiler"), "the function of the instance f cannot be made again: no compiler"},
	} {
		source, again, fails = fmt.Sprint("other ", i), x.again, x.fails
		says(t, "a function that becomes another", evaluate(), x.want)
	}
	failing := problem.FromContext("f", 9, func(context.Context, []bool) (float64, error) { return 0, errors.New("no licence") })
	source, again, fails = "failing", []problem.Problem{failing}, nil
	says(t, "a function that fails here", farm.Problem(pool, failing).Evaluate(t.Context(), make([]float64, 1), problem.NewSolutions(1, 9)), "no licence")
	source = ""
	says(t, "a function that stays", evaluate(), "its function stays here: it reads the variable ch")
	farm.SetCarrier(farm.Carrier{})
	says(t, "a function of a program", evaluate(), "only functions that the cells of a notebook declare travel")
	_, err := farm.MakeFunction(t.Context(), nil, nil, "%s")
	says(t, "making one in a program", err, "cannot make functions of cells")
}

// What a disk or a network refuses while something is packed is the error of who packs.
func TestPackingFails(t *testing.T) {
	source := "text"
	p := problem.FromFunc("packed", 4, func([]bool) float64 { return 1 })
	carry(t, &source, func(string) (any, error) { return []problem.Problem{p}, nil })
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "eval.sh"), []byte("exit 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	command := problem.Program{Args: []string{"sh", "eval.sh"}, Dir: dir}.Problem("command", 4)
	t.Cleanup(func() { problem.Release(command) })
	for name, c := range map[string]struct {
		p     problem.Problem
		blobs int // that it takes
	}{"function": {p, 3}, "command": {command, 2}, "instance": {onemax.Random(1, 4), 1}} {
		for keeps := range c.blobs {
			pool := &faulty{farm.Local(1), keeps}
			_, err := farm.NewPacker(t.Context(), pool).Problems([]problem.Problem{problem.Named(c.p, "named")})
			says(t, fmt.Sprintf("%s, blob %d", name, keeps), err, "no space left on device")
			says(t, name, farm.Problem(pool, c.p).Evaluate(t.Context(), make([]float64, 1), problem.NewSolutions(1, 4)), "no space left on device")
		}
		if _, err := farm.NewPacker(t.Context(), &faulty{farm.Local(1), c.blobs}).Problems([]problem.Problem{c.p}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	pk := farm.NewPacker(t.Context(), &faulty{farm.Local(1), 0})
	_, err := pk.Once(pk, func() ([]byte, error) { return nil, errors.New("not now") })
	says(t, "what cannot be made", err, "not now")
	_, err = pk.Once(pk, func() ([]byte, error) { return []byte("x"), nil })
	says(t, "what cannot be kept", err, "no space left on device")
	_, err = pk.Problem(struct{ problem.Problem }{onemax.Random(1, 4)})
	says(t, "a type that nobody knows", err, "the farm does not know its type, struct { problem.Problem }")
	_, err = farm.NewUnit("evaluate", make(chan int), 1, nil)
	says(t, "a unit of no JSON", err, "farm: a unit of kind evaluate: json")
	says(t, "solutions of other lengths", farm.Problem(farm.Local(1), p).Evaluate(t.Context(), make([]float64, 1), problem.NewSolutions(1, 5)), "5")
}

// A worker refuses units and blobs that describe nothing, with what is wrong.
func TestUnpackingFails(t *testing.T) {
	ctx, pool := t.Context(), farm.Local(1)
	put := func(text string) string {
		key, err := pool.Put(ctx, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	missing := strings.Repeat("0", 64)
	for text, want := range map[string]string{
		"{":                      "describes no problems",
		`[{"type": "nobody's"}]`: `knows no problems of the type "nobody's"`,
		`[null]`:                 "a unit describes no problem",
		`[{"type": "named", "name": "a", "of": {"type": "nobody's"}}]`:                                                `knows no problems of the type "nobody's"`,
		`[{"type": "function", "data": 7}]`:                                                                           "json: cannot unmarshal number",
		`[{"type": "function", "data": {"dim": 0}}]`:                                                                  "a function of 0 bits",
		`[{"type": "function", "data": {"dim": 3, "source": "` + missing + `"}}]`:                                     missing[:12],
		`[{"type": "command", "data": 7}]`:                                                                            "json: cannot unmarshal number",
		`[{"type": "command", "data": {"dim": 3}}]`:                                                                   "describes no command",
		`[{"type": "command", "data": {"dim": 3, "program": {"args": ["sh"]}, "files": {"1": "x"}}}]`:                 "a file of no argument",
		`[{"type": "command", "data": {"dim": 3, "program": {"args": ["./sh"]}, "files": {"0": "` + missing + `"}}}]`: missing[:12],
	} {
		_, err := farm.NewEnv(1, pool.Get, pool.Put).Instance(ctx, put(text), 0)
		says(t, text, err, want)
	}
	unit := func(data string) error {
		return pool.Do(ctx, []farm.Unit{{Kind: "evaluate", Data: []byte(data)}}, func(int, []byte) error { return nil })
	}
	good, err := farm.NewPacker(ctx, pool).Problems([]problem.Problem{onemax.Random(1, 4)})
	if err != nil {
		t.Fatal(err)
	}
	says(t, "a unit that is no JSON", unit("{"), "unexpected end of JSON")
	says(t, "a unit of no instance", unit(`{"problems": "`+missing+`"}`), missing[:12])
	says(t, "a unit of half a solution", unit(`{"problems": "`+good+`", "dim": 4, "words": "AA=="}`), "bytes")
	says(t, "a unit of other solutions", unit(`{"problems": "`+good+`", "dim": 5, "words": "AAAAAAAAAAA="}`), "5")
	says(t, "a kind that nobody computes", pool.Do(ctx, []farm.Unit{{Kind: "nobody's"}}, nil), "nobody's")
	var v farm.Floats
	says(t, "numbers as a list", v.UnmarshalJSON([]byte("[1]")), "must be base64 text")
	says(t, "numbers of no base64", v.UnmarshalJSON([]byte(`"!"`)), "damaged numbers")
	says(t, "half a number", v.UnmarshalJSON([]byte(`"AAAA"`)), "damaged numbers")
	u, err := farm.NewUnit("evaluate", map[string]any{"problems": good, "dim": 4, "words": make([]byte, 8)}, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	says(t, "a result of another type", farm.Do1(ctx, pool, u, new(int)), "farm: the result of evaluate ")
	over, cancel := context.WithCancel(ctx)
	cancel()
	if err := pool.Do(over, []farm.Unit{u}, func(int, []byte) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that has ended: %v", err)
	}
}

// nameless and broken are types of problems whose JSON is none.
type (
	nameless struct{ problem.Problem }
	broken   struct{ problem.Problem }
)

func init() {
	farm.RegisterProblem("errors_test: nameless", &nameless{}, farm.Codec{})
	farm.RegisterProblem("errors_test: broken", &broken{}, farm.Codec{Encode: func(*farm.Packer, problem.Problem) ([]byte, error) { return []byte("{"), nil }})
}

// An answer is a pool whose workers answer everything alike.
type answer struct {
	farm.Pool
	text string
}

func (a answer) Do(_ context.Context, _ []farm.Unit, done func(int, []byte) error) error {
	return done(0, []byte(a.text))
}

// A command's files, a type's JSON and workers' answers may be wrong.
func TestTravelFails(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	file := func(name string, size int64) {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.WriteFile(at, []byte("echo 1\n"), 0o600), os.Truncate(at, max(7, size))); err != nil {
			t.Fatal(err)
		}
	}
	file("eval.sh", 0)
	file("large", 17<<20)
	command := func(name string) problem.Problem {
		p := problem.Program{Args: []string{"sh", name}, Dir: dir}.Problem("command", 4)
		t.Cleanup(func() { problem.Release(p) })
		return p
	}
	small := command("eval.sh")
	pool := farm.Local(1)
	pack := func(p problem.Problem) error {
		_, err := farm.NewPacker(ctx, pool).Problems([]problem.Problem{p})
		return err
	}
	failing := func(op, base string, call func() error) error {
		defer disk.Fail(func(o, path string) error {
			if o == op && strings.Contains(path, base) {
				return syscall.EIO
			}
			return nil
		})()
		return call()
	}
	says(t, "a large file", pack(command("large")), "has 17825792 bytes; at most 16777216 travel")
	says(t, "a file that cannot be read", failing("ReadFile", "eval.sh", func() error { return pack(small) }), "input/output error")
	says(t, "a type without JSON", pack(&nameless{onemax.Random(1, 4)}), "has no MarshalJSON")
	says(t, "a type of broken JSON", pack(&broken{onemax.Random(1, 4)}), "json")

	key, err := farm.NewPacker(ctx, pool).Problems([]problem.Problem{small})
	if err != nil {
		t.Fatal(err)
	}
	file("eval.sh", 8) // another one is here
	env := farm.NewEnv(1, pool.Get, pool.Put)
	there, err := env.Instance(ctx, key, 0)
	if err != nil {
		t.Fatal(err)
	}
	for op, base := range map[string]string{"MkdirTemp": "", "Mkdir": "dace-command", "CreateTemp": "dace-command"} {
		err := failing(op, base, func() error { return there.Evaluate(ctx, make([]float64, 1), problem.NewSolutions(1, 4)) })
		says(t, op, err, "input/output error")
	}
	wrong := farm.NewEnv(1, func(context.Context, string) ([]byte, error) { return []byte("x"), nil }, nil)
	_, err = wrong.Instance(ctx, key, 0)
	says(t, "another blob", err, "is damaged: its 1 bytes have another SHA-256")

	for text, want := range map[string]string{"{": "JSON", `"AAAAAAAAAAAAAAAAAAAAAA=="`: "2 values of 1 solutions"} {
		p := farm.Problem(answer{pool, text}, onemax.Random(1, 4))
		says(t, "the answer "+text, p.Evaluate(ctx, make([]float64, 1), problem.NewSolutions(1, 4)), want)
	}

	t.Chdir(dir)
	relative := problem.Program{Args: []string{"sh", "eval.sh"}}.Problem("relative", 4)
	t.Cleanup(func() { problem.Release(relative) })
	if os.RemoveAll(dir) == nil {
		if _, err := os.Getwd(); err != nil {
			says(t, "a folder that is gone", pack(relative), "getwd")
		}
	}
}

// A program without the client of a server says so wherever one is named, and a path
// that leads nowhere is told as one.
func TestWithoutServer(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("HOME", dir)
	file := filepath.Join(dir, "farm.join")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for join, want := range map[string]string{file: "cannot use the server of a farm", filepath.Join(dir, "none"): "there is no " + filepath.Join(dir, "none"), filepath.Join(file, "below"): "not a directory"} {
		_, err := farm.Join(ctx, join)
		says(t, "Join", err, want)
		says(t, "WorkFor", farm.WorkFor(ctx, join, farm.Work{Cores: 1}), want)
		says(t, "WatchFarm", farm.WatchFarm(ctx, join, 0, func(farm.Table) bool { return false }), want)
		says(t, "WorkerLog", farm.WorkerLog(ctx, join, "w", false, func(string) {}), want)
		says(t, "CancelCaller", farm.CancelCaller(ctx, join, "c", "test"), want)
	}
	f := farm.Start(farm.Settings{Dir: dir})
	const want = "cannot use the server of a farm"
	_, putErr := f.Put(ctx, nil)
	_, getErr := f.Get(ctx, "")
	_, logErr := f.Log("w")
	for name, err := range map[string]error{
		"Err": f.Err(), "Local": f.Local(1), "Stop": f.Stop(), "Log": logErr, "Cancel": f.Cancel("c"), "Put": putErr, "Get": getErr,
		"Do": f.Do(ctx, nil, nil), "Adapt": f.Adapt(1, 2), "Submit": f.Submit(farm.Batch{}),
	} {
		says(t, name, err, want)
	}
	if f.Slots() != 1 || f.Rate("evaluate") != 0 || !strings.Contains(f.String(), want) || !strings.Contains(f.HTML(), want) {
		t.Errorf("a farm that was not started shows %s", f)
	}
	f.OnNote(nil)
	shown := 0
	over, cancel := context.WithTimeout(ctx, time.Nanosecond)
	defer cancel()
	f.Watch(over, func(any) { shown++ })
	if shown != 2 {
		t.Errorf("shown %d times", shown)
	}

	// A folder where a file is, and one that is none.
	_, err := farm.Folder(file)
	says(t, "a file as a folder", err, "cannot be used")
	_, err = farm.FolderSource(file)
	says(t, "a file as a folder", err, "")
	shared := t.TempDir()
	says(t, "a log of nobody", farm.WorkerLog(ctx, shared, "nobody", false, func(string) {}), "nobody")
	says(t, "a caller that is not there", farm.CancelCaller(ctx, shared, "nobody", "test"), "nobody")
}
