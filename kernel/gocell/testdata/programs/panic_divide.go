package main

import "fmt"

func div(a, b int) int { return a / b }

func main() {
	defer fmt.Println("deferred in main")
	fmt.Println(div(7, 2))
	fmt.Println(div(7, 0))
}
