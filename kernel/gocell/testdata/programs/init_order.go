package main

import "fmt"

var (
	a = b + 1
	b = f("b", c*2)
	c = f("c", 10)
	_ = f("blank", 0)
)

var table = build()

func build() map[string]int {
	return map[string]int{"a": a, "c": c}
}

func f(name string, v int) int {
	fmt.Println("init", name, v)
	return v
}

func init() {
	fmt.Println("first init", a, b, c)
	a = 100
}

func init() {
	fmt.Println("second init", a, len(table))
}

func main() {
	fmt.Println(a, b, c, table)
}
