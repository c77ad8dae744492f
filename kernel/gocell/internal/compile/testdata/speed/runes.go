package main

import (
	"fmt"
	"strings"
)

func count(text string) (vowels, spaces, others int) {
	for _, r := range text {
		switch r {
		case 'a', 'e', 'i', 'o', 'u':
			vowels++
		case ' ':
			spaces++
		default:
			others++
		}
	}
	return
}

func main() {
	text := strings.Repeat("the quick brown föx jumps over the lazy dog ", 20000)
	v, s, o := count(text)
	fmt.Print(v, " ", s, " ", o)
}
