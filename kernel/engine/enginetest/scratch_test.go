package enginetest_test

import (
	"os"
	"syscall"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/gocell"
)

func TestMain(m *testing.M) {
	n, _ := syscall.Dup(1)
	os.Stdout = os.NewFile(uintptr(n), "stdout")
	os.Exit(m.Run())
}

func TestScratch(t *testing.T) {
	enginetest.Test(t, enginetest.Go(func() (engine.Engine, error) { return gocell.New(gocell.Options{Version: "1"}) }))
}
