package gocell

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/magic"
)

// What cells show is kept, so that it can be seen again: text in a file without a
// name, which goes with the process, displays in memory. Of a cell that prints more
// than a megabyte the client gets the beginning and the end, since servers drop what
// comes too fast, and with it the last lines, which are those that are wanted.
const (
	shownHead   = 1 << 19 // bytes of a cell's text that are sent as they come
	shownTail   = 1 << 19 // bytes at its end that are sent when it has ended
	keptText    = 1 << 26 // bytes of a cell's text that are kept
	keptInAll   = 1 << 28 // of all cells: the oldest go first
	keptDisplay = 500     // displays of a cell
	burst       = 1 << 21 // bytes that may be sent at once
	rate        = 700_000 // bytes a second after that; Jupyter's limit is a million
)

// outputs are those that the session keeps.
type outputs struct {
	mu    sync.Mutex // guards the fields
	cells map[int]*kept
	order []int // numbers of cells, the oldest first
	bytes int64

	left float64 // bytes that may be sent now
	last time.Time
}

// A kept is what a cell has shown.
type kept struct {
	mu      sync.Mutex // guards the fields
	number  int
	events  []keptEvent
	shows   int
	file    *os.File
	size    int64  // of the file
	lost    int64  // bytes that did not fit in it, but for tail
	tail    []byte // the last of them
	running bool
	follow  []chan struct{} // closed when there is more
}

// A keptEvent is text in the file, or a display.
type keptEvent struct {
	stderr   bool
	from, to int64
	bundle   engine.Bundle
	id       string
}

// keep returns outputs that keep what a cell shows and pass it on, and the function
// that ends the cell with its result.
func (o *outputs) keep(number int, out engine.Outputs) (engine.Outputs, func(engine.Result, error)) {
	k := &kept{number: number, running: true}
	o.mu.Lock()
	if o.cells == nil {
		o.cells = map[int]*kept{}
	}
	if old := o.cells[number]; old != nil {
		o.drop(number)
	}
	o.cells[number] = k
	o.order = append(o.order, number)
	for len(o.order) > 1 && o.bytes > keptInAll {
		o.drop(o.order[0])
	}
	o.mu.Unlock()
	w := &keeping{Outputs: out, of: o, kept: k}
	if _, ok := out.(engine.ClientOutputs); ok {
		return keepingClient{w}, w.result
	}
	return w, w.result
}

// drop forgets a cell; o.mu is held.
func (o *outputs) drop(number int) {
	k := o.cells[number]
	delete(o.cells, number)
	o.order = slices.DeleteFunc(o.order, func(n int) bool { return n == number })
	k.mu.Lock()
	defer k.mu.Unlock()
	o.bytes -= k.size
	if k.file != nil && !k.running {
		_ = k.file.Close()
		k.file = nil
	}
}

// pace waits until so many bytes may be sent.
func (o *outputs) pace(n int) {
	o.mu.Lock()
	now := time.Now()
	o.left = min(burst, o.left+now.Sub(o.last).Seconds()*rate)
	if o.last.IsZero() {
		o.left = burst
	}
	o.last = now
	o.left -= float64(n)
	wait := -o.left / rate
	o.mu.Unlock()
	if wait > 0 {
		time.Sleep(time.Duration(wait * float64(time.Second)))
	}
}

// find returns the kept outputs of a cell; 0 means the one that runs, or has run
// last, except the asking one.
func (o *outputs) find(number, asking int) (*kept, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if number != 0 {
		if k := o.cells[number]; k != nil {
			return k, nil
		}
		return nil, fmt.Errorf("nothing is kept of cell %d", number)
	}
	var found *kept
	for _, n := range slices.Backward(o.order) {
		k := o.cells[n]
		k.mu.Lock()
		running, shows := k.running, len(k.events) > 0
		k.mu.Unlock()
		switch {
		case n == asking:
		case running && (shows || found == nil):
			return k, nil
		case shows && found == nil:
			found = k
		}
	}
	if found != nil {
		return found, nil
	}
	return nil, errors.New("no cell has shown anything")
}

func (o *outputs) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.order) > 0 {
		o.drop(o.order[0])
	}
}

// keeping are the outputs of a cell that are kept.
type keeping struct {
	engine.Outputs
	of   *outputs
	kept *kept

	mu     sync.Mutex // guards the fields, and the order of what is sent
	sent   int        // bytes of text
	hidden int64      // bytes that are not sent
	lines  int        // among them
	noted  time.Time
	ended  bool
}

// keepingClient are those of a client that is known.
type keepingClient struct{ *keeping }

func (w keepingClient) Client() string { return w.Outputs.(engine.ClientOutputs).Client() }

func (w *keeping) Lasts() {
	if o, ok := w.Outputs.(engine.LastingOutputs); ok {
		o.Lasts()
	}
}

func (w *keeping) Stdout(text string) { w.text(text, false, w.Outputs.Stdout) }
func (w *keeping) Stderr(text string) { w.text(text, true, w.Outputs.Stderr) }

