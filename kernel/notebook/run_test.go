package notebook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dace.local/kernel/engine"
)

// script is an engine that calls the function stored under a cell's source. The
// sources "fail" and "print ..." are built in; any other source is its own
// value.
type script struct {
	engine.Engine
	cells map[string]func(ctx context.Context, out engine.Outputs) (engine.Result, error)
	ran   []engine.Cell
}

func (s *script) Info() engine.Info {
	return engine.Info{Name: "go", Version: "go1.26", MimeType: "text/x-go", FileExtension: ".go", PygmentsLexer: "go", CodeMirrorMode: "go"}
}

func (s *script) Execute(ctx context.Context, c engine.Cell, out engine.Outputs) (engine.Result, error) {
	s.ran = append(s.ran, c)
	switch {
	case s.cells[c.Code] != nil:
		return s.cells[c.Code](ctx, out)
	case c.Code == "fail":
		return engine.Result{}, &engine.Error{Name: "panic", Message: "oops", Traceback: []string{"panic: oops"}}
	case strings.HasPrefix(c.Code, "print "):
		out.Stdout(c.Code[6:] + "\n")
		return engine.Result{}, nil
	}
	return engine.Result{Value: engine.Text(c.Code)}, nil
}

// cells returns a notebook of code cells; a source "#tag source" gives the
// cell the tag.
func cells(sources ...string) *Notebook {
	nb := &Notebook{Metadata: map[string]any{}, Minor: 5}
	for _, s := range sources {
		c := &Cell{Type: Code, Metadata: map[string]any{}}
		if strings.HasPrefix(s, "#") {
			tag, source, _ := strings.Cut(s[1:], " ")
			c.Metadata["tags"], s = []any{tag}, source
		}
		c.Source = s
		nb.Cells = append(nb.Cells, c)
	}
	nb.nameCells()
	return nb
}

// summary returns a short form of a cell's outputs.
func summary(c *Cell) string {
	var parts []string
	for _, o := range c.Outputs {
		switch o.Type {
		case Stream:
			parts = append(parts, fmt.Sprintf("%s:%q", o.Name, o.Text))
		case Failure:
			parts = append(parts, fmt.Sprintf("error:%s:%s", o.ErrorName, o.ErrorValue))
		default:
			parts = append(parts, fmt.Sprintf("%s:%v", o.Type, o.Data["text/plain"]))
		}
	}
	return fmt.Sprintf("%d %s", c.Count, strings.Join(parts, " "))
}

func TestRunOrder(t *testing.T) {
	old := &Output{Type: Stream, Name: "stdout", Text: "old"}
	for _, tc := range []struct {
		name  string
		cells []string
		set   Settings
		want  []string
		err   string
	}{
		{"all", []string{"1", " \n", "print a", "2"}, Settings{}, []string{"1 execute_result:1", "0 ", `2 stdout:"a\n"`, "3 execute_result:2"}, ""},
		{"stop", []string{"1", "fail", "2"}, Settings{}, []string{"1 execute_result:1", "2 error:panic:oops", "0 "}, "cell 2: panic: oops"},
		{"go on", []string{"fail", "2", "fail"}, Settings{KeepGoing: true}, []string{"1 error:panic:oops", "2 execute_result:2", "3 error:panic:oops"}, "cell 1: panic: oops"},
		{"may fail", []string{"#raises-exception fail", "2"}, Settings{}, []string{"1 error:panic:oops", "2 execute_result:2"}, ""},
		{"skip", []string{"#skip-execution fail", "2"}, Settings{}, []string{`0 stdout:"old"`, "1 execute_result:2"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			nb := cells(tc.cells...)
			for _, c := range nb.Cells {
				c.Outputs = []*Output{old}
			}
			err := Run(t.Context(), nb, &script{}, tc.set)
			if got := fmt.Sprint(err); got != tc.err && !(err == nil && tc.err == "") {
				t.Errorf("error %q, want %q", got, tc.err)
			}
			for i, c := range nb.Cells {
				if got := summary(c); got != tc.want[i] {
					t.Errorf("cell %d: %s, want %s", i, got, tc.want[i])
				}
			}
		})
	}
}

