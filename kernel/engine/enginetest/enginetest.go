// Package enginetest is the conformance suite for engines. The test of an
// engine fills in a [Language] with samples of its code and calls [Test].
package enginetest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"dace.local/kernel/engine"
)

// A Language holds samples of code, one for each behaviour that package engine
// defines. Every field is needed unless its comment says otherwise; each sample
// runs in a fresh session.
type Language struct {
	// New starts a session.
	New func() (engine.Engine, error)

	// Hello prints "hello\n" on stdout and has no value.
	Hello string
	// Oops prints "oops\n" on stderr.
	Oops string
	// Mixed prints "a\n" on stdout, "b\n" on stderr, displays anything,
	// and prints "c\n" on stdout.
	Mixed string
	// Ticks prints "tick\n" three times, 100 ms apart.
	Ticks string
	// Many prints "x\n" 10000 times, one by one.
	Many string
	// Value has the value ValueText, in text/plain, and prints nothing.
	Value, ValueText string

	// SetOne sets the session's state to 1; Get has the state as its value,
	// "1" after SetOne.
	SetOne, Get string
	// SetTwoFail sets the state to 2 and then fails while running, with an
	// error named FailName.
	SetTwoFail, FailName string
	// SetThreeInvalid would set the state to 3, but does not compile.
	SetThreeInvalid string
	// Panic panics with "boom".
	Panic string

	// Loop computes until it is interrupted, Sleep waits until then.
	Loop, Sleep string
	// Late returns at once; in the background it prints "late\n" 100 ms later.
	Late string
	// Ask asks for one word, with Prompt, which may be empty, and prints a
	// line that ends in the word.
	Ask, Prompt string
	// Display shows a bundle under an id and then updates it.
	Display string
	// Clear clears the output, with wait.
	Clear string
	// Page opens the pager.
	Page string

	// Complete, Incomplete and Invalid are samples for IsComplete.
	Complete, Incomplete, Invalid []string
	// Completions are samples of completion after SetOne.
	Completions []Completion
	// Inspect is code that ends in a documented name; InspectHas is a part of
	// its text/plain documentation.
	Inspect, InspectHas string
	// InspectUnknown is code that ends in an unknown name.
	InspectUnknown string
	// Expression has the value ExpressionText; evaluating NoExpression fails.
	Expression, ExpressionText, NoExpression string
}

// A Completion is a sample of completion: with the cursor at the | in Code,
// Want is one of the matches. With Want in place of the bytes that the engine
// says it replaces, the code is Result (which has no |).
type Completion struct{ Code, Want, Result string }

// Test runs the conformance suite on the engine that l.New makes.
func Test(t *testing.T, l Language) {
	tests := []struct {
		name string
		run  func(*testing.T, *session)
	}{
		{"Info", testInfo},
		{"Streams", testStreams},
		{"Order", testOrder},
		{"OutputWhileRunning", testTicks},
		{"ManyPieces", testMany},
		{"Value", testValue},
		{"StateSurvivesErrors", testState},
		{"Panic", testPanic},
		{"Cancel", testCancel},
		{"CancelledBefore", testCancelledBefore},
		{"LateOutput", testLate},
		{"Input", testInput},
		{"InputRefused", testInputRefused},
		{"InputCancelled", testInputCancelled},
		{"Display", testDisplay},
		{"Clear", testClear},
		{"Pager", testPage},
		{"Uncounted", testUncounted},
		{"IsComplete", testIsComplete},
		{"Complete", testComplete},
		{"AnyCursor", testAnyCursor},
		{"Inspect", testInspect},
		{"Evaluate", testEvaluate},
		{"QuestionsWhileRunning", testConcurrent},
		{"ConcurrentCells", testConcurrentCells},
		{"EmptyCell", testEmpty},
		{"Close", testClose},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			eng, err := l.New()
			if err != nil {
				t.Fatal(err)
			}
			s := &session{Language: l, t: t, eng: eng}
			defer func() {
				if err := eng.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			}()
			test.run(t, s)
		})
	}
}

// A session is one engine under test.
type session struct {
	Language
	t      *testing.T
	eng    engine.Engine
	number int
}

