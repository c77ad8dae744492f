// Package caop implements the compiler arguments problem: x enables d arguments
// of GCC, and the value is the negated size of the compiled code (the paper's
// Eq. 13), so that the maximum is the smallest code.
//
// A program is compiled with -Os, followed by the arguments of the [Table] in
// its order: x_i = 1 enables the instance's flag i (-fgcse), x_i = 0 disables
// it (-fno-gcse), and all flags that the instance does not have are disabled. A
// flag with a value (-fira-region=all) cannot be disabled and is left out
// instead; if two values of one argument are enabled, the later one is left
// out. The size is the sum of the sizes of the object files of gcc -c, which is
// deterministic. A solution that does not compile has a finite value that is
// worse than any other, see [Instance.FailedValue].
//
// Start with [Generate] and the [Programs] of this package, or with [Class] for
// the instances of an experiment. GCC must be installed; [NewCompiler] finds
// it. Sizes are remembered on disk, so an experiment that is repeated, or
// killed and resumed, compiles nothing twice.
//
// Deviations: the paper draws from 186 arguments of a GCC that it does not
// name; here the table has 187 arguments, and an instance draws from those that
// the installed GCC knows, and records them. The authors' earlier code gives
// bits the opposite meaning (x_i = 1 gives -fno-gcse), see [Settings.Inverted].
package caop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"dace.local/dacelib/problem"
	"dace.local/dacelib/run"
)

// Data defines an instance completely, except for the compiler.
type Data struct {
	// Name identifies the instance.
	Name string `json:"name"`
	// Program is the program that is compiled.
	Program Program `json:"program"`
	// Flags holds the ids of the d flags that x chooses from.
	Flags []int `json:"flags"`
	// Inverted exchanges on and off: x_i = 1 disables flag i. Flags with a
	// value, which cannot be disabled, keep their meaning.
	Inverted bool `json:"inverted,omitempty"`
	// Compiler is the ID of the compiler for which the instance was made;
	// Dropped holds the ids of the flags that this compiler refuses.
	Compiler string `json:"compiler"`
	Dropped  []int  `json:"dropped,omitempty"`
}

// Settings are the settings for drawing an instance. The zero value follows the
// paper, with the programs of this package and the default compiler.
type Settings struct {
	// Dim is the number of flags d; 0 means 80.
	Dim int
	// Programs holds the programs from which one is drawn; nil means
	// [Programs].
	Programs []Program
	// Compiler is GCC; nil means [DefaultCompiler].
	Compiler *Compiler
	// Inverted exchanges on and off, as the authors' earlier code does.
	Inverted bool
	// Name is the instance's name; empty means caop-program-d/seed.
	Name string
}

// An Instance is a compiler arguments problem. It is safe for use by several
// goroutines.
type Instance struct {
	data     Data
	compiler *Compiler
	hash     string
	dropped  map[int]bool
	base     *base
}

// base holds the size with -Os alone, which is computed on first use.
type base struct {
	mu   sync.Mutex // guards size, which is 0 until it is known
	size int64
}

// New returns the instance with the given data; it copies the slices. A nil
// compiler means [DefaultCompiler]. If data has no Compiler, New fills in the
// given compiler's ID and dropped flags.
func New(data Data, compiler *Compiler) (*Instance, error) {
	fail := func(format string, args ...any) (*Instance, error) {
		return nil, fmt.Errorf("caop: instance %q: "+format, append([]any{data.Name}, args...)...)
	}
	if err := data.Program.check(); err != nil {
		return fail("%w", err)
	}
	if len(data.Flags) == 0 {
		return fail("no flags")
	}
	seen := map[int]bool{}
	for _, id := range slices.Concat(data.Flags, data.Dropped) {
		if id < 1 || id > len(table()) {
			return fail("there is no flag %d; there are 1 to %d", id, len(table()))
		}
		if seen[id] {
			return fail("the flag %d (%s) is named twice", id, table()[id-1].Enable)
		}
		seen[id] = true
	}
	if compiler == nil {
		var err error
		if compiler, err = DefaultCompiler(context.Background()); err != nil {
			return nil, err
		}
	}
	data.Program = data.Program.clone()
	data.Flags, data.Dropped = slices.Clone(data.Flags), slices.Clone(data.Dropped)
	if data.Compiler == "" {
		data.Compiler = compiler.ID()
		for _, f := range compiler.Dropped() {
			if seen[f.ID] {
				return fail("%s refuses %s", data.Compiler, f.Enable)
			}
			data.Dropped = append(data.Dropped, f.ID)
		}
	}
	p := &Instance{data: data, compiler: compiler, hash: data.Program.hash(), dropped: map[int]bool{}, base: new(base)}
	for _, id := range data.Dropped {
		p.dropped[id] = true
	}
	for _, f := range compiler.Dropped() {
		p.dropped[f.ID] = true
	}
	return p, nil
}

