package echo

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"dace.local/kernel/engine"
)

// A command executes one line; text is the part of the line after its name.
type command func(ctx context.Context, e *Engine, text string, out engine.Outputs) error

// commands maps the names that may follow a % to their commands.
var commands = map[string]command{
	// print TEXT, eprint TEXT: writes a line to stdout, to stderr.
	"print": func(_ context.Context, _ *Engine, text string, out engine.Outputs) error {
		out.Stdout(text + "\n")
		return nil
	},
	"eprint": func(_ context.Context, _ *Engine, text string, out engine.Outputs) error {
		out.Stderr(text + "\n")
		return nil
	},
	// repeat N TEXT: prints the line N times, with one call of Stdout each.
	"repeat": func(ctx context.Context, _ *Engine, text string, out engine.Outputs) error {
		number, text, _ := strings.Cut(text, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			return usage("repeat N TEXT", err)
		}
		text += "\n"
		for range n {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			out.Stdout(text)
		}
		return nil
	},
	// bytes N: writes N bytes to stdout with one call.
	"bytes": func(_ context.Context, _ *Engine, text string, out engine.Outputs) error {
		n, err := strconv.Atoi(text)
		if err != nil {
			return usage("bytes N", err)
		}
		out.Stdout(strings.Repeat("0123456789abcde\n", n/16+1)[:n])
		return nil
	},
	// sleep DURATION: waits.
	"sleep": func(ctx context.Context, _ *Engine, text string, _ engine.Outputs) error {
		d, err := time.ParseDuration(text)
		if err != nil {
			return usage("sleep DURATION", err)
		}
		return pause(ctx, d)
	},
	// loop: runs until it is interrupted.
	"loop": func(ctx context.Context, _ *Engine, _ string, _ engine.Outputs) error {
		for ctx.Err() == nil {
			time.Sleep(time.Millisecond)
		}
		return ctx.Err()
	},
	// fail TEXT: fails with an error at run time.
	"fail": func(_ context.Context, _ *Engine, text string, _ engine.Outputs) error {
		return failure("Failure", text)
	},
	// panic TEXT: fails with the error that an engine returns for a panic.
	"panic": func(_ context.Context, _ *Engine, text string, _ engine.Outputs) error {
		return failure(engine.Panic, text)
	},
	// crash TEXT: panics; the engine does not recover it.
	"crash": func(_ context.Context, _ *Engine, text string, _ engine.Outputs) error {
		panic(text)
	},
	// goexit: ends the goroutine.
	"goexit": func(context.Context, *Engine, string, engine.Outputs) error {
		runtime.Goexit()
		return nil
	},
	// go DURATION TEXT: prints the line later, from a goroutine.
	"go": func(_ context.Context, _ *Engine, text string, out engine.Outputs) error {
		delay, text, _ := strings.Cut(text, " ")
		d, err := time.ParseDuration(delay)
		if err != nil {
			return usage("go DURATION TEXT", err)
		}
		time.AfterFunc(d, func() { out.Stdout(text + "\n") })
		return nil
	},
	// display MIME TEXT; show ID MIME TEXT; update ID MIME TEXT.
	"display": func(_ context.Context, _ *Engine, text string, out engine.Outputs) error {
		out.Display(bundle(text), "")
		return nil
	},
	"show": func(_ context.Context, _ *Engine, text string, out engine.Outputs) error {
		id, text, _ := strings.Cut(text, " ")
		out.Display(bundle(text), id)
		return nil
	},
	"update": func(_ context.Context, _ *Engine, text string, out engine.Outputs) error {
		id, text, _ := strings.Cut(text, " ")
		out.Update(bundle(text), id)
		return nil
	},
	// clear [wait].
	"clear": func(_ context.Context, _ *Engine, text string, out engine.Outputs) error {
		out.Clear(text == "wait")
		return nil
	},
	// input PROMPT, password PROMPT: asks, and prints the answer.
	"input": func(ctx context.Context, _ *Engine, text string, out engine.Outputs) error {
		return ask(ctx, text, false, out)
	},
	"password": func(ctx context.Context, _ *Engine, text string, out engine.Outputs) error {
		return ask(ctx, text, true, out)
	},
	// comm TYPE ID TARGET JSON: sends a comm message.
	"comm": func(_ context.Context, e *Engine, text string, out engine.Outputs) error {
		f := strings.SplitN(text, " ", 4)
		if len(f) < 4 {
			return usage("comm TYPE ID TARGET JSON", fmt.Errorf("%d words", len(f)))
		}
		var data map[string]any
		if err := json.Unmarshal([]byte(f[3]), &data); err != nil {
			return usage("comm TYPE ID TARGET JSON", err)
		}
		e.mu.Lock()
		e.comms[f[1]] = f[0] != "comm_close"
		e.mu.Unlock()
		return out.Comm(engine.CommMessage{Type: f[0], ID: f[1], Target: f[2], Data: data})
	},
}

func usage(form string, err error) error {
	return failure("UsageError", fmt.Sprintf("%%%s: %v", form, err))
}

// bundle reads "MIME TEXT".
func bundle(text string) engine.Bundle {
	mime, text, _ := strings.Cut(text, " ")
	b := engine.Bundle{Data: map[string]any{mime: text}}
	if mime != "text/plain" {
		b.Data["text/plain"] = "<" + mime + ">"
	}
	return b
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

func ask(ctx context.Context, prompt string, password bool, out engine.Outputs) error {
	s, err := out.Input(ctx, prompt, password)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return failure("InputError", err.Error())
	}
	out.Stdout("got " + s + "\n")
	return nil
}
