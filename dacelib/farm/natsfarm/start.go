package natsfarm

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"dace.local/dacelib/farm/natsfarm/internal/joinfile"
	"dace.local/dacelib/internal/process"
)

// startPatience is how long a server may take to start while its process lives:
// seconds, but a command that does not carry the server builds it first.
const startPatience = 5 * time.Minute

// Start starts the server of a farm in a process of its own, which outlives this
// one, and returns the path of its join file when it serves. If one serves
// already, it does nothing. command runs the program in the
// folder server: it gets "-dir DIR" and, if listen is not empty, "-listen ADDR".
func Start(dir, listen string, command []string) (join string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if err := process.OwnFolder(dir); err != nil {
		return "", fmt.Errorf("farm: %w", err)
	}
	if len(command) > 0 {
		own.Store(&command)
	}
	join = filepath.Join(dir, JoinName)
	if joinfile.Serving(dir) {
		return join, awaitJoin(join)
	}
	if len(command) == 0 {
		return "", errors.New("farm: no command to start the server with")
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("farm: %w", err)
	}
	if err := joinfile.Room(dir); err != nil { // the server could not even log it
		return "", err
	}
	args := append(command[1:len(command):len(command)], "-dir", dir)
	if listen != "" {
		args = append(args, "-listen", listen)
	}
	log, err := os.OpenFile(filepath.Join(dir, "server.log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", fmt.Errorf("farm: %w", err)
	}
	defer log.Close()
	cmd := exec.Command(command[0], args...)
	cmd.Stdout, cmd.Stderr = log, log
	process.Detach(cmd)
	if err := cmd.Start(); err != nil {
		return "", fmt.Errorf("farm: starting the server: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for until := time.Now().Add(startPatience); time.Now().Before(until); {
		if joinfile.Serving(dir) && awaitJoin(join) == nil {
			return join, nil
		}
		select {
		case <-ended:
			if joinfile.Serving(dir) { // another process was faster
				return join, awaitJoin(join)
			}
			b, _ := os.ReadFile(filepath.Join(dir, "server.log"))
			lines := strings.Split(strings.TrimSpace(string(b)), "\n")
			return "", fmt.Errorf("farm: the server has ended at its start: %s", lines[len(lines)-1])
		case <-time.After(10 * time.Millisecond):
		}
	}
	return "", fmt.Errorf("farm: the server did not start within %v; %s may say why", startPatience, filepath.Join(dir, "server.log"))
}

// awaitJoin waits until the server of a join file accepts connections.
func awaitJoin(path string) error {
	var last error
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		j, err := readJoin(path)
		if err != nil {
			last = err
			continue
		}
		c, err := net.DialTimeout("tcp", j.Addresses[0], time.Second)
		if err == nil {
			return c.Close()
		}
		last = err
	}
	return fmt.Errorf("farm: the server does not answer: %w", last)
}
