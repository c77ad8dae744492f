package gocell

import (
	"fmt"
	"testing"

	"dace.local/kernel/engine"
)

func TestValues(t *testing.T) {
	s := benchSession(t)
	if _, err := s.Execute(t.Context(), engine.Cell{Number: 1, Code: `
bonus := 3.0
values := []func() float64{func() float64 { return bonus }}`}, answering()); err != nil {
		t.Fatal(err)
	}
	values, err := s.Values(t.Context(), "values")
	if err != nil || len(values) != 1 {
		t.Fatalf("%v, %v", values, err)
	}
	fs, ok := values[0].([]func() float64)
	if !ok || len(fs) != 1 {
		t.Fatalf("%T", values[0])
	}
	if v := fs[0](); v != 3 {
		t.Errorf("%v", v)
	}
	if v, err := s.Values(t.Context(), "missing"); err == nil {
		t.Errorf("%v of a missing name", v)
	}
	if v, err := s.Values(t.Context(), "bonus + 1"); fmt.Sprint(v, err) != "[4] <nil>" {
		t.Errorf("%v, %v", v, err)
	}
}
