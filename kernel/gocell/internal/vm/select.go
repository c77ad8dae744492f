package vm

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"unsafe"
)

// selectStep returns the step of a select statement. The interpreter's own keeps
// the channels in the statement's node, so that goroutines which run it at the
// same time use each other's.
func selectStep(n node) step {
	type clause struct {
		dir     reflect.SelectDir
		channel func(unsafe.Pointer) reflect.Value
		value   func(unsafe.Pointer) reflect.Value // to send, or where to put what is received
		ok      func(unsafe.Pointer) reflect.Value
		next    step
	}
	var clauses []clause
	for _, c := range n.children() {
		list := c.children()
		if c.kind() == "commClauseDefault" {
			clauses = append(clauses, clause{dir: reflect.SelectDefault, next: getExec(list[0].start().p)})
			continue
		}
		ch, value, ok, dir := clauseChanDir(list[0].p)
		cl := clause{dir: dir, channel: genValue(ch), next: getExec(list[1].start().p)}
		if value != nil {
			cl.value = genValue(value)
		}
		if ok != nil {
			cl.ok = genValue(ok)
		}
		clauses = append(clauses, cl)
	}
	ready := func(f unsafe.Pointer, i int, v reflect.Value, ok bool) step {
		if c := clauses[i]; c.dir == reflect.SelectRecv && c.value != nil {
			c.value(f).Set(v)
			if c.ok != nil {
				c.ok(f).SetBool(ok)
			}
		}
		return clauses[i].next
	}
	other := slices.IndexFunc(clauses, func(c clause) bool { return c.dir == reflect.SelectDefault })
	return func(f unsafe.Pointer) step {
		// A communication that need not wait costs less by itself: the clauses are
		// tried from one chosen at random.
		first := 0
		if len(clauses) > 1 {
			first = rand.IntN(len(clauses))
		}
		for i := range clauses {
			i = (first + i) % len(clauses)
			switch c := &clauses[i]; c.dir {
			case reflect.SelectRecv:
				if v, ok := c.channel(f).TryRecv(); v.IsValid() {
					return ready(f, i, v, ok)
				}
			case reflect.SelectSend:
				if c.channel(f).TrySend(c.value(f)) {
					return clauses[i].next
				}
			}
		}
		if other >= 0 {
			return clauses[other].next
		}
		cases := make([]reflect.SelectCase, len(clauses)+1)
		for i, c := range clauses {
			cases[i].Dir = c.dir
			if c.channel != nil {
				cases[i].Chan = c.channel(f)
			}
			if c.dir == reflect.SelectSend {
				cases[i].Send = c.value(f)
			}
		}
		frame := (*runFrame)(f)
		frame.mutex.RLock()
		cases[len(clauses)] = frame.done
		frame.mutex.RUnlock()
		i, v, ok := reflect.Select(cases)
		if i == len(clauses) {
			return nil
		}
		return ready(f, i, v, ok)
	}
}
