// Package vm is what the cells of a session share while they run: the cell under way
// and its outputs ([Cell]), interrupts and patience, the memory and the threads that are
// left, locks of maps and of other objects that goroutines of cells share, the errors of
// Go's run time, and the samples of profiles.
//
// What it uses of the run time and the standard library although it is not exported is
// listed in reach.go, and checked as the process starts.
//
// Start with [New] and [Machine.Run]. The package knows neither types nor syntax; what
// runs is a function that package code makes.
package vm
