package main

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// failing has branches of errors and others; its test runs two.
const failing = `package failing

import (
	"errors"
	"fmt"
	"os"
)

var errNone = errors.New("none")

func Read(name string, n int) ([]byte, error) {
	if n < 0 {
		return nil, fmt.Errorf("%d bytes", n) // run
	}
	if _, err := fmt.Sscan("1", new(int)); err != nil {
		panic("1 is no number") // not of errors
	}
	if n == 1 {
		n = 2 // not of errors
	}
	b, err := os.ReadFile(name)
	if err == nil && n == 3 {
		n = 4 // not of errors
	} else if errors.Is(err, os.ErrPermission) {
		n = 5
	}
	switch {
	case n == 6:
		return b, nil // not of errors
	case n == 7:
		return nil, errNone
	case err != nil:
		return nil, err // run
	}
	if err := os.Remove(name); err == nil {
		n++ // not of errors
	} else {
		return nil, err
	}
	return b, err
}
`

const failingTest = `package failing

import "testing"

func TestRead(t *testing.T) {
	if _, err := Read("none", -1); err == nil {
		t.Fail()
	}
	if _, err := Read("none", 0); err == nil {
		t.Fail()
	}
}
`

func TestBranches(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module failing\n\ngo 1.26\n", "b/c/failing.go": failing, "b/c/failing_test.go": failingTest, branchesTable.file: ""} {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	in := &installer{out: io.Discard, err: io.Discard}
	for target, want := range map[string]string{
		"./b/c": "| b/c | 5 | 2 |\n\nIn all 2 of 5 are run.\n\n## What is not run\n\n" +
			"- b/c/failing.go:25: \"errors.Is(err, os.ErrPermission)\"\n- b/c/failing.go:31: \"n == 7\"\n- b/c/failing.go:38: \"err\"\n",
	} {
		if err := in.countBranches(context.Background(), root, []string{target}); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join(root, branchesTable.file))
		if err != nil || string(got) != branchesTable.head+want {
			t.Errorf("%s: %v\n%s", target, err, got)
		}
	}
	if err := in.countBranches(context.Background(), root, []string{"b/c/none.go"}); err == nil {
		t.Error("a file that is not there has branches")
	}
}