func TestOutputs(t *testing.T) {
	text := engine.Text
	for _, tc := range []struct {
		name string
		run  func(out engine.Outputs)
		want string
	}{
		{"streams merge", func(o engine.Outputs) { o.Stdout("a"); o.Stdout(""); o.Stdout("b\n"); o.Stderr("c"); o.Stdout("d") }, `stdout:"ab\n" stderr:"c" stdout:"d"`},
		{"display splits streams", func(o engine.Outputs) { o.Stdout("a"); o.Display(text("x"), ""); o.Stdout("b") }, `stdout:"a" display_data:x stdout:"b"`},
		{"update", func(o engine.Outputs) { o.Display(text("x"), "i"); o.Stdout("a"); o.Update(text("y"), "i") }, `display_data:y stdout:"a"`},
		{"update of nothing", func(o engine.Outputs) { o.Update(text("y"), "i") }, ``},
		{"shown again", func(o engine.Outputs) { o.Display(text("x"), "i"); o.Display(text("y"), "i"); o.Update(text("z"), "i") }, `display_data:z display_data:z`},
		{"second shows the new", func(o engine.Outputs) { o.Display(text("x"), "i"); o.Display(text("y"), "i") }, `display_data:y display_data:y`},
		{"clear", func(o engine.Outputs) { o.Stdout("a"); o.Clear(false); o.Stdout("b") }, `stdout:"b"`},
		{"clear and wait", func(o engine.Outputs) { o.Stdout("a"); o.Clear(true); o.Stdout("b"); o.Stdout("c") }, `stdout:"bc"`},
		{"clear and wait for nothing", func(o engine.Outputs) { o.Stdout("a"); o.Clear(true) }, `stdout:"a"`},
		{"cleared display", func(o engine.Outputs) { o.Display(text("x"), "i"); o.Clear(false); o.Update(text("y"), "i") }, ``},
		{"carriage return", func(o engine.Outputs) { o.Stdout("10%\r20%"); o.Stdout("\r30%\ndone\r\n"); o.Stdout("x\r") }, `stdout:"30%\ndone\r\nx\r"`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			nb := cells("x")
			eng := &script{cells: map[string]func(context.Context, engine.Outputs) (engine.Result, error){
				"x": func(_ context.Context, out engine.Outputs) (engine.Result, error) {
					tc.run(out)
					return engine.Result{}, nil
				},
			}}
			if err := Run(t.Context(), nb, eng, Settings{}); err != nil {
				t.Fatal(err)
			}
			if got := strings.TrimPrefix(summary(nb.Cells[0]), "1 "); got != tc.want {
				t.Errorf("got %s\nwant %s", got, tc.want)
			}
		})
	}
}

// An update changes the outputs of the cell that displayed them. Text that a
// goroutine prints after its cell has ended is added to that cell, but not
// after the run.
func TestAcrossCells(t *testing.T) {
	var late engine.Outputs
	eng := &script{cells: map[string]func(context.Context, engine.Outputs) (engine.Result, error){
		"show": func(_ context.Context, out engine.Outputs) (engine.Result, error) {
			late = out
			out.Display(engine.Text("old"), "id")
			return engine.Result{}, nil
		},
		"update": func(_ context.Context, out engine.Outputs) (engine.Result, error) {
			out.Update(engine.Text("new"), "id")
			late.Stdout("late")
			return engine.Result{}, nil
		},
	}}
	nb := cells("show", "update")
	var states []string
	err := Run(t.Context(), nb, eng, Settings{Checkpoint: func(copy func() *Notebook) {
		states = append(states, summary(copy().Cells[0]))
	}})
	if err != nil {
		t.Fatal(err)
	}
	late.Stdout("too late")
	want := `1 display_data:new stdout:"late"`
	if got := summary(nb.Cells[0]); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got := fmt.Sprint(states); got != "[1 display_data:old "+want+"]" {
		t.Errorf("checkpoints: %s", got)
	}
}

