// Package engine defines the interface between the Jupyter server (or the
// headless notebook runner) and a language. An [Engine] executes cells and
// answers questions about code; a cell's outputs go to the [Outputs] that
// Execute is given.
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
	"encoding/json"
	"errors"
	"maps"
	"strings"
)

// An Engine is one session of a language. Execute, Evaluate and the Comm method
// of a [CommHandler] are called one at a time, unless Info says that the engine
// is Concurrent. The other methods may be called at any time and from several
// goroutines. Info, IsComplete, Complete and Inspect must return within some
// 50 ms, also while a cell runs.
type Engine interface {
	// Info describes the language, for kernel_info and notebook metadata.
	Info() Info
	// Execute runs a cell. A cell that fails returns an *Error; any other
	// error is the engine's own. When ctx ends, Execute stops the cell,
	// within a second if it can be stopped at all, and returns an *Error
	// named Interrupted; the session stays usable. Ctx ends with the cell:
	// work that is to go on after it needs a context of its own.
	Execute(ctx context.Context, cell Cell, out Outputs) (Result, error)
	// Evaluate computes one expression of an execute_request's
	// user_expressions. It is called between cells.
	Evaluate(ctx context.Context, expr string) (Bundle, error)
	// IsComplete reports whether code is a complete cell, or lacks lines.
	IsComplete(code string) Completeness
	// Complete returns the possible completions of the code at the cursor.
	Complete(code string, cursor int) Completions
	// Inspect returns the documentation of the name at the cursor; ok is
	// false if there is none. Detail 0 is the documentation, 1 adds more,
	// such as the source.
	Inspect(code string, cursor, detail int) (doc Bundle, ok bool)
	// Close ends the session. Closing twice is no error; a closed engine
	// fails to execute.
	Close() error
}

// A CommHandler is an Engine that serves comms, such as those of widgets. For other
// engines the server closes every comm that a client opens.
type CommHandler interface {
	// Comm handles a comm message from a client. Unless the engine is
	// Concurrent (see [Info]), calls are made one at a time and between cells;
	// what is written to out belongs to the message. For a comm_open whose
	// target it does not serve, Comm returns [ErrUnknownTarget], and the
	// server closes the comm.
	Comm(ctx context.Context, m CommMessage, out Outputs) error
}

// A VariableLister is an Engine that lists the variables of its session, for the
// panel of variables that front ends have.
type VariableLister interface {
	// Variables returns the variables, sorted by name. It may be called at any
	// time, and returns within some 50 ms while a cell runs.
	Variables(ctx context.Context) ([]Variable, error)
}

// Lister returns the VariableLister that an engine is or wraps. An engine that
// wraps another has a method Unwrap, which returns that.
func Lister(e Engine) (VariableLister, bool) { return as[VariableLister](e) }

// as returns the T that an engine is or wraps.
func as[T any](e Engine) (T, bool) {
	for {
		if l, ok := e.(T); ok {
			return l, true
		}
		w, ok := e.(interface{ Unwrap() Engine })
		if !ok {
			var none T
			return none, false
		}
		e = w.Unwrap()
	}
}

// A Debugger is an Engine that stops its cells for a client.
type Debugger interface {
	// Debug answers a request of the Debug Adapter Protocol, with the additions of
	// Jupyter's front ends, and returns the body of the reply. It may be called at
	// any time, also while a cell runs or has stopped; calls are made one at a time.
	Debug(ctx context.Context, command string, arguments json.RawMessage) (body any, err error)
	// DebugEvents sets where the protocol's events go. It is called before the
	// first request.
	DebugEvents(send func(event string, body any))
}

// Debugs returns the Debugger that an engine is or wraps, as Lister does.
func Debugs(e Engine) (Debugger, bool) { return as[Debugger](e) }

// A Variable is a variable of a session.
type Variable struct {
	Name, Type string
	// Value is the value on one line.
	Value string
	// Shown is the value as that of a cell's last expression; possibly empty.
	Shown Bundle
}

// ErrUnknownTarget is returned by a CommHandler for a comm_open whose target it
// does not serve.
var ErrUnknownTarget = errors.New("no such comm target")

// ErrNoInput is returned by [Outputs].Input if the client does not allow input.
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
	// Concurrent says that Execute, Evaluate and Comm may be called
	// concurrently. Then subshells run their cells and handle their comm
	// messages while another cell runs; otherwise these wait for that cell.
	Concurrent bool
	// Beside reports of a Concurrent engine whether a cell does not wait for the one
	// that runs, as it shows that one's outputs again. It may be nil.
	Beside func(code string) bool
}

// LanguageInfo returns what the kernel's answer to kernel_info_request and a notebook's
// metadata say in language_info: of the language, and which version of the kernel ran
// it, by the implementation's name.
func (i Info) LanguageInfo() map[string]string {
	language := map[string]string{"name": i.Name, "version": i.Version, "mimetype": i.MimeType, "file_extension": i.FileExtension,
		"pygments_lexer": i.PygmentsLexer, "codemirror_mode": i.CodeMirrorMode}
	if i.Implementation != "" {
		language[i.Implementation] = i.ImplementationVer
	}
	maps.DeleteFunc(language, func(_, v string) bool { return v == "" })
	return language
}

