//go:build !amd64

package ccp

func walk(z []float64, count [][4]int64, table []float64, x uint64, n, m int, limit float64) int {
	return walkGo(z, count, table, x, n, m, limit)
}
