package server

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// A history is the counted cells of the session, which is session 1. The zero
// value is empty.
type history struct {
	mu      sync.Mutex
	entries []historyEntry
}

type historyEntry struct {
	line   int
	input  string
	output *string // nil: the cell had no value
}

const historySession = 1

func (h *history) add(line int, input string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, historyEntry{line: line, input: input})
}

// setOutput notes the value of the last cell.
func (h *history) setOutput(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries[len(h.entries)-1].output = &text
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
		reply.History = append(reply.History, [3]any{historySession, e.line, what})
	}
	return reply, nil
}

// find returns the entries that a request asks for, oldest first.
func (h *history) find(q historyRequest) ([]historyEntry, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch q.Access {
	case "range":
		// Session 0 is this one, as is its own number; others are not kept.
		if q.Session != 0 && q.Session != historySession {
			return nil, nil
		}
		var found []historyEntry
		for _, e := range h.entries {
			if e.line >= q.Start && (q.Stop == nil || e.line < *q.Stop) {
				found = append(found, e)
			}
		}
		return found, nil
	case "tail":
		return last(h.entries, q.N), nil
	case "search":
		pattern := q.Pattern
		if pattern == "" {
			pattern = "*"
		}
		var found []historyEntry
		seen := make(map[string]bool)
		for _, e := range slices.Backward(h.entries) {
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

// last returns a copy of the last n entries, of all where n is nil.
func last(entries []historyEntry, n *int) []historyEntry {
	if n != nil {
		entries = entries[max(0, len(entries)-max(0, *n)):]
	}
	return slices.Clone(entries)
}
