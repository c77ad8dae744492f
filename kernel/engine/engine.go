// Package engine is the contract between the Jupyter server (and the headless
// notebook runner) and a language: an [Engine] executes cells and answers
// questions about code, and everything a cell shows travels through the
// [Outputs] that it is given.
//
// To write an engine, start with the methods of [Engine], look at package
// engine/echo for the smallest complete one, and run package
// engine/enginetest against yours.
//
// Offsets into code are byte offsets; the server converts them from and to
// the protocol's unicode code points.
package engine

import (
	"context"
	"errors"
	"strings"
)

// An Engine is one session of a language. Execute is called by one goroutine
// at a time; the other methods may be called while a cell runs.
type Engine interface {
	// Info describes the language, for kernel_info and notebook metadata.
	Info() Info
	// Execute runs a cell. A cell that fails returns an *Error; any other
	// error is the engine's own. When ctx ends, Execute stops the cell,
	// within a second if it can be stopped at all, and returns an *Error
	// named Interrupted; the session lives on. Ctx ends with the cell: work
	// that is to outlive it needs a context of its own.
	Execute(ctx context.Context, cell Cell, out Outputs) (Result, error)
	// Evaluate computes one expression of user_expressions. It is called
	// between cells.
	Evaluate(ctx context.Context, expr string) (Bundle, error)
	// IsComplete says whether code can be run as it stands.
	IsComplete(code string) Completeness
	// Complete returns what may stand at the cursor.
	Complete(code string, cursor int) Completions
	// Inspect documents the name at the cursor; ok is false where nothing
	// is known. Detail 1 asks for more than detail 0 (the source).
	Inspect(code string, cursor, detail int) (doc Bundle, ok bool)
	// Close ends the session. Closing twice is no error; a closed engine
	// fails to execute.
	Close() error
}

// A CommHandler is an Engine whose sessions hold widgets or other comms.
// Without it every comm that a client opens is closed again.
type CommHandler interface {
	// Comm is given a comm message that a client sent. It is called where
	// cells are, one at a time and between them; out belongs to the message.
	// For a comm_open whose target it does not serve it returns
	// [ErrUnknownTarget], and the server closes the comm.
	Comm(ctx context.Context, m CommMessage, out Outputs) error
}

// ErrUnknownTarget is what a CommHandler returns for a comm_open that asks for
// something it does not serve.
var ErrUnknownTarget = errors.New("no such comm target")

// ErrNoInput is what [Outputs].Input returns where nobody can be asked.
var ErrNoInput = errors.New("this client cannot be asked for input (it did not allow it)")

// Info describes a language.
type Info struct {
	Name              string // "go"
	Version           string // "go1.26.8"
	MimeType          string // "text/x-go"
	FileExtension     string // ".go"
	PygmentsLexer     string // "go"
	CodeMirrorMode    string // "go"
	Implementation    string // "dace"
	ImplementationVer string
	Banner            string
	HelpLinks         []HelpLink
}

// A HelpLink is an entry of the client's help menu.
type HelpLink struct{ Text, URL string }

// A Cell is one piece of code to run.
type Cell struct {
	// Number is the execution count, shown as In[Number] in messages. Cells
	// that are not counted (silent ones, and those that a client does not
	// want stored) bear the number that the next counted cell will have.
	Number int
	// Code is the source text.
	Code string
	// Silent cells show nothing and are not counted.
	Silent bool
	// ID is the notebook's id of the cell, where the client tells it.
	ID string
}

// A Result is what a cell that succeeded leaves.
type Result struct {
	// Value is the value of the last expression, empty where there is none.
	Value Bundle
	// Pages are shown in the client's pager (`?name`).
	Pages []Bundle
}

// A Bundle is one thing in several formats.
type Bundle struct {
	// Data maps a MIME type to a string (text and base64 of binary data)
	// or, for JSON types, to a value that encodes to JSON.
	Data map[string]any
	// Metadata maps a MIME type to details such as width and height.
	Metadata map[string]any
}

// Text returns a bundle of plain text.
func Text(s string) Bundle { return Bundle{Data: map[string]any{"text/plain": s}} }

// Empty reports whether the bundle holds nothing.
func (b Bundle) Empty() bool { return len(b.Data) == 0 }

// Outputs is where a running cell's outputs go. Its methods may be called
// from several goroutines, also after the cell has ended (a goroutine that
// the cell left behind): such outputs belong to the cell that started it.
type Outputs interface {
	// Stdout and Stderr append to the cell's streams. The receiver
	// coalesces small pieces; a character may be split between two pieces.
	// They block while the receiver cannot keep up.
	Stdout(text string)
	Stderr(text string)
	// Display shows a bundle. With a non-empty id it can be changed later.
	Display(b Bundle, id string)
	// Update replaces what was shown under id, wherever that stands.
	Update(b Bundle, id string)
	// Clear removes the cell's outputs, with wait only when the next
	// output comes.
	Clear(wait bool)
	// Input asks the person at the client for a line, without its newline.
	// It fails where the client cannot ask, with io.EOF where the person
	// ends the input, or when ctx ends.
	Input(ctx context.Context, prompt string, password bool) (string, error)
	// Comm sends a comm message ("comm_open", "comm_msg", "comm_close").
	Comm(m CommMessage) error
}

// A CommMessage is a message between a widget in the client and the session.
type CommMessage struct {
	Type     string // "comm_open", "comm_msg" or "comm_close"
	ID       string
	Target   string // of comm_open
	Data     any    // encodes to a JSON object
	Metadata map[string]any
	Buffers  [][]byte
}

// An Error is a cell that failed, as the client shows it.
type Error struct {
	// Name is the kind: "CompileError", "panic", "Interrupted".
	Name string
	// Message says what happened, in Go's own words where it has some.
	Message string
	// Traceback holds the lines to show, ANSI colours allowed. It contains
	// Message too: clients show nothing else.
	Traceback []string
}

// Error returns the name and the message.
func (e *Error) Error() string {
	if e.Message == "" {
		return e.Name
	}
	return e.Name + ": " + e.Message
}

// Text returns the traceback as one text.
func (e *Error) Text() string { return strings.Join(e.Traceback, "\n") }

// Names of errors that server and clients know.
const (
	Interrupted  = "Interrupted"
	CompileError = "CompileError"
	Panic        = "panic"
)

// Completeness answers is_complete_request.
type Completeness struct {
	// Status is "complete", "incomplete", "invalid" or "unknown".
	Status string
	// Indent is what the next line should start with, for "incomplete".
	Indent string
}

// Completions answer a complete_request: any of Matches may replace the bytes
// Start to End-1 of the code.
type Completions struct {
	Start, End int
	Matches    []Completion
}

// A Completion is one possible text.
type Completion struct {
	Text      string
	Type      string // "function", "method", "variable", "type", "package", "field", "constant", "keyword"
	Signature string // "(a ...any) (n int, err error)", possibly empty
}
