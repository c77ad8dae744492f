package code

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// A goroutine that has to wait waits for the machine's end of waits, too.

// MakeChan is make for channels; the size may be the zero Val.
func MakeChan(t reflect.Type, n Val) Val {
	d, size, name, each := rtype.Descriptor(t), optional(n), t.String(), float64(t.Elem().Size())
	return NewVal(Ptr, func(f *Frame) unsafe.Pointer {
		k := bound(f, size, 0)
		if b := float64(k) * each; b <= maxAlloc {
			f.G.makes(name, int64(k), b)
		}
		return rtype.MakeChan(d, k)
	})
}

// Send is a send statement. The value is computed into spare.
func Send(t reflect.Type, ch Val, into Into, spare int32) Do {
	e := as[unsafe.Pointer](ch.E)
	return func(f *Frame) Ctl {
		c := e(f)
		v := at(f, spare)
		into(f, v)
		if c != nil && rtype.ChanSend(c, v, true) {
			return Next
		}
		done := f.G.done()
		if done == nil {
			rtype.ChanSend(c, v, false)
			return Next
		}
		f.wait(reflect.SelectCase{Dir: reflect.SelectSend, Chan: reflect.NewAt(t, unsafe.Pointer(&c)).Elem(),
			Send: reflect.NewAt(t.Elem(), v).Elem()}, done)
		return Next
	}
}

func (g *G) done() <-chan struct{} { return g.Group.Done }

// wait waits for one case, or for the end of waits.
func (f *Frame) wait(c reflect.SelectCase, done <-chan struct{}) (reflect.Value, bool) {
	chosen, v, ok := reflect.Select([]reflect.SelectCase{c, {Dir: reflect.SelectRecv, Chan: reflect.ValueOf(done)}})
	if chosen == 1 {
		f.G.M.Stopped(f.G)
	}
	return v, ok
}

// Receive receives from a channel into the frame; where okAt is not 0 it says
// whether a value was sent.
func Receive(t reflect.Type, ch Val, to, okAt int32) Do {
	e := as[unsafe.Pointer](ch.E)
	return func(f *Frame) Ctl {
		ok := f.receive(t, e(f), at(f, to))
		if okAt != 0 {
			*(*bool)(at(f, okAt)) = ok
		}
		return Next
	}
}

func (f *Frame) receive(t reflect.Type, c, dst unsafe.Pointer) bool {
	if c != nil {
		if selected, received := rtype.ChanReceive(c, true, dst); selected {
			return received
		}
	}
	done := f.G.done()
	if done == nil {
		_, received := rtype.ChanReceive(c, false, dst)
		return received
	}
	v, ok := f.wait(reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.NewAt(t, unsafe.Pointer(&c)).Elem()}, done)
	if v.IsValid() {
		storeValue(dst, v)
	}
	return ok
}

// Close is the built-in function close.
func Close(ch Val) Do {
	e := as[unsafe.Pointer](ch.E)
	return func(f *Frame) Ctl {
		c := e(f)
		close(*(*chan int)(unsafe.Pointer(&c)))
		return Next
	}
}

// RangeChan runs the body for each value that a channel has: it stores the
// value in the frame.
func RangeChan(t reflect.Type, ch Val, to int32, enter func(f *Frame), body Do, l Loop) Do {
	e := as[unsafe.Pointer](ch.E)
	return func(f *Frame) Ctl {
		c := e(f)
		for f.receive(t, c, at(f, to)) {
			if enter != nil {
				enter(f)
			}
			if k := body(f); k != Next {
				if k, over := l.ends(k); over {
					return k
				}
			}
			poll(f)
		}
		return Next
	}
}

// A Comm is a case of a select statement.
type Comm struct {
	Type     reflect.Type // of the channel
	Chan     Val
	Send     Into // nil for a receive
	Spare    int32
	To, OkAt int32 // where to store what was received
	Default  bool
}

// few is how many cases a select statement has at most that are tried one by one.
const few = 4

// Select chooses the body of a select statement, by the number of its case. A few
// cases are tried in a random order before it waits. With a default they are not, but
// for one: others could be ready in turn, and never all be found so.
func Select(cases []Comm) func(f *Frame) int {
	other := slices.IndexFunc(cases, func(c Comm) bool { return c.Default })
	if len(cases) > few || other >= 0 && len(cases) > 2 {
		return func(f *Frame) int {
			chans := make([]unsafe.Pointer, len(cases))
			channels(f, cases, chans)
			return f.selectOf(cases, chans)
		}
	}
	return func(f *Frame) int {
		var held [few]unsafe.Pointer
		chans := held[:len(cases)]
		channels(f, cases, chans)
		order := [few]uint8{0, 1, 2, 3}
		for left := len(cases); left > 0; left-- {
			at := 0
			if left > 1 && other < 0 {
				at = rand.IntN(left)
			}
			i := int(order[at])
			order[at] = order[left-1]
			if c := chans[i]; c != nil && cases[i].try(f, c) {
				return i
			}
		}
		if other >= 0 {
			return other
		}
		return f.selectOf(cases, slices.Clone(chans))
	}
}

// channels computes the channels of the cases and the values that they send.
func channels(f *Frame, cases []Comm, chans []unsafe.Pointer) {
	for i := range cases {
		c := &cases[i]
		if c.Default {
			continue
		}
		chans[i] = as[unsafe.Pointer](c.Chan.E)(f)
		if c.Send != nil {
			c.Send(f, at(f, c.Spare))
		}
	}
}

// try makes the communication of a case if it need not wait.
func (c *Comm) try(f *Frame, ch unsafe.Pointer) bool {
	if c.Send != nil {
		return rtype.ChanSend(ch, at(f, c.Spare), true)
	}
	var to unsafe.Pointer
	if c.To != 0 {
		to = at(f, c.To)
	}
	selected, received := rtype.ChanReceive(ch, true, to)
	if selected && c.OkAt != 0 {
		*(*bool)(at(f, c.OkAt)) = received
	}
	return selected
}

// selectOf waits for a case, or for the end of waits.
func (f *Frame) selectOf(cases []Comm, chans []unsafe.Pointer) int {
	list := make([]reflect.SelectCase, len(cases), len(cases)+1)
	blocks := true
	for i := range cases {
		c := &cases[i]
		if c.Default {
			list[i].Dir, blocks = reflect.SelectDefault, false
			continue
		}
		list[i].Dir = reflect.SelectRecv
		if c.Send != nil {
			list[i].Dir, list[i].Send = reflect.SelectSend, reflect.NewAt(c.Type.Elem(), at(f, c.Spare)).Elem()
		}
		list[i].Chan = reflect.NewAt(c.Type, unsafe.Pointer(&chans[i])).Elem()
	}
	if done := f.G.done(); blocks && done != nil {
		list = append(list, reflect.SelectCase{Dir: reflect.SelectRecv, Chan: reflect.ValueOf(done)})
	}
	chosen, v, ok := reflect.Select(list)
	if chosen == len(cases) {
		f.G.M.Stopped(f.G)
		return -1
	}
	if c := cases[chosen]; !c.Default && c.Send == nil {
		if c.To != 0 {
			storeValue(at(f, c.To), v)
		}
		if c.OkAt != 0 {
			*(*bool)(at(f, c.OkAt)) = ok
		}
	}
	return chosen
}
