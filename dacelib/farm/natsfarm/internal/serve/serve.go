// Package serve is the server of a farm: NATS JetStream, in the process that
// calls [Serve].
package serve

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"dace.local/dacelib/farm/natsfarm/internal/joinfile"
	"dace.local/dacelib/files"
	"dace.local/dacelib/internal/process"
)

// Serve runs the server of a farm in a folder until ctx ends, and calls ready
// when it serves. listen is an address "host:port"; empty means that of the last
// time, or a free port of this machine alone. Any other address has TLS. disk
// bounds the bytes that each caller may use; 0 means as the last time, -1 no bound.
func Serve(ctx context.Context, dir, listen string, disk int64, ready func()) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	if err := errors.Join(os.MkdirAll(dir, 0o700), process.OwnFolder(dir)); err != nil {
		return fmt.Errorf("farm: %w", err)
	}
	if err := joinfile.Room(dir); err != nil {
		return err
	}
	lock, err := os.OpenFile(joinfile.LockName(dir), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("farm: %w", err)
	}
	defer lock.Close()
	// Who looks whether a server runs (joinfile.Serving) has the lock for an instant.
	for until := time.Now().Add(time.Second); files.Lock(lock) != nil; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(until) {
			return fmt.Errorf("farm: a server serves the folder %s already", dir)
		}
	}
	_ = os.Remove(joinfile.StoppedName(dir))
	path := filepath.Join(dir, joinfile.Name)
	old, _ := joinfile.Read(path)
	opts, host, port, err := options(dir, listen, old)
	if err != nil {
		return err
	}
	join := joinfile.File{Version: 1, Token: old.Token, Dir: dir, Disk: old.Disk}
	if disk != 0 {
		join.Disk = max(0, disk)
	}
	if join.Host, err = os.Hostname(); err != nil {
		return err
	}
	if join.Token == "" {
		b := make([]byte, 32) // 256 bits
		if _, err := rand.Read(b); err != nil {
			return err
		}
		join.Token = hex.EncodeToString(b)
	}
	if opts.TLSConfig != nil {
		join.Pin = joinfile.Pin(opts.TLSConfig.Certificates[0].Certificate[0])
	}
	inner := make([]byte, 32) // of the server's own connections
	if _, err := rand.Read(inner); err != nil {
		return err
	}
	users(opts, join.Token, hex.EncodeToString(inner))
	s, err := server.NewServer(opts)
	if err != nil {
		return fmt.Errorf("farm: %w", err)
	}
	go s.Start()
	defer func() { s.Shutdown(); s.WaitForShutdown() }()
	if !s.ReadyForConnections(20 * time.Second) {
		return fmt.Errorf("farm: the server does not start at %s: is the port %d in use?", host, port)
	}
	nc, err := prepare(s, hex.EncodeToString(inner))
	if err != nil {
		return err
	}
	defer nc.Close()
	at := s.Addr().(*net.TCPAddr).Port
	for _, h := range addresses(host) {
		join.Addresses = append(join.Addresses, net.JoinHostPort(h, strconv.Itoa(at)))
	}
	if err := joinfile.Write(path, join); err != nil {
		return err
	}
	stop := make(chan struct{})
	var once sync.Once
	if _, err := nc.Subscribe("stop", func(*nats.Msg) {
		_ = os.WriteFile(joinfile.StoppedName(dir), nil, 0o600)
		once.Do(func() { close(stop) })
	}); err != nil {
		return err
	}
	if ready != nil {
		ready()
	}
	select {
	case <-ctx.Done():
	case <-stop:
	}
	return nil
}

