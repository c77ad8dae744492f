package main

import "fmt"

type point struct{ x, y int }

func main() {
	grid := map[point]int{}
	for i := range 300000 {
		grid[point{i % 500, i % 300}] += i
	}
	total := 0
	for x := range 500 {
		for y := range 300 {
			if v, ok := grid[point{x, y}]; ok {
				total += v & 7
			}
		}
	}
	fmt.Print(len(grid), " ", total)
}
