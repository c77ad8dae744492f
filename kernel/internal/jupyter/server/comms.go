package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"dace.local/kernel/engine"
	"dace.local/kernel/internal/jupyter/wire"
)

// comms holds the open comms: their targets by their ids. The zero value has
// none.
type comms struct {
	mu   sync.Mutex // guards open
	open map[string]string
}

// A commRun is the last run of consecutive comm messages in a lane's queue.
type commRun struct {
	mu          sync.Mutex // guards first and last
	first, last int64      // numbers of the first and the last message of the run
}

// queued records that the lane's message with this number is a comm message.
func (c *commRun) queued(number int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if number != c.last+1 {
		c.first = number
	}
	c.last = number
}

// next reports whether the message after this one has arrived and is a comm
// message of the same run.
func (c *commRun) next(number int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first <= number && number < c.last
}

// forOpen reports whether a message is for a comm that is open.
func (c *comms) forOpen(m wire.Message) bool {
	var content commContent
	return m.Header.MsgType == "comm_msg" && m.Unmarshal(&content) == nil && c.known(content.ID)
}

// note updates the open comms with a comm_open or comm_close message.
func (c *comms) note(m engine.CommMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch m.Type {
	case "comm_open":
		if c.open == nil {
			c.open = make(map[string]string)
		}
		c.open[m.ID] = m.Target
	case "comm_close":
		delete(c.open, m.ID)
	}
}

// known reports whether a comm is open.
func (c *comms) known(id string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, ok := c.open[id]
	return ok
}

func (s *server) commInfo(_ context.Context, r *request) (any, error) {
	var q commInfoRequest
	if err := r.Unmarshal(&q); err != nil {
		return nil, err
	}
	reply := commInfoReply{"ok", map[string]commInfo{}}
	s.comms.mu.Lock()
	defer s.comms.mu.Unlock()
	for id, target := range s.comms.open {
		if q.Target == "" || q.Target == target {
			reply.Comms[id] = commInfo{target}
		}
	}
	return reply, nil
}

// commMessage passes a client's comm message to the engine. A comm whose target
// the engine does not serve is closed. An error in a cell's own handler is
// written to stderr.
func (s *server) commMessage(ctx context.Context, r *request) (any, error) {
	var content struct {
		commContent
		Data json.RawMessage `json:"data"`
	}
	if err := r.Unmarshal(&content); err != nil {
		return nil, err
	}
	m := engine.CommMessage{Type: r.Header.MsgType, ID: content.ID, Target: content.Target, Buffers: r.Buffers, More: r.lane.comms.next(r.number)}
	if len(content.Data) > 0 {
		_ = json.Unmarshal(content.Data, &m.Data) // a part of JSON
	}
	if len(r.Metadata) > 0 {
		if err := json.Unmarshal(r.Metadata, &m.Metadata); err != nil {
			return nil, err
		}
	}
	if m.Type != "comm_open" && !s.comms.known(m.ID) {
		return nil, fmt.Errorf("comm %q is not open", m.ID)
	}
	out := s.outputs(ctx, r)
	err := engine.ErrUnknownTarget
	if h, ok := s.engine.(engine.CommHandler); ok {
		s.comms.note(m)
		give, interrupted := s.takeTurn(ctx)
		if interrupted != nil {
			return nil, interrupted
		}
		defer give()
		err = h.Comm(ctx, m, out)
	}
	if m.Type == "comm_open" && err != nil {
		if errors.Is(err, engine.ErrUnknownTarget) {
			s.log.Info("a client opened a comm that is not served", "target", m.Target)
			err = nil
		}
		return nil, errors.Join(err, out.Comm(engine.CommMessage{Type: "comm_close", ID: m.ID}))
	}
	if failed := (*engine.Error)(nil); errors.As(err, &failed) { // in a handler that a cell defined
		out.Stderr(failed.Text() + "\n")
		out.end()
		return nil, nil
	}
	return nil, err
}
