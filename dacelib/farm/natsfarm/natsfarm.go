// Package natsfarm is how callers and workers reach the server of a farm, NATS
// JetStream, and how they start it. A program that imports it can use
// [farm.Start] and [farm.Join]; the command dace does. No other package imports
// NATS. The server is a program of its own, in the folder server: linked into
// every kernel it would take 12 MB.
//
// Start with [Start] and [NewPool]. The layout of the server:
//
//	TASKS    t.CLASS.CALLER.N   messages, in memory; a worker takes one, which removes it
//	RESULTS  r.KEY              results; the first of a key stays
//	BLOBS    b.KEY.PART         blobs in parts
//	LOGS     l.NAME             what a worker says of itself, a line in each message
//
// Beside these streams, plain subjects carry what may be lost: d.NAME messages
// that a caller hands to a worker that it takes for idle, past the queue (a
// worker that is busy sends it back), c.CALLER.N the results of message N that was
// handed over, which the worker stores in RESULTS a moment later, with others,
// c.CALLER what workers tell a caller, w.NAME news of a worker, q.CALLER those of a
// caller, x messages that are withdrawn, hello a request to workers and callers to
// show themselves, lost that a worker's connection ended, silent that one does not
// answer, e.NAME that a worker is to end.
package natsfarm

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm"
	"dace.local/dacelib/farm/natsfarm/internal/joinfile"
)

func init() {
	farm.RegisterDriver(farm.Driver{
		Pool:   func(ctx context.Context, join string) (farm.Pool, error) { return NewPool(ctx, join) },
		Source: func(ctx context.Context, join string) (farm.Source, error) { return NewSource(ctx, join) },
		Start:  Start, Watch: Watch, Drain: Drain, Stop: Stop, Log: Log, Cancel: Cancel,
	})
}

const (
	// JoinName is the name of the join file in a farm's folder.
	JoinName = joinfile.Name
	// maxPayload is the largest message. Larger results become blobs.
	maxPayload = joinfile.MaxPayload
	// blobPart is the size of a blob's parts.
	blobPart = 1 << 20
	// maxBlob bounds the size that a blob's description may claim.
	maxBlob = 4 << 30
	// beatEvery is how often workers show themselves, silent how long a worker
	// may be silent.
	beatEvery = 5 * time.Second
	silent    = 14 * time.Second
	// patience is how long an operation may fail before a person is told.
	patience = 4500 * time.Millisecond
)

// A joinFile says how to reach a farm. Whoever holds it may run code as the
// farm's user.
type joinFile struct {
	joinfile.File
	path string
}

func readJoin(path string) (joinFile, error) {
	j, err := joinfile.Read(path)
	return joinFile{j, path}, err
}

var errPin = errors.New("the server's certificate is not the one in the join file: the file is of another farm or an older one, or somebody else answers")

// options returns the options of a connection.
func (j joinFile) options(role, name string) []nats.Option {
	opts := []nats.Option{
		nats.Name(name), nats.UserInfo(role, j.Token), nats.MaxReconnects(-1), nats.RetryOnFailedConnect(false),
		nats.ReconnectWait(50 * time.Millisecond), nats.ReconnectJitter(50*time.Millisecond, 50*time.Millisecond),
		nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2), nats.IgnoreAuthErrorAbort(), nats.NoEcho(), nats.Timeout(5 * time.Second),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	if j.Pin != "" {
		opts = append(opts, nats.Secure(&tls.Config{
			MinVersion:         tls.VersionTLS13,
			InsecureSkipVerify: true, // the pin is checked instead of names and authorities
			VerifyPeerCertificate: func(raw [][]byte, _ [][]*x509.Certificate) error {
				if len(raw) == 0 || joinfile.Pin(raw[0]) != j.Pin {
					return errPin
				}
				return nil
			},
		}))
	}
	return opts
}

// connect connects to a farm. down and back are called when the connection has
// ended and when it is there again. It tries again for a while if nothing answers, and
// starts the server again if it was on this machine and has died; what another
// attempt cannot change is an error at once.
func (j joinFile) connect(ctx context.Context, path, role, name string, down func(), back func()) (*link, error) {
	l := newLink()
	opts := append(j.options(role, name),
		nats.DisconnectErrHandler(func(*nats.Conn, error) { l.interrupted(); go down() }),
		nats.ReconnectHandler(func(*nats.Conn) { go back() }))
	until := time.Now().Add(15 * time.Second)
	for {
		nc, err := nats.Connect(strings.Join(j.Addresses, ","), opts...)
		switch {
		case err == nil:
			l.Conn = nc
			return l, nil
		case errors.Is(err, errPin):
			return nil, fmt.Errorf("farm: %w", errPin)
		case errors.Is(err, nats.ErrAuthorization):
			return nil, fmt.Errorf("farm: the server at %s refuses the token of %s: the file is of another farm, or older than this one", j.Addresses[0], path)
		case strings.Contains(err.Error(), "tls: "), errors.Is(err, nats.ErrSecureConnRequired), errors.Is(err, nats.ErrSecureConnWanted):
			return nil, fmt.Errorf("farm: the server at %s and %s do not agree on TLS: %w", j.Addresses[0], path, err)
		case time.Now().After(until):
			return nil, fmt.Errorf("farm: no server answers at %s (%w): \"dace farm start\" starts it; if it runs, is the port reachable from here?", strings.Join(j.Addresses, ", "), err)
		}
		j.revive()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
		if again, err := readJoin(path); err == nil { // the server may have been started anew
			j = again
			opts[1] = nats.UserInfo(role, j.Token)
		}
	}
}

