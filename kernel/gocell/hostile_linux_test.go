package gocell

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/internal/system/limits"
	"dace.local/kernel/internal/system/process"
)

var (
	hostileAll  = flag.Bool("hostile", false, "TestHostile: run the slow cases, too")
	hostileOnly = flag.String("hostile.only", "", "TestHostile: run the cases whose kind or name matches")
	hostileFrom = flag.Int("hostile.from", 0, "TestHostile: the first case; for its child process")
)

// hostileSpace is the limit of address space of the cases that begin with one, in
// bytes beyond what the session has at its start.
const hostileSpace = 3 << 30

// Cells are interrupted after so much processor time: those that do not end by
// themselves, and those that should.
const endless, ends = 3 * time.Second, 40 * time.Second

// A hostileCase is some cells of testdata/hostile.txt, which may end or mute a
// kernel.
type hostileCase struct {
	kind, name string
	slow       bool // runs with -hostile only
	space      bool // under a limit of address space
	cells      []string
	want       []string // parts of what the last cell shows
}

// repeated matches @3{text}@: a text so many times.
var repeated = regexp.MustCompile(`(?s)@(\d+)\{(.*?)\}@`)

// hostileCases reads the table.
func hostileCases(t *testing.T) (list []hostileCase) {
	text, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut("\n"+string(text), "\n## ")
	for part := range strings.SplitSeq(rest, "\n## ") {
		kind, cases, _ := strings.Cut(part, "\n")
		for text := range strings.SplitSeq(strings.TrimPrefix("\n"+cases, "\n### "), "\n### ") {
			if strings.TrimSpace(text) == "" {
				continue
			}
			name, body, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "### "), "\n")
			c := hostileCase{kind: kind, name: name}
			c.name, c.slow = strings.CutSuffix(c.name, " (slow)")
			c.kind, c.space = strings.CutSuffix(c.kind, " (3 GB)")
			var lines []string
			for line := range strings.Lines(body) {
				if want, ok := strings.CutPrefix(line, "~ "); ok {
					c.want = append(c.want, strings.TrimSpace(want))
					continue
				}
				lines = append(lines, line)
			}
			body = strings.Join(lines, "")
			for cell := range strings.SplitSeq(body, "\n---\n") {
				cell = repeated.ReplaceAllStringFunc(cell, func(s string) string {
					m := repeated.FindStringSubmatch(s)
					n, _ := strconv.Atoi(m[1])
					return strings.Repeat(m[2], n)
				})
				c.cells = append(c.cells, cell)
			}
			list = append(list, c)
		}
	}
	return list
}

// TestHostile runs the cells of testdata/hostile.txt, each of which could end a
// kernel or keep it busy, in a process of their own: the process lives on, an
// interrupt ends each within ten seconds of processor time, and the session works afterwards.
func TestHostile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if raceDetector {
		t.Skip("the detector's memory and time are others")
	}
	cases := hostileCases(t)
	if os.Getenv(oversizedChild) != "" {
		hostileChild(t, cases)
		return
	}
	runHostile(t, cases, *hostileOnly)
}

// runHostile runs the cases whose kind or name matches.
func runHostile(t *testing.T, cases []hostileCase, only string) {
	for from := 0; from < len(cases); {
		args := []string{"-test.run=^TestHostile$", "-test.v", "-hostile.from=" + strconv.Itoa(from), "-hostile.only=" + only, "-hostile=" + strconv.FormatBool(*hostileAll)}
		cmd := exec.Command(os.Args[0], args...)
		cmd.Env = append(os.Environ(), oversizedChild+"=1", "GOTRACEBACK=single")
		r, w, err := os.Pipe() // its standard streams are the cells'

		if err != nil {
			t.Fatal(err)
		}
		var said, words bytes.Buffer
		cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{w}, &words, &words
		read := make(chan struct{})
		go func() { _, _ = io.Copy(&said, r); close(read) }()
		err = cmd.Run()
		w.Close()
		<-read
		out := said.Bytes()
		at := from - 1
		for line := range strings.Lines(string(out)) {
			switch what, rest, _ := strings.Cut(strings.TrimSpace(line), " "); what {
			case "@case":
				n, _, _ := strings.Cut(rest, " ")
				at, _ = strconv.Atoi(n)
			case "@ok":
				t.Log(rest)
			case "@wrong":
				t.Error(rest)
			}
		}
		switch next := regexp.MustCompile(`(?m)^@next (\d+)$`).FindStringSubmatch(string(out)); {
		case next != nil:
			from, _ = strconv.Atoi(next[1])
			continue
		case strings.Contains(string(out), "@over"):
			return
		}
		text := words.String()
		if at < from {
			t.Fatalf("the child ended before its first case: %v\n%.4000s", err, text)
		}
		text = text[max(0, strings.Index(text, "fatal error")):]
		t.Errorf("%s: %s: the process ended: %v\n%.1500s", cases[at].kind, cases[at].name, err, text)
		from = at + 1
	}
}

