package main

import "fmt"

func pick(xs []int, i int) int { return xs[i] }

func main() {
	xs := []int{1, 2, 3}
	for i := range 5 {
		fmt.Println(pick(xs, i))
	}
}
