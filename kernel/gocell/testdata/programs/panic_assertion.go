package main

import "fmt"

func main() {
	var v any = "text"
	fmt.Println(v.(string))
	fmt.Println(v.(int))
}
