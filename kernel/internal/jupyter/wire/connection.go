package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"dace.local/dacelib/files"
)

// A Connection is the content of a connection file: the addresses of a
// kernel's five sockets and the key that signs messages.
type Connection struct {
	// Transport is "tcp" or "ipc".
	Transport string `json:"transport"`
	// IP is the address to bind to with tcp, and the prefix of the
	// sockets' paths with ipc.
	IP string `json:"ip"`
	// The ports of the five sockets; 0 lets the kernel choose a port.
	ShellPort   int `json:"shell_port"`
	IOPubPort   int `json:"iopub_port"`
	StdinPort   int `json:"stdin_port"`
	ControlPort int `json:"control_port"`
	HBPort      int `json:"hb_port"`
	// Key signs the messages; with an empty key messages are not signed.
	Key string `json:"key"`
	// SignatureScheme is "hmac-sha256"; with an empty key it may be empty.
	SignatureScheme string `json:"signature_scheme"`
	// KernelName is the name of the kernelspec, possibly empty.
	KernelName string `json:"kernel_name,omitempty"`
}

// scheme is the only supported signature scheme.
const scheme = "hmac-sha256"

// ReadConnection reads and validates a connection file. Its errors name the
// file and the field, and say what is expected.
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

// ParseConnection parses and validates the content of a connection file. A
// missing transport defaults to tcp, a missing address of tcp to 127.0.0.1.
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

// kind returns the JSON term for a Go type, for error messages.
func kind(goType string) string {
	if goType == "int" {
		return "whole number"
	}
	return goType
}

// Validate checks the connection; its error names the field that is wrong.
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

// The channels, under their names in connection files.
const (
	Shell   Channel = "shell"
	Control Channel = "control"
	Stdin   Channel = "stdin"
	IOPub   Channel = "iopub"
	HB      Channel = "hb"
)

// Channels lists all channels.
var Channels = [...]Channel{Shell, Control, Stdin, IOPub, HB}

// port returns a pointer to the port field of a channel.
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

// Address returns the network of a channel, "tcp" or "unix", and its address
// there: host:port, or the path IP-PORT, as in jupyter_client.
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

// Write writes the connection file atomically, readable by its owner only: a
// reader sees the whole file or none.
func (c Connection) Write(name string) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("connection file %s: %w", name, err)
	}
	data, _ := json.MarshalIndent(c, "", "  ") // of strings and numbers, which have no error
	err := files.Settings{Mode: 0o600, NoSync: true}.WriteBytes(name, append(data, '\n'))
	if err != nil {
		return fmt.Errorf("connection file %s: %w", name, err)
	}
	return nil
}