// patience is how long anything may take before a test fails because the engine
// hangs.
const patience = time.Minute

// slow is how long a cell may take to stop: more than the second that package
// engine allows, because a test machine may be busy.
const slow = 10 * time.Second

// execute runs code as the next cell.
func (s *session) execute(ctx context.Context, code string, out engine.Outputs) (engine.Result, error) {
	s.t.Helper()
	s.number++
	return s.cell(ctx, engine.Cell{Number: s.number, Code: code}, out)
}

// cell runs a cell and fails the test if it hangs.
func (s *session) cell(ctx context.Context, c engine.Cell, out engine.Outputs) (engine.Result, error) {
	s.t.Helper()
	type answer struct {
		result engine.Result
		err    error
	}
	done := make(chan answer, 1)
	go func() {
		r, err := s.eng.Execute(ctx, c, out)
		done <- answer{r, err}
	}()
	select {
	case a := <-done:
		return a.result, a.err
	case <-time.After(patience):
		s.t.Fatalf("the cell hangs: %s", c.Code)
		panic("unreachable")
	}
}

// ok runs code that must succeed.
func (s *session) ok(code string) (engine.Result, *Recorder) {
	s.t.Helper()
	var out Recorder
	r, err := s.execute(context.Background(), code, &out)
	if err != nil {
		s.t.Fatalf("%s\nfails: %v", code, err)
	}
	return r, &out
}

// fails runs code that must fail and checks the shape of the error.
func (s *session) fails(code, name string) (*engine.Error, *Recorder) {
	s.t.Helper()
	var out Recorder
	r, err := s.execute(context.Background(), code, &out)
	return s.checkError(err, name, r), &out
}

func (s *session) checkError(err error, name string, r engine.Result) *engine.Error {
	s.t.Helper()
	var e *engine.Error
	if !errors.As(err, &e) {
		s.t.Fatalf("error is %T (%v), want *engine.Error", err, err)
	}
	if e.Name != name {
		s.t.Errorf("error's name is %q (%s), want %q", e.Name, e.Message, name)
	}
	if len(e.Traceback) == 0 {
		s.t.Errorf("error has no traceback")
	}
	if text := plain(e.Text()); !strings.Contains(text, e.Message) {
		s.t.Errorf("traceback %q does not contain the message %q", text, e.Message)
	}
	if !r.Value.Empty() || len(r.Pages) > 0 {
		s.t.Errorf("a failed cell has a value: %v", r)
	}
	return e
}

// plain removes ANSI escape sequences.
func plain(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		if i := strings.IndexFunc(after, func(r rune) bool { return r >= '@' && r <= '~' }); i >= 0 {
			after = after[i+1:]
		}
		s = after
	}
}

// text returns a bundle's plain text.
func text(b engine.Bundle) string {
	s, _ := b.Data["text/plain"].(string)
	return s
}

// state returns the value of Get.
func (s *session) state() string {
	s.t.Helper()
	r, _ := s.ok(s.Get)
	return text(r.Value)
}

func testInfo(t *testing.T, s *session) {
	i := s.eng.Info()
	for what, value := range map[string]string{
		"Name": i.Name, "Version": i.Version, "MimeType": i.MimeType, "FileExtension": i.FileExtension,
		"Implementation": i.Implementation, "ImplementationVer": i.ImplementationVer, "Banner": i.Banner,
	} {
		if value == "" {
			t.Errorf("Info has no %s", what)
		}
	}
	if !strings.HasPrefix(i.FileExtension, ".") {
		t.Errorf("file extension %q has no dot", i.FileExtension)
	}
}

func testStreams(t *testing.T, s *session) {
	r, out := s.ok(s.Hello)
	if got := out.Text(Stdout); got != "hello\n" {
		t.Errorf("stdout is %q, want hello", got)
	}
	if !r.Value.Empty() {
		t.Errorf("a print has the value %v", r.Value)
	}
	_, out = s.ok(s.Oops)
	if got := out.Text(Stderr); got != "oops\n" {
		t.Errorf("stderr is %q, want oops", got)
	}
	if got := out.Text(Stdout); got != "" {
		t.Errorf("stdout is %q, want nothing", got)
	}
}

