package gocell

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dace.local/dacelib/files"
	"dace.local/kernel/buildinfo"
	"dace.local/kernel/engine"
	"dace.local/kernel/widget/model"
)

var _ engine.CommHandler = (*Session)(nil)

// Comm passes a message from a page to the session's widgets and calls the
// functions of cells that are registered for it. Each runs as a cell of its
// own, with its own outputs.
func (s *Session) Comm(ctx context.Context, m engine.CommMessage, out engine.Outputs) error {
	release, err := s.concurrent.calling.take(ctx)
	if err != nil {
		return nil // interrupted
	}
	defer release()
	calls, err := s.widgets.Receive(m, out)
	for _, c := range calls {
		if s.closed.Load() {
			break
		}
		failed := s.call(ctx, c)
		c.End(failed)
		if ctx.Err() != nil {
			break // interrupted: the remaining functions are not called
		}
	}
	s.widgets.Refresh()
	return err
}

// call runs one function of a cell as a cell of its own.
func (s *Session) call(ctx context.Context, c model.Call) *engine.Error {
	run := s.start(ctx, c.Out, nil)
	defer s.finish(run)
	err := s.runWatched(run, func() error { return s.machine.Run(run, c.Run) })
	if err == nil {
		return nil
	}
	return s.runtimeError(run, err)
}

// Limits of what is kept of notebooks' widgets.
const (
	mostKeptWidgets   = 4 << 20 // bytes of a notebook
	mostKeptNotebooks = 50
	mostNotebook      = 32 << 20 // bytes of notebooks that are read for their widgets
)

// keptWidgets returns the file of the widgets of the session's notebook, "" if it has
// none.
func (s *Session) keptWidgets() string {
	dir, err := buildinfo.StateDir()
	key := cmp.Or(s.opts.Notebook, s.opts.Kernel)
	if err != nil || key == "" {
		return ""
	}
	return filepath.Join(dir, "widgets", fmt.Sprintf("%x", sha256.Sum256([]byte(key)))[:32]+".json")
}

var references = regexp.MustCompile(`"IPY_MODEL_([0-9a-f]+)"`)

// keepWidgets writes the states of the session's widgets for the next kernel of the
// notebook. What does not encode or has no room is left out, the oldest first.
func (s *Session) keepWidgets() {
	path, states := s.keptWidgets(), s.widgets.States()
	if path == "" || len(states) == 0 {
		return
	}
	size, kept := 0, map[string]json.RawMessage{}
	for _, id := range slices.Backward(s.widgets.Order()) {
		b, err := json.Marshal(disabled(states[id]))
		if size += len(b); err == nil && size <= mostKeptWidgets {
			kept[id] = b
		}
	}
	for _, id := range s.widgets.Order() { // of what refers to others, all or nothing
		for _, m := range references.FindAllSubmatch(kept[id], -1) {
			if kept[string(m[1])] == nil {
				delete(kept, id)
			}
		}
	}
	b, err := json.Marshal(kept)
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil || files.WriteBytes(path, b) != nil {
		return // it is a convenience
	}
	others, err := filepath.Glob(filepath.Join(filepath.Dir(path), "*.json"))
	if err != nil || len(others) <= mostKeptNotebooks {
		return
	}
	age := func(path string) int64 {
		if about, err := os.Stat(path); err == nil {
			return about.ModTime().UnixNano()
		}
		return 0
	}
	slices.SortFunc(others, func(a, b string) int { return int(min(1, max(-1, age(a)-age(b)))) })
	for _, old := range others[:len(others)-mostKeptNotebooks] {
		_ = os.Remove(old)
	}
}

// disabled returns a model of which a page cannot use the control.
func disabled(m any) any {
	state, _ := m.(map[string]any)["state"].(map[string]any)
	if _, ok := state["disabled"]; ok {
		state["disabled"] = true
	}
	return m
}

// earlierWidgets returns the models of widgets that earlier kernels have shown in the
// notebook: as they were when those ended, or else what the notebook has of them for
// pages without widgets. They cannot be used.
func (s *Session) earlierWidgets() map[string]any {
	all := map[string]any{}
	notebooks := []string{s.opts.Notebook}
	if s.opts.Notebook == "" && s.opts.Kernel != "" { // JupyterLab's with an older server: one of its folder's
		notebooks, _ = filepath.Glob(filepath.Join(s.opts.Folder, "*.ipynb"))
	}
	left := int64(mostNotebook)
	for _, path := range notebooks[:min(len(notebooks), mostKeptNotebooks)] {
		for id, text := range savedViews(path, &left) {
			all[id] = model.Kept(model.Static(text))
		}
	}
	if b, err := os.ReadFile(s.keptWidgets()); err == nil {
		var kept map[string]any
		if json.Unmarshal(b, &kept) == nil {
			for id, m := range kept {
				all[id] = m
			}
		}
	}
	return all
}

// savedViews returns the HTML that a notebook's outputs have in the place of widgets, by
// the ids of their models, if it is no longer than what is left to read.
func savedViews(path string, left *int64) map[string]string {
	about, err := os.Stat(path)
	if err != nil || about.Size() > *left {
		return nil
	}
	*left -= about.Size()
	b, err := files.ReadFile(path)
	if err != nil {
		return nil
	}
	var nb struct {
		Cells []struct {
			Outputs []struct{ Data map[string]json.RawMessage }
		}
	}
	_ = json.Unmarshal(b, &nb) // what is no notebook has no cells
	views := map[string]string{}
	for _, c := range nb.Cells {
		for _, o := range c.Outputs {
			var view struct {
				ID string `json:"model_id"`
			}
			if json.Unmarshal(o.Data[model.ViewType], &view) != nil || view.ID == "" {
				continue
			}
			text := savedText(o.Data["text/html"])
			if text == "" {
				text = "<pre>" + html.EscapeString(savedText(o.Data["text/plain"])) + "</pre>"
			}
			views[view.ID] = text
		}
	}
	return views
}

// savedText returns a text of a notebook, which may be a list of lines.
func savedText(raw json.RawMessage) (text string) {
	var lines []string
	if json.Unmarshal(raw, &text) != nil && json.Unmarshal(raw, &lines) == nil {
		text = strings.Join(lines, "")
	}
	return text
}