// options returns the server's options, its host and its port.
func options(dir, listen string, old joinfile.File) (*server.Options, string, int, error) {
	if listen == "" && len(old.Addresses) > 0 {
		listen = old.Addresses[0]
		if b, err := os.ReadFile(filepath.Join(dir, "listen")); err == nil {
			_, port, _ := net.SplitHostPort(listen)
			listen = net.JoinHostPort(string(b), port)
		}
	}
	if listen == "" {
		listen = "127.0.0.1:0"
	}
	if !strings.Contains(listen, ":") {
		listen += ":0"
	}
	host, portText, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, "", 0, fmt.Errorf("farm: the address %q: %w; it should be HOST:PORT", listen, err)
	}
	port, err := strconv.Atoi(portText)
	if err != nil || port < 0 || port > 65535 {
		return nil, "", 0, fmt.Errorf("farm: the address %q has no port from 0 to 65535", listen)
	}
	if host == "" {
		host = "0.0.0.0"
	}
	if err := files.WriteBytes(filepath.Join(dir, "listen"), []byte(host)); err != nil {
		return nil, "", 0, err
	}
	o := &server.Options{
		ServerName: "farm", Host: host, Port: port, NoLog: true, NoSigs: true, DisableJetStreamBanner: true,
		JetStream: true, StoreDir: filepath.Join(dir, "store"), MaxPayload: joinfile.MaxPayload + 4096, MaxPending: 256 << 20,
		// A worker that is stopped keeps the messages that the server gives it: it is
		// taken for lost after nine seconds.
		PingInterval: 3 * time.Second, MaxPingsOut: 2, MaxConn: 64 << 10, MaxControlLine: 4096,
	}
	if port == 0 {
		o.Port = server.RANDOM_PORT
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		cert, err := certificate(dir)
		if err != nil {
			return nil, "", 0, err
		}
		o.TLSConfig = &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{cert}}
		o.TLSTimeout = 5
	}
	return o, host, port, nil
}

// users sets the accounts and users: a caller, which may do everything within
// the farm, a worker, which takes tasks and writes results but does not manage
// streams, and the server's own.
func users(o *server.Options, token, inner string) {
	system := server.NewAccount("SYS")
	o.Accounts, o.SystemAccount = []*server.Account{system}, "SYS"
	worker := &server.Permissions{
		Publish: &server.SubjectPermission{Allow: []string{
			"r.*", "b.*.*", "c.*", "c.*.*", "w.*", "l.*", "$JS.ACK.TASKS.>",
			"$JS.API.CONSUMER.MSG.NEXT.TASKS.*", "$JS.API.CONSUMER.CREATE.TASKS.>", "$JS.API.CONSUMER.DURABLE.CREATE.TASKS.*", "$JS.API.CONSUMER.INFO.TASKS.*",
			"$JS.API.DIRECT.GET.RESULTS.>", "$JS.API.DIRECT.GET.BLOBS.>",
		}},
		Subscribe: &server.SubjectPermission{Allow: []string{"_INBOX.>", "d.*", "e.*", "x", "hello", "drain"}},
	}
	o.Users = []*server.User{
		{Username: "caller", Password: token},
		{Username: "worker", Password: token, Permissions: worker},
		{Username: "server", Password: inner},
		{Username: "system", Password: inner, Account: system},
	}
}

