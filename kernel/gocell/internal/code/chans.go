package code

import (
	"fmt"
	"reflect"
	"unsafe"

	"dace.local/kernel/gocell/rtype"
)

// A goroutine that has to wait waits for the machine's end of waits, too.

// MakeChan is make for channels; the size may be the zero Val.
func MakeChan(t reflect.Type, n Val) Val {
	d, size := rtype.Descriptor(t), optional(n)
	return Val{K: Ptr, E: func(f *Frame) unsafe.Pointer {
		k := bound(f, size, 0)
		if b := float64(k) * float64(t.Elem().Size()); b >= large && b <= maxAlloc && f.G.M.Need != nil {
			f.G.M.Need(fmt.Sprintf("make(%s, %d)", t, k), b)
		}
		return rtype.MakeChan(d, k)
	}}
}

// Send is a send statement. The value is computed into spare.
func Send(t reflect.Type, ch Val, into Into, spare int32) Do {
	e := as[unsafe.Pointer](ch)
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
	e := as[unsafe.Pointer](ch)
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
	e := as[unsafe.Pointer](ch)
	return func(f *Frame) Ctl {
		c := e(f)
		close(*(*chan int)(unsafe.Pointer(&c)))
		return Next
	}
}

// RangeChan runs the body for each value that a channel has: it stores the
// value in the frame.
func RangeChan(t reflect.Type, ch Val, to int32, enter func(f *Frame), body Do, l Loop) Do {
	e := as[unsafe.Pointer](ch)
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

// Select chooses the body of a select statement, by the number of its case.
func Select(cases []Comm) func(f *Frame) int {
	return func(f *Frame) int {
		list := make([]reflect.SelectCase, len(cases), len(cases)+1)
		chans := make([]unsafe.Pointer, len(cases))
		blocks := true
		for i := range cases {
			c := &cases[i]
			if c.Default {
				list[i].Dir, blocks = reflect.SelectDefault, false
				continue
			}
			chans[i] = as[unsafe.Pointer](c.Chan)(f)
			list[i].Dir = reflect.SelectRecv
			if c.Send != nil {
				c.Send(f, at(f, c.Spare))
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
}
