package ccp

import "golang.org/x/sys/cpu"

var (
	hasAVX2   = cpu.X86.HasAVX2
	hasAVX512 = cpu.X86.HasAVX512F && cpu.X86.HasAVX512DQ

	// lanes is the number of simulations in a block.
	lanes = narrow
)

func init() {
	if hasAVX512 {
		lanes = wide
	}
}

func walk(z []float64, count []counts, table []float64, x uint64, n, m int, limit float64) int {
	_, _, _ = z[(n+1)*lanes-1], count[n], table[(n+m)*2*lanes-1]
	switch {
	case hasAVX512:
		return walkAVX512(&z[0], &count[0], &table[0], &zerosAndOnes[0], x, n, m, limit)
	case hasAVX2:
		return walkAVX2(&z[0], &count[0], &table[0], &zerosAndOnes[wide-narrow], x, n, m, limit)
	}
	return walkGo(z, count, table, lanes, x, n, m, limit)
}

// walkAVX2 is walkGo in AVX2 assembly, of narrow blocks. consts holds a block of
// zeros, then one of ones.
//
//go:noescape
func walkAVX2(z *float64, count *counts, table, consts *float64, x uint64, n, m int, limit float64) int

// walkAVX512 is walkGo in AVX-512 assembly, of wide blocks.
//
//go:noescape
func walkAVX512(z *float64, count *counts, table, consts *float64, x uint64, n, m int, limit float64) int
