package ccp

// zerosAndOnes replaces rates that are 0 or 1: zeros, then ones.
var zerosAndOnes = func() (c [2 * wide]float64) {
	for i := wide; i < 2*wide; i++ {
		c[i] = 1
	}
	return c
}()

// walkGo takes one block of simulations through n+m > 0 stages and returns the
// number of violations, including those before the first of these stages. z
// holds n+1 rows of lanes values: the first is given, and the rows after each
// of the first n stages are set. count is laid out likewise; its rows sum to
// the violations so far. table holds n+m rows of rates; bit i of x is 1 if
// stage i takes measures. lanes is narrow or wide.
//
// At a stage z becomes a (1-z) + g z, where a = alpha, g = 1 without measures,
// and a = 0, g = 1-gamma with them: each operation rounds as in COMBO. The
// conversions keep the compiler from fusing a multiply with an add.
func walkGo(z []float64, count []counts, table []float64, lanes int, x uint64, n, m int, limit float64) int {
	var (
		block  [wide]float64
		v      = block[:lanes]
		c      = count[0]
		vector = 4 // simulations in a vector
	)
	if lanes == wide {
		vector = 8
	}
	copy(v, z)
	for i := range n + m {
		a, g := zerosAndOnes[:lanes], zerosAndOnes[wide:][:lanes]
		if x>>i&1 == 0 {
			a = table[i*2*lanes:][:lanes]
		} else {
			g = table[(i*2+1)*lanes:][:lanes]
		}
		for k, u := range v {
			u = float64(a[k]*(1-u)) + float64(g[k]*u)
			v[k] = u
			if u > limit {
				c[k&(vector-1)]++
			}
		}
		if i < n {
			copy(z[(i+1)*lanes:], v)
			count[i+1] = c
		}
	}
	sum := int64(0)
	for _, n := range c {
		sum += n
	}
	return int(sum)
}
