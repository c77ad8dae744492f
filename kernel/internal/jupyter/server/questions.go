package server

import (
	"context"
	"strings"
	"unicode/utf8"

	"dace.local/kernel/engine"
	"dace.local/kernel/internal/jupyter/wire"
)

func (s *server) kernelInfo(context.Context, *request) (any, error) {
	i := s.engine.Info()
	links := []helpLink{}
	for _, l := range i.HelpLinks {
		links = append(links, helpLink{l.Text, l.URL})
	}
	features := []string{"kernel subshells"}
	if _, ok := engine.Debugs(s.engine); ok {
		features = append(features, "debugger")
	}
	return kernelInfoReply{
		Status:                "ok",
		ProtocolVersion:       wire.Version,
		Implementation:        i.Implementation,
		ImplementationVersion: i.ImplementationVer,
		LanguageInfo:          i.LanguageInfo(),
		Banner:                i.Banner,
		HelpLinks:             links,
		SupportedFeatures:     features,
	}, nil
}

// connect answers connect_request, which the protocol has deprecated but old
// clients still send.
func (s *server) connect(context.Context, *request) (any, error) {
	c := s.sockets.Connection()
	return connectReply{"ok", c.ShellPort, c.IOPubPort, c.StdinPort, c.ControlPort, c.HBPort}, nil
}

func (s *server) isComplete(_ context.Context, r *request) (any, error) {
	var q codeRequest
	if err := r.Unmarshal(&q); err != nil {
		return nil, err
	}
	switch c := s.engine.IsComplete(q.Code); c.Status {
	case "incomplete":
		return isCompleteReply{Status: c.Status, Indent: &c.Indent}, nil
	case "complete", "invalid":
		return isCompleteReply{Status: c.Status}, nil
	}
	return isCompleteReply{Status: "unknown"}, nil
}

func (s *server) complete(_ context.Context, r *request) (any, error) {
	var q codeRequest
	if err := r.Unmarshal(&q); err != nil {
		return nil, err
	}
	c := s.engine.Complete(q.Code, q.cursor())
	reply := completeReply{
		Status:      "ok",
		Matches:     []string{},
		CursorStart: runeOffset(q.Code, c.Start),
		CursorEnd:   runeOffset(q.Code, c.End),
		Metadata:    completeMetadata{[]completionType{}},
	}
	for _, m := range c.Matches {
		reply.Matches = append(reply.Matches, m.Text)
		reply.Metadata.Types = append(reply.Metadata.Types,
			completionType{reply.CursorStart, reply.CursorEnd, m.Text, typeBeside(m), m.Signature})
	}
	return reply, nil
}

// typeBeside returns what clients show beside a completion: they read no signatures.
func typeBeside(m engine.Completion) string {
	const most = 72
	if m.Signature == "" {
		return m.Type
	}
	r := []rune(m.Type + " " + strings.Join(strings.Fields(m.Signature), " "))
	if len(r) > most {
		r = append(r[:most-1], '…')
	}
	return string(r)
}

func (s *server) inspect(_ context.Context, r *request) (any, error) {
	var q codeRequest
	if err := r.Unmarshal(&q); err != nil {
		return nil, err
	}
	doc, found := s.engine.Inspect(q.Code, q.cursor(), q.DetailLevel)
	data, metadata := encodable(doc)
	return inspectReply{"ok", found, data, metadata}, nil
}

// cursor returns the byte offset of the cursor, which clients give as a number
// of code points. Without a cursor_pos it is the end of the code.
func (q codeRequest) cursor() int {
	if q.CursorPos == nil {
		return len(q.Code)
	}
	return byteOffset(q.Code, *q.CursorPos)
}

// byteOffset returns where the nth code point of s begins; n beyond either end
// means that end.
func byteOffset(s string, n int) int {
	if n <= 0 {
		return 0
	}
	for i := range s {
		if n == 0 {
			return i
		}
		n--
	}
	return len(s)
}

// runeOffset returns the number of code points before byte i of s; i beyond
// either end means that end.
func runeOffset(s string, i int) int {
	return utf8.RuneCountInString(s[:min(max(i, 0), len(s))])
}
