//go:build release

package gocell

import (
	"fmt"
	"go/types"
	"os"
	"reflect"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/internal/vm"
)

// ownMachine is not in releases: its closures for all kinds of numbers and
// signatures take 3 megabytes.
type ownMachine struct{}

func newOwnMachine(*Session) *ownMachine {
	if os.Getenv(MachineVariable) == "compile" {
		fmt.Fprintf(os.Stderr, "dace: %s=compile has no effect: a release runs cells by the interpreter alone; a kernel that go run ./install builds in a clone has both\n", MachineVariable)
	}
	return nil
}

func (*ownMachine) hook(*types.Func, reflect.Value) bool {
	panic("gocell: a release has no machine of its own")
}

type ownWithin struct{}

func (*ownWithin) bind([]reflect.Value) {}

func (s *Session) withinOwn(*check.Checked, *check.Program, []*types.Var) (*ownWithin, error) {
	panic("gocell: a release has no machine of its own")
}

func (s *Session) runWithinOwn(*vm.Cell, *within, func()) error {
	panic("gocell: a release has no machine of its own")
}

func (s *Session) attachedOwn() {}

func (s *Session) sampleOwn(*vm.Sampler) func() { return func() {} }

func (s *Session) linkOwn(*linkage) (func(*vm.Cell) *engine.Error, error) {
	panic("gocell: a release has no machine of its own")
}

func (s *Session) runOwn(*vm.Cell, *check.Checked, bool, func(), []string, func() error) error {
	panic("gocell: a release has no machine of its own")
}