// revive starts the server if it was on this machine, in the folder that holds
// the join file, and has died.
func (j joinFile) revive() {
	host, _ := os.Hostname()
	command := ownCommand()
	if host != j.Host || len(command) == 0 || stopped(j.Dir) || joinfile.Serving(j.Dir) {
		return
	}
	here, err := os.Stat(j.path)
	there, err2 := os.Stat(filepath.Join(j.Dir, JoinName))
	if err != nil || err2 != nil || !os.SameFile(here, there) {
		return // a copy could name any folder
	}
	_, _ = Start(j.Dir, "", command) // an error shows itself as no connection
}

// own is the command with which this process has started a server; nil if it
// has started none.
var own atomic.Pointer[[]string]

// ownCommand returns the command that starts a server: that of this process, else
// this program if it is the command dace, else nil.
func ownCommand() []string {
	if c := own.Load(); c != nil {
		return *c
	}
	if self, err := os.Executable(); err == nil && strings.HasPrefix(filepath.Base(self), "dace") {
		return []string{self, "farm", "serve"}
	}
	return nil
}

// stopped reports whether the farm in a folder was stopped on purpose.
func stopped(dir string) bool {
	_, err := os.Stat(joinfile.StoppedName(dir))
	return err == nil
}

// An ack is what the server answers to a message for a stream.
type ack struct {
	Seq   uint64 `json:"seq"`
	Error *struct {
		Code        int    `json:"code"`
		ErrCode     int    `json:"err_code"`
		Description string `json:"description"`
	} `json:"error"`
}

// errTaken says that a subject that holds one message has one.
var errTaken = errors.New("there is one already")

