package server

// The contents of messages, with the protocol's names for their fields. An
// optional field of a request is a pointer if its default is not zero.

type statusContent struct {
	ExecutionState string `json:"execution_state"`
}

type welcomeContent struct {
	Subscription string `json:"subscription"`
}

type streamContent struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

type displayContent struct {
	Data      map[string]any `json:"data"`
	Metadata  map[string]any `json:"metadata"`
	Transient transient      `json:"transient"`
}

type transient struct {
	DisplayID string `json:"display_id,omitempty"`
}

type resultContent struct {
	ExecutionCount int            `json:"execution_count"`
	Data           map[string]any `json:"data"`
	Metadata       map[string]any `json:"metadata"`
}

type clearContent struct {
	Wait bool `json:"wait"`
}

// errorContent is the content of both the iopub message "error" and an error
// reply; only the reply has a status.
type errorContent struct {
	Status    string   `json:"status,omitempty"`
	Name      string   `json:"ename"`
	Value     string   `json:"evalue"`
	Traceback []string `json:"traceback"`
}

type okContent struct {
	Status string `json:"status"`
}

var ok = okContent{"ok"}

type kernelInfoReply struct {
	Status                string `json:"status"`
	ProtocolVersion       string `json:"protocol_version"`
	Implementation        string `json:"implementation"`
	ImplementationVersion string `json:"implementation_version"`
	// LanguageInfo is what clients write into the notebook's metadata: beside what the
	// protocol names, the version of the kernel.
	LanguageInfo      map[string]string `json:"language_info"`
	Banner            string            `json:"banner"`
	HelpLinks         []helpLink        `json:"help_links"`
	SupportedFeatures []string          `json:"supported_features"`
}

type helpLink struct {
	Text string `json:"text"`
	URL  string `json:"url"`
}

type connectReply struct {
	Status      string `json:"status"`
	ShellPort   int    `json:"shell_port"`
	IOPubPort   int    `json:"iopub_port"`
	StdinPort   int    `json:"stdin_port"`
	ControlPort int    `json:"control_port"`
	HBPort      int    `json:"hb_port"`
}

type executeRequest struct {
	Code            string            `json:"code"`
	Silent          bool              `json:"silent"`
	StoreHistory    *bool             `json:"store_history"`
	UserExpressions map[string]string `json:"user_expressions"`
	AllowStdin      bool              `json:"allow_stdin"`
	StopOnError     *bool             `json:"stop_on_error"`
}

type executeInput struct {
	Code           string `json:"code"`
	ExecutionCount int    `json:"execution_count"`
}

type executeReply struct {
	Status          string         `json:"status"`
	ExecutionCount  int            `json:"execution_count"`
	UserExpressions map[string]any `json:"user_expressions"`
	Payload         []any          `json:"payload"`
}

type executeError struct {
	errorContent
	ExecutionCount  int            `json:"execution_count"`
	UserExpressions map[string]any `json:"user_expressions"`
	Payload         []any          `json:"payload"`
}

type page struct {
	Source string         `json:"source"` // "page"
	Data   map[string]any `json:"data"`
	Start  int            `json:"start"`
}

// nextInput is the payload that puts a text into a cell.
type nextInput struct {
	Source  string `json:"source"` // "set_next_input"
	Text    string `json:"text"`
	Replace bool   `json:"replace"`
}

// executeMetadata is the metadata of an execute_reply; front ends compute the
// cell's running time from it.
type executeMetadata struct {
	Started         string `json:"started"`
	DependenciesMet bool   `json:"dependencies_met"`
	Engine          string `json:"engine"`
	Status          string `json:"status"`
}

type expressionValue struct {
	Status   string         `json:"status"`
	Data     map[string]any `json:"data"`
	Metadata map[string]any `json:"metadata"`
}

type codeRequest struct {
	Code        string `json:"code"`
	CursorPos   *int   `json:"cursor_pos"`
	DetailLevel int    `json:"detail_level"`
}

type isCompleteReply struct {
	Status string  `json:"status"`
	Indent *string `json:"indent,omitempty"`
}

type completeReply struct {
	Status      string           `json:"status"`
	Matches     []string         `json:"matches"`
	CursorStart int              `json:"cursor_start"`
	CursorEnd   int              `json:"cursor_end"`
	Metadata    completeMetadata `json:"metadata"`
}

type completeMetadata struct {
	Types []completionType `json:"_jupyter_types_experimental"`
}

type completionType struct {
	Start     int    `json:"start"`
	End       int    `json:"end"`
	Text      string `json:"text"`
	Type      string `json:"type"`
	Signature string `json:"signature"`
}

type inspectReply struct {
	Status   string         `json:"status"`
	Found    bool           `json:"found"`
	Data     map[string]any `json:"data"`
	Metadata map[string]any `json:"metadata"`
}

type historyRequest struct {
	Output  bool   `json:"output"`
	Access  string `json:"hist_access_type"` // "range", "tail" or "search"
	Session int    `json:"session"`
	Start   int    `json:"start"`
	Stop    *int   `json:"stop"`
	N       *int   `json:"n"`
	Pattern string `json:"pattern"`
	Unique  bool   `json:"unique"`
}

type historyReply struct {
	Status  string   `json:"status"`
	History [][3]any `json:"history"` // session, line, input or [input, output]
}

type commInfoRequest struct {
	Target string `json:"target_name"`
}

type commInfoReply struct {
	Status string              `json:"status"`
	Comms  map[string]commInfo `json:"comms"`
}

type commInfo struct {
	Target string `json:"target_name"`
}

type commContent struct {
	ID     string `json:"comm_id"`
	Target string `json:"target_name,omitempty"`
	Data   any    `json:"data"`
}

type shutdownContent struct {
	Status  string `json:"status,omitempty"`
	Restart bool   `json:"restart"`
}

type inputRequest struct {
	Prompt   string `json:"prompt"`
	Password bool   `json:"password"`
}

type inputReply struct {
	Value string `json:"value"`
}
