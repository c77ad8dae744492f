package server

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"dace.local/kernel/engine"
	"dace.local/kernel/internal/jupyter/wire"
)

// A debugRequest is a request of the Debug Adapter Protocol, which front ends
// send inside debug_request.
type debugRequest struct {
	Seq       int             `json:"seq"`
	Command   string          `json:"command"`
	Arguments json.RawMessage `json:"arguments"`
}

// A debugReply answers it.
type debugReply struct {
	Type       string `json:"type"` // "response"
	Seq        int    `json:"seq"`
	RequestSeq int    `json:"request_seq"`
	Success    bool   `json:"success"`
	Command    string `json:"command"`
	Message    string `json:"message,omitempty"`
	Body       any    `json:"body"`
}

// A debugEvent is an event of the protocol, which clients get as a debug_event.
type debugEvent struct {
	Type  string `json:"type"` // "event"
	Seq   int64  `json:"seq"`
	Event string `json:"event"`
	Body  any    `json:"body"`
}

// debugs has an engine that is a debugger send its events to the clients.
func (s *server) debugs() {
	if d, ok := engine.Debugs(s.engine); ok {
		var seq atomic.Int64
		d.DebugEvents(func(event string, body any) {
			s.iopub.post("debug_event", wire.Header{}, debugEvent{"event", seq.Add(1), event, body})
		})
	}
}

// routeControl puts a message of the control channel into a lane. Those for the
// debugger have one of their own: an expression that it computes may take a while,
// and an interrupt ends that.
func (s *server) routeControl(ctx context.Context, m wire.Message) {
	if m.Header.MsgType == "debug_request" {
		s.debugging.push(ctx, m)
		return
	}
	s.control.push(ctx, m)
}

// debug answers debug_request. An engine that is no debugger serves the requests
// of the panel of variables, which need none, says in debugInfo that debugging has
// not been started, and refuses the rest.
func (s *server) debug(ctx context.Context, r *request) (any, error) {
	var q debugRequest
	if err := r.Unmarshal(&q); err != nil {
		return nil, err
	}
	reply := debugReply{Type: "response", RequestSeq: q.Seq, Command: q.Command}
	var body any
	var err error
	if d, ok := engine.Debugs(s.engine); ok {
		body, err = d.Debug(ctx, q.Command, q.Arguments)
	} else {
		body, err = s.debugBody(ctx, q)
	}
	if reply.Body, reply.Success = body, err == nil; err != nil {
		reply.Message, reply.Body = err.Error(), struct{}{}
	}
	return reply, nil
}

func (s *server) debugBody(ctx context.Context, q debugRequest) (any, error) {
	switch q.Command {
	case "debugInfo":
		none := []any{}
		return map[string]any{"isStarted": false, "hashMethod": "Murmur2", "hashSeed": 0, "tmpFilePrefix": "", "tmpFileSuffix": ".go",
			"breakpoints": none, "stoppedThreads": none, "exceptionPaths": none, "richRendering": true, "copyToGlobals": false}, nil
	case "inspectVariables":
		list, err := s.variables(ctx)
		shown := []debugVariable{}
		for _, v := range list {
			shown = append(shown, debugVariable{Name: v.Name, Value: v.Value, Type: v.Type, EvaluateName: v.Name})
		}
		return map[string]any{"variables": shown}, err
	case "richInspectVariables":
		var a struct {
			Name string `json:"variableName"`
		}
		if err := json.Unmarshal(q.Arguments, &a); err != nil {
			return nil, err
		}
		list, err := s.variables(ctx)
		if err != nil {
			return nil, err
		}
		for _, v := range list {
			if v.Name == a.Name {
				data, metadata := encodable(v.Shown)
				return map[string]any{"data": data, "metadata": metadata}, nil
			}
		}
		return nil, fmt.Errorf("the session has no variable %s", cmp.Or(a.Name, `""`))
	}
	return nil, fmt.Errorf("this engine has no debugger: it serves inspectVariables, not %s", q.Command)
}

// A debugVariable is a variable as front ends show it. A VariablesReference of 0
// says that it has no children to ask for.
type debugVariable struct {
	Name               string `json:"name"`
	Value              string `json:"value"`
	Type               string `json:"type"`
	EvaluateName       string `json:"evaluateName"`
	VariablesReference int    `json:"variablesReference"`
}

func (s *server) variables(ctx context.Context) ([]engine.Variable, error) {
	if l, ok := engine.Lister(s.engine); ok {
		return l.Variables(ctx)
	}
	return nil, nil
}
