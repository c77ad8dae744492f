package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"dace.local/kernel/internal/jupyter/wire"
)

// route passes a message of the shell channel to the lane of its subshell, or
// to that of the main shell. If that lane is busy, a question goes to the
// lane asides instead, which answers at once. If the lane is idle,
// it answers the request itself, so that the answer reflects the cells before. A cell
// that shows again what the running one shows goes to the lane beside, unless another
// cell waits before it.
func (s *server) route(ctx context.Context, m wire.Message) {
	l := s.shell
	if id := m.Header.Subshell; id != "" {
		l = s.subshell(id)
	}
	if l == nil || messageTypes[m.Header.MsgType].question && l.pending.Load() > 0 {
		l = s.asides // also for an unknown subshell: the reply is an error
	}
	if l == s.shell && l.cells.Load() == 1 && s.turn == nil && s.isBeside(m) {
		l = s.beside
	}
	l.push(ctx, m)
}

func (s *server) isBeside(m wire.Message) bool {
	beside := s.engine.Info().Beside
	var q executeRequest
	return beside != nil && isCell(m) && m.Unmarshal(&q) == nil && beside(q.Code)
}

// subshell returns the lane of a subshell, or nil if there is none with this id.
func (s *server) subshell(id string) *lane {
	s.subshellsMu.Lock()
	defer s.subshellsMu.Unlock()
	return s.subshells[id]
}

// maxSubshells bounds the number of subshells at one time.
const maxSubshells = 64

func (s *server) createSubshell(context.Context, *request) (any, error) {
	s.subshellsMu.Lock()
	defer s.subshellsMu.Unlock()
	if len(s.subshells) >= maxSubshells {
		return nil, fmt.Errorf("there are %d subshells, and no more can be created: delete one", maxSubshells)
	}
	l, id := newLane(s, wire.Shell), wire.NewSession()
	s.subshells[id] = l
	s.lanes.Go(func() { l.serve(s.serving) })
	return subshellReply{"ok", id}, nil
}

// deleteSubshell deletes a subshell. Its running cell is not stopped; the
// requests queued behind it are answered with an error.
func (s *server) deleteSubshell(_ context.Context, r *request) (any, error) {
	var q subshellReply
	if err := r.Unmarshal(&q); err != nil {
		return nil, err
	}
	s.subshellsMu.Lock()
	defer s.subshellsMu.Unlock()
	l := s.subshells[q.ID]
	if l == nil {
		return nil, fmt.Errorf("there is no subshell %q", q.ID)
	}
	delete(s.subshells, q.ID)
	close(l.gone)
	return ok, nil
}

func (s *server) listSubshells(context.Context, *request) (any, error) {
	s.subshellsMu.Lock()
	defer s.subshellsMu.Unlock()
	ids := slices.AppendSeq([]string{}, maps.Keys(s.subshells))
	slices.Sort(ids)
	return subshellList{"ok", ids}, nil
}

type subshellReply struct {
	Status string `json:"status,omitempty"`
	ID     string `json:"subshell_id"`
}

type subshellList struct {
	Status string   `json:"status"`
	IDs    []string `json:"subshell_id"`
}

// controlOnly returns a handler that refuses the request on the shell channel,
// since it must be answered while cells run.
func controlOnly(h handler) handler {
	return func(s *server, ctx context.Context, r *request) (any, error) {
		if r.lane.channel != wire.Control {
			return nil, fmt.Errorf("%s is served on the control channel, not on shell", r.Header.MsgType)
		}
		return h(s, ctx, r)
	}
}

// takeTurn waits until an engine that is not Concurrent is free. The caller
// must call give when it is done with the engine.
func (s *server) takeTurn(ctx context.Context) (give func(), err error) {
	if s.turn == nil {
		return func() {}, nil
	}
	select {
	case s.turn <- struct{}{}:
		return func() { <-s.turn }, nil
	case <-ctx.Done():
		return func() {}, ctx.Err()
	}
}

// A working holds the requests that are being answered. Front ends take any
// "idle" for the status of the whole kernel. So if other requests are still
// being answered when one is done, its "idle" is followed by a "busy" for one of
// the others.
type working struct {
	mu      sync.Mutex // guards current
	current []*request // oldest first, without those of the control channel and of the lane asides
}

// begin publishes that the kernel is busy with r.
func (w *working) begin(s *server, r *request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.iopub.status(r.Header, "busy")
	if r.lane.channel != wire.Control && r.lane != s.asides {
		w.current = append(w.current, r)
	}
}

// end publishes that r is done.
func (w *working) end(s *server, r *request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.current = slices.DeleteFunc(w.current, func(other *request) bool { return other == r })
	s.iopub.status(r.Header, "idle")
	if len(w.current) > 0 {
		s.iopub.status(w.current[0].Header, "busy")
	}
}
