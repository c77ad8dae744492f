// Containers with type parameters: a list, a heap, a cache and an ordered map.
package main

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
)

type node[K comparable, V any] struct {
	key        K
	value      V
	prev, next *node[K, V]
}

type List[K comparable, V any] struct {
	root node[K, V]
	len  int
}

func (l *List[K, V]) init() *List[K, V] {
	l.root.next, l.root.prev = &l.root, &l.root
	return l
}

func (l *List[K, V]) insert(n, at *node[K, V]) *node[K, V] {
	n.prev, n.next = at, at.next
	n.prev.next = n
	n.next.prev = n
	l.len++
	return n
}

func (l *List[K, V]) remove(n *node[K, V]) {
	n.prev.next = n.next
	n.next.prev = n.prev
	n.next, n.prev = nil, nil
	l.len--
}

func (l *List[K, V]) toFront(n *node[K, V]) {
	l.remove(n)
	l.insert(n, &l.root)
}

func (l *List[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) {
		for n := l.root.next; n != &l.root; n = n.next {
			if !yield(n.key, n.value) {
				return
			}
		}
	}
}

type LRU[K comparable, V any] struct {
	List[K, V]
	cap     int
	items   map[K]*node[K, V]
	evicted func(K, V)
}

func NewLRU[K comparable, V any](cap int, evicted func(K, V)) *LRU[K, V] {
	c := &LRU[K, V]{cap: cap, items: make(map[K]*node[K, V]), evicted: evicted}
	c.init()
	return c
}

func (c *LRU[K, V]) Get(k K) (v V, ok bool) {
	n, ok := c.items[k]
	if !ok {
		return
	}
	c.toFront(n)
	return n.value, true
}

func (c *LRU[K, V]) Put(k K, v V) {
	if n, ok := c.items[k]; ok {
		n.value = v
		c.toFront(n)
		return
	}
	c.items[k] = c.insert(&node[K, V]{key: k, value: v}, &c.root)
	if c.len > c.cap {
		last := c.root.prev
		c.remove(last)
		delete(c.items, last.key)
		if c.evicted != nil {
			c.evicted(last.key, last.value)
		}
	}
}

type Heap[T any] struct {
	items []T
	less  func(a, b T) bool
}

func (h *Heap[T]) Push(x T) {
	h.items = append(h.items, x)
	for i := len(h.items) - 1; i > 0; {
		p := (i - 1) / 2
		if !h.less(h.items[i], h.items[p]) {
			break
		}
		h.items[i], h.items[p] = h.items[p], h.items[i]
		i = p
	}
}

func (h *Heap[T]) Pop() (x T, err error) {
	if len(h.items) == 0 {
		return x, ErrEmpty
	}
	x = h.items[0]
	last := len(h.items) - 1
	h.items[0] = h.items[last]
	var zero T
	h.items[last] = zero
	h.items = h.items[:last]
	for i := 0; ; {
		c := 2*i + 1
		if c >= last {
			break
		}
		if c+1 < last && h.less(h.items[c+1], h.items[c]) {
			c++
		}
		if !h.less(h.items[c], h.items[i]) {
			break
		}
		h.items[i], h.items[c] = h.items[c], h.items[i]
		i = c
	}
	return x, nil
}

func (h *Heap[T]) Drain() iter.Seq[T] {
	return func(yield func(T) bool) {
		for {
			x, err := h.Pop()
			if errors.Is(err, ErrEmpty) || !yield(x) {
				return
			}
		}
	}
}

var ErrEmpty = errors.New("empty")

func NewHeap[T cmp.Ordered](xs ...T) *Heap[T] {
	h := &Heap[T]{less: cmp.Less[T]}
	for _, x := range xs {
		h.Push(x)
	}
	return h
}

type OrderedMap[K cmp.Ordered, V any] struct{ root *tree[K, V] }

type tree[K cmp.Ordered, V any] struct {
	k           K
	v           V
	left, right *tree[K, V]
}

func (m *OrderedMap[K, V]) find(k K) **tree[K, V] {
	p := &m.root
	for *p != nil {
		switch c := cmp.Compare(k, (*p).k); {
		case c < 0:
			p = &(*p).left
		case c > 0:
			p = &(*p).right
		default:
			return p
		}
	}
	return p
}

func (m *OrderedMap[K, V]) Set(k K, v V) (old V, replaced bool) {
	p := m.find(k)
	if t := *p; t != nil {
		old, t.v = t.v, v
		return old, true
	}
	*p = &tree[K, V]{k: k, v: v}
	return
}

func (m *OrderedMap[K, V]) All() iter.Seq2[K, V] {
	return func(yield func(K, V) bool) { m.root.walk(yield) }
}

func (t *tree[K, V]) walk(yield func(K, V) bool) bool {
	return t == nil || t.left.walk(yield) && yield(t.k, t.v) && t.right.walk(yield)
}

type pair[A, B any] struct {
	First  A
	Second B
}

func (p pair[A, B]) String() string { return fmt.Sprintf("<%v, %v>", p.First, p.Second) }

func collect[K comparable, V any](s iter.Seq2[K, V]) (ps []pair[K, V]) {
	for k, v := range s {
		ps = append(ps, pair[K, V]{k, v})
	}
	return
}

func main() {
	var gone []string
	c := NewLRU(2, func(k string, v int) { gone = append(gone, fmt.Sprint(k, "=", v)) })
	for i, w := range strings.Fields("a b a c d a") {
		if _, ok := c.Get(w); !ok {
			c.Put(w, i)
		}
	}
	fmt.Println(gone, c.len, collect(c.All()))
	v, ok := c.Get("zzz")
	fmt.Println(v, ok)

	h := NewHeap(5, 3, 8, 1, 9, 2)
	for x := range h.Drain() {
		if x > 5 {
			break
		}
		fmt.Print(x, " ")
	}
	fmt.Println(len(h.items))
	byLen := Heap[string]{less: func(a, b string) bool { return len(a) < len(b) }}
	for w := range strings.FieldsSeq("ccc a bb dddd") {
		byLen.Push(w)
	}
	fmt.Println(slices.Collect(byLen.Drain()))
	_, err := byLen.Pop()
	fmt.Println(err, err == ErrEmpty)

	var m OrderedMap[string, []int]
	for i, w := range strings.Fields("the quick fox the lazy dog the end") {
		old, _ := m.Set(w, nil)
		m.Set(w, append(old, i))
	}
	for k, v := range m.All() {
		fmt.Print(k, v, " ")
	}
	fmt.Println()
	for k := range m.All() {
		if k > "f" {
			fmt.Println("first after f:", k)
			break
		}
	}
	next, stop := iter.Pull2(m.All())
	k, vs, ok := next()
	fmt.Println(k, vs, ok)
	stop()
	k, vs, ok = next()
	fmt.Printf("%q %v %v %T\n", k, vs, ok, m)
}
