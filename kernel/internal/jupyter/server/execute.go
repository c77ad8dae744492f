package server

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"dace.local/kernel/engine"
)

// abortPause is how long no request may come after a failed cell before the
// server fixes which cells it aborts: cells that the client sent together with
// the failed one may still be on their way. The failed cell's reply is sent
// after that, so that a cell sent in response to the failure runs.
const abortPause = 5 * time.Millisecond

// aborted is the reply to a cell that is not run because an earlier one failed.
var aborted = okContent{"aborted"}

// execute runs a cell.
func (s *server) execute(ctx context.Context, r *request) (any, error) {
	if r.number <= r.lane.aborted {
		return aborted, nil
	}
	var q executeRequest
	if err := r.Unmarshal(&q); err != nil {
		return nil, err
	}
	started := time.Now()
	counted := !q.Silent && (q.StoreHistory == nil || *q.StoreHistory)
	cell := engine.Cell{Code: q.Code, Silent: q.Silent, ID: cellID(r.Metadata)}
	count := s.count.Load()
	if counted {
		count = s.count.Add(1)
		cell.Number = int(count)
	} else {
		cell.Number = int(count) + 1
	}
	if counted && strings.TrimSpace(cell.Code) != "" {
		s.history.add(cell.Number, cell.Code)
	}
	if !q.Silent {
		s.iopub.post("execute_input", r.Header, executeInput{q.Code, cell.Number})
	}

	running, ended := context.WithCancel(ctx)
	defer ended()
	out := s.outputs(running, r)
	out.allowStdin, out.silent = q.AllowStdin, q.Silent
	if !q.Silent {
		s.current.Store(out)
	}
	give, err := s.takeTurn(ctx)
	defer give()
	if err != nil {
		err = newError(engine.Interrupted, "the cell was interrupted before it began")
	}
	var result engine.Result
	if err == nil {
		result, err = s.runCell(ctx, cell, out)
		out.end()
	}
	s.sendLate(r.Header)

	reply := executeReply{
		Status:          "ok",
		ExecutionCount:  int(count),
		UserExpressions: map[string]any{},
		Payload:         []any{},
	}
	status := "ok"
	defer func() {
		r.metadata = executeMetadata{started.UTC().Format(time.RFC3339Nano), true, s.session, status}
	}()
	if err != nil {
		status = "error"
		e := asError(err)
		failed := errorContent{Name: e.Name, Value: e.Message, Traceback: e.Traceback}
		if !q.Silent {
			s.iopub.post("error", r.Header, failed)
		}
		if q.StopOnError == nil || *q.StopOnError {
			r.lane.abortQueued()
		}
		failed.Status = "error"
		return executeError{failed, reply.ExecutionCount, reply.UserExpressions, reply.Payload}, nil
	}

	if !result.Value.Empty() {
		data, metadata := encodable(result.Value)
		if !q.Silent {
			s.iopub.post("execute_result", r.Header, resultContent{cell.Number, data, metadata})
		}
		if text, ok := data["text/plain"].(string); ok && counted {
			s.history.setOutput(cell.Number, text)
		}
	}
	for _, b := range result.Pages {
		data, _ := encodable(b)
		reply.Payload = append(reply.Payload, page{Source: "page", Data: data})
	}
	if next := result.Next; next != nil {
		reply.Payload = append(reply.Payload, nextInput{"set_next_input", next.Text, next.Replace})
	}
	for name, expr := range q.UserExpressions {
		reply.UserExpressions[name] = s.evaluate(ctx, expr)
	}
	return reply, nil
}

// runCell executes a cell in a goroutine of its own, because the cell may end
// its goroutine (runtime.Goexit). It returns panics and Goexit as errors, which
// the client shows.
func (s *server) runCell(ctx context.Context, cell engine.Cell, out *outputs) (engine.Result, error) {
	var result engine.Result
	var err error = newError("Goexit", "the cell has ended its goroutine, the session lives on")
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				result, err = engine.Result{}, s.caught(p)
			}
		}()
		result, err = s.engine.Execute(ctx, cell, out)
	}()
	<-done
	var e *engine.Error
	if err != nil && !errors.As(err, &e) && ctx.Err() != nil {
		err = newError(engine.Interrupted, "the cell was interrupted")
	}
	return result, err
}

// evaluate computes one of a request's user_expressions.
func (s *server) evaluate(ctx context.Context, expr string) (value any) {
	defer func() {
		if p := recover(); p != nil {
			value = errorReply(s.caught(p))
		}
	}()
	b, err := s.engine.Evaluate(ctx, expr)
	if err != nil {
		return errorReply(err)
	}
	data, metadata := encodable(b)
	return expressionValue{"ok", data, metadata}
}

// cellID returns the notebook's id of the cell from a request's metadata, where
// front ends put it.
func cellID(metadata []byte) string {
	var m struct {
		CellID string `json:"cellId"`
	}
	_ = json.Unmarshal(metadata, &m) // invalid metadata: no id
	return m.CellID
}
