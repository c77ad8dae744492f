//go:build race

package transport

// race reports that the race detector is on, which makes everything about ten
// times slower.
const race = true
