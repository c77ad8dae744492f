//go:build !amd64

package ccp

const lanes = narrow

func walk(z []float64, count []counts, table []float64, x uint64, n, m int, limit float64) int {
	return walkGo(z, count, table, lanes, x, n, m, limit)
}