// Generate draws an instance from a seed: a program, and d of the flags that
// the compiler knows.
func Generate(seed uint64, s Settings) (*Instance, error) {
	if s.Dim == 0 {
		s.Dim = 80
	}
	if s.Programs == nil {
		s.Programs = Programs()
	}
	if s.Compiler == nil {
		var err error
		if s.Compiler, err = DefaultCompiler(context.Background()); err != nil {
			return nil, err
		}
	}
	if len(s.Programs) == 0 {
		return nil, fmt.Errorf("caop: there are no programs to draw from")
	}
	flags := s.Compiler.Flags()
	if s.Dim < 1 || s.Dim > len(flags) {
		return nil, fmt.Errorf("caop: cannot draw %d flags: %s knows %d", s.Dim, s.Compiler.ID(), len(flags))
	}
	program := s.Programs[run.Rand(seed, "caop program").IntN(len(s.Programs))]
	data := Data{Name: s.Name, Program: program, Inverted: s.Inverted}
	if data.Name == "" {
		data.Name = fmt.Sprintf("caop-%s-%d/%d", program.Name, s.Dim, seed)
	}
	for _, i := range run.Rand(seed, "caop flags").Perm(len(flags))[:s.Dim] {
		data.Flags = append(data.Flags, flags[i].ID)
	}
	slices.Sort(data.Flags)
	return New(data, s.Compiler)
}

// training is the number of programs of this package, the first in a fixed
// order, from which training instances are drawn.
const training = 5

// Split returns the programs of this package in the two groups of [Class]: five
// are for training, the others for test.
func Split() (forTraining, forTest []Program) {
	programs := Programs()
	run.Rand(1, "caop groups").Shuffle(len(programs), func(i, j int) { programs[i], programs[j] = programs[j], programs[i] })
	return programs[:training], programs[training:]
}

// Class returns the class of instances on the programs of this package, in the
// groups of [Split]. Training instances have d = 80, test instances d = 80 and
// 100.
func Class() problem.Class {
	forTraining, forTest := Split()
	return ClassOn(forTraining, forTest, Settings{})
}

// ClassOn returns the class of instances with the given programs for training
// and test. Of s, only Compiler and Inverted are used.
func ClassOn(training, test []Program, s Settings) problem.Class {
	training, test = slices.Clone(training), slices.Clone(test)
	draw := func(seed uint64, programs []Program, d int, name string) (problem.Problem, error) {
		if len(programs) == 0 {
			return nil, fmt.Errorf("caop: the class has no programs to draw %s from", name)
		}
		p, err := Generate(seed, Settings{Dim: d, Programs: programs, Compiler: s.Compiler, Inverted: s.Inverted, Name: name})
		if err != nil {
			return nil, err
		}
		return p, nil
	}
	return problem.Class{
		Name: "caop", TrainDim: 80, TestDims: []int{80, 100},
		Train: func(seed uint64, i int) (problem.Problem, error) {
			return draw(run.Seed(seed, "caop train", i), training, 80, fmt.Sprintf("caop-train-80/%d", i))
		},
		Test: func(seed uint64, d, i int) (problem.Problem, error) {
			return draw(run.Seed(seed, "caop test", d, i), test, d, fmt.Sprintf("caop-test-%d/%d", d, i))
		},
		Decode: func(data []byte) (problem.Problem, error) { return decode(data, s.Compiler) },
	}
}

// Name returns the instance's name.
func (p *Instance) Name() string { return p.data.Name }

// Dim returns the number of flags d.
func (p *Instance) Dim() int { return len(p.data.Flags) }

// Data returns a copy of the data that define the instance.
func (p *Instance) Data() Data {
	d := p.data
	d.Program = d.Program.clone()
	d.Flags, d.Dropped = slices.Clone(d.Flags), slices.Clone(d.Dropped)
	return d
}

