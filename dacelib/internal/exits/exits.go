// Package exits notices functions of users that end their goroutine: without it a
// worker would be gone, and its values would stay zero. Start with [Watch]. It is
// not for panics, which callers recover.
package exits

import "errors"

// Err is the error of a function that ends its goroutine.
var Err = errors.New("the function ended its goroutine (runtime.Goexit, or FailNow of a test): it must return a value")

// Watch calls f, and failed with Err if f ends the goroutine. Then Watch does not
// return either.
func Watch(f func(), failed func(error)) {
	returned := false
	defer func() {
		if !returned {
			failed(Err)
		}
	}()
	f()
	returned = true
}
