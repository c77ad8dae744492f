package ccp

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2

func walk(z []float64, count [][4]int64, table []float64, x uint64, n, m int, limit float64) int {
	if !hasAVX2 {
		return walkGo(z, count, table, x, n, m, limit)
	}
	_, _, _ = z[(n+1)*lanes-1], count[n], table[(n+m)*2*lanes-1]
	return walkAVX2(&z[0], &count[0], &table[0], &zerosAndOnes[0], x, n, m, limit)
}

// walkAVX2 is walkGo in AVX2 assembly.
//
//go:noescape
func walkAVX2(z *float64, count *[4]int64, table, consts *float64, x uint64, n, m int, limit float64) int
