package main

import (
	"fmt"
	"strings"
)

func main() {
	words := []string{"alpha", "beta", "gamma"}
	n := 0
	for i := range 20000 {
		s := fmt.Sprintf("%d: %s %.2f", i, words[i%3], float64(i)/7)
		key, value, found := strings.Cut(s, ": ")
		if found {
			n += len(strings.Join([]string{value, key}, "; ")) + len(strings.ReplaceAll(s, "a", "--")) + len(strings.Repeat(key, 2))
		}
	}
	fmt.Println(n)
}
