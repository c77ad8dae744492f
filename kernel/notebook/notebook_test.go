package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

var regen = flag.Bool("regen", false, "rewrite the golden files of testdata")

// golden compares got with a file in testdata, or writes the file with -regen.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *regen {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		from := max(0, at-100)
		t.Errorf("%s differs at byte %d:\n got %q\nwant %q\n(go test -regen rewrites it)", path, at, got[from:min(len(got), at+100)], want[from:min(len(want), at+100)])
	}
}

// python runs a Python program that uses Debian's nbformat. It skips the test
// if nbformat is missing.
func python(t *testing.T, program string, args ...string) string {
	t.Helper()
	const interpreter = "/usr/bin/python3"
	missing := ""
	if _, err := os.Stat(interpreter); err != nil {
		missing = "python3"
	} else if exec.Command(interpreter, "-c", "import nbformat").Run() != nil {
		missing = "python3-nbformat"
	}
	if missing != "" {
		if os.Getenv("DACE_REQUIRE_CLIENTS") == "1" {
			t.Fatalf("the Debian package %s is missing", missing)
		}
		t.Skipf("the Debian package %s is missing", missing)
	}
	out, err := exec.Command(interpreter, append([]string{"-c", program}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("python: %v\n%s", err, out)
	}
	return string(out)
}

func mustRead(t testing.TB, text string) *Notebook {
	t.Helper()
	nb, err := Read([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return nb
}

func written(t testing.TB, nb *Notebook) string {
	t.Helper()
	var b strings.Builder
	if err := Write(&b, nb); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Reading and writing notebooks that Jupyter wrote leaves them unchanged.
func TestRoundTrip(t *testing.T) {
	files, err := filepath.Glob("testdata/same/*.ipynb")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files: %v", err)
	}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			want, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			if got := written(t, mustRead(t, string(want))); got != string(want) {
				t.Errorf("changed:\n%s", got)
			}
		})
	}
}

