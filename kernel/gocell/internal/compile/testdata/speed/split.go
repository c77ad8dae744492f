package main

import (
	"fmt"
	"strconv"
	"strings"
)

func main() {
	line := strings.Repeat("12,345,6,7890;", 300)
	sum := 0
	for range 40 {
		for _, part := range strings.Split(line, ";") {
			for _, field := range strings.Split(part, ",") {
				n, err := strconv.Atoi(field)
				if err == nil {
					sum += n
				}
			}
		}
	}
	fmt.Println(sum)
}
