package main

import (
	"fmt"
	"sort"
	"strings"
)

func main() {
	text := strings.Repeat("it was the best of times it was the worst of times it was the age of wisdom ", 3000)
	counts := map[string]int{}
	for range 4 {
		for _, word := range strings.Fields(text) {
			counts[word]++
		}
	}
	var words []string
	for w := range counts {
		words = append(words, w)
	}
	sort.Strings(words)
	for _, w := range words {
		fmt.Print(w, " ", counts[w], " ")
	}
}
