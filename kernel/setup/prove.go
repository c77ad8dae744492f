package setup

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"dace.local/kernel/internal/jupyter/transport"
	"dace.local/kernel/internal/jupyter/wire"
)

// Prove starts the kernel from its kernelspec in dir as Jupyter does, with the
// spec's argv and a connection file, requests its info and runs a cell. To show
// that the kernel needs neither the clone nor other programs, it runs in a
// temporary folder, which is also its whole PATH. Prove returns a summary of
// the kernel's answers.
func Prove(ctx context.Context, dir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	temp, err := os.MkdirTemp("", "dace-install-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	start := time.Now()
	// Keep this run out of the user's history.
	k, err := Start(ctx, dir, temp, append(os.Environ(), "PATH="+temp, "XDG_STATE_HOME="+temp), nil)
	if err != nil {
		return "", err
	}
	ready := time.Since(start)
	result, err := k.Execute(ctx, "1 + 1")
	if err == nil && result != "2" {
		err = fmt.Errorf("1 + 1 gave %q", result)
	}
	if err = errors.Join(err, k.End(ctx)); err != nil {
		return "", k.explain(err)
	}
	return fmt.Sprintf("%s answers after %.2f s, 1 + 1 = 2", k.Language, ready.Seconds()), nil
}

// A Kernel is a running kernel that was started from a kernelspec, with a
// client that is connected to it.
type Kernel struct {
	PID      int
	Language string // "go go1.26.0"

	client *transport.Client
	cmd    *exec.Cmd
	ended  chan struct{}
	cancel context.CancelFunc
	out    *bytes.Buffer // what the kernel wrote, complete once it has ended
}

// Start starts the kernel of the kernelspec in dir as Jupyter does, in the
// folder work, and waits until it answers. env is its environment, to which
// that of the kernelspec is added, and as is the user that it runs as, nil for
// this one.
func Start(ctx context.Context, dir, work string, env []string, as *syscall.Credential) (*Kernel, error) {
	for attempt := 1; ; attempt++ {
		k, err := startOnce(ctx, dir, work, env, as)
		// Another program may take a port between its choice and the kernel's start.
		if err == nil || attempt == 3 || !strings.Contains(err.Error(), syscall.EADDRINUSE.Error()) {
			return k, err
		}
	}
}

// startOnce starts a kernel on ports that are free now.
func startOnce(ctx context.Context, dir, work string, env []string, as *syscall.Credential) (*Kernel, error) {
	spec, err := ReadSpec(dir)
	if err != nil {
		return nil, err
	}
	conn, err := freeConnection()
	if err != nil {
		return nil, err
	}
	file := filepath.Join(work, "kernel-"+rand.Text()+".json")
	if err := conn.Write(file); err != nil {
		return nil, err
	}
	if as != nil {
		if err := os.Chown(file, int(as.Uid), int(as.Gid)); err != nil {
			return nil, err
		}
	}
	argv := make([]string, len(spec.Argv))
	for i, arg := range spec.Argv {
		argv[i] = strings.NewReplacer("{connection_file}", file, "{resource_dir}", dir).Replace(arg)
	}
	k := &Kernel{out: new(bytes.Buffer), ended: make(chan struct{})}
	k.cmd = exec.Command(argv[0], argv[1:]...)
	k.cmd.Dir, k.cmd.Stdout, k.cmd.Stderr = work, k.out, k.out
	k.cmd.Env = env
	if as != nil {
		k.cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	}
	for name, value := range spec.Env {
		k.cmd.Env = append(k.cmd.Env, name+"="+value)
	}
	if err := k.cmd.Start(); err != nil {
		return nil, fmt.Errorf("it cannot be started: %w", err)
	}
	k.PID = k.cmd.Process.Pid
	ctx, k.cancel = context.WithCancel(ctx)
	go func() {
		_ = k.cmd.Wait()
		_ = os.Remove(file)
		close(k.ended)
		k.cancel() // the kernel cannot answer any more
	}()
	if k.client, err = transport.Dial(ctx, conn); err == nil {
		err = k.ready(ctx)
	}
	if err != nil {
		return nil, k.explain(errors.Join(err, k.End(ctx)))
	}
	return k, nil
}

// ready waits for the kernel's info.
func (k *Kernel) ready(ctx context.Context) error {
	info, err := k.client.Ready(ctx)
	if err != nil {
		return err
	}
	var who struct {
		Language struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"language_info"`
	}
	if err := info.Unmarshal(&who); err != nil {
		return fmt.Errorf("kernel_info_reply: %w", err)
	}
	k.Language = who.Language.Name + " " + who.Language.Version
	return nil
}

// Execute runs a cell and returns the text of its result, "" if it has none.
func (k *Kernel) Execute(ctx context.Context, code string) (string, error) {
	reply, outputs, err := k.client.Call(ctx, wire.Shell, "execute_request", map[string]any{
		"code": code, "silent": false, "store_history": true,
		"user_expressions": map[string]any{}, "allow_stdin": false, "stop_on_error": true,
	})
	if err != nil {
		return "", err
	}
	var status struct {
		Status string `json:"status"`
		Value  string `json:"evalue"`
	}
	if err := reply.Unmarshal(&status); err != nil {
		return "", err
	}
	if status.Status != "ok" {
		return "", fmt.Errorf("the cell failed: %s", status.Value)
	}
	return resultText(outputs), nil
}

// End asks the kernel to shut down, and kills it if it does not.
func (k *Kernel) End(ctx context.Context) (err error) {
	if k.client != nil {
		if _, err = k.client.Request(wire.Control, "shutdown_request", map[string]any{"restart": false}); err == nil {
			if _, err = k.client.Receive(ctx, wire.Control); err != nil {
				err = fmt.Errorf("no reply to shutdown_request: %w", err)
			}
		}
		defer k.client.Close()
	}
	select {
	case <-k.ended:
	case <-time.After(5 * time.Second):
		_ = k.cmd.Process.Kill()
		<-k.ended
		if err == nil {
			err = errors.New("it did not end when asked to")
		}
	}
	return err
}

// explain adds to an error what the kernel wrote; the kernel has ended.
func (k *Kernel) explain(err error) error {
	if k.out.Len() > 0 {
		err = fmt.Errorf("%w\nThe kernel wrote:\n%s", err, tail(k.out.Bytes(), 20))
	}
	return err
}

// freeConnection returns a connection with ports that are free at the moment.
func freeConnection() (wire.Connection, error) {
	conn := wire.Connection{Transport: "tcp", IP: "127.0.0.1", Key: rand.Text(), SignatureScheme: "hmac-sha256", KernelName: "dace"}
	for _, ch := range wire.Channels {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return conn, fmt.Errorf("no port is free: %w", err)
		}
		defer l.Close() // only when all five ports are known, so that they differ
		conn.SetPort(ch, l.Addr().(*net.TCPAddr).Port)
	}
	return conn, nil
}

// resultText returns the text of a cell's result, or "".
func resultText(outputs []wire.Message) string {
	for _, m := range outputs {
		if m.Header.MsgType != "execute_result" {
			continue
		}
		var result struct {
			Data map[string]json.RawMessage `json:"data"`
		}
		var text string
		if m.Unmarshal(&result) == nil && json.Unmarshal(result.Data["text/plain"], &text) == nil {
			return text
		}
	}
	return ""
}