func TestEndings(t *testing.T) {
	wait := func(ctx context.Context, _ engine.Outputs) (engine.Result, error) {
		<-ctx.Done()
		return engine.Result{}, &engine.Error{Name: engine.Interrupted, Traceback: []string{"Interrupted"}}
	}
	eng := func() *script {
		return &script{cells: map[string]func(context.Context, engine.Outputs) (engine.Result, error){
			"wait": wait,
			"hang": func(context.Context, engine.Outputs) (engine.Result, error) {
				time.Sleep(time.Hour)
				return engine.Result{}, nil
			},
			"crash":  func(context.Context, engine.Outputs) (engine.Result, error) { panic("boom") },
			"broken": func(context.Context, engine.Outputs) (engine.Result, error) { return engine.Result{}, errors.New("no") },
			"ask": func(ctx context.Context, out engine.Outputs) (engine.Result, error) {
				s, err := out.Input(ctx, "? ", false)
				if err != nil {
					return engine.Result{}, &engine.Error{Name: "panic", Message: err.Error()}
				}
				return engine.Result{Value: engine.Text(s)}, nil
			},
		}}
	}
	stop := errors.New("stopped from outside")
	for _, tc := range []struct {
		name  string
		cells []string
		set   Settings
		after time.Duration // the context ends after this time
		want  []string
		err   string
	}{
		{"timeout", []string{"wait", "1"}, Settings{Timeout: time.Second}, 0, []string{"1 error:Timeout:the cell ran longer than 1s and was stopped", "0 "}, "cell 1: Timeout: the cell ran longer than 1s and was stopped"},
		{"timeout is each cell's", []string{"#raises-exception wait", "1"}, Settings{Timeout: time.Second, KeepGoing: true}, 0, []string{"1 error:Timeout:the cell ran longer than 1s and was stopped", "2 execute_result:1"}, "cell 1: Timeout: the cell ran longer than 1s and was stopped"},
		{"interrupt", []string{"1", "wait", "2"}, Settings{KeepGoing: true}, time.Second, []string{"1 execute_result:1", "2 error:Interrupted:", "0 "}, "stopped from outside"},
		{"does not stop", []string{"hang", "2"}, Settings{KeepGoing: true}, time.Second, []string{"1 error:EngineError:the cell did not stop within 5s of being told to", "0 "}, "stopped from outside"},
		{"does not stop at its timeout", []string{"hang", "2"}, Settings{KeepGoing: true, Timeout: time.Second}, 0, []string{"1 error:EngineError:the cell did not stop within 5s of being told to", "0 "}, "cell 1: the cell did not stop within 5s of being told to"},
		{"engine breaks", []string{"broken", "2"}, Settings{KeepGoing: true}, 0, []string{"1 error:EngineError:no", "0 "}, "cell 1: no"},
		{"no input", []string{"ask"}, Settings{}, 0, []string{"1 error:panic:the cell asks for input, and nobody is there to answer"}, "cell 1: panic: the cell asks for input, and nobody is there to answer"},
		{"input", []string{"ask"}, Settings{Input: func(_ context.Context, prompt string, _ bool) (string, error) { return prompt + "42", nil }}, 0, []string{"1 execute_result:? 42"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				if tc.after > 0 {
					time.AfterFunc(tc.after, func() { cancel(stop) })
				}
				nb := cells(tc.cells...)
				err := Run(ctx, nb, eng(), tc.set)
				if got := fmt.Sprint(err); got != tc.err && !(err == nil && tc.err == "") {
					t.Errorf("error %q, want %q", got, tc.err)
				}
				for i, c := range nb.Cells {
					if got := summary(c); got != tc.want[i] {
						t.Errorf("cell %d: %s, want %s", i, got, tc.want[i])
					}
				}
				time.Sleep(2 * time.Hour) // on the fake clock of synctest, so that "hang" ends
			})
		})
	}
	nb := cells("crash", "1")
	if err := Run(t.Context(), nb, eng(), Settings{}); err == nil || !strings.Contains(err.Error(), "the engine panicked: boom") {
		t.Errorf("crash: %v", err)
	}
}

