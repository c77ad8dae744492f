package main

import "fmt"

type Registry struct{ m map[string][]int }

func (r *Registry) add(k string, v int) { r.m[k] = append(r.m[k], v) }

func main() {
	var r Registry
	fmt.Println(len(r.m), r.m["x"])
	r.add("a", 1)
}