// Notice describes why values may differ from those on the computer where the
// instance was made: another compiler, or flags that this one refuses. It is
// empty if neither applies.
func (p *Instance) Notice() string {
	if p.data.Compiler == p.compiler.ID() {
		return ""
	}
	dead := 0
	for _, id := range p.data.Flags {
		if p.dropped[id] {
			dead++
		}
	}
	return fmt.Sprintf("instance %s was made for %s, and this is %s: sizes may differ, and %d of its %d flags have no effect",
		p.Name(), p.data.Compiler, p.compiler.ID(), dead, p.Dim())
}

// Arguments returns the arguments that GCC gets after -Os for solution x.
func (p *Instance) Arguments(x []bool) ([]string, error) {
	if len(x) != p.Dim() {
		return nil, fmt.Errorf("caop: instance %q: got a solution of dimension %d, want %d", p.Name(), len(x), p.Dim())
	}
	on := make(map[int]bool, len(x))
	for i, b := range x {
		if b {
			on[p.data.Flags[i]] = true
		}
	}
	return arguments(on, p.dropped, p.data.Inverted), nil
}

// BaseSize returns the size in bytes of the program compiled with -Os and no
// further argument. It is the baseline for the values of solutions.
func (p *Instance) BaseSize(ctx context.Context) (int64, error) {
	p.base.mu.Lock()
	defer p.base.mu.Unlock()
	if p.base.size > 0 {
		return p.base.size, nil
	}
	size, err := p.compiler.sizes(ctx, p.data.Program, p.hash, [][]string{nil})
	if err != nil {
		return 0, err
	}
	if size[0] == failedSize {
		return 0, p.compiler.explain(ctx, p.data.Program)
	}
	p.base.size = size[0]
	return size[0], nil
}

// failedFactor times the size with plain -Os is the size assumed for a program
// that does not compile. Random solutions of the programs of this package are
// between 0.8 and 2.2 times that size.
const failedFactor = 4

// FailedValue returns the value of a solution that does not compile, or not
// within the time-out: minus four times the size with plain -Os. Any solution
// that compiles has a greater value; if its code is as large or larger, it
// counts as one byte less.
func (p *Instance) FailedValue(ctx context.Context) (float64, error) {
	size, err := p.BaseSize(ctx)
	return -float64(failedFactor * size), err
}

// Evaluate sets dst[i] to the negated size, in bytes, of the program compiled
// with solution i. Solutions are compiled in parallel, and each list of
// arguments only once.
func (p *Instance) Evaluate(ctx context.Context, dst []float64, x problem.Solutions) error {
	if err := problem.CheckBatch(p, dst, x); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	failed, err := p.FailedValue(ctx)
	if err != nil {
		return err
	}
	lists := make([][]string, x.Len())
	for i := range lists {
		if lists[i], err = p.Arguments(x.Bools(i)); err != nil {
			return err
		}
	}
	if p.compiler.farm != nil {
		return p.remote(ctx, dst, x, lists, failed)
	}
	size, err := p.compiler.sizes(ctx, p.data.Program, p.hash, lists)
	if err != nil {
		return err
	}
	for i, s := range size {
		dst[i] = value(s, failed)
	}
	return ctx.Err()
}

// value returns the value of a solution by its size.
func value(size int64, failed float64) float64 {
	if size == failedSize {
		return failed
	}
	return max(-float64(size), failed+1)
}

// MarshalJSON encodes the instance, including its program's text.
func (p *Instance) MarshalJSON() ([]byte, error) { return json.Marshal(p.data) }

// UnmarshalJSON decodes an instance encoded by MarshalJSON, for the default
// compiler.
func (p *Instance) UnmarshalJSON(b []byte) error {
	q, err := read(b, nil)
	if err != nil {
		return err
	}
	*p = *q
	return nil
}

func read(b []byte, c *Compiler) (*Instance, error) {
	var d Data
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, fmt.Errorf("caop: %w", err)
	}
	return New(d, c)
}

func decode(data []byte, c *Compiler) (problem.Problem, error) {
	p, err := read(data, c)
	if err != nil {
		return nil, err
	}
	return p, nil
}

// Decode reads an instance from its JSON, for the default compiler.
func Decode(data []byte) (problem.Problem, error) { return decode(data, nil) }
