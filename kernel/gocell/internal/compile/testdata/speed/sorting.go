package main

import (
	"fmt"
	"sort"
)

type city struct {
	name string
	size int
}

func main() {
	list := make([]city, 20000)
	x := 12345
	for i := range list {
		x = (x*1103515245 + 12345) % 2147483648
		list[i] = city{fmt.Sprint("c", x%1000), x}
	}
	sort.Slice(list, func(i, j int) bool { return list[i].size < list[j].size })
	fmt.Println(list[0].size, list[9999].name, list[19999].size)
}