// kinds returns the kinds of the events, with equal neighbours merged.
func kinds(out *Recorder) []string {
	var k []string
	for _, e := range out.Events() {
		k = append(k, e.Kind)
	}
	return slices.Compact(k)
}

func testOrder(t *testing.T, s *session) {
	for range 20 {
		_, out := s.ok(s.Mixed)
		want := []string{Stdout, Stderr, Display, Stdout}
		if got := kinds(out); !slices.Equal(got, want) {
			t.Fatalf("outputs come as %v, want %v", got, want)
		}
		if got := out.Text(Stdout) + out.Text(Stderr); got != "a\nc\nb\n" {
			t.Fatalf("streams are %q", got)
		}
	}
}

func testTicks(t *testing.T, s *session) {
	_, out := s.ok(s.Ticks)
	end := time.Now()
	if got := out.Text(Stdout); got != "tick\ntick\ntick\n" {
		t.Fatalf("stdout is %q", got)
	}
	first := out.Events()[0].At
	if before := end.Sub(first); before < 150*time.Millisecond {
		t.Errorf("the first output came %v before the end, want 200 ms: it was held back", before)
	}
}

func testMany(t *testing.T, s *session) {
	_, out := s.ok(s.Many)
	if got := strings.Count(out.Text(Stdout), "x\n"); got != 10000 {
		t.Errorf("%d lines arrived when Execute returned, want 10000", got)
	}
}

func testValue(t *testing.T, s *session) {
	r, out := s.ok(s.Value)
	if got := text(r.Value); got != s.ValueText {
		t.Errorf("value is %q, want %q", got, s.ValueText)
	}
	if got := out.Events(); len(got) > 0 {
		t.Errorf("a value is shown by the server, not by the engine: %v", got)
	}
}

func testState(t *testing.T, s *session) {
	s.ok(s.SetOne)
	if got := s.state(); got != "1" {
		t.Fatalf("state is %q, want 1", got)
	}
	_, out := s.fails(s.SetThreeInvalid, engine.CompileError)
	if got := s.state(); got != "1" {
		t.Errorf("after a cell that does not compile the state is %q, want 1", got)
	}
	if got := out.Events(); len(got) > 0 {
		t.Errorf("an error is shown by the server, not by the engine: %v", got)
	}
	_, out = s.fails(s.SetTwoFail, s.FailName)
	if got := s.state(); got != "2" {
		t.Errorf("after a cell that fails while running the state is %q, want 2", got)
	}
	if got := out.Events(); len(got) > 0 {
		t.Errorf("an error is shown by the server, not by the engine: %v", got)
	}
}

func testPanic(t *testing.T, s *session) {
	s.ok(s.SetOne)
	e, _ := s.fails(s.Panic, engine.Panic)
	if !strings.Contains(e.Message, "boom") {
		t.Errorf("message is %q, want boom", e.Message)
	}
	if got := s.state(); got != "1" {
		t.Errorf("after a panic the state is %q, want 1", got)
	}
}

// cancelled runs code, cancels it after a while, and returns the time from the
// cancellation to the end of the cell.
func (s *session) cancelled(code string, out engine.Outputs) time.Duration {
	s.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var at time.Time
	timer := time.AfterFunc(100*time.Millisecond, func() {
		at = time.Now()
		cancel()
	})
	defer timer.Stop()
	r, err := s.execute(ctx, code, out)
	end := time.Now()
	if ctx.Err() == nil {
		s.t.Fatalf("%s\nended by itself: %v", code, err)
	}
	s.checkError(err, engine.Interrupted, r)
	return end.Sub(at)
}

func testCancel(t *testing.T, s *session) {
	s.ok(s.SetOne)
	for _, code := range []string{s.Loop, s.Sleep, s.Loop} {
		if d := s.cancelled(code, new(Recorder)); d > slow {
			t.Errorf("%s\nstopped after %v", code, d)
		}
		if got := s.state(); got != "1" {
			t.Errorf("after an interrupt the state is %q, want 1", got)
		}
	}
}

func testCancelledBefore(t *testing.T, s *session) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r, err := s.execute(ctx, s.Sleep, new(Recorder))
	s.checkError(err, engine.Interrupted, r)
	s.ok(s.Hello)
}

