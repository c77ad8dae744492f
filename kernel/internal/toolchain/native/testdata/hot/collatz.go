package main

import "fmt"

func collatz(n int) int {
	steps := 0
	for n != 1 {
		if n%2 == 0 {
			n /= 2
		} else {
			n = 3*n + 1
		}
		steps++
	}
	return steps
}

func main() {
	best, at := 0, 0
	for n := 1; n < 300000; n++ {
		if s := collatz(n); s > best {
			best, at = s, n
		}
	}
	fmt.Println(best, at)
}
