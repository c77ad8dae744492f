package ccp

// restore sets next = g z and returns how many exceed the limit.
func restoreGo(next, z, g []float64, limit float64) int {
	z, g = z[:len(next)], g[:len(next)]
	n := 0
	for k := range next {
		v := g[k] * z[k]
		next[k] = v
		if v > limit {
			n++
		}
	}
	return n
}

// contaminate sets next = a (1-z) + z and returns how many exceed the limit.
func contaminateGo(next, z, a []float64, limit float64) int {
	z, a = z[:len(next)], a[:len(next)]
	n := 0
	for k := range next {
		v := float64(a[k]*(1-z[k])) + z[k]
		next[k] = v
		if v > limit {
			n++
		}
	}
	return n
}
