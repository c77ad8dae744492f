package server

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
)

// A history holds the counted cells of this session; its store holds those of
// earlier sessions.
type history struct {
	log   *slog.Logger
	store *historyStore // nil: cells are not stored

	mu      sync.Mutex // guards entries
	session int        // the number of this session
	entries []historyEntry
}

// A historyEntry is one cell.
type historyEntry struct {
	session, line int
	input         string
	output        *string // nil: the cell had no value, or the value was not stored
}

// newHistory begins a session whose cells are stored in file; "" means that
// they are not stored. If the file cannot be used, the history has only this
// session, with number 1.
func newHistory(file string, log *slog.Logger) *history {
	h := &history{log: log, session: 1}
	if file == "" {
		return h
	}
	store := &historyStore{file: file}
	session, err := store.begin()
	if err != nil {
		log.Info("cells will not be remembered", "reason", err)
		return h
	}
	h.store, h.session = store, session
	return h
}

func (h *history) add(line int, input string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	e := historyEntry{session: h.session, line: line, input: input}
	h.entries = append(h.entries, e)
	if h.store != nil {
		if err := h.store.add(e); err != nil {
			h.log.Info("a cell will not be remembered", "reason", err)
		}
	}
}

// setOutput records the value of a cell, which may not be the last: cells of subshells run
// beside it.
func (h *history) setOutput(line int, text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if i := slices.IndexFunc(h.entries, func(e historyEntry) bool { return e.line == line }); i >= 0 {
		h.entries[i].output = &text
	}
}

// searchHistory answers history_request.
func (s *server) searchHistory(_ context.Context, r *request) (any, error) {
	var q historyRequest
	if err := r.Unmarshal(&q); err != nil {
		return nil, err
	}
	found, err := s.history.find(q)
	if err != nil {
		return nil, err
	}
	reply := historyReply{Status: "ok", History: [][3]any{}}
	for _, e := range found {
		var what any = e.input
		if q.Output {
			what = [2]any{e.input, e.output}
		}
		reply.History = append(reply.History, [3]any{e.session, e.line, what})
	}
	return reply, nil
}

// find returns the entries that a request asks for, oldest first.
func (h *history) find(q historyRequest) ([]historyEntry, error) {
	switch q.Access {
	case "range":
		return h.inRange(q), nil
	case "tail":
		return last(h.all(), q.N), nil
	case "search":
		pattern := q.Pattern
		if pattern == "" {
			pattern = "*"
		}
		var found []historyEntry
		seen := make(map[string]bool)
		for _, e := range slices.Backward(h.all()) {
			if !glob(pattern, e.input) || q.Unique && seen[e.input] {
				continue
			}
			seen[e.input] = true
			found = append(found, e)
		}
		slices.Reverse(found)
		return last(found, q.N), nil
	}
	return nil, fmt.Errorf("hist_access_type %q is not range, tail or search", q.Access)
}

// inRange returns the requested lines of one session: session 0 is the present
// one, -1 the one before it, and so on. A negative line counts from the end;
// stop 0 means no upper bound.
func (h *history) inRange(q historyRequest) []historyEntry {
	session := q.Session
	if session <= 0 {
		session += h.session
	}
	var found []historyEntry
	for _, e := range h.all() {
		if e.session == session {
			found = append(found, e)
		}
	}
	if len(found) == 0 {
		return nil
	}
	next := found[len(found)-1].line + 1
	start, stop := q.Start, next
	if start < 0 {
		start += next
	}
	if q.Stop != nil && *q.Stop != 0 {
		stop = *q.Stop
		if stop < 0 {
			stop += next
		}
	}
	return slices.DeleteFunc(found, func(e historyEntry) bool { return e.line < start || e.line >= stop })
}

// all returns the entries of all sessions, the present one's at the end.
func (h *history) all() []historyEntry {
	var all []historyEntry
	if h.store != nil {
		kept, err := h.store.entries()
		if err != nil {
			h.log.Info("earlier cells are not known", "reason", err)
		}
		for _, e := range kept {
			if e.session != h.session {
				all = append(all, e)
			}
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return append(all, h.entries...)
}

// last returns the last n entries, or all if n is nil.
func last(entries []historyEntry, n *int) []historyEntry {
	if n != nil {
		entries = entries[max(0, len(entries)-max(0, *n)):]
	}
	return entries
}
