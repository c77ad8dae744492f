package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/wire"
)

// A request is a message from a client that is being answered.
type request struct {
	wire.Message
	lane   *lane
	number int64 // its place in the lane

	// A handler may set metadata of the reply, and what is to be done when
	// the reply has been sent.
	metadata any
	after    func()
}

// A handler answers a request: with the content of the reply, which lacks
// nothing, or with an error, of which an error reply is made.
type handler func(s *server, ctx context.Context, r *request) (any, error)

// handlers are the requests that have a reply, notices the messages that have
// none.
var (
	handlers = map[string]handler{
		"kernel_info_request": (*server).kernelInfo,
		"connect_request":     (*server).connect,
		"execute_request":     shellOnly((*server).execute),
		"is_complete_request": (*server).isComplete,
		"complete_request":    (*server).complete,
		"inspect_request":     (*server).inspect,
		"history_request":     (*server).searchHistory,
		"comm_info_request":   (*server).commInfo,
		"interrupt_request":   (*server).interruptRequest,
		"shutdown_request":    (*server).shutdown,
	}
	notices = map[string]handler{
		"comm_open":  shellOnly((*server).commMessage),
		"comm_msg":   shellOnly((*server).commMessage),
		"comm_close": shellOnly((*server).commMessage),
	}
)

// shellOnly refuses on control what must be done between cells.
func shellOnly(h handler) handler {
	return func(s *server, ctx context.Context, r *request) (any, error) {
		if r.lane == s.control {
			return nil, fmt.Errorf("%s is served on the shell channel, not on control", r.Header.MsgType)
		}
		return h(s, ctx, r)
	}
}

// handle answers one message: busy, what the handler shows, the reply, idle.
// Whatever goes wrong becomes the reply.
func (s *server) handle(ctx context.Context, r *request) {
	kind := r.Header.MsgType
	start := time.Now()
	s.iopub.status(r.Header, "busy")
	defer func() {
		if p := recover(); p != nil { // in the server, not in a handler
			s.caught(p)
		}
		s.iopub.status(r.Header, "idle")
		s.log.Debug("answered", "type", kind, "channel", r.lane.channel, "took", time.Since(start))
	}()
	if h, ok := notices[kind]; ok {
		if _, err := guard(s, h, ctx, r); err != nil {
			s.log.Warn("a message was refused", "type", kind, "error", err)
		}
		return
	}
	h, ok := handlers[kind]
	if !ok {
		h = unknown
	}
	content, err := guard(s, h, ctx, r)
	if err != nil {
		s.log.Info("a request failed", "type", kind, "error", err)
		content = errorReply(err)
	}
	s.iopub.flush()
	s.reply(r, content)
	if r.after != nil {
		r.after()
	}
}

// guard calls a handler and makes an error of its panic.
func guard(s *server, h handler, ctx context.Context, r *request) (content any, err error) {
	defer func() {
		if p := recover(); p != nil {
			content, err = nil, s.caught(p)
		}
	}()
	return h(s, ctx, r)
}

// caught logs a panic and says it in a client's words.
func (s *server) caught(p any) *engine.Error {
	s.log.Error("panic in the kernel", "panic", p, "stack", string(debug.Stack()))
	return newError("InternalError", fmt.Sprintf("the kernel itself panicked: %v (its log has the stack; the session lives on)", p))
}

// newError returns an Error whose traceback is its text.
func newError(name, message string) *engine.Error {
	e := &engine.Error{Name: name, Message: message}
	e.Traceback = []string{e.Error()}
	return e
}

// asError returns err as the Error that clients are shown.
func asError(err error) *engine.Error {
	var e *engine.Error
	if !errors.As(err, &e) {
		return newError("KernelError", err.Error())
	}
	if e.Traceback == nil {
		return newError(e.Name, e.Message)
	}
	return e
}

// errorReply is the content of a reply to a request that failed.
func errorReply(err error) any {
	e := asError(err)
	return errorContent{Status: "error", Name: e.Name, Value: e.Message, Traceback: e.Traceback}
}

func unknown(_ *server, _ context.Context, r *request) (any, error) {
	return nil, newError("UnknownRequest", fmt.Sprintf("this kernel does not serve %q", r.Header.MsgType))
}

// reply sends the reply to r.
func (s *server) reply(r *request, content any) {
	kind := strings.TrimSuffix(r.Header.MsgType, "_request") + "_reply"
	header := wire.NewHeader(s.session, user, kind)
	m, err := wire.New(header, r.Header, content)
	if err != nil { // a result that is no JSON, from the engine
		s.log.Error("a reply cannot be encoded", "type", kind, "error", err)
		m, _ = wire.New(header, r.Header, errorReply(err))
	}
	m.Identities = r.Identities
	if r.metadata != nil {
		m.Metadata, _ = wire.Marshal(r.metadata)
	}
	if err := s.sockets.Send(r.lane.channel, m); err != nil {
		s.log.Warn("a reply could not be sent", "type", kind, "error", err)
	}
}
