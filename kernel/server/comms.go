package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"dace.local/kernel/engine"
)

// comms are the comms that are open: their targets by their ids. The zero
// value has none.
type comms struct {
	mu   sync.Mutex
	open map[string]string
}

// note keeps track of a message that opens or closes a comm.
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

// commMessage hands a client's comm message to the engine. A comm that nobody
// serves is closed; an error of code that a cell registered is shown.
func (s *server) commMessage(ctx context.Context, r *request) (any, error) {
	var content struct {
		commContent
		Data json.RawMessage `json:"data"`
	}
	if err := r.Unmarshal(&content); err != nil {
		return nil, err
	}
	m := engine.CommMessage{Type: r.Header.MsgType, ID: content.ID, Target: content.Target, Buffers: r.Buffers}
	if len(content.Data) > 0 {
		if err := json.Unmarshal(content.Data, &m.Data); err != nil {
			return nil, err
		}
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
		err = h.Comm(ctx, m, out)
	}
	if m.Type == "comm_open" && err != nil {
		if errors.Is(err, engine.ErrUnknownTarget) {
			s.log.Info("a client opened a comm that is not served", "target", m.Target)
			err = nil
		}
		return nil, errors.Join(err, out.Comm(engine.CommMessage{Type: "comm_close", ID: m.ID}))
	}
	if failed := (*engine.Error)(nil); errors.As(err, &failed) { // code in a cell
		out.Stderr(failed.Text() + "\n")
		out.end()
		return nil, nil
	}
	return nil, err
}
