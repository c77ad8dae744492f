package server

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/internal/jupyter/wire"
)

// A request is a message from a client that is being answered.
type request struct {
	wire.Message
	lane   *lane
	number int64 // of the message in its lane's queue

	// A handler may set the reply's metadata, and a function that is called
	// when the reply has been sent.
	metadata any
	after    func()
}

// A handler answers a request. It returns the complete content of the reply, or
// an error, which becomes an error reply.
type handler func(s *server, ctx context.Context, r *request) (any, error)

// A messageType says how the server serves the messages of a type.
type messageType struct {
	handle handler
	// question: the request changes nothing, and is answered while a cell runs.
	question bool
	// noReply: the message has none.
	noReply bool
}

// messageTypes are the messages that the server serves.
var messageTypes map[string]messageType

func init() { // the handlers use lanes, which use this map: an initialization cycle
	messageTypes = map[string]messageType{
		"kernel_info_request": {handle: (*server).kernelInfo, question: true},
		"connect_request":     {handle: (*server).connect, question: true},
		"execute_request":     {handle: shellOnly((*server).execute)},
		"is_complete_request": {handle: (*server).isComplete, question: true},
		"complete_request":    {handle: (*server).complete, question: true},
		"inspect_request":     {handle: (*server).inspect, question: true},
		"history_request":     {handle: (*server).searchHistory, question: true},
		"comm_info_request":   {handle: (*server).commInfo, question: true},
		"usage_request":       {handle: (*server).usageRequest, question: true},
		"interrupt_request":   {handle: (*server).interruptRequest},

		"debug_request": {handle: controlOnly((*server).debug)},

		"create_subshell_request": {handle: controlOnly((*server).createSubshell)},
		"delete_subshell_request": {handle: controlOnly((*server).deleteSubshell)},
		"list_subshell_request":   {handle: controlOnly((*server).listSubshells)},
		"shutdown_request":        {handle: (*server).shutdown},

		"comm_open":  {handle: shellOnly((*server).commMessage), noReply: true},
		"comm_msg":   {handle: shellOnly((*server).commMessage), noReply: true},
		"comm_close": {handle: shellOnly((*server).commMessage), noReply: true},
	}
}

// shellOnly returns a handler that refuses the request on the control channel,
// since it must be answered between cells.
func shellOnly(h handler) handler {
	return func(s *server, ctx context.Context, r *request) (any, error) {
		if r.lane.channel == wire.Control {
			return nil, fmt.Errorf("%s is served on the shell channel, not on control", r.Header.MsgType)
		}
		return h(s, ctx, r)
	}
}

// handle answers one message: it publishes "busy", calls the handler, sends the
// reply and publishes "idle". A failure becomes an error reply.
func (s *server) handle(ctx context.Context, r *request) {
	kind := r.Header.MsgType
	start := time.Now()
	s.working.begin(s, r)
	defer func() {
		if p := recover(); p != nil { // a bug of the server; guard recovers the handlers
			s.caught(p)
		}
		s.working.end(s, r)
		s.log.Debug("answered", "type", kind, "channel", r.lane.channel, "took", time.Since(start))
	}()
	t, ok := messageTypes[kind]
	if !ok {
		t.handle = unknown
	}
	content, err := guard(s, t.handle, ctx, r)
	if t.noReply {
		if err != nil {
			s.log.Warn("a message was refused", "type", kind, "error", err)
		}
		return
	}
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

// guard calls a handler and returns its panic as an error.
func guard(s *server, h handler, ctx context.Context, r *request) (content any, err error) {
	defer func() {
		if p := recover(); p != nil {
			content, err = nil, s.caught(p)
		}
	}()
	if err := s.refuse(r.Header); err != nil {
		return nil, err
	}
	if id := r.Header.Subshell; id != "" && s.subshell(id) == nil {
		return nil, fmt.Errorf("there is no subshell %q", id)
	}
	return h(s, ctx, r)
}

// caught logs a panic and returns the error that the client is shown.
func (s *server) caught(p any) *engine.Error {
	s.log.Error("panic in the kernel", "panic", p, "stack", string(debug.Stack()))
	return newError("InternalError", fmt.Sprintf("the kernel itself panicked: %v (its log has the stack; the session lives on)", p))
}

// newError returns an Error whose traceback is its name and message.
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

// errorReply returns the content of the reply to a request that failed.
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
	if err != nil { // the engine's result cannot be encoded as JSON
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