// prepare makes the streams, and passes on which workers have lost their
// connection.
func prepare(s *server.Server, password string) (*nats.Conn, error) {
	nc, err := nats.Connect("", nats.InProcessServer(s), nats.UserInfo("server", password), nats.Name("server"))
	if err != nil {
		return nil, fmt.Errorf("farm: %w", err)
	}
	js, err := nc.JetStream(nats.MaxWait(10 * time.Second))
	if err != nil {
		return nil, err
	}
	for _, c := range []nats.StreamConfig{
		// Their callers know the tasks, and queue them again after the server's
		// end; in memory a unit costs a quarter less processor time.
		{Name: "TASKS", Subjects: []string{"t.*.*.*"}, Storage: nats.MemoryStorage, Retention: nats.WorkQueuePolicy, MaxAge: 7 * 24 * time.Hour},
		{Name: "RESULTS", Subjects: []string{"r.*"}, Storage: nats.FileStorage, MaxMsgsPerSubject: 1, Discard: nats.DiscardNew, DiscardNewPerSubject: true, MaxAge: 7 * 24 * time.Hour},
		{Name: "LOGS", Subjects: []string{"l.*"}, Storage: nats.FileStorage, MaxMsgsPerSubject: 500, MaxMsgs: 100_000, MaxAge: 7 * 24 * time.Hour},
		{Name: "BLOBS", Subjects: []string{"b.*.*"}, Storage: nats.FileStorage, MaxMsgsPerSubject: 1, Discard: nats.DiscardNew, DiscardNewPerSubject: true, MaxAge: 30 * 24 * time.Hour},
	} {
		c.AllowDirect = true
		if _, err := js.AddStream(&c); err != nil {
			_, err2 := js.UpdateStream(&c)
			if err2 != nil && c.Storage == nats.MemoryStorage { // an older farm has it in a file
				if err2 = js.DeleteStream(c.Name); err2 == nil {
					_, err2 = js.AddStream(&c)
				}
			}
			if err2 != nil {
				if errors.Is(err2, nats.ErrStreamNotFound) {
					err2 = nil
				}
				return nil, fmt.Errorf("farm: the server's storage: %w", errors.Join(err, err2))
			}
		}
	}
	sys, err := nats.Connect("", nats.InProcessServer(s), nats.UserInfo("system", password), nats.Name("system"))
	if err != nil {
		return nil, fmt.Errorf("farm: %w", err)
	}
	w := &connections{nc: nc, of: map[string]int{}}
	for subject, change := range map[string]int{"$SYS.ACCOUNT.*.CONNECT": 1, "$SYS.ACCOUNT.*.DISCONNECT": -1} {
		if _, err := sys.Subscribe(subject, func(m *nats.Msg) { w.event(m.Data, change) }); err != nil {
			return nil, err
		}
	}
	return nc, sys.Flush()
}

// connections counts the connections of workers.
type connections struct {
	nc *nats.Conn
	mu sync.Mutex // guards of
	of map[string]int
}

func (c *connections) event(data []byte, change int) {
	var e struct {
		Reason string `json:"reason"`
		Client struct {
			Name string `json:"name"`
			User string `json:"user"`
		} `json:"client"`
	}
	if json.Unmarshal(data, &e) != nil || e.Client.User != "worker" || e.Client.Name == "" {
		return
	}
	c.mu.Lock()
	c.of[e.Client.Name] += change
	left := c.of[e.Client.Name]
	if left <= 0 {
		delete(c.of, e.Client.Name)
	}
	c.mu.Unlock()
	if left > 0 || change > 0 {
		return
	}
	// A worker whose connection was interrupted comes back at once.
	time.AfterFunc(700*time.Millisecond, func() {
		c.mu.Lock()
		back := c.of[e.Client.Name] > 0
		c.mu.Unlock()
		subject := "lost"
		if e.Reason == server.StaleConnection.String() { // stopped, or the network is: it may come back
			subject = "silent"
		}
		if !back {
			_ = c.nc.Publish(subject, []byte(e.Client.Name))
		}
	})
}

// addresses returns the addresses by which a host can be reached that listens on
// host.
func addresses(host string) []string {
	ip := net.ParseIP(host)
	if ip == nil || !ip.IsUnspecified() {
		return []string{host}
	}
	out := []string{}
	if name, err := os.Hostname(); err == nil {
		out = append(out, name)
	}
	all, _ := net.InterfaceAddrs()
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLinkLocalUnicast() {
			out = append(out, n.IP.String())
		}
	}
	return out
}

// certificate returns the farm's own certificate; the first call makes it.
func certificate(dir string) (tls.Certificate, error) {
	certFile, keyFile := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	if c, err := tls.LoadX509KeyPair(certFile, keyFile); err == nil {
		return c, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return tls.Certificate{}, err
	}
	of := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: "dace farm"}, DNSNames: []string{"farm"},
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(20, 0, 0), // the pin decides, not the date
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, of, of, &key.PublicKey, key)
	if err != nil {
		return tls.Certificate{}, err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return tls.Certificate{}, err
	}
	if err := errors.Join(
		joinfile.WritePrivate(keyFile, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})),
		joinfile.WritePrivate(certFile, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
	); err != nil {
		return tls.Certificate{}, fmt.Errorf("farm: %w", err)
	}
	return tls.LoadX509KeyPair(certFile, keyFile)
}
