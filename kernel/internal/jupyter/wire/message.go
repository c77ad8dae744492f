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
const Version = "5.5"

// A Message is one Jupyter message.
type Message struct {
	// Identities are the routing frames before the delimiter. A reply
	// starts with the identities of the request; on iopub they are the
	// topic.
	Identities [][]byte
	// Header identifies the message.
	Header Header
	// Parent is the header of the request that this message answers or
	// belongs to. It is zero if there is no such request.
	Parent Header
	// Metadata and Content are JSON objects; nil stands for {}.
	Metadata json.RawMessage
	Content  json.RawMessage
	// Buffers are binary attachments. They are not signed.
	Buffers [][]byte
}

// New returns a message with the given content, in reply to the message whose
// header is parent. Content must encode to a JSON object; nil stands for {}.
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

// Marshal encodes v as JSON for a message. Unlike json.Marshal it does not
// escape <, > and &, which keeps HTML and SVG outputs small.
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
	// Date is the time at which the message was made. It is zero if the
	// sender gave no date or one that cannot be parsed.
	Date time.Time
	// Subshell is the id of the subshell that a request addresses; "" is
	// the main shell. It is only decoded, never encoded, because the
	// kernel makes no requests.
	Subshell string
	// Raw is the JSON text of a received header. A reply echoes it as its
	// parent header, including fields that this package does not know.
	// While Raw is set, the other fields do not affect the encoding.
	Raw json.RawMessage
}

// NewHeader returns the header of a new message of the given type, with a
// fresh message id and the current time.
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

// counter counts the messages of this process, to number their ids.
var counter atomic.Uint64

// NewSession returns a fresh session id, a random UUID.
func NewSession() string {
	var b [16]byte
	rand.Read(b[:]) // never fails
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// IsZero reports whether h is the zero header, which is the parent header of a
// message that no request caused.
func (h Header) IsZero() bool {
	return h.Raw == nil && h.MsgID == "" && h.MsgType == "" && h.Session == ""
}

// headerJSON is the JSON encoding of a Header.
type headerJSON struct {
	MsgID    string `json:"msg_id"`
	Session  string `json:"session"`
	Username string `json:"username"`
	Date     string `json:"date"`
	MsgType  string `json:"msg_type"`
	Version  string `json:"version"`
}

// dateLayout is RFC 3339 with microseconds, the format of dates in Jupyter.
const dateLayout = "2006-01-02T15:04:05.000000Z07:00"

// MarshalJSON encodes the header: as Raw if it is set, as {} if the header is
// zero. The error is always nil.
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

// UnmarshalJSON decodes a header and keeps a copy of the text in Raw; {}
// decodes to the zero header.
func (h *Header) UnmarshalJSON(data []byte) error {
	var j struct {
		headerJSON
		Subshell any `json:"subshell_id"` // null or absent in requests to the main shell
	}
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	subshell, _ := j.Subshell.(string)
	*h = Header{
		MsgID:    j.MsgID,
		Session:  j.Session,
		Username: j.Username,
		MsgType:  j.MsgType,
		Version:  j.Version,
		Date:     parseDate(j.Date),
		Subshell: subshell,
	}
	if !emptyObject(data) {
		h.Raw = bytes.Clone(data)
	}
	return nil
}

// parseDate parses the date formats that Jupyter clients send: RFC 3339, and
// RFC 3339 without a zone, which is taken as UTC.
func parseDate(s string) time.Time {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t.UTC()
		}
	}
	return time.Time{}
}

// emptyObject reports whether data, JSON without space around it, is {}.
func emptyObject(data []byte) bool {
	return len(data) >= 2 && data[0] == '{' && len(bytes.TrimSpace(data[1:len(data)-1])) == 0
}

// object returns raw, or {} if raw is empty.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}
