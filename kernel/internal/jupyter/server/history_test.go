package server

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// lines formats entries as "session:line input".
func lines(entries []historyEntry) []string {
	list := []string{}
	for _, e := range entries {
		list = append(list, fmt.Sprintf("%d:%d %s", e.session, e.line, e.input))
	}
	return list
}

func quietHistory(file string) *history { return newHistory(file, slog.New(slog.DiscardHandler)) }

// TestHistorySessions checks that a session has the cells of earlier sessions.
func TestHistorySessions(t *testing.T) {
	file := filepath.Join(t.TempDir(), "new", "cells.jsonl")
	ptr := func(n int) *int { return &n }
	for _, cells := range [][]string{{"a", "b := `\n\u2028`"}, {}, {"a", "x", "y"}} {
		h := quietHistory(file)
		for i, c := range cells {
			h.add(i+1, c)
		}
	}
	h := quietHistory(file)
	h.add(1, "a")
	value := "1"
	h.add(2, "z")
	h.setOutput(1, value)
	h.setOutput(3, "of a cell without code, which is not kept")
	for _, c := range []struct {
		q    historyRequest
		want []string
	}{
		{historyRequest{Access: "tail", N: ptr(3)}, []string{"3:3 y", "4:1 a", "4:2 z"}},
		{historyRequest{Access: "tail"}, []string{"1:1 a", "1:2 b := `\n\u2028`", "3:1 a", "3:2 x", "3:3 y", "4:1 a", "4:2 z"}},
		{historyRequest{Access: "range", Start: 1}, []string{"4:1 a", "4:2 z"}},
		{historyRequest{Access: "range", Start: 1, Stop: ptr(2)}, []string{"4:1 a"}},
		{historyRequest{Access: "range", Start: -1}, []string{"4:2 z"}},
		{historyRequest{Access: "range", Start: 1, Stop: ptr(-1)}, []string{"4:1 a"}},
		{historyRequest{Access: "range", Session: 3, Start: 2, Stop: ptr(0)}, []string{"3:2 x", "3:3 y"}},
		{historyRequest{Access: "range", Session: -1, Start: 1, Stop: ptr(3)}, []string{"3:1 a", "3:2 x"}},
		{historyRequest{Access: "range", Session: -2}, []string{}},
		{historyRequest{Access: "range", Session: 9}, []string{}},
		{historyRequest{Access: "search", Pattern: "a"}, []string{"1:1 a", "3:1 a", "4:1 a"}},
		{historyRequest{Access: "search", Pattern: "a", N: ptr(1)}, []string{"4:1 a"}},
		{historyRequest{Access: "search", Pattern: "?", Unique: true}, []string{"3:2 x", "3:3 y", "4:1 a", "4:2 z"}},
	} {
		found, err := h.find(c.q)
		if got := lines(found); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %q, %v; want %q", c.q, got, err, c.want)
		}
	}
	found, _ := h.find(historyRequest{Access: "tail", N: ptr(2), Output: true})
	if found[0].output == nil || *found[0].output != value || found[1].output != nil {
		t.Errorf("outputs %v, %v", found[0].output, found[1].output)
	}
	for _, name := range []string{file, filepath.Dir(file)} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: mode %v, %v", name, info.Mode(), err)
		}
	}
}

// TestHistoryShared checks that kernels that run at the same time share the
// file, with different session numbers.
func TestHistoryShared(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cells.jsonl")
	const kernels, cells = 8, 20
	var wg sync.WaitGroup
	for range kernels {
		wg.Go(func() {
			store := &historyStore{file: file}
			begin := func() (n int, err error) { // on a busy machine the lock may take longer than historyPatience
				for n, err = store.begin(); err != nil; n, err = store.begin() {
				}
				return n, nil
			}
			session, _ := begin()
			for i := range cells {
				e := historyEntry{session: session, line: i + 1, input: strings.Repeat("x", i)}
				for store.add(e) != nil {
				}
			}
		})
	}
	wg.Wait()
	all := quietHistory(file).all()
	seen := map[string]bool{}
	for _, e := range all {
		if len(e.input) != e.line-1 {
			t.Errorf("line %d is %q", e.line, e.input)
		}
		seen[fmt.Sprint(e.session, e.line)] = true
	}
	if len(seen) != kernels*cells || len(all) != len(seen) {
		t.Errorf("%d cells, %d of them different, want %d", len(all), len(seen), kernels*cells)
	}
}

