package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"dace.local/kernel/internal/jupyter/transport"
	"dace.local/kernel/internal/jupyter/wire"
)

// startKernel starts `dace jupyter` with a connection file, as Jupyter does.
func startKernel(t *testing.T, file string, conn wire.Connection) (*exec.Cmd, *transport.Client) {
	t.Helper()
	cmd := command(t, filepath.Dir(file), "jupyter", "-f", file)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Stderr = t.Output()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	client, err := transport.Dial(t.Context(), conn)
	if err == nil {
		_, err = client.Ready(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return cmd, client
}

// execute sends an execute_request for a cell.
func execute(t *testing.T, c *transport.Client, code string) {
	t.Helper()
	_, err := c.Request(wire.Shell, "execute_request", map[string]any{
		"code": code, "silent": false, "store_history": true, "user_expressions": map[string]any{}, "allow_stdin": false, "stop_on_error": true})
	if err != nil {
		t.Fatal(err)
	}
}

// stream waits for output on the named stream that contains the text has, and
// returns it.
func stream(t *testing.T, c *transport.Client, name, has string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	all := ""
	for {
		m, err := c.Receive(ctx, wire.IOPub)
		if err != nil {
			t.Fatalf("%v; %s holds %q", err, name, all)
		}
		var s struct{ Name, Text string }
		if m.Header.MsgType == "stream" && m.Unmarshal(&s) == nil && s.Name == name {
			if all += s.Text; strings.Contains(all, has) {
				return all
			}
		}
	}
}

// ended waits until a process has ended.
func ended(t *testing.T, what string, pid int) {
	t.Helper()
	for end := time.Now().Add(5 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if _, state, _ := strings.Cut(string(stat), ") "); err != nil || strings.HasPrefix(state, "Z") {
			return
		}
		if time.Now().After(end) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			t.Errorf("%s: process %d lives", what, pid)
			return
		}
	}
}

// The child processes of a cell end when the cell is interrupted, and when the
// kernel ends, however it ends; and the next kernel reports how it ended.
func TestChildren(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("there is no /proc")
	}
	// Sockets in a folder of its own: a free port can be taken before the kernel has it.
	conn := wire.Connection{Transport: "ipc", IP: filepath.Join(t.TempDir(), "k"), Key: rand.Text(), SignatureScheme: "hmac-sha256", KernelName: "dace",
		ShellPort: 1, IOPubPort: 2, StdinPort: 3, ControlPort: 4, HBPort: 5}
	file := filepath.Join(t.TempDir(), "connection.json")
	if err := conn.Write(file); err != nil {
		t.Fatal(err)
	}
	// The child starts a child of its own and ignores signals that ask it
	// to end.
	const cell = "import \"os/exec\"\nc := exec.Command(\"sh\", \"-c\", \"trap '' INT TERM; sleep 1000 & echo child $! $$ end; wait; sleep 1000\")\nc.Stdout = os.Stdout\nc.Start()\nfmt.Println(\"started\")\n"
	child := func(c *transport.Client, also string) (pids []int) {
		t.Helper()
		execute(t, c, cell+also)
		_, text, _ := strings.Cut(stream(t, c, "stdout", " end\n"), "child ")
		for _, word := range strings.Fields(text) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
		if len(pids) != 2 {
			t.Fatalf("%q", text)
		}
		return pids
	}
	idle := func(c *transport.Client) {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		if _, err := c.Receive(ctx, wire.Shell); err != nil {
			t.Fatal(err)
		}
	}
	kernel, client := startKernel(t, file, conn)
	earlier := child(client, "")
	idle(client)
	time.Sleep(50 * time.Millisecond) // the system counts time in hundredths of a second
	pids := child(client, "c.Wait()")
	if _, err := client.Request(wire.Control, "interrupt_request", map[string]any{}); err != nil {
		t.Fatal(err)
	}
	for _, pid := range pids {
		ended(t, "after an interrupt", pid)
	}
	idle(client)
	for _, pid := range earlier {
		if syscall.Kill(pid, 0) != nil {
			t.Error("an interrupt has ended the child of an earlier cell")
		}
	}
	pids = append(child(client, "select {}"), earlier...)
	if err := kernel.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = kernel.Wait()
	client.Close()
	for _, pid := range pids {
		ended(t, "after SIGKILL", pid)
	}

	kernel, client = startKernel(t, file, conn)
	execute(t, client, "1")
	if got := stream(t, client, "stderr", "run the cells again.\n"); !strings.Contains(got, "The kernel was ended while In[3] ran by a signal") {
		t.Errorf("the next kernel says %s", got)
	}
	idle(client)
	pids = child(client, "")
	idle(client)
	if err := kernel.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := kernel.Wait(); err != nil {
		t.Error(err)
	}
	for _, pid := range pids {
		ended(t, "after SIGTERM", pid)
	}
	if _, err := os.Stat(file + ".crash"); !os.IsNotExist(err) {
		t.Errorf("a kernel that ended well leaves a note: %v", err)
	}
}