func hostileChild(t *testing.T, cases []hostileCase) {
	dir := t.TempDir()
	t.Chdir(dir)
	limits.Follow() // as the command does
	only, to := regexp.MustCompile(*hostileOnly), os.NewFile(3, "the test")
	s, err := New(Options{KeepStdin: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	execute(t, s, 1, "kept := 41")
	number, limited := 1, false
	for i := *hostileFrom; i < len(cases); i++ {
		c := cases[i]
		if c.slow && !*hostileAll || !only.MatchString(c.kind+": "+c.name) {
			continue
		}
		if c.space != limited {
			if limited {
				fmt.Fprintf(to, "@next %d\n", i) // in a process without the limit
				return
			}
			limited = limitSpace(t, hostileSpace)
		}
		fmt.Fprintf(to, "@case %d %s\n", i, c.name)
		start := time.Now()
		fault := func() string {
			shown := ""
			for i, code := range c.cells {
				number++
				var late time.Duration
				patience := endless
				if i < len(c.cells)-1 || len(c.want) > 0 { // it is to end by itself
					patience = ends
				}
				if shown, late = hostileCell(s, number, strings.ReplaceAll(code, "DIR", filepath.ToSlash(dir)), patience); late > 10*time.Second {
					return fmt.Sprintf("idle %v of processor time after its interrupt", late)
				}
			}
			for _, w := range c.want {
				if !strings.Contains(shown, w) {
					return fmt.Sprintf("no %q in %.700q", w, shown)
				}
			}
			number++
			if got, _ := hostileCell(s, number, "fmt.Sprint(kept+1, time.Unix(0, 0).UTC().Year(), errors.Is(context.Canceled, context.Canceled))", ends); !strings.Contains(got, "42 1970 true") {
				return "the session after it: " + fmt.Sprintf("%.500q", got)
			}
			return ""
		}()
		what := "@ok"
		if fault != "" {
			what = "@wrong"
		}
		fmt.Fprintf(to, "%s %s: %s: %.1fs %s\n", what, c.kind, c.name, time.Since(start).Seconds(), fault)
		var m runtime.MemStats
		if runtime.ReadMemStats(&m); m.HeapSys-m.HeapReleased > 256<<20 {
			debug.FreeOSMemory()
		}
	}
	fmt.Fprintln(to, "@over")
}

// hostileCell runs a cell, which is interrupted when the process has used so much
// processor time, or has done nothing for long. It returns what the cell shows, and how
// much processor time it took after the interrupt. A busy machine changes neither.
func hostileCell(s *Session, number int, code string, patience time.Duration) (shown string, late time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	done := make(chan string, 1)
	go func() {
		done <- enginetest.Show(ctx, s, engine.Cell{Number: number, Code: code}, &enginetest.Recorder{})
	}()
	const blocked = 10 * time.Minute
	start, used := time.Now(), process.TotalTime()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case shown = <-done:
			if ctx.Err() != nil {
				late = process.TotalTime() - used
			}
			return shown, late
		case <-tick.C:
		}
		// A cell that is to be interrupted may wait for that without using a processor.
		over := process.TotalTime()-used > patience || time.Since(start) > blocked || patience == endless && time.Since(start) > patience
		switch {
		case ctx.Err() == nil && over:
			cancel()
			start, used, patience = time.Now(), process.TotalTime(), ends
		case over:
			return "the cell does not end", process.TotalTime() - used
		}
	}
}
