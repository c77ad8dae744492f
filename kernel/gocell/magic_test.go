package gocell

import (
	"strings"
	"testing"
	"time"
)

func TestUnknownMagic(t *testing.T) {
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct{ code, want string }{
		{"%pip install x", "unknown magic %pip: %get fetches modules"},
		{"%%pdb\nx", "unknown magic %%pdb: %debug shows"},
		{"%nosuch x", "In[1]:1:1: unknown magic %nosuch"},
		{"\n// a comment\n  %nosuch x\nx := 1", "In[1]:3:3: unknown magic %nosuch"},
		{"%%nosuch\nx := 1", "In[1]:1:1: unknown magic %%nosuch"},
		{"x := 1\n%nosuch", "In[1]:2:1: unknown magic %nosuch"},
		{"x := 7 %\n4; x", "= 3"},
		{"`\n%nosuch`", "= \n%nosuch"},
	} {
		if got := runCell(s, 1, c.code, time.Minute); !strings.Contains(got, c.want) {
			t.Errorf("%q shows %q, want in it %q", c.code, got, c.want)
		}
	}
}
