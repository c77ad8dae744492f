package ccp

// zerosAndOnes replaces rates that are 0 or 1: lanes zeros, then ones.
var zerosAndOnes = func() (c [2 * lanes]float64) {
	for i := lanes; i < 2*lanes; i++ {
		c[i] = 1
	}
	return c
}()

// walkGo takes one block of simulations through n+m > 0 stages and returns the
// number of violations, including those before the first of these stages. z
// holds n+1 rows of lanes values: the first is given, and the rows after each
// of the first n stages are set. count is laid out likewise; its rows sum to
// the violations so far. table holds n+m rows of rates; bit i of x is 1 if
// stage i takes measures.
//
// At a stage z becomes a (1-z) + g z, where a = alpha, g = 1 without measures,
// and a = 0, g = 1-gamma with them: each operation rounds as in COMBO. The
// conversions keep the compiler from fusing a multiply with an add.
func walkGo(z []float64, count [][4]int64, table []float64, x uint64, n, m int, limit float64) int {
	var (
		v [lanes]float64
		c = count[0]
	)
	copy(v[:], z)
	for i := range n + m {
		a, g := zerosAndOnes[:lanes], zerosAndOnes[lanes:]
		if x>>i&1 == 0 {
			a = table[i*2*lanes:][:lanes]
		} else {
			g = table[(i*2+1)*lanes:][:lanes]
		}
		for k, u := range v {
			u = float64(a[k]*(1-u)) + float64(g[k]*u)
			v[k] = u
			if u > limit {
				c[k&3]++
			}
		}
		if i < n {
			copy(z[(i+1)*lanes:], v[:])
			count[i+1] = c
		}
	}
	return int(c[0] + c[1] + c[2] + c[3])
}
