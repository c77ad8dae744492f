package buildinfo

import (
	"fmt"
	"os"
	"runtime"
	"strings"
)

// KnownGo is a version of Go that all tests of the kernel have passed with.
const KnownGo = "go1.27.4"

// Refusal is the sentence about a Go whose run time is not laid out as the kernel
// expects.
func Refusal(why error) string {
	reasons := strings.Split(strings.TrimSpace(why.Error()), "\n")
	for i, r := range reasons {
		reasons[i] = strings.TrimSpace(r)
	}
	return fmt.Sprintf("dace does not work with %s (%s): build it with GOTOOLCHAIN=%s in the environment.", runtime.Version(), strings.Join(reasons, "; "), KnownGo)
}

// Refuse prints a Refusal and ends the process. It is for init functions: a panic
// there prints a traceback below the sentence.
func Refuse(why error) {
	fmt.Fprintln(os.Stderr, Refusal(why))
	os.Exit(1)
}
