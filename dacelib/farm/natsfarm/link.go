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
	mu     sync.Mutex // guards the fields below
	ctx    context.Context
	cancel context.CancelFunc
	// window is a context within ctx that ends requests without an answer; those
	// that begin within a second share it, as a timer for each costs as much time
	// as the request.
	window context.Context
	opened time.Time
}

// requestTime is how long a request may take, up to a second more.
const requestTime = 2 * time.Second

// share returns the window of a request that begins now.
func (l *link) share() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); l.window == nil || l.window.Err() != nil || now.Sub(l.opened) > time.Second {
		w, cancel := context.WithTimeout(l.ctx, requestTime+time.Second)
		context.AfterFunc(w, cancel)
		l.window, l.opened = w, now
	}
	return l.window
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

// request makes a request, for three seconds at most.
func (l *link) request(ctx context.Context, subject string, data []byte) (*nats.Msg, error) {
	try, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(l.share(), cancel)()
	return l.RequestWithContext(try, subject, data)
}
