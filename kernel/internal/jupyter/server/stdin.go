package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"dace.local/kernel/internal/jupyter/transport"
	"dace.local/kernel/internal/jupyter/wire"
)

// connectTime is how long a client has to open its stdin channel.
const connectTime = 2 * time.Second

// An asker asks clients for input, one question at a time.
type asker struct {
	session string
	send    func(wire.Message) error
	turn    chan struct{}     // holds a token while a question is open
	replies chan wire.Message // replies to the open question; capacity 1
}

func newAsker(session string, send func(wire.Message) error) *asker {
	return &asker{session: session, send: send, turn: make(chan struct{}, 1), replies: make(chan wire.Message, 1)}
}

// endOfInput is the clients' answer if the user presses Ctrl-D.
const endOfInput = "\x04"

// ask asks the client with the given identities on behalf of the request
// parent, and waits for the answer or the end of ctx. At
// the end of the input it returns io.EOF.
func (a *asker) ask(ctx context.Context, parent wire.Header, identities [][]byte, q inputRequest) (string, error) {
	select {
	case a.turn <- struct{}{}:
		defer func() { <-a.turn }()
	case <-ctx.Done():
		return "", ctx.Err()
	}
	m, _ := wire.New(wire.NewHeader(a.session, user, "input_request"), parent, q) // of texts
	m.Identities = identities
	for len(a.replies) > 0 {
		<-a.replies
	}
	if err := a.deliver(ctx, m); err != nil {
		return "", err
	}
	for {
		select {
		case reply := <-a.replies:
			// This may be a late reply to an earlier question that was
			// given up. A reply without a parent header is accepted.
			if to := reply.Parent.MsgID; to != "" && to != m.Header.MsgID && reply.Parent.MsgType == "input_request" {
				continue
			}
			var content inputReply
			if err := json.Unmarshal(reply.Content, &content); err != nil {
				return "", fmt.Errorf("the client's answer cannot be read: %w", err)
			}
			if content.Value == endOfInput {
				return "", io.EOF
			}
			return content.Value, nil
		case <-ctx.Done():
			return "", ctx.Err()
		}
	}
}

// deliver sends a question. It retries for up to connectTime, because a client
// may still be opening its stdin channel when its other channels are open.
func (a *asker) deliver(ctx context.Context, m wire.Message) error {
	for end := time.Now().Add(connectTime); ; {
		err := a.send(m)
		switch {
		case err == nil || ctx.Err() != nil:
			return ctx.Err()
		case !errors.Is(err, transport.ErrNoPeer):
			return fmt.Errorf("asking for input: %w", err)
		case time.Now().After(end):
			return errors.New("the client cannot be asked for input: it has no stdin channel open")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// answer passes a message of the stdin channel to ask. A message that no
// question waits for is dropped, here or before the next question.
func (a *asker) answer(_ context.Context, m wire.Message) {
	if m.Header.MsgType != "input_reply" {
		return
	}
	select {
	case a.replies <- m:
	default:
	}
}
