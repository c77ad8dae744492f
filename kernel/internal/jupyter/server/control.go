package server

import (
	"context"
)

func (s *server) interruptRequest(_ context.Context, r *request) (any, error) {
	s.interrupt(r.Header)
	return ok, nil
}

// shutdown answers the request, tells all clients, and ends the server. It does
// not restart the kernel: the client that asked for a restart does that.
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
