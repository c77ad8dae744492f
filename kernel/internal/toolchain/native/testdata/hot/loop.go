package main

import "fmt"

func main() {
	inside, seed := 0, 42
	for range 10000000 {
		seed = (seed*1103515245 + 12345) & 0x7fffffff
		x := seed >> 8 & 1023
		seed = (seed*1103515245 + 12345) & 0x7fffffff
		y := seed >> 8 & 1023
		if x*x+y*y < 1024*1024 {
			inside++
		}
	}
	fmt.Println(inside)
}
