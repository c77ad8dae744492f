package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/scanner"
	"go/token"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dace.local/kernel/engine"
)

// FuzzSession runs faulty cells in a session that lives on: the cells of
// testdata/cells.txt with tokens replaced, deleted, doubled and moved. Whatever
// a cell does, the session must answer in time, the variables from before keep
// their values, and the declarations still work.
func FuzzSession(f *testing.F) {
	corpus := corpusCells(f)
	for i := range uint64(20) {
		f.Add(i, uint16(i*13), uint16(i*7), uint8(i%5))
	}
	live := &liveSession{}
	f.Cleanup(live.close)
	f.Fuzz(func(t *testing.T, seed uint64, a, b uint16, steps uint8) {
		r := rand.New(rand.NewPCG(seed, uint64(a)<<16|uint64(b)))
		code := mutate(r, corpus[int(a)%len(corpus)], corpus[int(b)%len(corpus)], int(steps)%6)
		if forbidden.MatchString(code) {
			return
		}
		live.run(t, code)
	})
}

// forbidden matches code that could harm the machine, or that would make the
// test wait for a reason that is not the session's.
var forbidden = regexp.MustCompile(`exec\.|Remove|Rename|Truncate|Chdir|Chmod|Chown|Symlink|Link\(|WriteFile|Create|OpenFile|Mkdir|Kill|Signal|syscall|Setenv|Unsetenv|Clearenv|StartProcess|net\.|http\.|Listen|Dial|rpc\.|plugin|debug\.|Stdin|os\.Pipe|\.Close\(\)|Setrlimit|GOMAXPROCS|unsafe|display\.|known`)

// corpusCells returns the code of the cells of testdata/cells.txt.
func corpusCells(tb testing.TB) []string {
	b, err := os.ReadFile("testdata/cells.txt")
	if err != nil {
		tb.Fatal(err)
	}
	var cells []string
	for _, c := range strings.Split("\n"+string(b), "\n### ")[1:] {
		_, body, _ := strings.Cut(c, "\n")
		for _, step := range strings.Split(body, "\n---\n") {
			code, _, _ := strings.Cut(step, "\n>>>\n")
			cells = append(cells, code)
		}
	}
	return cells
}

// words splits Go text into its tokens, each with the space before it.
func words(text string) []string {
	fset := token.NewFileSet()
	f := fset.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(f, []byte(text), func(token.Position, string) {}, scanner.ScanComments)
	var list []string
	last := 0
	for {
		pos, tok, lit := s.Scan()
		if tok == token.EOF {
			return list
		}
		if tok == token.SEMICOLON && lit == "\n" {
			continue
		}
		end := f.Offset(pos) + max(len(lit), len(tok.String()))
		if lit == "" && tok.IsOperator() {
			end = f.Offset(pos) + len(tok.String())
		} else if lit != "" {
			end = f.Offset(pos) + len(lit)
		}
		end = min(end, len(text))
		if end > last {
			list = append(list, text[last:end])
			last = end
		}
	}
}

// mutate changes a cell in steps places, with tokens of its own and of another
// cell.
func mutate(r *rand.Rand, text, other string, steps int) string {
	spare := []string{" 0", " -1", " nil", " x", " n", " f", " T", " (", ")", " {", "}", " [", "]", ".", ",", ";", "\n", " :=", " =", " <-", " *", " &", " +", " ==", " !=",
		" for", " if", " go", " defer", " func", " return", " range", " switch", " select", " case", " default", " break", " continue", " goto", " type", " var", " const",
		" map", " chan", " struct", " interface", " any", " error", " int", " string", " []int{1, 2}", " func() {}", " panic", " recover()", " append", " len", " make", " new",
		" 1 << 70", " 1.5", ` "s"`, " 'r'", " true", " iota", "...", "~", " fmt.Println", " T{}", " &T{}", "()", "[int]", "[0]", ".(T)", ".(type)"}
	ts, os := words(text), words(other)
	at := func(l []string) int { return r.IntN(len(l) + 1) }
	for range 1 + steps {
		i := at(ts)
		j := min(i+1+r.IntN(4), len(ts))
		switch r.IntN(7) {
		case 0: // delete
			ts = slices.Delete(ts, i, j)
		case 1: // double
			ts = slices.Insert(ts, at(ts), slices.Clone(ts[i:j])...)
		case 2: // from the other
			k := at(os)
			ts = slices.Insert(ts, i, slices.Clone(os[k:min(k+1+r.IntN(12), len(os))])...)
		case 3: // insert
			ts = slices.Insert(ts, i, spare[r.IntN(len(spare))])
		case 4: // replace
			if i < len(ts) {
				ts[i] = spare[r.IntN(len(spare))]
			}
		case 5: // swap
			if k := at(ts); i < len(ts) && k < len(ts) {
				ts[i], ts[k] = ts[k], ts[i]
			}
		case 6: // the whole other cell, before or after
			if r.IntN(2) == 0 {
				ts = append(slices.Clone(os), append([]string{"\n"}, ts...)...)
			} else {
				ts = append(append(ts, "\n"), os...)
			}
		}
	}
	return strings.Join(ts, "")
}

// A liveSession is a session in which many cells are run.
type liveSession struct {
	mu      sync.Mutex // guards session and number
	session *Session
	number  int
}

const (
	// aliveSetup declares the names that the session must keep. No cell of the
	// corpus has them, and forbidden keeps mutated cells from having them.
	aliveSetup = `type knownT struct{ a int; b []string }
func (k knownT) sum() int { return k.a + len(k.b) }
func knownF(n int) (s int) { for i := range n { s += i }; return }
func knownG[E any](xs ...E) int { return len(xs) }
known := map[string]knownT{"k": {40, []string{"x", "y"}}}
knownC := func() int { return known["k"].sum() }`
	aliveCheck = `fmt.Sprint(known["k"].a, knownC(), knownF(5), knownG("a", "b"), knownT{a: 1})`
	aliveShows = `"40 42 10 2 {1 []}"`
)

func (l *liveSession) close() {
	if l.session != nil {
		l.session.Close()
	}
}

func (l *liveSession) execute(t *testing.T, code string, limit time.Duration) (res engine.Result, err error) {
	l.number++
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		res, err = l.session.Execute(ctx, engine.Cell{Number: l.number, Code: code}, discard{})
	}()
	select {
	case <-done:
	case <-time.After(limit + 30*time.Second):
		t.Fatalf("the session does not answer to\n%s", code)
	}
	return res, err
}

func (l *liveSession) run(t *testing.T, code string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.session == nil || l.number > 2000 {
		l.close()
		var err error
		if l.session, err = New(Options{KeepStdio: true}); err != nil {
			t.Fatal(err)
		}
		l.number = 0
		if _, err := l.execute(t, aliveSetup, time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	_, err := l.execute(t, code, 2*time.Second)
	var e *engine.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("no error of a cell: %v\n%s", err, code)
	}
	if e != nil {
		if text := e.Text(); strings.Contains(text, "internal:") {
			t.Errorf("%s\n%s", text, code)
		}
	}
	// A cell may have declared the names of the packages as something else.
	res, err := l.execute(t, "import \"fmt\"\n"+aliveCheck, 20*time.Second)
	if got := fmt.Sprint(res.Value.Data["text/plain"]); err != nil || got != aliveShows {
		if errors.As(err, &e) {
			err = errors.New(e.Text())
		}
		l.close()
		l.session = nil
		t.Errorf("after\n%s\nthe session gives %s, %v", code, got, err)
	}
}