// A HelpLink is an entry of the client's help menu.
type HelpLink struct{ Text, URL string }

// A Cell is one piece of code to run.
type Cell struct {
	// Number is the execution count, shown as In[Number] in messages. A cell
	// that is not counted (a silent one, or one with store_history false) has
	// the number that the next counted cell will have.
	Number int
	// Code is the source text.
	Code string
	// Silent cells show nothing and are not counted.
	Silent bool
	// ID is the notebook's id of the cell, or "" if the client does not send it.
	ID string
}

type cellKey struct{}

// WithCell returns a context of which [CellOf] returns the cell.
func WithCell(ctx context.Context, c *Cell) context.Context {
	return context.WithValue(ctx, cellKey{}, c)
}

// CellOf returns the cell that runs in a context, nil if it is not known. Each run of a
// cell has another.
func CellOf(ctx context.Context) *Cell {
	c, _ := ctx.Value(cellKey{}).(*Cell)
	return c
}

// A Result is the result of a cell that succeeded.
type Result struct {
	// Value is the value of the last expression, empty if there is none.
	Value Bundle
	// Pages are shown in the client's pager (`?name`).
	Pages []Bundle
	// Next is the text of a new cell, or nil.
	Next *NextInput
}

// A NextInput is the text that the client puts into a cell, for the user to edit
// and run.
type NextInput struct {
	Text string
	// Replace puts the text into the cell that ran, instead of a new one.
	Replace bool
}

// A Bundle is a MIME bundle: one output in several formats.
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
// from several goroutines, also after the cell has ended: a goroutine that the
// cell left running writes to the outputs of the cell that started it.
type Outputs interface {
	// Stdout and Stderr append to the cell's streams. The implementation
	// coalesces small pieces; a character may be split between two calls.
	// They block while the clients cannot keep up.
	Stdout(text string)
	Stderr(text string)
	// Display shows a bundle. If id is not "", Update can replace it later.
	Display(b Bundle, id string)
	// Update replaces the displays shown with this id, in any cell.
	Update(b Bundle, id string)
	// Clear removes the cell's outputs; if wait is set, only when the next
	// output comes.
	Clear(wait bool)
	// Input asks the user for a line and returns it without its newline. The
	// error is ErrNoInput if the client does not allow input, io.EOF if the
	// user ends the input, or ctx's when ctx ends.
	Input(ctx context.Context, prompt string, password bool) (string, error)
	// Comm sends a comm message ("comm_open", "comm_msg", "comm_close").
	Comm(m CommMessage) error
}

// A ClientOutputs is an Outputs that names its client: one page in a browser,
// until that is reloaded. Other pages do not show outputs that come late.
type ClientOutputs interface {
	Outputs
	Client() string
}

// A LastingOutputs is told of a cell that ends while goroutines of it go on: Lasts says
// that outputs may come later.
type LastingOutputs interface {
	Outputs
	Lasts()
}

// A CommMessage is a message between a widget in the client and the session.
type CommMessage struct {
	Type     string // "comm_open", "comm_msg" or "comm_close"
	ID       string
	Target   string // of comm_open
	Data     any    // encodes to a JSON object
	Metadata map[string]any
	Buffers  [][]byte
	// More says that the next message in the queue is a comm message too, with
	// no cell between. An engine may then postpone its reaction, so that it
	// reacts once to many messages.
	More bool
}

// An Error describes the failure of a cell, as the client shows it.
type Error struct {
	// Name is the kind: "CompileError", "panic", "Interrupted".
	Name string
	// Message says what happened; it is Go's own message if there is one.
	Message string
	// Traceback holds the lines to show, ANSI colours allowed. It contains
	// Message too, because clients show the traceback only.
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

// GoroutineEnded begins what a cell's standard error says of a goroutine that a panic or an
// error has ended.
const GoroutineEnded = "a goroutine has ended in "

// Values of Error.Name with a meaning for the server and the clients.
const (
	Interrupted  = "Interrupted"
	CompileError = "CompileError"
	Panic        = "panic"
)

// Completeness answers is_complete_request.
type Completeness struct {
	// Status is "complete", "incomplete", "invalid" or "unknown".
	Status string
	// Indent is the indentation of the next line if Status is "incomplete".
	Indent string
}

// Completions is the answer to a complete_request: any of Matches may replace
// the bytes Start to End-1 of the code.
type Completions struct {
	Start, End int
	Matches    []Completion
}

// A Completion is one text that may be inserted.
type Completion struct {
	Text      string
	Type      string // "function", "method", "variable", "type", "package", "field", "constant", "keyword"
	Signature string // "(a ...any) (n int, err error)", possibly empty
}
