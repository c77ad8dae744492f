package main

import "fmt"

type point struct{ x, y, z int }

func add(a, b point) point { return point{a.x + b.x, a.y + b.y, a.z + b.z} }

func main() {
	list := make([]point, 2000)
	for i := range list {
		list[i] = point{i, 2 * i, 1}
	}
	sum := point{}
	for range 50 {
		for i := range list {
			list[i].z += list[i].x % 3
			sum = add(sum, list[i])
		}
	}
	fmt.Println(sum.x, sum.y, sum.z)
}