func testLate(t *testing.T, s *session) {
	ctx, cancel := context.WithCancel(context.Background())
	var out Recorder
	if _, err := s.execute(ctx, s.Late, &out); err != nil {
		t.Fatal(err)
	}
	cancel()
	_, next := s.ok(s.Hello)
	for deadline := time.Now().Add(patience); out.Text(Stdout) != "late\n"; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the cell that left work behind shows %q, want late", out.Text(Stdout))
		}
	}
	if got := next.Text(Stdout); got != "hello\n" {
		t.Errorf("the next cell shows %q, want hello", got)
	}
}

func testInput(t *testing.T, s *session) {
	var prompt string
	out := Recorder{Answer: func(_ context.Context, p string, _ bool) (string, error) {
		prompt = p
		return "Ada", nil
	}}
	if _, err := s.execute(context.Background(), s.Ask, &out); err != nil {
		t.Fatal(err)
	}
	if prompt != s.Prompt {
		t.Errorf("prompt is %q, want %q", prompt, s.Prompt)
	}
	if got := out.Text(Stdout); !strings.HasSuffix(got, "Ada\n") {
		t.Errorf("stdout is %q, want the answer", got)
	}
}

func testInputRefused(t *testing.T, s *session) {
	var out Recorder
	_, err := s.execute(context.Background(), s.Ask, &out)
	var e *engine.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("error is %T (%v), want *engine.Error", err, err)
	}
	s.ok(s.Hello)
}

func testInputCancelled(t *testing.T, s *session) {
	out := Recorder{Answer: func(ctx context.Context, _ string, _ bool) (string, error) {
		<-ctx.Done()
		return "", ctx.Err()
	}}
	if d := s.cancelled(s.Ask, &out); d > slow {
		t.Errorf("stopped after %v", d)
	}
	s.ok(s.Hello)
}

func testDisplay(t *testing.T, s *session) {
	_, out := s.ok(s.Display)
	var id string
	for _, e := range out.Events() {
		switch e.Kind {
		case Display:
			id = e.ID
			checkBundle(t, e.Bundle)
		case Update:
			checkBundle(t, e.Bundle)
			if id == "" || e.ID != id {
				t.Errorf("update of %q, want of %q", e.ID, id)
			}
		}
	}
	if got := kinds(out); !slices.Equal(got, []string{Display, Update}) {
		t.Errorf("outputs are %v, want a display and its update", got)
	}
}

// checkBundle checks that every client can show a bundle.
func checkBundle(t *testing.T, b engine.Bundle) {
	t.Helper()
	if text(b) == "" {
		t.Errorf("bundle %v has no text/plain", b.Data)
	}
	for mime, v := range b.Data {
		if v == nil || strings.Count(mime, "/") != 1 {
			t.Errorf("bundle has %v as %q", v, mime)
		}
	}
}

func testClear(t *testing.T, s *session) {
	_, out := s.ok(s.Clear)
	for _, e := range out.Events() {
		if e.Kind == Clear && e.Wait {
			return
		}
	}
	t.Errorf("outputs are %v, want a clear with wait", kinds(out))
}

func testPage(t *testing.T, s *session) {
	r, out := s.ok(s.Page)
	if len(r.Pages) != 1 {
		t.Fatalf("%d pages, want 1", len(r.Pages))
	}
	checkBundle(t, r.Pages[0])
	if len(out.Events()) > 0 || !r.Value.Empty() {
		t.Errorf("paging shows outputs %v and the value %v, want neither", kinds(out), r.Value)
	}
}

// testUncounted runs a cell that is not counted and then the next cell, which
// has the same number.
func testUncounted(t *testing.T, s *session) {
	for _, c := range []engine.Cell{
		{Number: 1, Code: s.SetOne, Silent: true},
		{Number: 1, Code: s.SetThreeInvalid, Silent: true},
		{Number: 1, Code: s.Hello},
		{Number: 1, Code: s.Hello, ID: "c0ffee"},
		{Number: 2, Code: s.Hello},
	} {
		var out Recorder
		_, err := s.cell(context.Background(), c, &out)
		if invalid := c.Code == s.SetThreeInvalid; (err != nil) != invalid {
			t.Errorf("%+v: %v", c, err)
		}
	}
	s.number = 2
	if got := s.state(); got != "1" {
		t.Errorf("state is %q, want 1 from the silent cell", got)
	}
}

