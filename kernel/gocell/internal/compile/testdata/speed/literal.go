package main

import "fmt"

func main() {
	total := 0
	add := func(n int) { total += n }
	twice := func(f func(int), n int) { f(n); f(n) }
	for i := range 150000 {
		twice(add, i)
	}
	fmt.Println(total)
}
