package native_test

import (
	"flag"
	"os"
	"syscall"
	"testing"
	"time"

	"dace.local/kernel/gocell"
	"dace.local/kernel/internal/toolchain/native"
)

var emptyCache = flag.Bool("empty", false, "TestPrebuild begins with an empty cache of the go command, and says what the first builds take; minutes")

// TestPrebuild checks that the first function of a session is built after Prebuild as any
// other is: the go command compiles nothing that it imports.
func TestPrebuild(t *testing.T) {
	l := &native.Loader{Cache: t.TempDir()}
	if *emptyCache {
		l.Env = append(os.Environ(), "GOCACHE="+t.TempDir())
	}
	if err := l.Ready(); err != nil {
		t.Skip(err)
	}
	used := func() time.Duration {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_CHILDREN, &u); err != nil {
			t.Fatal(err)
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	if err := l.Prebuild(t.Context()); err != nil {
		t.Fatal(err)
	}
	all := used() - before
	s, err := gocell.New(gocell.Options{Compiler: l, CompileAfter: -1, KeepStdio: true, KeepStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before = used()
	run(t.Context(), s, 1, "func words(n int) string { s := map[string]int{}; for i := range n { s[strconv.Itoa(i%7)]++ }; return fmt.Sprint(len(s), math.Sqrt(2), strings.ToUpper(`a`)) }")
	run(t.Context(), s, 2, "words(9)")
	run(t.Context(), s, 3, "words(9)") // it waits for the build
	first := used() - before
	t.Logf("processor time: %v for what functions import, %v for the first function", all.Round(time.Millisecond), first.Round(time.Millisecond))
	if *emptyCache && first > all/3 {
		t.Errorf("the first function takes %v after %v: the go command compiles more than it", first, all)
	}
}
