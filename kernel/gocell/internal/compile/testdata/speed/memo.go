package main

import "fmt"

var memo = map[int]int{}

func steps(n int) int {
	if n == 1 {
		return 0
	}
	if s, ok := memo[n]; ok {
		return s
	}
	next := n / 2
	if n%2 == 1 {
		next = 3*n + 1
	}
	s := 1 + steps(next)
	memo[n] = s
	return s
}

func main() {
	best, at := 0, 0
	for n := 1; n < 60000; n++ {
		if s := steps(n); s > best {
			best, at = s, n
		}
	}
	fmt.Println(best, at)
}
