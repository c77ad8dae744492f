package main

import (
	"fmt"
	"sort"
)

type key struct {
	a int
	b string
}

type Graph map[string][]string

func (g Graph) Edge(a, b string) { g[a] = append(g[a], b); g[b] = append(g[b], a) }
func (g Graph) BFS(from string) (order []string) {
	seen := map[string]bool{from: true}
	queue := []string{from}
	for len(queue) > 0 {
		n := queue[0]
		queue = queue[1:]
		order = append(order, n)
		sort.Strings(g[n])
		for _, m := range g[n] {
			if !seen[m] {
				seen[m] = true
				queue = append(queue, m)
			}
		}
	}
	return
}

func main() {
	m := map[string]int{"one": 1, "two": 2}
	m["three"]++
	m["three"] += 2
	v, ok := m["none"]
	fmt.Println(m, len(m), v, ok)
	delete(m, "one")
	delete(m, "absent")
	if _, ok := m["one"]; !ok {
		fmt.Println("gone")
	}
	nested := map[string]map[int][]string{}
	if nested["a"] == nil {
		nested["a"] = map[int][]string{}
	}
	nested["a"][1] = append(nested["a"][1], "x", "y")
	fmt.Println(nested, nested["zz"][5] == nil)
	ks := map[key]*int{}
	n := 3
	ks[key{1, "a"}] = &n
	*ks[key{1, "a"}]++
	fmt.Println(n, len(ks))
	arr := map[[2]int]bool{{1, 2}: true}
	fmt.Println(arr[[2]int{1, 2}], arr[[...]int{2, 1}])
	anys := map[any]string{1: "int", "1": "string", 1.0: "float", key{1, "k"}: "key", [1]int{1}: "array", nil: "nil", true: "bool"}
	fmt.Println(anys[1], anys["1"], anys[1.0], anys[key{1, "k"}], anys[[1]int{1}], anys[nil], anys[true], anys[int8(1)] == "")
	structs := map[string]struct{ n int }{"a": {1}}
	s := structs["a"]
	s.n = 9
	fmt.Println(structs, s)
	structs["a"] = s
	fmt.Println(structs)
	g := Graph{}
	g.Edge("a", "b")
	g.Edge("b", "c")
	g.Edge("a", "d")
	fmt.Println(g.BFS("a"), g)
	var nilm map[string]int
	fmt.Println(nilm == nil, len(nilm), nilm["x"])
	for range nilm {
		fmt.Println("never")
	}
	count := map[rune]int{}
	for _, r := range "hello, world" {
		count[r]++
	}
	type kv struct {
		r rune
		n int
	}
	var list []kv
	for r, n := range count {
		list = append(list, kv{r, n})
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].n != list[j].n {
			return list[i].n > list[j].n
		}
		return list[i].r < list[j].r
	})
	for _, x := range list[:3] {
		fmt.Printf("%c%d ", x.r, x.n)
	}
	fmt.Println()
	for k := range m {
		delete(m, k)
	}
	fmt.Println(len(m), m)
	fs := map[string]func(...int) int{"sum": func(xs ...int) int {
		t := 0
		for _, x := range xs {
			t += x
		}
		return t
	}}
	fmt.Println(fs["sum"](1, 2, 3), fs["nope"] == nil)
	mm := map[bool][]int{}
	for i := range 6 {
		mm[i%2 == 0] = append(mm[i%2 == 0], i)
	}
	fmt.Println(mm)
	clear(mm)
	fmt.Println(len(mm))
}
