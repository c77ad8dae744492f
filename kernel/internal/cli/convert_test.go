package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConvert(t *testing.T) {
	path := nb(t, "%print hello", "#parameters value")
	dace(t, "", "run", path, "-o", path).want(t, 0, "", "wrote ")
	text := strings.TrimSuffix(path, ".ipynb") + ".go"
	dace(t, "", "convert", path).want(t, 0, text+"\n", "")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Its outputs come from the notebook beside it, wherever it is written.
	other := filepath.Join(t.TempDir(), "other.ipynb")
	dace(t, "", "convert", text, "-o", other).want(t, 0, other+"\n", "")
	if got, err := os.ReadFile(other); err != nil || string(got) != string(data) {
		t.Errorf("%v: want\n%s\ngot\n%s", err, data, got)
	}
	// A cell that has changed has none.
	source, err := os.ReadFile(text)
	if err != nil || !strings.Contains(string(source), "\n\n// %% tags=[\"parameters\"]\n") || !strings.Contains(string(source), "\n// %print hello\n") {
		t.Fatalf("%v\n%s", err, source)
	}
	if err := os.WriteFile(text, []byte(strings.Replace(string(source), "hello", "bye", 1)), 0o644); err != nil {
		t.Fatal(err)
	}
	dace(t, "", "convert", text).want(t, 0, path+"\n", "")
	if n := read(t, path); len(n.Cells[0].Outputs) != 0 || len(n.Cells[1].Outputs) == 0 || n.Cells[0].Source != "%print bye" {
		t.Errorf("%+v", n.Cells)
	}
	dace(t, string(source), "convert", "-", "-to", "notebook").want(t, 0, `"cell_type": "code"`, "")
	dace(t, "", "run", text, "-o", other).want(t, 0, "", "bye")
	dace(t, "", "run", text, "-o", text).want(t, 2, "", "dace convert writes texts")
	dace(t, "", "script", text).want(t, 0, "bye", "")

	python := filepath.Join(t.TempDir(), "python.ipynb")
	if err := os.WriteFile(python, []byte(`{"cells": [], "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}`), 0o644); err != nil {
		t.Fatal(err)
	}
	dace(t, "", "convert", python).want(t, 2, "", "is written in python, and this writes Go")
	dace(t, "", "convert", python, "-to", "notebook", "-o", other).want(t, 0, other+"\n", "")
	dace(t, "", "convert", path, "-to", "rust").want(t, 2, "", "there are percent, go, module and notebook")
	dace(t, "", "convert", path, "-to", "module", "-o", "-").want(t, 2, "", "a module is a folder")
	if err := os.WriteFile(text, []byte("package p\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	dace(t, "", "convert", path).want(t, 1, "", "that is no notebook's")
}

func TestFmt(t *testing.T) {
	path := nb(t, "good", "bad  spaces", "%error")
	dace(t, "", "fmt", "-l", path).want(t, 1, path+"\n", path+": cell 3, line 1: it is no cell")
	if n := read(t, path); n.Cells[1].Source != "bad  spaces" {
		t.Errorf("-l has written %q", n.Cells[1].Source)
	}
	dace(t, "", "fmt", path).want(t, 1, path+"\n", "cell 3")
	if n := read(t, path); n.Cells[1].Source != "bad spaces" {
		t.Errorf("%q", n.Cells[1].Source)
	}
	c := dace(t, "", "fmt", path)
	if c.out != "" {
		t.Errorf("a formatted notebook is written again: %s", c.out)
	}
	file := filepath.Join(t.TempDir(), "x.go")
	for text, want := range map[string]string{"package p\nvar x=1\n": "package p\n\nvar x = 1\n", "a  b\n": "a b\n", "// %%\na  b\n": "// %%\na b\n"} {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		dace(t, "", "fmt", file).want(t, 0, file+"\n", "")
		if got, err := os.ReadFile(file); err != nil || string(got) != want {
			t.Errorf("%q becomes %q, %v", text, got, err)
		}
	}
}
