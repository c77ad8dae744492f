package natsfarm

import (
	"context"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// A link is a connection whose requests end as soon as it is interrupted: their
// answers will not come.
type link struct {
	*nats.Conn
	mu     sync.Mutex // guards ctx and cancel
	ctx    context.Context
	cancel context.CancelFunc
}

func newLink() *link {
	l := new(link)
	l.ctx, l.cancel = context.WithCancel(context.Background())
	return l
}

// interrupted ends all requests. It is called when the connection has ended.
func (l *link) interrupted() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cancel()
	l.ctx, l.cancel = context.WithCancel(context.Background())
}

// request makes a request, for two seconds at most.
func (l *link) request(ctx context.Context, subject string, data []byte) (*nats.Msg, error) {
	l.mu.Lock()
	whole := l.ctx
	l.mu.Unlock()
	try, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	defer context.AfterFunc(whole, cancel)()
	return l.RequestWithContext(try, subject, data)
}
