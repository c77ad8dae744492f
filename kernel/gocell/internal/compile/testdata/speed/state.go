package main

import "fmt"

type state int

const (
	idle state = iota
	word
	number
	space
)

func next(s state, c int) state {
	switch s {
	case idle:
		if c < 10 {
			return number
		}
		return word
	case word:
		if c == 31 {
			return space
		}
		return word
	case number:
		if c >= 10 {
			return space
		}
		return number
	default:
		return idle
	}
}

func main() {
	var counts [4]int
	s, seed := idle, 1
	for range 1000000 {
		seed = (seed*1103515245 + 12345) & 0x7fffffff
		s = next(s, seed>>16&31)
		counts[s]++
	}
	fmt.Print(counts[0], " ", counts[1], " ", counts[2], " ", counts[3])
}
