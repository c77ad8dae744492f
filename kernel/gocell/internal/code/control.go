package code

// A Line is a statement and the number of its place.
type Line struct {
	Do  Do
	Pos int32 // 0 for a statement that cannot fail
}

// Block runs statements one after the other.
func Block(lines []Line) Do {
	switch len(lines) {
	case 0:
		return func(*Frame) Ctl { return Next }
	case 1:
		do, pos := lines[0].Do, lines[0].Pos
		if pos == 0 {
			return do
		}
		return func(f *Frame) Ctl { f.Pos = pos; return do(f) }
	case 2:
		a, b, p, q := lines[0].Do, lines[1].Do, lines[0].Pos, lines[1].Pos
		return func(f *Frame) Ctl {
			if p != 0 {
				f.Pos = p
			}
			if k := a(f); k != Next {
				return k
			}
			if q != 0 {
				f.Pos = q
			}
			return b(f)
		}
	}
	return func(f *Frame) Ctl {
		for i := range lines {
			l := &lines[i]
			if l.Pos != 0 {
				f.Pos = l.Pos
			}
			if k := l.Do(f); k != Next {
				return k
			}
		}
		return Next
	}
}

// Labelled is a block in which goto jumps to statements: targets has their
// indices by the Ctl of the jump.
func Labelled(lines []Line, targets map[Ctl]int) Do {
	return func(f *Frame) Ctl {
		for i := 0; i < len(lines); i++ {
			if l := &lines[i]; l.Pos != 0 {
				f.Pos = l.Pos
			}
			k := lines[i].Do(f)
			if k == Next {
				continue
			}
			to, ok := targets[k]
			if !ok {
				return k
			}
			poll(f)
			i = to - 1
		}
		return Next
	}
}

// Jump returns a control code.
func Jump(k Ctl) Do { return func(*Frame) Ctl { return k } }

// Sequence runs two statements.
func Sequence(a, b Do) Do {
	return func(f *Frame) Ctl {
		if k := a(f); k != Next {
			return k
		}
		return b(f)
	}
}

// If runs one of two statements; no may be nil.
func If(cond Ex[bool], yes, no Do) Do {
	if no == nil {
		return func(f *Frame) Ctl {
			if cond(f) {
				return yes(f)
			}
			return Next
		}
	}
	return func(f *Frame) Ctl {
		if cond(f) {
			return yes(f)
		}
		return no(f)
	}
}

// A Loop is the labels by which statements in a loop leave it.
type Loop struct{ Break, Continue Ctl }

// ends translates what a loop's body returns: whether the loop ends, and with
// what.
func (l Loop) ends(k Ctl) (Ctl, bool) {
	switch k {
	case Next, Continue, l.Continue:
		return Next, false
	case Break, l.Break:
		return Next, true
	}
	return k, true
}

// For is a loop with a condition, which may be nil, and a statement after each
// turn, which may be nil.
func For(cond Ex[bool], post, body Do, l Loop) Do {
	if post == nil {
		post = func(*Frame) Ctl { return Next }
	}
	if cond == nil {
		return func(f *Frame) Ctl {
			for {
				if k := body(f); k != Next {
					if k, over := l.ends(k); over {
						return k
					}
				}
				post(f)
				poll(f)
			}
		}
	}
	return func(f *Frame) Ctl {
		for cond(f) {
			if k := body(f); k != Next {
				if k, over := l.ends(k); over {
					return k
				}
			}
			post(f)
			poll(f)
		}
		return Next
	}
}

// RangeInt runs the body for i from 0 up to a number, which is computed once: before
// each turn it stores i at an offset of the frame, and runs enter.
func RangeInt(n Val, i int32, enter func(f *Frame), body Do, l Loop) Do {
	count := Int(n)
	return func(f *Frame) Ctl {
		n := count(f)
		for k := int64(0); k < n; k++ {
			*(*int64)(at(f, i)) = k
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

// RangeString runs the body for each rune of a string, which is at an offset of
// the frame; it stores the index and the rune.
func RangeString(s Val, i, r int32, enter func(f *Frame), body Do, l Loop) Do {
	text := as[string](s.E)
	return func(f *Frame) Ctl {
		for k, c := range text(f) {
			*(*int64)(at(f, i)) = int64(k)
			*(*int32)(at(f, r)) = c
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

// Breakable runs the body of a switch or select, which break leaves. The label is that of
// a break with one, 0, which is Next, where there is none.
func Breakable(body Do, label Ctl) Do {
	return func(f *Frame) Ctl {
		k := body(f)
		if k == Break || k == label {
			return Next
		}
		return k
	}
}

// fallThrough is what the statement fallthrough returns.
const fallThrough Ctl = -1

// FallThrough is the statement fallthrough.
func FallThrough(*Frame) Ctl { return fallThrough }

// Choose runs one of the bodies of a switch, by the number that choose returns;
// -1 is none.
func Choose(choose func(f *Frame) int, bodies []Do, label Ctl) Do {
	return func(f *Frame) Ctl {
		for i := choose(f); i >= 0; i++ {
			switch k := bodies[i](f); k {
			case fallThrough:
				continue
			case Break:
				return Next
			default:
				if k == label && label != 0 {
					return Next
				}
				return k
			}
		}
		return Next
	}
}

// Chain chooses the first body for which one of its conditions is true, else the
// default, which may be -1.
func Chain(conds []Ex[bool], body []int, def int) func(f *Frame) int {
	return func(f *Frame) int {
		for i, c := range conds {
			if c(f) {
				return body[i]
			}
		}
		return def
	}
}

// Lookup chooses a body by a constant; it is false where the values of the
// cases are of no kind that it can look up.
func Lookup(tag Val, cases []Val, body []int, def int) (func(f *Frame) int, bool) {
	switch tag.K {
	case I8, U8:
		return lookup(as[uint8](tag.E), tag.K, cases, body, def), true
	case I32, U32:
		return lookup(as[uint32](tag.E), tag.K, cases, body, def), true
	case I16, U16, I64, U64:
		return lookup(as[uint64](Convert(U64, tag).E), tag.K, cases, body, def), true
	case Str:
		e, m := as[string](tag.E), map[string]int{}
		for i, c := range cases {
			s := *(*string)(c.c)
			if _, ok := m[s]; !ok {
				m[s] = body[i]
			}
		}
		return func(f *Frame) int {
			if i, ok := m[e(f)]; ok {
				return i
			}
			return def
		}, true
	}
	return nil, false
}

func lookup[T uint8 | uint32 | uint64](e Ex[T], k Kind, cases []Val, body []int, def int) func(f *Frame) int {
	m := map[T]int{}
	low, high := cases[0].bits(), cases[0].bits()
	for i, c := range cases {
		b := c.bits()
		if less := b < low; k.IsSigned() && int64(b) < int64(low) || !k.IsSigned() && less {
			low = b
		}
		if more := b > high; k.IsSigned() && int64(b) > int64(high) || !k.IsSigned() && more {
			high = b
		}
		if _, ok := m[T(b)]; !ok {
			m[T(b)] = body[i]
		}
	}
	if n := high - low; n < 512 {
		first, table := T(low), make([]int, n+1)
		for i := range table {
			table[i] = def
		}
		for k, b := range m {
			table[k-first] = b
		}
		return func(f *Frame) int {
			if k := uint64(e(f) - first); k < uint64(len(table)) {
				return table[k]
			}
			return def
		}
	}
	return func(f *Frame) int {
		if i, ok := m[e(f)]; ok {
			return i
		}
		return def
	}
}
