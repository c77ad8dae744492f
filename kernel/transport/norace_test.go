//go:build !race

package transport

// race says that the race detector is on.
const race = false