// store publishes a message for a stream and waits until the server has it. While
// the server is away it tries again, until ctx ends; a server that cannot store
// is an error. down is called when it has been away for a while.
func store(ctx context.Context, nc *link, subject string, data []byte, down func()) error {
	if len(data) > maxPayload {
		return fmt.Errorf("farm: a message of %.1f MB is larger than the %d MB that the server takes: put what is large into a blob (Pool.Put), or cut the unit", float64(len(data))/(1<<20), maxPayload>>20)
	}
	begun := time.Now()
	for tries := 0; ; tries++ {
		m, err := storeOnce(ctx, nc, subject, data, tries, begun)
		var a ack
		switch {
		case err == nil && json.Unmarshal(m.Data, &a) == nil && a.Error == nil:
			return nil
		case err == nil && a.Error != nil:
			if strings.Contains(a.Error.Description, "maximum messages per subject") {
				return errTaken
			}
			if full(a.Error.Description) || time.Since(begun) >= patience {
				return storageError(len(data), a.Error.Description)
			}
		case errors.Is(err, nats.ErrMaxPayload):
			return fmt.Errorf("farm: a message of %d bytes is larger than the server takes: %w", len(data), err)
		case ctx.Err() != nil:
			return ctx.Err()
		case errors.Is(err, nats.ErrConnectionClosed):
			return err
		case nc.IsConnected() && time.Since(begun) >= patience:
			// The server answers but its storage does not.
			return storageError(len(data), "its storage does not answer")
		}
		if !nc.IsConnected() {
			begun = time.Now()
			if down != nil {
				down()
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// storeOnce publishes a message for a stream once. All tries but the first end
// with patience.
func storeOnce(ctx context.Context, nc *link, subject string, data []byte, tries int, begun time.Time) (*nats.Msg, error) {
	if tries > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, begun.Add(max(patience, time.Since(begun)+patience/4)))
		defer cancel()
	}
	return nc.request(ctx, subject, data)
}

// full reports whether an answer of the server tells of a full disk. The server
// has only a text for it.
func full(description string) bool {
	return strings.Contains(description, "no space left") || strings.Contains(description, "insufficient storage") ||
		strings.Contains(description, "insufficient resources") || strings.Contains(description, "resource limits exceeded") || strings.Contains(description, "disk quota")
}

func storageError(size int, why string) error {
	return &farm.NoRoom{Words: fmt.Sprintf("farm: the server cannot store %d bytes more (%s): make room on its file system, or start the farm in another folder (dace farm start -dir); what was computed is kept", size, why)}
}

// get returns the message of a subject of a stream; ok is false if there is
// none.
func get(ctx context.Context, nc *link, stream, subject string) (data []byte, ok bool, err error) {
	for {
		m, err := nc.request(ctx, "$JS.API.DIRECT.GET."+stream+"."+subject, nil)
		switch {
		case err == nil && m.Header.Get("Status") == "404":
			return nil, false, nil
		case err == nil && m.Header.Get("Status") == "":
			return m.Data, true, nil
		case ctx.Err() != nil:
			return nil, false, ctx.Err()
		case errors.Is(err, nats.ErrConnectionClosed):
			return nil, false, err
		}
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// A blobHead describes a blob.
type blobHead struct {
	Size int64 `json:"size"`
}

// putBlob stores a blob in parts, the description last: a blob with one is
// complete.
func putBlob(ctx context.Context, nc *link, blob []byte, down func()) (string, error) {
	key := farm.BlobKey(blob)
	if _, ok, err := get(ctx, nc, "BLOBS", "b."+key+".head"); err != nil || ok {
		return key, err
	}
	for i := 0; i*blobPart < len(blob); i++ {
		part := blob[i*blobPart : min((i+1)*blobPart, len(blob))]
		if err := store(ctx, nc, fmt.Sprintf("b.%s.%d", key, i), part, down); err != nil && !errors.Is(err, errTaken) {
			return "", err
		}
	}
	head, err := json.Marshal(blobHead{Size: int64(len(blob))})
	if err != nil {
		return "", err
	}
	if err := store(ctx, nc, "b."+key+".head", head, down); err != nil && !errors.Is(err, errTaken) {
		return "", err
	}
	return key, nil
}

// getBlob returns a blob. It allocates no more than what has come.
func getBlob(ctx context.Context, nc *link, key string) ([]byte, error) {
	if len(key) != 64 || strings.Trim(key, "0123456789abcdef") != "" {
		return nil, fmt.Errorf("farm: %q is no key of a blob", key)
	}
	head, ok, err := get(ctx, nc, "BLOBS", "b."+key+".head")
	if err != nil {
		return nil, err
	}
	var h blobHead
	if !ok || json.Unmarshal(head, &h) != nil {
		return nil, farm.MissingBlob(key)
	}
	if h.Size < 0 || h.Size > maxBlob {
		return nil, fmt.Errorf("farm: the blob %.12s claims to have %d bytes; at most %d are possible", key, h.Size, int64(maxBlob))
	}
	var blob bytes.Buffer
	for i := 0; int64(blob.Len()) < h.Size; i++ {
		part, ok, err := get(ctx, nc, "BLOBS", fmt.Sprintf("b.%s.%d", key, i))
		if err != nil {
			return nil, err
		}
		if !ok || len(part) == 0 {
			return nil, farm.MissingBlob(key)
		}
		blob.Write(part)
	}
	if farm.BlobKey(blob.Bytes()) != key {
		return nil, farm.MissingBlob(key) // its caller stores it again
	}
	return blob.Bytes(), nil
}

// resultHead describes a result, which follows after a new line, or is a blob.
type resultHead struct {
	Key     string  `json:"key"`
	Seconds float64 `json:"seconds"`
	Worker  string  `json:"worker"`
	Host    string  `json:"host"`
	Blob    string  `json:"blob,omitempty"`
}

func packResult(r farm.Result, blob string) ([]byte, error) {
	b, err := json.Marshal(resultHead{r.Key, r.Seconds, r.Worker, r.Host, blob})
	if err != nil {
		return nil, err
	}
	return append(append(b, '\n'), r.Data...), nil
}

// unpackResult decodes what packResult has made; blob is the key of its data if
// they are elsewhere.
func unpackResult(b []byte) (r farm.Result, blob string, err error) {
	head, data, ok := bytes.Cut(b, []byte{'\n'})
	var h resultHead
	if !ok || json.Unmarshal(head, &h) != nil || h.Key == "" {
		return r, "", errors.New("farm: a damaged result")
	}
	return farm.Result{Key: h.Key, Data: data, Seconds: h.Seconds, Worker: h.Worker, Host: h.Host}, h.Blob, nil
}

// A notice is what a worker tells a caller.
type notice struct {
	Kind   string `json:"kind"` // took, failed, missing, checked, back, conflict, note, cancel
	ID     string `json:"id,omitempty"`
	Key    string `json:"key,omitempty"`
	Unit   int    `json:"unit,omitempty"`
	Worker string `json:"worker"`
	Host   string `json:"host"`
	Words  string `json:"words,omitempty"`
}

// split returns the caller's name and the number in a message's ID.
func split(id string) (caller, number string) {
	if i := strings.LastIndexByte(id, '-'); i >= 0 {
		return id[:i], id[i+1:]
	}
	return id, "0"
}

// subject returns the subject of a message.
func subject(m farm.Message) string {
	caller, number := split(m.ID)
	return "t." + m.Class() + "." + caller + "." + number
}
