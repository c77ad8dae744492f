package wire

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"time"
)

// Version is the version of the Jupyter messaging protocol that this package
// announces in the headers it makes.
const Version = "5.4"

// A Message is one Jupyter message.
type Message struct {
	// Identities are the routing frames before the delimiter. On a message
	// that a kernel received, they are what a reply must start with; on
	// iopub they are the topic.
	Identities [][]byte
	// Header says what the message is.
	Header Header
	// Parent is the header of the request that this message answers or
	// belongs to, zero where there is none.
	Parent Header
	// Metadata and Content are JSON objects; nil stands for {}.
	Metadata json.RawMessage
	Content  json.RawMessage
	// Buffers are binary attachments. They are not signed.
	Buffers [][]byte
}

// New returns a message that carries content, which must encode to a JSON
// object (nil: an empty one), as part of the conversation that parent began.
func New(header, parent Header, content any) (Message, error) {
	m := Message{Header: header, Parent: parent}
	if content != nil {
		var err error
		if m.Content, err = Marshal(content); err != nil {
			return Message{}, fmt.Errorf("content of %s: %w", header.MsgType, err)
		}
		if !startsObject(m.Content) {
			return Message{}, fmt.Errorf("content of %s: %T is not a JSON object", header.MsgType, content)
		}
	}
	return m, nil
}

// Unmarshal decodes the content into v.
func (m Message) Unmarshal(v any) error {
	if err := json.Unmarshal(object(m.Content), v); err != nil {
		return fmt.Errorf("content of %s: %w", m.Header.MsgType, err)
	}
	return nil
}

// Marshal encodes v as JSON for a message: as json.Marshal does, but with <, >
// and & left as they are, which keeps HTML and SVG outputs small.
func Marshal(v any) (json.RawMessage, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// A Header identifies a message.
type Header struct {
	MsgID    string
	Session  string
	Username string
	MsgType  string
	Version  string
	// Date is when the message was made; zero where the sender gave none
	// or one that cannot be read.
	Date time.Time
	// Raw is a received header as it came. It is what a reply echoes as its
	// parent header, fields unknown to this package included. While it is
	// set, the other fields have no influence on the encoding.
	Raw json.RawMessage
}

// NewHeader returns the header of a new message of the given type, with a
// fresh message id, made now.
func NewHeader(session, username, msgType string) Header {
	return Header{
		MsgID:    session + "_" + strconv.Itoa(os.Getpid()) + "_" + strconv.FormatUint(counter.Add(1), 10),
		Session:  session,
		Username: username,
		MsgType:  msgType,
		Version:  Version,
		Date:     time.Now().UTC(),
	}
}

// counter numbers the messages of this process.
var counter atomic.Uint64

// NewSession returns a fresh session id, a random UUID.
func NewSession() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// IsZero reports whether h is no header at all, as the parent of a message
// that nobody asked for.
func (h Header) IsZero() bool {
	return h.Raw == nil && h.MsgID == "" && h.MsgType == "" && h.Session == ""
}

// headerJSON is a header on the wire.
type headerJSON struct {
	MsgID    string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	MsgType  string `json:"msg_type"`
	Version  string `json:"version"`
}

// dateLayout is RFC 3339 with microseconds, as Jupyter writes dates.
const dateLayout = "2006-01-02T15:04:05.000000Z07:00"

// MarshalJSON encodes the header: Raw where it is set, {} for a zero header.
func (h Header) MarshalJSON() ([]byte, error) {
	if h.Raw != nil {
		return h.Raw, nil
	}
	if h.IsZero() {
		return []byte("{}"), nil
	}
	return Marshal(headerJSON{
		MsgID:    h.MsgID,
		Session:  h.Session,
		Username: h.Username,
		Date:     h.Date.UTC().Format(dateLayout),
		MsgType:  h.MsgType,
		Version:  h.Version,
	})
}

// UnmarshalJSON decodes a header and keeps a copy of it in Raw; {} leaves h
// zero.
func (h *Header) UnmarshalJSON(data []byte) error {
	var j headerJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*h = Header{
		MsgID:    j.MsgID,
		Session:  j.Session,
		Username: j.Username,
		MsgType:  j.MsgType,
		Version:  j.Version,
		Date:     parseDate(j.Date),
	}
	if !emptyObject(data) {
		h.Raw = bytes.Clone(data)
	}
	return nil
}

// parseDate reads the date formats that Jupyter clients send: RFC 3339, and
// without a zone, which then is UTC.
func parseDate(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// emptyObject reports whether data is {}.
func emptyObject(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) >= 2 && data[0] == '{' && len(bytes.TrimSpace(data[1:len(data)-1])) == 0
}

// object returns raw, or {} where there is none.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
