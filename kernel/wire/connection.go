package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// A Connection is what a connection file says: where a kernel's five sockets
// are, and the key that signs messages.
type Connection struct {
	// Transport is "tcp" or "ipc".
	Transport string `json:"transport"`
	// IP is the address to bind to with tcp, the beginning of the sockets'
	// paths with ipc.
	IP string `json:"ip"`
	// Ports; a port 0 is one that the kernel may choose.
	ShellPort   int `json:"shell_port"`
	IOPubPort   int `json:"iopub_port"`
	StdinPort   int `json:"stdin_port"`
	ControlPort int `json:"control_port"`
	HBPort      int `json:"hb_port"`
	// Key signs the messages; with an empty key they are not signed.
	Key string `json:"key"`
	// SignatureScheme is "hmac-sha256", or empty with an empty key.
	SignatureScheme string `json:"signature_scheme"`
	// KernelName is the name of the kernelspec, possibly empty.
	KernelName string `json:"kernel_name,omitempty"`
}

// scheme is the one signature scheme.
const scheme = "hmac-sha256"

// ReadConnection reads and checks a connection file. Its errors name the file
// and the field and say what is expected.
func ReadConnection(name string) (Connection, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return Connection{}, fmt.Errorf("connection file: %w", err)
	}
	c, err := ParseConnection(data)
	if err != nil {
		return Connection{}, fmt.Errorf("connection file %s: %w", name, err)
	}
	return c, nil
}

// ParseConnection reads and checks the text of a connection file. A missing
// transport is tcp, a missing address of tcp is 127.0.0.1.
func ParseConnection(data []byte) (Connection, error) {
	var c Connection
	if err := json.Unmarshal(data, &c); err != nil {
		var wrong *json.UnmarshalTypeError
		if errors.As(err, &wrong) && wrong.Field != "" {
			return Connection{}, fmt.Errorf("field %q: got a %s, want a %s", wrong.Field, wrong.Value, kind(wrong.Type.String()))
		}
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			return Connection{}, fmt.Errorf("not JSON: %v at byte %d", err, syntax.Offset)
		}
		return Connection{}, fmt.Errorf("not a connection: %w", err)
	}
	if c.Transport == "" {
		c.Transport = "tcp"
	}
	if c.IP == "" && c.Transport == "tcp" {
		c.IP = "127.0.0.1"
	}
	if err := c.Validate(); err != nil {
		return Connection{}, err
	}
	return c, nil
}

// kind names a Go type as a JSON author would.
func kind(goType string) string {
	if goType == "int" {
		return "whole number"
	}
	return goType
}

// Validate says what is wrong with a connection, naming the field.
func (c Connection) Validate() error {
	switch c.Transport {
	case "tcp":
		if c.IP != "*" && c.IP != "localhost" && net.ParseIP(c.IP) == nil {
			return fmt.Errorf("field \"ip\": %q is not an IP address", c.IP)
		}
	case "ipc":
		if c.IP == "" || strings.ContainsRune(c.IP, 0) {
			return fmt.Errorf("field \"ip\": with transport ipc it is the beginning of the sockets' paths, got %q", c.IP)
		}
	default:
		return fmt.Errorf("field \"transport\": %q is not supported, use \"tcp\" or \"ipc\"", c.Transport)
	}
	switch c.SignatureScheme {
	case scheme:
	case "":
		if c.Key != "" {
			return fmt.Errorf("field \"signature_scheme\": missing, but there is a key; use %q", scheme)
		}
	default:
		return fmt.Errorf("field \"signature_scheme\": %q is not supported, use %q", c.SignatureScheme, scheme)
	}
	seen := make(map[int]string)
	for _, ch := range Channels {
		port, field := c.Port(ch), string(ch)+"_port"
		if port < 0 || c.Transport == "tcp" && port > 65535 {
			return fmt.Errorf("field %q: %d is not a port", field, port)
		}
		if other, dup := seen[port]; dup && port != 0 {
			return fmt.Errorf("field %q: port %d is %q already", field, port, other)
		}
		seen[port] = field
	}
	return nil
}

// A Channel is one of a kernel's five sockets.
type Channel string

// The channels, as connection files name them.
const (
	Shell   Channel = "shell"
	Control Channel = "control"
	Stdin   Channel = "stdin"
	IOPub   Channel = "iopub"
	HB      Channel = "hb"
)

// Channels lists all channels.
var Channels = [...]Channel{Shell, Control, Stdin, IOPub, HB}

// port returns where the port of a channel is kept.
func (c *Connection) port(ch Channel) *int {
	switch ch {
	case Shell:
		return &c.ShellPort
	case Control:
		return &c.ControlPort
	case Stdin:
		return &c.StdinPort
	case IOPub:
		return &c.IOPubPort
	case HB:
		return &c.HBPort
	}
	panic("wire: unknown channel")
}

// Port returns the port of a channel.
func (c Connection) Port(ch Channel) int { return *c.port(ch) }

// SetPort sets the port of a channel.
func (c *Connection) SetPort(ch Channel, port int) { *c.port(ch) = port }

// Address returns the network, "tcp" or "unix", and the address on it of a
// channel: host:port, or the path IP-PORT as jupyter_client has it.
func (c Connection) Address(ch Channel) (network, address string) {
	port := strconv.Itoa(c.Port(ch))
	if c.Transport == "ipc" {
		return "unix", c.IP + "-" + port
	}
	host := c.IP
	if host == "*" {
		host = "0.0.0.0"
	}
	return "tcp", net.JoinHostPort(host, port)
}

// Write writes the connection file, readable by its owner only, in one step: a
// reader sees all of it or nothing.
func (c Connection) Write(name string) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("connection file %s: %w", name, err)
	}
	data, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return fmt.Errorf("connection file %s: %w", name, err)
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".connection-*") // mode 0600
	if err != nil {
		return fmt.Errorf("connection file %s: %w", name, err)
	}
	defer os.Remove(f.Name()) // fails once it has been renamed
	_, err = f.Write(append(data, '\n'))
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("connection file %s: %w", name, err)
	}
	return nil
}
