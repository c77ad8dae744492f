package main

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
	"time"

	"dace.local/kernel/transport"
	"dace.local/kernel/wire"
)

// prove starts the kernel through its kernelspec in dir, as Jupyter does: the
// spec's argv with a connection file, in a folder that knows nothing of the
// clone, and with nothing on the PATH. It says what the kernel answered.
func prove(ctx context.Context, dir string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	spec, err := readSpec(dir)
	if err != nil {
		return "", err
	}
	temp, err := os.MkdirTemp("", "dace-install-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	conn, err := freeConnection()
	if err != nil {
		return "", err
	}
	file := filepath.Join(temp, "kernel.json")
	if err := conn.Write(file); err != nil {
		return "", err
	}
	argv := make([]string, len(spec.Argv))
	for i, arg := range spec.Argv {
		argv[i] = strings.NewReplacer("{connection_file}", file, "{resource_dir}", dir).Replace(arg)
	}
	var out bytes.Buffer
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = temp, &out, &out
	cmd.Env = append(os.Environ(), "PATH="+temp, "XDG_STATE_HOME="+temp) // this is no part of anybody's history
	for name, value := range spec.Env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("it cannot be started: %w", err)
	}
	ended := make(chan error, 1)
	go func() {
		ended <- cmd.Wait()
		cancel() // nobody will answer any more
	}()
	note, err := talk(ctx, conn)
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
		if err == nil {
			err = errors.New("it did not end when asked to")
		}
	}
	if err != nil {
		if out.Len() > 0 {
			err = fmt.Errorf("%w\nThe kernel wrote:\n%s", err, tail(out.Bytes(), 20))
		}
		return "", err
	}
	return note, nil
}

// freeConnection is a connection on ports that are free now.
func freeConnection() (wire.Connection, error) {
	conn := wire.Connection{Transport: "tcp", IP: "127.0.0.1", Key: rand.Text(), SignatureScheme: "hmac-sha256", KernelName: "dace"}
	for _, ch := range wire.Channels {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return conn, fmt.Errorf("no port is free: %w", err)
		}
		defer l.Close() // when all five are known
		conn.SetPort(ch, l.Addr().(*net.TCPAddr).Port)
	}
	return conn, nil
}

// talk asks a kernel who it is, has it calculate, and shuts it down.
func talk(ctx context.Context, conn wire.Connection) (string, error) {
	start := time.Now()
	client, err := transport.Dial(ctx, conn)
	if err != nil {
		return "", err
	}
	defer client.Close()
	info, err := client.Ready(ctx)
	if err != nil {
		return "", err
	}
	ready := time.Since(start)
	var who struct {
		Language struct {
			Name    string `json:"name"`
			Version string `json:"version"`
		} `json:"language_info"`
	}
	if err := info.Unmarshal(&who); err != nil {
		return "", fmt.Errorf("kernel_info_reply: %w", err)
	}
	reply, outputs, err := client.Call(ctx, wire.Shell, "execute_request", map[string]any{
		"code": "1 + 1", "silent": false, "store_history": true,
		"user_expressions": map[string]any{}, "allow_stdin": false, "stop_on_error": true,
	})
	if err != nil {
		return "", err
	}
	if result := resultText(outputs); result != "2" {
		return "", fmt.Errorf("1 + 1 gave %q (reply: %s)", result, reply.Content)
	}
	if _, err := client.Request(wire.Control, "shutdown_request", map[string]any{"restart": false}); err != nil {
		return "", err
	}
	if _, err := client.Receive(ctx, wire.Control); err != nil {
		return "", fmt.Errorf("no reply to shutdown_request: %w", err)
	}
	return fmt.Sprintf("%s %s answers after %.2f s, 1 + 1 = 2", who.Language.Name, who.Language.Version, ready.Seconds()), nil
}

// resultText is the value that a cell shows.
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
