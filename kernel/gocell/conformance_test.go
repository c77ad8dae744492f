package gocell

import (
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

func TestConformance(t *testing.T) {
	enginetest.Test(t, enginetest.Go(func() (engine.Engine, error) { return New(Options{}) }))
}
