package main

import "fmt"

type grid struct {
	w, h  int
	cells []bool
}

func (g *grid) alive(x, y int) int {
	if g.cells[(y+g.h)%g.h*g.w+(x+g.w)%g.w] {
		return 1
	}
	return 0
}

func (g *grid) step() *grid {
	next := &grid{g.w, g.h, make([]bool, len(g.cells))}
	for y := range g.h {
		for x := range g.w {
			n := 0
			for dy := -1; dy <= 1; dy++ {
				for dx := -1; dx <= 1; dx++ {
					if dx != 0 || dy != 0 {
						n += g.alive(x+dx, y+dy)
					}
				}
			}
			next.cells[y*g.w+x] = n == 3 || n == 2 && g.cells[y*g.w+x]
		}
	}
	return next
}

func (g *grid) count() (n int) {
	for _, alive := range g.cells {
		if alive {
			n++
		}
	}
	return n
}

func main() {
	g := &grid{w: 128, h: 128, cells: make([]bool, 128*128)}
	for i := range g.cells {
		g.cells[i] = i%3 == 0 || i%7 == 2
	}
	for range 60 {
		g = g.step()
	}
	fmt.Println(g.count())
}
