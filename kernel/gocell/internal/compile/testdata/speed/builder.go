package main

import (
	"fmt"
	"strconv"
	"strings"
)

func join(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strconv.Itoa(i))
		b.WriteByte(',')
	}
	return b.String()
}

func main() { fmt.Print(len(join(500000))) }
