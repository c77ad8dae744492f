package main

import (
	"fmt"
	"math"
	"strings"
)

type Matrix struct {
	rows, cols int
	data       []float64
}

func New(r, c int, vals ...float64) *Matrix {
	m := &Matrix{r, c, make([]float64, r*c)}
	copy(m.data, vals)
	return m
}
func (m *Matrix) At(i, j int) float64     { return m.data[i*m.cols+j] }
func (m *Matrix) Set(i, j int, v float64) { m.data[i*m.cols+j] = v }
func (m *Matrix) Mul(n *Matrix) *Matrix {
	if m.cols != n.rows {
		panic(fmt.Sprintf("shapes %dx%d and %dx%d", m.rows, m.cols, n.rows, n.cols))
	}
	out := New(m.rows, n.cols)
	for i := range m.rows {
		for j := range n.cols {
			var s float64
			for k := 0; k < m.cols; k++ {
				s += m.At(i, k) * n.At(k, j)
			}
			out.Set(i, j, s)
		}
	}
	return out
}
func (m *Matrix) T() *Matrix {
	t := New(m.cols, m.rows)
	for i := 0; i < m.rows; i++ {
		for j := 0; j < m.cols; j++ {
			t.Set(j, i, m.At(i, j))
		}
	}
	return t
}
func (m Matrix) String() string {
	var b strings.Builder
	for i := range m.rows {
		fmt.Fprintln(&b, m.data[i*m.cols:(i+1)*m.cols])
	}
	return b.String()
}

func det(a [][]float64) float64 {
	n := len(a)
	d := 1.0
	for c := range n {
		p := c
		for r := c + 1; r < n; r++ {
			if math.Abs(a[r][c]) > math.Abs(a[p][c]) {
				p = r
			}
		}
		if a[p][c] == 0 {
			return 0
		}
		if p != c {
			a[p], a[c] = a[c], a[p]
			d = -d
		}
		d *= a[c][c]
		for r := c + 1; r < n; r++ {
			f := a[r][c] / a[c][c]
			for k := c; k < n; k++ {
				a[r][k] -= f * a[c][k]
			}
		}
	}
	return d
}

func main() {
	a := New(2, 3, 1, 2, 3, 4, 5, 6)
	b := a.T()
	fmt.Print(a, b, a.Mul(b))
	fmt.Println(det([][]float64{{2, 0, 1}, {1, 3, 2}, {1, 1, 1}}), det([][]float64{{0, 1}, {1, 0}}), det([][]float64{{1, 2}, {2, 4}}))
	defer func() { fmt.Println("caught:", recover()) }()
	a.Mul(a)
}
