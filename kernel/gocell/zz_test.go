package gocell

import (
	"fmt"
	"os"
	"testing"
	"time"
)

func TestZZ(t *testing.T) {
	b, _ := os.ReadFile(os.Getenv("TRY"))
	s, err := New(Options{})
	if err != nil {
		t.Fatal(err)
	}
	out := ""
	for i, c := range splitCells(string(b)) {
		out += fmt.Sprintf("[%d] ", i+1) + runCell(s, i+1, c, 60*time.Second) + "\n"
	}
	os.WriteFile(os.Getenv("TRY")+".out", []byte(out), 0o644)
}

func splitCells(s string) (out []string) {
	cur := ""
	for _, l := range append(splitLines(s), "---") {
		if l == "---" {
			out = append(out, cur)
			cur = ""
			continue
		}
		cur += l + "\n"
	}
	return
}

func splitLines(s string) (out []string) {
	for len(s) > 0 {
		i := 0
		for i < len(s) && s[i] != '\n' {
			i++
		}
		out = append(out, s[:i])
		if i < len(s) {
			i++
		}
		s = s[i:]
	}
	return
}