// Read and Write convert unusual notebooks to the same files as nbformat does.
func TestWritesAsJupyter(t *testing.T) {
	const head = `{"nbformat": 4, "nbformat_minor": 5, "metadata": {"signature": "x", "zeta": [1, 1.0, 1e5, true, null, [], {}]}, "unknown": {"b": 1, "a": "<&>"}, "cells": [`
	notebooks := []string{
		``,
		`{"cell_type": "code", "id": "a", "metadata": {"trusted": true, "tags": ["x"]}, "source": ["a\n", "b"], "outputs": [], "execution_count": null}`,
		`{"cell_type": "code", "id": "a", "metadata": {}, "source": "a\r\nb\rc\u2028d\u0085e\u000bf\u001cg\n", "outputs": [], "execution_count": 7, "future": 1}`,
		`{"cell_type": "raw", "id": "a", "metadata": {}, "source": "\"\\\u0001\u007f\u00e9\ud83d\ude00/<&>"}`,
		`{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "", "attachments": {"x.png": {"image/png": ["ab", "cd"], "text/plain": "a\nb"}}}`,
		`{"cell_type": "code", "id": "a", "metadata": {}, "source": "", "execution_count": 1, "outputs": [
		  {"output_type": "stream", "name": "stdout", "text": "a\nb"},
		  {"output_type": "display_data", "metadata": {"m": 1}, "data": {"text/html": "<a>\n</a>", "image/svg+xml": ["<svg>\n", "</svg>"], "image/png": "AA\nBB\n", "application/json": ["x\n", "y"], "application/vnd.x+json": {"k": "a\nb"}, "application/javascript": "a\nb"}},
		  {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": ""}, "extra": 1},
		  {"output_type": "error", "ename": "E", "evalue": "v\nw", "traceback": ["a\nb", "c"]}]}`,
	}
	for i := range notebooks {
		notebooks[i] = head + notebooks[i] + "]}"
	}
	list, err := json.Marshal(notebooks)
	if err != nil {
		t.Fatal(err)
	}
	answer := python(t, `import sys, json, warnings, nbformat
warnings.simplefilter("ignore")
sys.stdout.write("ANSWER" + json.dumps([nbformat.v4.writes(nbformat.reads(s, as_version=4)) + "\n" for s in json.loads(sys.argv[1])]))`, string(list))
	_, answer, _ = strings.Cut(answer, "ANSWER") // skip nbformat's warnings about unknown fields
	var want []string
	if err := json.Unmarshal([]byte(answer), &want); err != nil {
		t.Fatal(err)
	}
	for i, text := range notebooks {
		// Python writes 1e5 as 100000.0; Write keeps the original
		// spelling.
		want := strings.Replace(want[i], "100000.0", "1e5", 1)
		if got := written(t, mustRead(t, text)); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	const ok = `{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [`
	for _, c := range []struct{ text, want string }{
		{"", "the file is empty"},
		{" \n", "the file is empty"},
		{"{\n  \"a\": 1,\n  \"b\" 2\n}", "line 3, column 7: want a colon, got '2'"},
		{"{\n \"é\": x}", "line 2, column 7: want a value, got 'x'"},
		{"{\"a\": NaN}", "line 1, column 7: want a value, got 'N'"},
		{"{\n \"cells\": [", "line 2, column 12: the file ends in the middle of the JSON value"},
		{"{}\n{}", "line 2, column 1: more text after the end of the JSON value"},
		{"{\n<<<<<<< HEAD\n", "line 2, column 1: a merge conflict is not resolved here"},
		{"{\"a\": \"\xff\"}", "line 1, column 8: not UTF-8 text"},
		{"[]", "not a notebook: the file holds no JSON object"},
		{"{}", "not a notebook: it has neither nbformat nor cells"},
		{`{"cells": []}`, "the field nbformat is missing"},
		{`{"nbformat": 3, "worksheets": []}`, "the notebook is of format 3; only format 4 is read: open and save it in Jupyter"},
		{`{"nbformat": 5}`, "newer than what this program reads"},
		{`{"nbformat": "4"}`, `nbformat: want a whole number, got a text`},
		{`{"nbformat": 4.5}`, `nbformat: want a whole number, got the number 4.5`},
		{`{"nbformat": 4}`, "cells: want a list, got nothing"},
		{`{"nbformat": 4, "metadata": 1, "cells": []}`, "metadata: want an object, got the number 1"},
		{ok + `1]}`, "cells[0]: want an object, got the number 1"},
		{ok + `{}]}`, "cells[0].cell_type: want code, markdown or raw, got nothing"},
		{ok + `{"cell_type": "raw"}, {"cell_type": "code", "source": 3}]}`, "cells[1].source: want a text or a list of texts, got the number 3"},
		{ok + `{"cell_type": "code", "source": ["a", 3]}]}`, "cells[0].source: want a text or a list of texts, got a list"},
		{ok + `{"cell_type": "code", "outputs": {}}]}`, "cells[0].outputs: want a list, got an object"},
		{ok + `{"cell_type": "code", "outputs": [{}]}]}`, "cells[0].outputs[0].output_type: want a type of output, got nothing"},
		{ok + `{"cell_type": "code", "outputs": [{"output_type": "error", "traceback": [1]}]}]}`, "cells[0].outputs[0].traceback: want a list of texts, got the number 1"},
		{ok + `{"cell_type": "code", "execution_count": -1}]}`, "cells[0].execution_count: want a whole number, got the number -1"},
	} {
		_, err := Read([]byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q:\n got %v\nwant %s", c.text, err, c.want)
		}
	}
}

func TestCellIDs(t *testing.T) {
	const old = `{"nbformat": 4, "nbformat_minor": 2, "metadata": {"orig_nbformat": 3}, "cells": [
	  {"cell_type": "code", "source": "1", "metadata": {}, "outputs": [], "execution_count": null},
	  {"cell_type": "code", "source": "1", "metadata": {}, "outputs": [], "execution_count": null},
	  {"cell_type": "markdown", "source": "x", "metadata": {}, "id": "keep"},
	  {"cell_type": "markdown", "source": "x", "metadata": {}, "id": "keep"},
	  {"cell_type": "raw", "source": "x", "metadata": {}, "id": "not allowed"}]}`
	a, b := mustRead(t, old), mustRead(t, old)
	if a.Minor != 5 {
		t.Errorf("minor %d, want 5", a.Minor)
	}
	seen := map[string]bool{}
	for i, c := range a.Cells {
		if !validID.MatchString(c.ID) || seen[c.ID] {
			t.Errorf("cell %d: bad id %q", i, c.ID)
		}
		seen[c.ID] = true
		if c.ID != b.Cells[i].ID {
			t.Errorf("cell %d: id differs between two readings", i)
		}
	}
	if a.Cells[2].ID != "keep" {
		t.Errorf("id of cell 2: %q", a.Cells[2].ID)
	}
	python(t, `import sys, nbformat
nbformat.validate(nbformat.reads(sys.argv[1], as_version=nbformat.NO_CONVERT))`, written(t, a))
}

// FuzzJSON compares the parser with encoding/json.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{`{"a": [1, -0.5e+3, "\u00e9\ud83d\ude00\ud800x\n/", true, false, null], "b": {}}`, `[1,]`, `{"a" 1}`, `[01]`, `-`, `"\`, `"\u12`, `"\ud800\u0041"`, "[\"\x00\"]", "{\n<<<<<<< x", "- 1", "[,1]", `{,"a":1}`, `nulltrue`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := decodeJSON([]byte(s))
		if !utf8.ValidString(s) || strings.HasPrefix(s, "\ufeff") {
			return
		}
		dec := json.NewDecoder(strings.NewReader(s))
		dec.UseNumber()
		var want any
		wantErr := dec.Decode(&want)
		if wantErr == nil {
			if _, end := dec.Token(); end != io.EOF {
				wantErr = errors.New("more text")
			}
		}
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %#v, %v; encoding/json: %#v, %v", s, got, err, want, wantErr)
		}
	})
}

func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob("testdata/*/*.ipynb")
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"nbformat":4,"cells":[{"cell_type":"code","outputs":[{"output_type":"x","a":1}]}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		nb, err := Read(data)
		if err != nil {
			return
		}
		once := written(t, nb)
		again, err := Read([]byte(once))
		if err != nil {
			t.Fatalf("what was written cannot be read: %v\n%s", err, once)
		}
		if twice := written(t, again); once != twice {
			t.Fatalf("not stable:\n%s\n%s", once, twice)
		}
		var page strings.Builder
		if err := WriteHTML(&page, nb, HTMLSettings{}); err != nil {
			t.Fatal(err)
		}
	})
}

func Example() {
	nb, err := Read([]byte(`{"nbformat": 4, "nbformat_minor": 4, "metadata": {}, "cells": [
		{"cell_type": "markdown", "metadata": {}, "source": "# Hello"}]}`))
	if err != nil {
		panic(err)
	}
	_ = Write(os.Stdout, nb)
	// Output:
	// {
	//  "cells": [
	//   {
	//    "cell_type": "markdown",
	//    "id": "64000d73",
	//    "metadata": {},
	//    "source": [
	//     "# Hello"
	//    ]
	//   }
	//  ],
	//  "metadata": {},
	//  "nbformat": 4,
	//  "nbformat_minor": 5
	// }
}
