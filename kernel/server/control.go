package server

import (
	"context"
)

func (s *server) interruptRequest(context.Context, *request) (any, error) {
	s.interrupt()
	return ok, nil
}

// shutdown answers, tells all clients, and ends the server. Starting anew is
// the business of who asked.
func (s *server) shutdown(_ context.Context, r *request) (any, error) {
	var q shutdownContent
	if err := r.Unmarshal(&q); err != nil {
		return nil, err
	}
	reply := shutdownContent{"ok", q.Restart}
	r.after = func() {
		s.iopub.post("shutdown_reply", r.Header, reply)
		s.stop()
	}
	return reply, nil
}
