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
		{"%nosuch x", "In[1]:1:1: there is no magic %nosuch"},
		{"\n// a comment\n  %nosuch x\nx := 1", "In[1]:3:3: there is no magic %nosuch"},
		{"%%nosuch\nx := 1", "In[1]:1:1: there is no magic %%nosuch"},
		{"x := 1\n%nosuch", "In[1]:2:1: expected"}, // behind Go, it is Go's %
		{"x := 7 %\n4; x", "= 3"},
		{"`\n%nosuch`", "= \n%nosuch"},
	} {
		if got := runCell(s, 1, c.code, time.Minute); !strings.Contains(got, c.want) {
			t.Errorf("%q shows %q, want in it %q", c.code, got, c.want)
		}
	}
}

func TestMagicWord(t *testing.T) {
	for _, c := range []struct {
		code, word string
		ok         bool
	}{
		{"%ge|", "%ge", true},
		{"%get x\n// so\n %%co|\nx", "%%co", true},
		{"%get x|", "", false},
		{"x := 7\n%ge|", "", false},
		{"x|", "", false},
	} {
		code, rest, _ := strings.Cut(c.code, "|")
		word, start, ok := magicAt(code+rest, len(code))
		if ok != c.ok || ok && (word != c.word || code[start:] != word) {
			t.Errorf("%q: %q at %d, %v", c.code, word, start, ok)
		}
	}
}

func TestBlankMagics(t *testing.T) {
	code := "%get x\n  %%y\nz % 2\n%w"
	if got, want := blankMagics(code), "      \n     \nz % 2\n%w"; got != want {
		t.Errorf("%q becomes %q, want %q", code, got, want)
	}
}
