package main

import "fmt"

const size = 6

type Board [size][size]bool

func (b Board) Next() (n Board) {
	for y := range b {
		for x := range b[y] {
			c := b.around(y, x)
			n[y][x] = c == 3 || b[y][x] && c == 2
		}
	}
	return
}
func (b *Board) around(y, x int) (c int) {
	for dy := -1; dy <= 1; dy++ {
		for dx := -1; dx <= 1; dx++ {
			if (dy != 0 || dx != 0) && b[(y+dy+size)%size][(x+dx+size)%size] {
				c++
			}
		}
	}
	return
}
func (b Board) String() (s string) {
	for _, row := range b {
		for _, v := range row {
			if v {
				s += "#"
			} else {
				s += "."
			}
		}
		s += "\n"
	}
	return
}

func main() {
	var b Board
	for _, p := range [][2]int{{0, 1}, {1, 2}, {2, 0}, {2, 1}, {2, 2}} {
		b[p[0]][p[1]] = true
	}
	start := b
	for range 4 {
		b = b.Next()
	}
	fmt.Print(start, b)
	seen := map[Board]int{}
	n := 0
	for ; seen[b] == 0; n++ {
		seen[b] = n + 1
		b = b.Next()
	}
	fmt.Println(n, seen[b], b == start)
}
