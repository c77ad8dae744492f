package main

import "fmt"

func caesar(text string, by int) string {
	out := ""
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c >= 'a' && c <= 'z' {
			c = 'a' + (c-'a'+byte(by))%26
		}
		out += string(rune(c))
	}
	return out
}

func main() {
	text := "the quick brown fox jumps over the lazy dog and runs away from it, again and again"
	sum := 0
	for by := range 6000 {
		sum += int(caesar(text, by%26)[by%len(text)])
	}
	fmt.Println(sum)
}
