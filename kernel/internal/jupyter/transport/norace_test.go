//go:build !race

package transport

// race reports that the race detector is off.
const race = false