// TestHistoryBadFile checks that the session has its own history even if the
// file is damaged or cannot be used.
func TestHistoryBadFile(t *testing.T) {
	dir := t.TempDir()
	name := func(s string) string { return filepath.Join(dir, s) }
	write := func(file, text string) string {
		t.Helper()
		if err := os.WriteFile(name(file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name(file)
	}
	if err := os.Mkdir(name("folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("loop", name("loop")); err != nil {
		t.Fatal(err)
	}
	locked := write("locked", "")
	lock, err := os.Create(locked + ".lock")
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, file string
		want       []string
	}{
		{"garbage", write("garbage", "\x00\xff{\n[1, 2]\n\n{\"session\": -4, \"line\": 1}\n{\"session\": \"x\"}\n"), []string{"1:1 mine"}},
		{"a torn line", write("torn", `{"session":2,"line":1,"input":"old"}`+"\n"+`{"session":3,"line":1,"inp`), []string{"2:1 old", "3:1 mine"}},
		{"no end of line", write("short", `{"session":2,"line":1,"input":"old"}`), []string{"2:1 old", "3:1 mine"}},
		{"a folder", name("folder"), []string{"1:1 mine"}},
		{"below a file", filepath.Join(write("file", ""), "cells.jsonl"), []string{"1:1 mine"}},
		{"a loop", name("loop"), []string{"1:1 mine"}},
		{"held by somebody", locked, []string{"1:1 mine"}},
		{"a device", os.DevNull, []string{"1:1 mine"}},
		{"none", "", []string{"1:1 mine"}},
	} {
		if c.file != "" { // else there is no store
			if _, err := (&historyStore{file: c.file}).entries(); (err != nil) != slices.Contains([]string{"a folder", "below a file", "a loop", "held by somebody"}, c.name) {
				t.Errorf("%s: %v", c.name, err)
			}
		}
		h := quietHistory(c.file)
		h.add(1, "mine")
		if got := lines(h.all()); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
		if h.store == nil {
			continue
		}
		if got, want := lines(quietHistory(c.file).all()), c.want; !slices.Equal(got, want) {
			t.Errorf("%s: the next session knows %q, want %q", c.name, got, want)
		}
	}
}

// TestHistoryBounded checks that the size of the file is bounded and that the
// newest cells are kept.
func TestHistoryBounded(t *testing.T) {
	file := filepath.Join(t.TempDir(), "cells.jsonl")
	store := &historyStore{file: file}
	session, err := store.begin()
	if err != nil {
		t.Fatal(err)
	}
	input := strings.Repeat("é", historyCell/4)
	n := 3 * historyMax / len(input)
	for i := range n {
		if err := store.add(historyEntry{session: session, line: i + 1, input: input}); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(file); err != nil || info.Size() > historyMax+2*historyCell {
			t.Fatalf("%d bytes, %v", info.Size(), err)
		}
	}
	if err := store.add(historyEntry{session: session, line: n + 1, input: strings.Repeat("x", historyCell+1)}); err == nil {
		t.Error("a very large cell was kept")
	}
	all, err := store.entries()
	if err != nil || len(all) == 0 || all[len(all)-1].line != n {
		t.Fatalf("%d cells, %v", len(all), err)
	}
	for i, e := range all {
		if e.line != n-len(all)+i+1 || e.input != input {
			t.Fatalf("cell %d of %d has line %d", i, len(all), e.line)
		}
	}
	if next, err := store.begin(); err != nil || next != session+1 {
		t.Errorf("the next session is %d, %v", next, err)
	}
	if left, _ := filepath.Glob(file + ".*"); !slices.Equal(left, []string{file + ".lock"}) {
		t.Errorf("left behind: %q", left)
	}
}
