//go:build race

package transport

// race says that the race detector is on: everything is ten times slower.
const race = true
