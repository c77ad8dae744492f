package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A second call goes on with what the first has measured, and the table shows
// every method of the file.
func TestCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ccp.jsonl")
	args := []string{"-o", file, "-evaluations", "30000", "-training", "2", "-seeds", "2", "-unseen", "1", "-repeats", "1", "-methods"}
	run := func(methods string) string {
		t.Helper()
		var out bytes.Buffer
		if err := command(t.Context(), append(args, methods), &out); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	if out := run("one"); strings.Count(out, "\n") != 2 {
		t.Errorf("two constructions are wanted:\n%s", out)
	}
	if out := run("one,ceps"); strings.Count(out, "CEPS") != 2 || strings.Contains(out, "ONE") {
		t.Errorf("CEPS alone is missing:\n%s", out)
	}
	var out bytes.Buffer
	if err := command(t.Context(), []string{"-o", file, "-print"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"CCP, 2 training instances, 30000 evaluations a construction", "| 30 | ONE | 2 |", "| 40 | CEPS | 2 |"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table has no %q:\n%s", want, out.String())
		}
	}
}

func TestBadInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "torn.jsonl")
	if err := os.WriteFile(file, []byte("{\"class\":\"ccp\"}\n{\"cla"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{nil, "no budget"},
		{[]string{"-runs", "ten"}, "not a list of numbers"},
		{[]string{"-runs", "10", "-methods", "luck"}, `no method "luck"`},
		{[]string{"-o", file, "-print"}, "outcome 2"},
	} {
		args := c.args
		if len(args) == 0 || args[0] != "-o" {
			args = append([]string{"-o", filepath.Join(t.TempDir(), "none")}, args...)
		}
		if err := command(t.Context(), args, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.args, err, c.want)
		}
	}
}
