//go:build !amd64

package ccp

func restore(next, z, g []float64, limit float64) int     { return restoreGo(next, z, g, limit) }
func contaminate(next, z, a []float64, limit float64) int { return contaminateGo(next, z, a, limit) }
