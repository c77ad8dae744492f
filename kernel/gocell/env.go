package gocell

import (
	"go/types"

	"dace.local/kernel/gocell/internal/lower"
)

// lowerEnv implements the interface through which package lower uses the
// session.
type lowerEnv struct{ s *Session }

func (e lowerEnv) TypeSymbol(t types.Type) (string, error) { return e.s.types.Name(t) }

func (e lowerEnv) TypeNumber(t types.Type) (int, error) {
	if _, err := e.s.types.Name(t); err != nil {
		return 0, err
	}
	return e.s.machine.Asserted.Number(e.s.types.Type(t)), nil
}

func (e lowerEnv) SwitchNumber(cases []int) int { return e.s.machine.Asserted.Switch(cases) }

func (e lowerEnv) MethodName(t *types.Named, method string) string {
	return e.s.types.MethodName(t, method)
}

func (e lowerEnv) MethodNumber(t *types.Named, method string) int {
	return e.s.types.MethodNumber(t, method)
}

func (e lowerEnv) FinishTypes() error { return e.s.types.Finish() }

func (e lowerEnv) Load(path string) error { return e.s.packages.load(path) }

func (e lowerEnv) Checking(f func()) {
	e.s.mu.Lock()
	defer e.s.mu.Unlock()
	f()
}

func (e lowerEnv) Debugging() bool { return e.s.debugger.Attached() }

func (e lowerEnv) Stop(s lower.Stop) int { return e.s.debugger.Add(s) }