func (w *keeping) text(text string, stderr bool, send func(string)) {
	if text == "" {
		return
	}
	w.of.grow(w.kept.write(text, stderr))
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hidden == 0 && w.sent+len(text) <= shownHead {
		w.sent += len(text)
		w.of.pace(len(text))
		send(text)
		return
	}
	if w.hidden == 0 { // up to the end of a line
		n := max(0, shownHead-w.sent)
		if i := strings.LastIndexByte(text[:min(n, len(text))], '\n'); i >= 0 {
			w.of.pace(i + 1)
			send(text[:i+1])
			w.sent += i + 1
			text = text[i+1:]
		}
	}
	if w.ended && w.hidden == 0 { // a goroutine of the cell prints it
		time.AfterFunc(time.Second, w.end)
	}
	w.hidden += int64(len(text))
	w.lines += strings.Count(text, "\n")
	if now := time.Now(); now.Sub(w.noted) > time.Second {
		first := w.noted.IsZero()
		w.noted = now
		last := strings.TrimRight(text, "\n")
		w.note(first, "so far; the last: "+last[strings.LastIndexByte(last, '\n')+1:])
	}
}

// note says how much is not shown.
func (w *keeping) note(first bool, more string) {
	n := w.kept.number
	b := engine.Text(fmt.Sprintf("… %d lines (%.1f MB) are not shown here (%%output %d 100-200 shows some of the cell's lines, %%output -f FILE %d writes all), %s",
		w.lines, float64(w.hidden)/1e6, n, n, cut(more, 200)))
	id := fmt.Sprintf("dace-output-%d", n)
	if first {
		w.Outputs.Display(b, id)
	} else {
		w.Outputs.Update(b, id)
	}
}

func cut(s string, n int) string {
	if len(s) > n {
		return strings.ToValidUTF8(s[:n], "") + "…"
	}
	return s
}

func (w *keeping) Display(b engine.Bundle, id string) {
	w.kept.show(b, id, false)
	w.Outputs.Display(b, id)
}

func (w *keeping) Update(b engine.Bundle, id string) {
	w.kept.show(b, id, true)
	w.Outputs.Update(b, id)
}

// result keeps a cell's value or error, which the client gets by itself, and ends the cell.
func (w *keeping) result(res engine.Result, err error) {
	if failed := (*engine.Error)(nil); errors.As(err, &failed) {
		w.of.grow(w.kept.write(strings.Join(failed.Traceback, "\n")+"\n", true))
	} else if !res.Value.Empty() {
		w.kept.show(res.Value, "", false)
	}
	w.end()
}

// end sends the end of what has not been sent.
func (w *keeping) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.hidden > 0 {
		tail := w.kept.last(min(shownTail, w.hidden))
		if int64(len(tail)) < w.hidden {
			if i := bytes.IndexByte(tail, '\n'); i >= 0 && i < len(tail)-1 {
				tail = tail[i+1:]
			}
		}
		w.hidden -= int64(len(tail))
		w.lines -= bytes.Count(tail, []byte("\n"))
		w.note(false, "the end is below")
		w.of.pace(len(tail))
		w.Outputs.Stdout(string(tail))
		w.hidden, w.sent, w.lines = 0, 0, 0
		w.noted = time.Time{}
	}
	w.ended = true
	w.kept.done()
}

func (o *outputs) grow(n int64) {
	o.mu.Lock()
	o.bytes += n
	o.mu.Unlock()
}

// write keeps text, and returns how many bytes of it are in the file.
func (k *kept) write(text string, stderr bool) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer k.more()
	if k.file == nil && k.lost == 0 {
		if f, err := os.CreateTemp("", "dace-output-*"); err == nil {
			_ = os.Remove(f.Name())
			k.file = f
		}
	}
	n := 0
	if k.file != nil && k.lost == 0 && k.size+int64(len(text)) <= keptText {
		n, _ = k.file.WriteAt([]byte(text), k.size)
	}
	if n > 0 {
		from := k.size
		k.size += int64(n)
		if i := len(k.events) - 1; i >= 0 && k.events[i].to == from && k.events[i].stderr == stderr && k.events[i].bundle.Empty() {
			k.events[i].to = k.size
		} else {
			k.events = append(k.events, keptEvent{stderr: stderr, from: from, to: k.size})
		}
	}
	if rest := text[n:]; rest != "" {
		k.lost += int64(len(rest))
		k.tail = append(k.tail, rest...)
		if over := len(k.tail) - 2*shownTail; over > 0 {
			k.tail = slices.Clone(k.tail[len(k.tail)-shownTail:])
		}
	}
	return int64(n)
}

// more wakes those who follow; k.mu is held.
func (k *kept) more() {
	for _, c := range k.follow {
		close(c)
	}
	k.follow = nil
}

func (k *kept) show(b engine.Bundle, id string, update bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer k.more()
	if id != "" {
		for i := range k.events {
			if e := &k.events[i]; e.id == id {
				e.bundle = b
				update = true
			}
		}
	}
	if k.shows++; !update && k.shows <= keptDisplay {
		k.events = append(k.events, keptEvent{bundle: b, id: id, from: k.size, to: -1})
	}
}