func testIsComplete(t *testing.T, s *session) {
	samples := map[string][]string{"complete": s.Complete, "incomplete": s.Incomplete, "invalid": s.Invalid}
	for want, codes := range samples {
		if len(codes) == 0 {
			t.Errorf("no samples of %s code", want)
		}
		for _, code := range codes {
			c := s.eng.IsComplete(code)
			if c.Status != want {
				t.Errorf("%q is %s, want %s", code, c.Status, want)
			}
			if strings.TrimSpace(c.Indent) != "" || c.Indent != "" && want != "incomplete" {
				t.Errorf("%q: indent is %q", code, c.Indent)
			}
		}
	}
}

func testComplete(t *testing.T, s *session) {
	s.ok(s.SetOne)
	if len(s.Completions) == 0 {
		t.Error("no samples")
	}
	for _, sample := range s.Completions {
		before, after, found := strings.Cut(sample.Code, "|")
		if !found {
			t.Fatalf("sample %q has no |", sample.Code)
		}
		code := before + after
		c := s.eng.Complete(code, len(before))
		checkRange(t, code, len(before), c)
		i := slices.IndexFunc(c.Matches, func(m engine.Completion) bool { return m.Text == sample.Want })
		if i < 0 {
			t.Errorf("%q: %q is not among the %d matches %.10v", sample.Code, sample.Want, len(c.Matches), c.Matches)
			continue
		}
		if got := code[:c.Start] + sample.Want + code[c.End:]; got != sample.Result {
			t.Errorf("%q completes to %q, want %q", sample.Code, got, sample.Result)
		}
	}
}

// checkRange checks the range of bytes that a completion replaces.
func checkRange(t *testing.T, code string, cursor int, c engine.Completions) {
	t.Helper()
	if c.Start < 0 || c.Start > cursor || c.End < cursor || c.End > len(code) {
		t.Errorf("%q at %d: replaces bytes %d to %d, want a range around the cursor", code, cursor, c.Start, c.End)
		return
	}
	if !boundary(code, c.Start) || !boundary(code, c.End) {
		t.Errorf("%q at %d: bytes %d to %d split a character", code, cursor, c.Start, c.End)
	}
}

func boundary(code string, i int) bool { return i == len(code) || utf8.RuneStart(code[i]) }

// testAnyCursor checks that completion and inspection answer at every cursor
// position, also in code that is not valid.
func testAnyCursor(t *testing.T, s *session) {
	codes := slices.Concat(s.Complete, s.Incomplete, s.Invalid, []string{
		"", " ", "\n", "é", "\"日本語", "x.", ".", "((((", "/*", "`", "a\x00b", strings.Repeat("(", 1000),
		s.Hello, s.Inspect, s.InspectUnknown, s.SetThreeInvalid,
	})
	for _, code := range codes {
		step := max(1, len(code)/50)
		for cursor := 0; cursor <= len(code); cursor += step {
			if boundary(code, cursor) {
				checkRange(t, code, cursor, s.eng.Complete(code, cursor))
				s.eng.Inspect(code, cursor, cursor%2)
			}
		}
		if c := s.eng.IsComplete(code); !slices.Contains([]string{"complete", "incomplete", "invalid", "unknown"}, c.Status) {
			t.Errorf("%q is %q", code, c.Status)
		}
	}
}

func testInspect(t *testing.T, s *session) {
	s.ok(s.SetOne)
	for detail := range 2 {
		doc, ok := s.eng.Inspect(s.Inspect, len(s.Inspect), detail)
		if !ok || !strings.Contains(plain(text(doc)), s.InspectHas) {
			t.Errorf("detail %d of %q: found is %v, text %q, want %q in it", detail, s.Inspect, ok, text(doc), s.InspectHas)
		}
		if doc, ok := s.eng.Inspect(s.InspectUnknown, len(s.InspectUnknown), detail); ok {
			t.Errorf("detail %d of %q: found %v, want nothing", detail, s.InspectUnknown, doc.Data)
		}
	}
}

