package gocell

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
)

// The whole soak takes some minutes:
//
//	go test ./kernel/gocell -run TestSoak -v -soak -timeout 1h
//
// With -soakprofile it writes a heap profile at its end.
var (
	soak        = flag.Bool("soak", false, "run TestSoak with 10,000 cells and 1,000 interrupts")
	soakProfile = flag.String("soakprofile", "", "`file` for TestSoak's heap profile")
)

// soakCells are the cells of a long session, which take turns.
var soakCells = []string{
	"x%[1]d := %[1]d\nx%[1]d * 2",
	"func f(n int) int { return n + %[1]d }\nf(1)",
	"type T struct { A, B int; M map[string]int }\nt := T{A: %[1]d}\nt",
	"func (t T) Sum() int { return t.A + t.B }\nt.Sum()",
	"m := map[string]int{}\nfor i := range 100 { m[fmt.Sprint(i)] = i }\nlen(m)",
	"s := []string{}\nfor i := range 50 { s = append(s, strings.Repeat(\"x\", i)) }\nstrings.Join(s, \",\")[:5]",
	"func Map[A, B any](l []A, f func(A) B) []B { r := []B{}; for _, a := range l { r = append(r, f(a)) }; return r }\nMap([]int{1, 2, %[1]d}, func(i int) string { return fmt.Sprint(i) })",
	"c := make(chan int)\ngo func() { for i := range 10 { c <- i }; close(c) }()\nn := 0\nfor v := range c { n += v }\nn",
	"nosuch%[1]d + 1",
	"panic(\"cell %[1]d\")",
	"var p *T\np.A",
	"json.Unmarshal([]byte(`{\"A\": %[1]d}`), &t)\nt.A",
	"a := mat.NewDense(3, 3, nil)\na.Set(1, 1, %[1]d)\nmat.Trace(a)",
	"func() (err error) { defer func() { err = fmt.Errorf(\"%%v\", recover()) }(); panic(%[1]d) }().Error()",
	"sort.Slice(s, func(i, j int) bool { return s[i] < s[j] })\nsort.SearchStrings(s, \"x\")",
	"var wg sync.WaitGroup\nfor i := range 4 { wg.Go(func() { _ = f(i) }) }\nwg.Wait()",
}

// soakInterrupts are cells that are interrupted.
var soakInterrupts = []string{
	"for { n++ }",
	"time.Sleep(time.Hour)",
	"<-make(chan int)",
	"for { f(1) }",
	"select {}",
	"for { m[\"x\"]++ }",
}

// TestSoak runs a long session of mixed cells and interrupts and checks that the
// heap and the goroutines do not grow. It runs in a process of its own, whose
// heap no other test uses.
func TestSoak(t *testing.T) {
	flags := []string{}
	if *soak {
		flags = append(flags, "-soak", "-test.timeout=1h")
	}
	if *soakProfile != "" {
		flags = append(flags, "-soakprofile="+*soakProfile)
	}
	inChild(t, longSession, flags...)
}

func longSession(t *testing.T) {
	cells, interrupts := 600, 30
	if *soak {
		cells, interrupts = 10000, 1000
	}
	s := benchSession(t)
	number := 0
	run := func(code string, limit time.Duration) {
		number++
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		_, _ = s.Execute(ctx, engine.Cell{Number: number, Code: code}, &enginetest.Recorder{})
	}
	round := func(from, to int) {
		for i := from; i < to; i++ {
			run(fmt.Sprintf(soakCells[i%len(soakCells)]+"\n// %[1]d", i), time.Minute)
			if every := cells / interrupts; i%every == every-1 {
				run(soakInterrupts[i/every%len(soakInterrupts)], 20*time.Millisecond)
			}
		}
	}
	round(0, 200) // what is loaded once
	before, goroutines := heapMB(), runtime.NumGoroutine()
	round(200, cells)
	grown := heapMB() - before
	if *soakProfile != "" {
		f, err := os.Create(*soakProfile)
		if err != nil {
			t.Fatal(err)
		}
		if err := pprof.Lookup("heap").WriteTo(f, 0); err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	t.Logf("%d cells, %d interrupts: the heap grew by %.1f MB, from %.1f; %d goroutines more", cells, interrupts, grown, before, runtime.NumGoroutine()-goroutines)
	// A tenth of the cells may take a fifth: a few megabytes are noise.
	if most := max(10, 50*float64(cells)/10000); grown > most {
		t.Errorf("the heap grew by %.1f MB, by more than %.0f", grown, most)
	}
	if more := runtime.NumGoroutine() - goroutines; more > interrupts/10+10 {
		t.Errorf("%d goroutines more", more)
	}
	if got := runCell(s, number+1, "t.A >= 0", time.Minute); strings.TrimSpace(got) != "= true" {
		t.Errorf("the state after it: %q", got)
	}
	fmt.Println(number, "cells ended")
}