func (k *kept) done() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.running = false
	k.more()
}

// last returns the last bytes of the text.
func (k *kept) last(n int64) []byte {
	k.mu.Lock()
	defer k.mu.Unlock()
	if int64(len(k.tail)) >= n {
		return slices.Clone(k.tail[int64(len(k.tail))-n:])
	}
	n -= int64(len(k.tail))
	n = min(n, k.size)
	b := make([]byte, n)
	if k.file != nil {
		m, _ := k.file.ReadAt(b, k.size-n)
		b = b[:m]
	}
	return append(b, k.tail...)
}

// reader reads the text, as far as it is kept.
func (k *kept) reader() io.Reader {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.file == nil {
		return bytes.NewReader(slices.Clone(k.tail))
	}
	gap := ""
	if n := k.lost - int64(len(k.tail)); n > 0 {
		gap = fmt.Sprintf("\n… %.1f MB are not kept …\n", float64(n)/1e6)
	}
	return io.MultiReader(io.NewSectionReader(k.file, 0, k.size), strings.NewReader(gap), bytes.NewReader(slices.Clone(k.tail)))
}

var besideCell = regexp.MustCompile(`^\s*%output(\s+[0-9]+)?\s*$`)

// beside reports whether a cell runs beside another one: %output, which goes on with
// what that shows.
func (s *Session) beside(code string) bool { return s.opts.KeepOutputs && besideCell.MatchString(code) }

// output is the magic %output.
func (s *Session) output(ctx context.Context, c *magic.Call) error {
	args, err := c.Words()
	if err != nil {
		return err
	}
	file, number := "", 0
	from, to := 0, 0
	for i := 0; i < len(args); i++ {
		a := args[i]
		first, last, isRange := strings.Cut(a, "-")
		switch n, err := strconv.Atoi(a); {
		case a == "-f" && i+1 < len(args):
			i++
			file = args[i]
		case err == nil && n > 0 && number == 0:
			number = n
		case isRange && from == 0:
			var err2 error
			from, err = strconv.Atoi(first)
			to, err2 = strconv.Atoi(last)
			if err != nil || err2 != nil || from < 1 || to < from {
				return fmt.Errorf("%q is no range of lines like 100-200", a)
			}
		default:
			return errors.New("want a cell's number, lines or a file: %output [-f FILE] [CELL] [FROM-TO]")
		}
	}
	k, err := s.shown.find(number, c.Cell.Number)
	if err != nil {
		return err
	}
	if from == 0 && file == "" {
		return k.replay(ctx, c.Out)
	}
	r := k.reader()
	if from > 0 {
		var b strings.Builder
		lines := bufio.NewReader(r)
		for n := 1; n <= to; n++ {
			line, err := lines.ReadString('\n')
			if n >= from {
				b.WriteString(line)
			}
			if err != nil {
				break
			}
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
		}
		r = strings.NewReader(b.String())
	}
	if file == "" {
		text, err := io.ReadAll(r)
		c.Out.Stdout(string(text))
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("cannot write the output: %w", err)
	}
	n, err := io.Copy(f, r)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cannot write the output: %w", err)
	}
	c.Out.Stdout(fmt.Sprintf("wrote %s (%d bytes)\n", filepath.Clean(file), n))
	return nil
}

// replay shows everything again, and goes on while the cell runs.
func (k *kept) replay(ctx context.Context, out engine.Outputs) error {
	at, within := 0, int64(0)
	seen := map[string]engine.Bundle{}
	for {
		k.mu.Lock()
		events := slices.Clone(k.events)
		running, file := k.running, k.file
		var wait chan struct{}
		if running {
			wait = make(chan struct{})
			k.follow = append(k.follow, wait)
		}
		k.mu.Unlock()
		for i := at; i < len(events); i++ {
			e := events[i]
			if !e.bundle.Empty() {
				if i > at || within == 0 {
					out.Display(e.bundle, e.id)
				}
				at, within = i, 1
				continue
			}
			if i > at {
				at, within = i, 0
			}
			b := make([]byte, e.to-e.from-within)
			if file != nil && len(b) > 0 {
				n, _ := file.ReadAt(b, e.from+within)
				b = b[:n]
			}
			within += int64(len(b))
			if e.stderr {
				out.Stderr(string(b))
			} else {
				out.Stdout(string(b))
			}
		}
		for _, e := range events {
			if e.id == "" {
				continue
			}
			if old, ok := seen[e.id]; ok && fmt.Sprint(old.Data["text/plain"]) != fmt.Sprint(e.bundle.Data["text/plain"]) {
				out.Update(e.bundle, e.id)
			}
			seen[e.id] = e.bundle
		}
		if !running {
			k.mu.Lock()
			tail := slices.Clone(k.tail)
			k.mu.Unlock()
			if len(tail) > 0 {
				out.Stdout(string(tail))
			}
			return nil
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil
		}
	}
}
