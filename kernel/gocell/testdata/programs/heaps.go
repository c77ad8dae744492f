package main

import (
	"container/heap"
	"container/list"
	"container/ring"
	"fmt"
)

type Item struct {
	value    string
	priority int
	index    int
}
type PQ []*Item

func (pq PQ) Len() int           { return len(pq) }
func (pq PQ) Less(i, j int) bool { return pq[i].priority > pq[j].priority }
func (pq PQ) Swap(i, j int) {
	pq[i], pq[j] = pq[j], pq[i]
	pq[i].index = i
	pq[j].index = j
}
func (pq *PQ) Push(x any) {
	it := x.(*Item)
	it.index = len(*pq)
	*pq = append(*pq, it)
}
func (pq *PQ) Pop() any {
	old := *pq
	n := len(old)
	it := old[n-1]
	old[n-1] = nil
	it.index = -1
	*pq = old[:n-1]
	return it
}
func (pq *PQ) update(it *Item, p int) {
	it.priority = p
	heap.Fix(pq, it.index)
}

type edge struct{ to, w int }
type dist struct{ node, d int }
type minHeap []dist

func (h minHeap) Len() int           { return len(h) }
func (h minHeap) Less(i, j int) bool { return h[i].d < h[j].d }
func (h minHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *minHeap) Push(x any)        { *h = append(*h, x.(dist)) }
func (h *minHeap) Pop() any {
	o := *h
	x := o[len(o)-1]
	*h = o[:len(o)-1]
	return x
}

func dijkstra(g map[int][]edge, from int) map[int]int {
	out := map[int]int{}
	h := &minHeap{{from, 0}}
	for h.Len() > 0 {
		c := heap.Pop(h).(dist)
		if _, ok := out[c.node]; ok {
			continue
		}
		out[c.node] = c.d
		for _, e := range g[c.node] {
			heap.Push(h, dist{e.to, c.d + e.w})
		}
	}
	return out
}

func main() {
	pq := PQ{}
	items := map[string]int{"banana": 3, "apple": 2, "pear": 4}
	for _, k := range []string{"banana", "apple", "pear"} {
		pq = append(pq, &Item{value: k, priority: items[k], index: len(pq)})
	}
	heap.Init(&pq)
	it := &Item{value: "orange", priority: 1}
	heap.Push(&pq, it)
	pq.update(it, 5)
	for pq.Len() > 0 {
		it := heap.Pop(&pq).(*Item)
		fmt.Printf("%.2d:%s ", it.priority, it.value)
	}
	fmt.Println()
	fmt.Println(dijkstra(map[int][]edge{1: {{2, 7}, {3, 2}}, 3: {{2, 3}, {4, 8}}, 2: {{4, 1}}}, 1))
	l := list.New()
	e4 := l.PushBack(4)
	e1 := l.PushFront(1)
	l.InsertBefore(3, e4)
	l.InsertAfter(2, e1)
	for e := l.Front(); e != nil; e = e.Next() {
		fmt.Print(e.Value.(int)*2, " ")
	}
	r := ring.New(3)
	for i := range r.Len() {
		r.Value = i
		r = r.Next()
	}
	r.Do(func(v any) { fmt.Print(v, " ") })
	fmt.Println()
}
