package main

import "fmt"

func queens(n, row int, columns, up, down []bool) int {
	if row == n {
		return 1
	}
	found := 0
	for c := range n {
		if columns[c] || up[row+c] || down[row-c+n] {
			continue
		}
		columns[c], up[row+c], down[row-c+n] = true, true, true
		found += queens(n, row+1, columns, up, down)
		columns[c], up[row+c], down[row-c+n] = false, false, false
	}
	return found
}

func main() {
	n := 9
	fmt.Println(queens(n, 0, make([]bool, n), make([]bool, 2*n), make([]bool, 2*n)))
}
