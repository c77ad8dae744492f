//go:build !race

package gocell

const raceDetector = false
