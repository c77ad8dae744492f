package main

import "fmt"

type Node struct {
	val         int
	left, right *Node
}

func (n *Node) insert(v int) *Node {
	if n == nil {
		return &Node{val: v}
	}
	if v < n.val {
		n.left = n.left.insert(v)
	} else {
		n.right = n.right.insert(v)
	}
	return n
}
func (n *Node) height() int {
	if n == nil {
		return 0
	}
	return 1 + max(n.left.height(), n.right.height())
}
func (n *Node) walk(f func(*Node)) {
	if n != nil {
		n.left.walk(f)
		f(n)
		n.right.walk(f)
	}
}

type item struct {
	k, v       string
	prev, next *item
}
type LRU struct {
	cap        int
	m          map[string]*item
	head, tail *item
}

func NewLRU(n int) *LRU {
	l := &LRU{cap: n, m: map[string]*item{}, head: &item{}, tail: &item{}}
	l.head.next, l.tail.prev = l.tail, l.head
	return l
}
func (l *LRU) unlink(i *item) { i.prev.next, i.next.prev = i.next, i.prev }
func (l *LRU) front(i *item) {
	i.prev, i.next = l.head, l.head.next
	l.head.next.prev = i
	l.head.next = i
}
func (l *LRU) Get(k string) (string, bool) {
	i, ok := l.m[k]
	if !ok {
		return "", false
	}
	l.unlink(i)
	l.front(i)
	return i.v, true
}
func (l *LRU) Put(k, v string) {
	if i, ok := l.m[k]; ok {
		i.v = v
		l.unlink(i)
		l.front(i)
		return
	}
	if len(l.m) == l.cap {
		last := l.tail.prev
		l.unlink(last)
		delete(l.m, last.k)
	}
	i := &item{k: k, v: v}
	l.m[k] = i
	l.front(i)
}

type list struct {
	v    int
	next *list
}

func reverse(l *list) (r *list) {
	for l != nil {
		l, l.next, r = l.next, r, l
	}
	return
}

func main() {
	var root *Node
	for _, v := range []int{5, 2, 8, 1, 9, 3} {
		root = root.insert(v)
	}
	sum := 0
	root.walk(func(n *Node) { fmt.Print(n.val, " "); sum += n.val })
	fmt.Println(root.height(), sum)
	c := NewLRU(2)
	c.Put("a", "1")
	c.Put("b", "2")
	c.Get("a")
	c.Put("c", "3")
	for _, k := range []string{"a", "b", "c"} {
		v, ok := c.Get(k)
		fmt.Print(k, v, ok, " ")
	}
	fmt.Println(len(c.m), c.head.next.k)
	var l *list
	for i := range 4 {
		l = &list{i, l}
	}
	for l = reverse(l); l != nil; l = l.next {
		fmt.Print(l.v, " ")
	}
	fmt.Println()
}