func TestWidgets(t *testing.T) {
	eng := &script{cells: map[string]func(context.Context, engine.Outputs) (engine.Result, error){
		"w": func(_ context.Context, out engine.Outputs) (engine.Result, error) {
			return engine.Result{}, errors.Join(
				out.Comm(engine.CommMessage{Type: "comm_open", ID: "m1", Target: "jupyter.widget", Data: map[string]any{
					"state": map[string]any{"_model_name": "IntSliderModel", "_model_module": "@jupyter-widgets/controls", "_model_module_version": "2.0.0", "value": 1}, "buffer_paths": []any{}}}),
				out.Comm(engine.CommMessage{Type: "comm_msg", ID: "m1", Data: map[string]any{"method": "update", "state": map[string]any{"value": 2}, "buffer_paths": [][]string{{"data"}}}, Buffers: [][]byte{{1, 2}}}),
				out.Comm(engine.CommMessage{Type: "comm_msg", ID: "m1", Data: map[string]any{"method": "custom"}}),
			)
		},
	}}
	nb := cells("w")
	var saved *Notebook
	if err := Run(t.Context(), nb, eng, Settings{Checkpoint: func(copy func() *Notebook) { saved = copy() }}); err != nil {
		t.Fatal(err)
	}
	golden(t, "widgets.golden", []byte(written(t, &Notebook{Metadata: nb.Metadata})))
	if got, want := written(t, saved), written(t, nb); got != want {
		t.Errorf("a checkpoint has\n%s\nwant\n%s", got, want)
	}
	// A run without widgets removes those that an earlier run has stored.
	nb.Cells = cells("none").Cells
	eng.cells["none"] = func(_ context.Context, out engine.Outputs) (engine.Result, error) {
		return engine.Result{}, errors.Join(
			out.Comm(engine.CommMessage{Type: "comm_open", ID: "m2", Data: map[string]any{"state": map[string]any{"_model_name": "HTMLModel"}}}),
			out.Comm(engine.CommMessage{Type: "comm_close", ID: "m2"}))
	}
	if err := Run(t.Context(), nb, eng, Settings{}); err != nil {
		t.Fatal(err)
	}
	if w, ok := nb.Metadata["widgets"]; ok {
		t.Errorf("widgets of an earlier run are kept: %v", w)
	}
}

// TestExecutedNotebook compares a whole executed notebook, and validates it
// with nbformat.
func TestExecutedNotebook(t *testing.T) {
	eng := &script{cells: map[string]func(context.Context, engine.Outputs) (engine.Result, error){
		"all": func(_ context.Context, out engine.Outputs) (engine.Result, error) {
			out.Stdout("a <&> \xff\n")
			out.Stderr("b\n")
			out.Display(engine.Bundle{
				Data:     map[string]any{"image/png": "iVBORw0KGgo=", "application/json": struct{ A []float64 }{[]float64{1, 0.5}}, "text/plain": 3},
				Metadata: map[string]any{"image/png": map[string]int{"width": 10}},
			}, "i")
			return engine.Result{Value: engine.Text("value\nof two lines")}, nil
		},
	}}
	nb := mustRead(t, `{"nbformat": 4, "nbformat_minor": 0, "metadata": {"kernelspec": {"name": "gonb", "display_name": "x"}, "mine": [1.50]}, "cells": [
	  {"cell_type": "markdown", "metadata": {}, "source": "# Title"},
	  {"cell_type": "code", "metadata": {"tags": ["parameters"], "mine": 1e3}, "source": "n := 1", "outputs": [], "execution_count": null},
	  {"cell_type": "code", "metadata": {}, "source": "all", "outputs": [], "execution_count": 12},
	  {"cell_type": "code", "metadata": {}, "source": "fail", "outputs": [], "execution_count": 13},
	  {"cell_type": "raw", "metadata": {}, "source": "raw"}]}`)
	nb.Inject([]Parameter{{Name: "n", Value: "7"}})
	clock := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	err := Run(t.Context(), nb, eng, Settings{Now: func() time.Time { clock = clock.Add(1500 * time.Microsecond); return clock }})
	if err == nil {
		t.Error("no error")
	}
	golden(t, "executed.golden", []byte(written(t, nb)))
	python(t, `import sys, nbformat
nbformat.validate(nbformat.reads(sys.argv[1], as_version=nbformat.NO_CONVERT))`, written(t, nb))
}