func testEvaluate(t *testing.T, s *session) {
	s.ok(s.SetOne)
	b, err := s.eng.Evaluate(context.Background(), s.Expression)
	if err != nil || text(b) != s.ExpressionText {
		t.Errorf("%q is %q, %v, want %q", s.Expression, text(b), err, s.ExpressionText)
	}
	_, err = s.eng.Evaluate(context.Background(), s.NoExpression)
	var e *engine.Error
	if !errors.As(err, &e) {
		t.Errorf("%q: error is %T (%v), want *engine.Error", s.NoExpression, err, err)
	}
	if got := s.state(); got != "1" {
		t.Errorf("state is %q, want 1", got)
	}
}

// testConcurrent checks that completion, inspection and IsComplete answer while
// a cell runs.
func testConcurrent(t *testing.T, s *session) {
	s.ok(s.SetOne)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 20 {
				s.eng.Complete(s.Inspect, len(s.Inspect))
				if _, ok := s.eng.Inspect(s.Inspect, len(s.Inspect), 0); !ok {
					t.Errorf("%q is not found while a cell runs", s.Inspect)
				}
				if got := s.eng.IsComplete(s.Complete[0]).Status; got != "complete" {
					t.Errorf("%q is %s while a cell runs", s.Complete[0], got)
				}
				s.eng.Info()
			}
		})
	}
	done := make(chan struct{})
	go func() {
		wait.Wait()
		close(done)
	}()
	answered := make(chan bool, 1)
	go func() {
		select {
		case <-done:
			answered <- true
		case <-time.After(patience / 2):
			answered <- false
		}
		cancel()
	}()
	r, err := s.execute(ctx, s.Loop, new(Recorder))
	s.checkError(err, engine.Interrupted, r)
	if !<-answered {
		t.Error("questions are not answered while a cell runs")
	}
	<-done
}

// testConcurrentCells checks that a Concurrent engine runs a cell while another one
// runs, and that each has its own outputs and its own interrupt.
func testConcurrentCells(t *testing.T, s *session) {
	if !s.eng.Info().Concurrent {
		t.Skip("the engine runs one cell at a time")
	}
	s.ok(s.SetOne)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	var long Recorder
	go func() {
		_, err := s.eng.Execute(ctx, engine.Cell{Number: 2, Code: s.Loop}, &long)
		ended <- err
	}()
	var wait sync.WaitGroup
	for i := range 4 {
		wait.Go(func() {
			for range 10 {
				var out Recorder
				if _, err := s.eng.Execute(context.Background(), engine.Cell{Number: 3 + i, Code: s.Hello}, &out); err != nil || out.Text(Stdout) != "hello\n" {
					t.Errorf("beside a cell that works another prints %q, %v", out.Text(Stdout), err)
				}
				if _, err := s.eng.Evaluate(context.Background(), s.Expression); err != nil {
					t.Errorf("%q beside a cell that works: %v", s.Expression, err)
				}
			}
		})
	}
	wait.Wait()
	select {
	case err := <-ended:
		t.Errorf("the working cell ended with %v", err)
	default:
	}
	cancel()
	var e *engine.Error
	if err := <-ended; !errors.As(err, &e) || e.Name != engine.Interrupted {
		t.Errorf("the working cell, interrupted, ends with %v", err)
	}
	if text := long.Text(Stdout); text != "" {
		t.Errorf("the working cell shows %q", text)
	}
}

func testEmpty(t *testing.T, s *session) {
	for _, code := range []string{"", " ", "\n\n", "\t\n "} {
		r, out := s.ok(code)
		if !r.Value.Empty() || len(out.Events()) > 0 {
			t.Errorf("%q shows %v, %v", code, r.Value, out.Events())
		}
	}
}

func testClose(t *testing.T, s *session) {
	s.ok(s.Hello)
	for i := range 3 {
		if err := s.eng.Close(); err != nil {
			t.Errorf("Close, call %d: %v", i+1, err)
		}
	}
	if _, err := s.execute(context.Background(), s.Hello, new(Recorder)); err == nil {
		t.Error("a closed engine executes a cell")
	}
}
