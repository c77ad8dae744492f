package code

import (
	"reflect"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// A Frame is the memory of one call: this header, and the variables after it.
type Frame struct {
	G        *G
	Fn       *Func
	Caller   *Frame // nil for a call by a library or by go; the next frame of a free list
	Env      unsafe.Pointer
	deferred *deferred
	panicked *panicking // while deferred calls run
	by       *panicking // for a deferred call: the panic that it may recover
	Pos      int32      // of the statement under way
	once     bool       // the frame is not used again: something may still refer to it
}

// header is how many bytes of a frame come before its variables.
const header = int(unsafe.Sizeof(Frame{})+7) &^ 7

// add is unsafe.Add, which race builds do not check here: a nil pointer stays a bad
// one, and the access that follows fails as it does in Go.
//
//go:nocheckptr
func add(p unsafe.Pointer, n uintptr) unsafe.Pointer { return unsafe.Add(p, n) }

// at returns the address of a variable in a frame.
func at(f *Frame, off int32) unsafe.Pointer { return add(unsafe.Pointer(f), uintptr(off)) }

// At returns the address of what lies at an offset of a frame.
func At(f *Frame, off int32) Address { return at(f, off) }

// A Ctl says what follows a statement: one of the constants, or a jump to a
// label, which is greater.
type Ctl int

// What may follow a statement. Labels are numbered by threes from FirstLabel: to
// break out of the statement of label n is FirstLabel+3n, to continue it one more,
// to go to it two more.
const (
	Next Ctl = iota
	Return
	Break
	Continue
	FirstLabel
)

type (
	// An Ex computes a value of a kind.
	Ex[T any] = func(*Frame) T
	// An Into computes a value and stores it at dst, where nothing that it
	// reads lies.
	Into = func(f *Frame, dst unsafe.Pointer)
	// A Do runs a statement.
	Do = func(*Frame) Ctl
	// An Arg stores an argument in the frame of a call.
	Arg = func(f, callee *Frame)
)

// An Entry is how a function is reached: declaring it again stores another Func.
type Entry struct{ Fn *Func }

// A Var is how a package-level variable is reached.
type Var struct{ P unsafe.Pointer }

// A Func is a compiled function.
type Func struct {
	Name string
	Sig  *Signature // with the receiver as first parameter
	Body Do
	Zero []Zeroed // variables that must be zero as the body begins
	// Epilogue copies results from variables that outlive the frame; it may be nil.
	Epilogue func(*Frame)
	Defers   bool // the body may defer calls
	Layout   *Layout
	// Source is what the compiler knows of the function, for tracebacks.
	Source any

	// M is the machine that runs the function when a library calls it.
	M *Machine

	id    int
	words int
	block unsafe.Pointer
	ptrs  []int32 // offsets of the words that are pointers
	// offsets of the words of Zero, apart because writing a pointer is more than
	// a store while the collector runs
	zeroWords, zeroPtrs []int32
	cost                int32 // what a call takes of the stack, by estimate
}

// A Zeroed is memory in a frame.
type Zeroed struct {
	Off   int32
	Words int32
}

// A Layout collects the variables of a frame.
type Layout struct {
	size int
	bits []byte
}

// NewLayout returns the layout of a frame without variables.
func NewLayout() *Layout {
	l := &Layout{size: header}
	for i := range 7 { // up to by, see Frame
		l.set(i)
	}
	return l
}

func (l *Layout) set(word int) {
	for len(l.bits) <= word/8 {
		l.bits = append(l.bits, 0)
	}
	l.bits[word/8] |= 1 << (word % 8)
}

// Add makes room for a value of a size, whose words with pointers are told by
// mark. Every variable has whole words.
func (l *Layout) Add(size uintptr, mark func(offset uintptr, set func(word int))) int32 {
	off := l.size
	mark(uintptr(off), l.set)
	l.size += int(size+7) &^ 7
	if size == 0 {
		l.size += 8
	}
	return int32(off)
}

// ids are the numbers of functions, by which goroutines keep frames: those of functions
// that are gone are given again.
var ids struct {
	sync.Mutex // guards the following
	free       []int
	next       int
}

func (fn *Func) number() {
	ids.Lock()
	defer ids.Unlock()
	if n := len(ids.free); n > 0 {
		fn.id, ids.free = ids.free[n-1], ids.free[:n-1]
	} else {
		fn.id = ids.next
		ids.next++
	}
	runtime.AddCleanup(fn, func(id int) {
		ids.Lock()
		defer ids.Unlock()
		ids.free = append(ids.free, id)
	}, fn.id)
}

// Finish completes a function whose body has been compiled. depth is how deep
// its closures are nested.
func (fn *Func) Finish(depth int) {
	fn.number()
	fn.words = fn.Layout.size / 8
	for len(fn.Layout.bits) < (fn.words+7)/8 {
		fn.Layout.bits = append(fn.Layout.bits, 0)
	}
	fn.block = rtype.Block(fn.words, fn.Layout.bits)
	for i := header / 8; i < fn.words; i++ {
		if fn.Layout.bits[i/8]&(1<<(i%8)) != 0 {
			fn.ptrs = append(fn.ptrs, int32(i*8))
		}
	}
	for _, z := range fn.Zero {
		for i := int(z.Off) / 8; i < int(z.Off)/8+int(z.Words); i++ {
			if fn.Layout.bits[i/8]&(1<<(i%8)) != 0 {
				fn.zeroPtrs = append(fn.zeroPtrs, int32(i*8))
			} else {
				fn.zeroWords = append(fn.zeroWords, int32(i*8))
			}
		}
	}
	fn.cost = int32(400 + 250*depth)
	fn.Layout = nil
}

// A Group is what the goroutines of one cell share.
type Group struct {
	// Stop is set while they are to stop: calls and loops look at it.
	Stop atomic.Uint32
	// Done is closed to end their waits on channels; it may be nil.
	Done <-chan struct{}
	main atomic.Pointer[G] // the cell's own goroutine, while it runs
}

// A Machine is what the goroutines of a session share.
type Machine struct {
	// Stopped is called by each goroutine that sees that it is to stop; it panics to
	// end the goroutine, or returns to go on.
	Stopped func(g *G)
	// Latest returns the group that goroutines of libraries belong to which call
	// functions of cells; it may be nil.
	Latest func() *Group
	// Here returns how many bytes of its stack this goroutine uses, and a number for
	// it, which others may have when it has ended; nil where calls by libraries need
	// not know the calls around them.
	Here func() (used, id uintptr)
	// Start runs f on a goroutine of its own; nil is to use the go statement.
	Start func(f func())
	// Need is told of allocations of a number of bytes before they are made; it
	// panics where the memory is not there. It may be nil.
	Need func(what string, bytes float64)
	// Panicked is told of a panic that ends a goroutine; nil lets it end the
	// process.
	Panicked func(g *G, value any)
	// Raised is told of each panic that begins, where it began; it may be nil.
	Raised func(g *G, value any)
	// Native returns the frames of code that is not of this machine and that the panic
	// under way comes out of, or with around those that had called the functions of
	// cells that it has left; nil if there are none. It may be nil itself.
	Native func(around bool) any
	// Foreign is told of a panic that leaves the outermost function of cells in a
	// goroutine that a library has started. It reports whether the panic ends there;
	// it may be nil.
	Foreign func(g *G, value any) bool
	// Lock locks a map for reading or writing, and returns what Unlock wants. Both are
	// called only where several goroutines run cells; they may be nil.
	Lock   func(m unsafe.Pointer, write bool) int
	Unlock func(lock int, write bool)
	// Objects locks those of some values that are objects of libraries which goroutines
	// must not use at the same time, until what it returns is called. It is called only
	// where several goroutines run cells; it may be nil.
	Objects func(values []reflect.Value, write bool) (unlock func())
	// Recovered returns what recover returns of the value of a panic, which may be that of
	// compiled code; nil is the value itself.
	Recovered func(value any) any
	// Ends reports whether a panic ends the goroutine without deferred calls; it may
	// be nil.
	Ends func(value any) bool
	// Clock is a counter that moves while a profile is taken; it may be nil.
	Clock *atomic.Uint32
	// Begins is called, while a profile is taken, where a function begins in a goroutine
	// of its own: with the frame of the go statement, nil for a cell. What it returns is
	// called in the new goroutine.
	Begins atomic.Pointer[func(f *Frame) func(g *G)]
	// Print takes the output of print and println.
	Print func(text string)

	pool  sync.Pool
	cells atomic.Uint32 // how many have begun: what keeps frames of earlier ones is dropped
	table goroutines
	// others counts the goroutines that run cells beside the first. Those of libraries
	// are counted for good, since they may come back at any time.
	others  atomic.Int32
	foreign sync.Once // counts goroutines of libraries
	calls   atomic.Int32
}

// StackLimit is how many bytes of stack the calls of one goroutine may take,
// by estimate.
const StackLimit = 200 << 20

// A G is the state of a goroutine.
type G struct {
	M       *Machine
	Group   *Group
	Top     *Frame // the innermost call
	Trace   []Step // where the panic under way came from
	border  *Frame // that it has left last towards a library
	free    []*Frame
	stack   int
	noted   any            // the panic that has been noted
	id      atomic.Uintptr // of its goroutine; others read it where they share a place
	foreign bool           // a library has started the goroutine
	cell    uint32         // Machine.cells as the frames were kept
	tick    uint32         // of the clock, when a profile has last looked at the goroutine
	// Replaced are the panics in whose place deferred calls have panicked, the first first.
	Replaced []Replaced
	// Sampled is what the profile that is taken knows of the goroutine.
	Sampled any
}

// NewG returns the state of a goroutine that begins.
func (m *Machine) NewG() *G {
	g, ok := m.pool.Get().(*G)
	if cell := m.cells.Load(); !ok || g.cell != cell {
		g = &G{M: m, cell: cell}
	}
	if m.Clock != nil {
		g.tick = m.Clock.Load()
	}
	return g
}

// noCell is for code that runs without a cell.
var noCell = &Group{}

// Free gives back the state of a goroutine that has ended without a panic.
func (g *G) Free() {
	g.Top, g.stack, g.Trace, g.border, g.noted, g.Replaced, g.Group, g.Sampled = nil, 0, nil, nil, nil, nil, nil, nil
	g.M.pool.Put(g)
}

// frame returns a frame for a call.
func (g *G) frame(fn *Func, caller *Frame) *Frame {
	if id := fn.id; id < len(g.free) {
		if c := g.free[id]; c != nil {
			g.free[id] = c.Caller
			c.Caller = caller
			return c
		}
	}
	return g.newFrame(fn, caller)
}

//go:noinline
func (g *G) newFrame(fn *Func, caller *Frame) *Frame {
	c := (*Frame)(rtype.New(fn.block))
	c.G, c.Fn, c.Caller = g, fn, caller
	return c
}

// call runs the body of a call whose arguments are in its frame.
func (g *G) call(c *Frame) {
	fn := c.Fn
	if g.Group.Stop.Load() != 0 {
		g.M.Stopped(g)
	}
	g.stack += int(fn.cost)
	if g.stack > StackLimit {
		g.overflow(fn)
	}
	for _, o := range fn.zeroWords {
		*(*uint64)(at(c, o)) = 0
	}
	for _, o := range fn.zeroPtrs {
		*(*unsafe.Pointer)(at(c, o)) = nil
	}
	g.Top = c
	if fn.Defers {
		c.runDeferring()
	} else {
		fn.Body(c)
	}
	if fn.Epilogue != nil {
		fn.Epilogue(c)
	}
	g.Top = c.Caller
	g.stack -= int(fn.cost)
}

// release keeps the frame of a call that is over.
func (g *G) release(c *Frame) {
	if c.once {
		return
	}
	fn := c.Fn
	for _, o := range fn.ptrs {
		*(*unsafe.Pointer)(at(c, o)) = nil
	}
	c.Env = nil
	id := fn.id
	if id >= len(g.free) {
		g.room(id)
	}
	c.Caller = g.free[id]
	g.free[id] = c
}

//go:noinline
func (g *G) room(id int) {
	free := make([]*Frame, id+id/2+16)
	copy(free, g.free)
	g.free = free
}

// A StackOverflow is the panic of a recursion that is too deep.
type StackOverflow struct{ Name string }

func (e *StackOverflow) Error() string {
	return "stack overflow: " + e.Name + " calls itself too deeply, directly or through others"
}

// RuntimeError makes e a runtime.Error.
func (e *StackOverflow) RuntimeError() {}

func (g *G) overflow(fn *Func) {
	g.stack -= int(fn.cost)
	panic(&StackOverflow{fn.Name})
}

// poll is called at the end of each turn of a loop.
func poll(f *Frame) {
	if f.G.Group.Stop.Load() != 0 {
		f.G.M.Stopped(f.G)
	}
}

// NewGlobal returns a package-level variable of a type.
func NewGlobal(t reflect.Type) *Var { return &Var{P: rtype.New(rtype.Descriptor(t))} }

// InMemory is a value that lies at a place; it may be of a type of any kind.
func InMemory(p Place, t reflect.Type) Val {
	if k := KindOf(t); k != Agg {
		return Of(k).Load(p)
	}
	return Val{K: Agg, Addr: p.Operand()}
}

// AddressOf returns the address of a function value.
func AddressOf(p unsafe.Pointer) unsafe.Pointer { return unsafe.Pointer(&p) }

// Read returns the variable at an offset of a frame, or behind the address there.
func Read[T any](f *Frame, off int32, boxed bool) (x T) {
	p := at(f, off)
	if boxed {
		if p = *(*unsafe.Pointer)(p); p == nil {
			return x
		}
	}
	return *(*T)(p)
}

// An EnvLayout collects the variables that a function literal uses.
type EnvLayout struct {
	size int
	bits []byte
}

// Add makes room for a value of a type.
func (l *EnvLayout) Add(t reflect.Type) int32 {
	off := l.size
	l.size += int(max(8, (t.Size()+7)&^7))
	for len(l.bits) < (l.size/8+7)/8 {
		l.bits = append(l.bits, 0)
	}
	rtype.Pointers(t, uintptr(off), func(w int) { l.bits[w/8] |= 1 << (w % 8) })
	return int32(off)
}

// Block returns the type of the memory.
func (l *EnvLayout) Block() unsafe.Pointer { return rtype.Block(l.size/8, l.bits) }
