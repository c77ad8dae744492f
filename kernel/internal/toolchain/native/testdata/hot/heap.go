package main

import (
	"container/heap"
	"fmt"
)

type item struct{ node, distance int }

type queue []item

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].distance < q[j].distance }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(x any)        { *q = append(*q, x.(item)) }
func (q *queue) Pop() any {
	old := *q
	x := old[len(old)-1]
	*q = old[:len(old)-1]
	return x
}

// shortest is Dijkstra's algorithm on a square grid.
func shortest(side int) int {
	far := 1 << 30
	distance := make([]int, side*side)
	for i := range distance {
		distance[i] = far
	}
	distance[0] = 0
	q := &queue{{0, 0}}
	for q.Len() > 0 {
		x := heap.Pop(q).(item)
		if x.distance > distance[x.node] {
			continue
		}
		row, column := x.node/side, x.node%side
		for _, step := range [4][2]int{{1, 0}, {-1, 0}, {0, 1}, {0, -1}} {
			r, c := row+step[0], column+step[1]
			if r < 0 || r >= side || c < 0 || c >= side {
				continue
			}
			to := r*side + c
			if d := x.distance + 1 + (r*7+c*13)%9; d < distance[to] {
				distance[to] = d
				heap.Push(q, item{to, d})
			}
		}
	}
	return distance[side*side-1]
}

func main() { fmt.Println(shortest(250)) }
