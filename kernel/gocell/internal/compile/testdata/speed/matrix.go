package main

import (
	"fmt"
)

func product(a, b [][]float64) [][]float64 {
	n := len(a)
	c := make([][]float64, n)
	for i := range c {
		c[i] = make([]float64, n)
		for j := range c[i] {
			s := 0.0
			for k := 0; k < n; k++ {
				s += a[i][k] * b[k][j]
			}
			c[i][j] = s
		}
	}
	return c
}

func main() {
	a, b := make([][]float64, 200), make([][]float64, 200)
	for i := range a {
		a[i], b[i] = make([]float64, 200), make([]float64, 200)
		for j := range a[i] {
			a[i][j], b[i][j] = float64(i+j), float64(i-j)
		}
	}
	fmt.Printf("%.0f", product(a, b)[100][50])

}
