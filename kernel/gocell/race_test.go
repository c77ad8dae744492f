//go:build race

package gocell

// raceDetector says that the race detector runs, which needs terabytes of
// addresses, and is slow.
const raceDetector = true
