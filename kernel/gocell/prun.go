package gocell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"go/token"
	"maps"
	"runtime/pprof"
	"slices"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/gocell/internal/cell"
	"dace.local/kernel/gocell/internal/profile"
	"dace.local/kernel/gocell/internal/vm"
)

// Profile runs the code at a position, and returns what its lines took of the
// processor's time, also where the code fails.
func (h host) Profile(ctx context.Context, at token.Position, run func(context.Context) error) (*profile.Profile, error) {
	var file bytes.Buffer
	if err := pprof.StartCPUProfile(&file); err != nil {
		return nil, fmt.Errorf("another profile is being taken: %w", err)
	}
	sampler, ok := h.s.machine.StartSampling()
	if !ok {
		pprof.StopCPUProfile()
		return nil, errors.New("another profile is being taken")
	}
	end := h.s.sample(sampler)
	first := []profile.Frame{{Function: "main", File: cell.Name(at.Filename), Line: at.Line}}
	err := run(ctx)
	end()
	pprof.StopCPUProfile()
	spans := sampler.Stop()
	raw, derr := profile.Decode(file.Bytes())
	if derr != nil {
		return nil, errors.Join(err, derr)
	}
	j := joiner{frame: h.s.compiled.Frame, spans: spans, first: first}
	return &profile.Profile{Samples: j.join(raw), Text: h.lineText}, err
}

// lineText returns the text of a line of a cell.
func (h host) lineText(file string, line int) string {
	n, ok := cell.Number(file)
	if !ok {
		return ""
	}
	text, _ := h.s.sourceLine(token.Position{Filename: cell.FileName(n), Line: line})
	return text
}

// A joiner finds the line of a cell that each sample of the run time belongs to.
type joiner struct {
	// frame returns the line of a compiled cell that a function on a stack stands for.
	frame func(function, file string, line int) (vm.Frame, bool)
	spans map[string]*vm.Span

	first   []profile.Frame            // the line of goroutines of which no other is known
	calling map[string][]profile.Frame // the stack of the line that most often calls a function
}

// stackOf returns places as frames.
func stackOf(at []vm.Place) (stack []profile.Frame) {
	for _, p := range at {
		stack = append(stack, profile.Frame{Function: p.Function, File: cell.Name(p.File), Line: p.Line})
	}
	return stack
}

func (j *joiner) join(raw []profile.RawSample) (samples []profile.Sample) {
	bySpan := map[*vm.Span][]profile.RawSample{}
	for _, r := range raw {
		if span := j.spans[r.Labels[vm.SpanLabel]]; span != nil {
			bySpan[span] = append(bySpan[span], r)
		} else if n := len(r.Stack); n > 0 && strings.HasPrefix(r.Stack[n-1].Function, "runtime.gcBgMarkWorker") {
			samples = append(samples, profile.Sample{Nanos: r.Nanos})
		}
	}
	j.calling = map[string][]profile.Frame{}
	often := map[string]map[string]int{}
	for span, list := range bySpan {
		if n := len(span.At); n > 0 && span.At[n-1].Callee != "" {
			callee, stack := span.At[n-1].Callee, stackOf(span.At)
			if often[callee] == nil {
				often[callee] = map[string]int{}
			}
			key := fmt.Sprint(stack)
			if often[callee][key] += len(list); often[callee][key] == slices.Max(slices.Collect(maps.Values(often[callee]))) {
				j.calling[callee] = stack
			}
		}
	}
	for span, list := range bySpan {
		samples = append(samples, j.ofSpan(span, list)...)
	}
	return samples
}

// ofSpan divides the samples of a span among its line and the functions that a library
// called there.
func (j *joiner) ofSpan(span *vm.Span, list []profile.RawSample) (samples []profile.Sample) {
	outer := stackOf(span.At)
	if len(outer) == 0 {
		outer = j.first
	}
	all, inner := int64(0), int64(0)
	for _, r := range list {
		all += r.Nanos
	}
	for i, at := range slices.Concat(span.Inner, span.Whole) {
		each := min(profile.Period, all/int64(len(span.Inner)+len(span.Whole)))
		inner += each
		stack := stackOf(at)
		if i < len(span.Inner) {
			stack = slices.Concat(outer, stack)
		}
		samples = append(samples, profile.Sample{Stack: stack, Nanos: each})
	}
	for _, r := range list {
		s := j.ofSample(span, outer, r.Stack)
		s.Nanos = int64(float64(r.Nanos) * float64(all-inner) / float64(all))
		if s.Nanos > 0 && len(s.Stack) > 0 {
			samples = append(samples, s)
		}
	}
	return samples
}

// ofSample returns the stack of a sample: of lines of cells, and of the functions of a
// library in which it was taken. A span ends with one of the lines that ran in it; that
// a compiled function runs is known for each sample, and so which line calls it.
func (j *joiner) ofSample(span *vm.Span, outer, stack []profile.Frame) profile.Sample {
	i := slices.IndexFunc(stack, func(f profile.Frame) bool { return ofCells(f.Function) })
	own := i < 0 // a goroutine that a library has started
	if own {
		i = len(stack)
	}
	var in []profile.Frame
	inside := 0
	name := ""
	for _, f := range slices.Backward(stack[:i]) {
		if c, ok := j.frame(f.Function, f.File, f.Line); ok {
			if inside, name = 0, cmp.Or(name, c.Name); c.Pos.IsValid() {
				in = append(linesOf(in), profile.Frame{Function: c.Name, File: cell.Name(c.Pos.Filename), Line: c.Pos.Line})
			}
			continue
		}
		if len(in) == 0 && (ofRuntime(f.Function) || own && f.Function == "runtime.goexit") {
			if !own {
				break
			}
			continue
		}
		name = cmp.Or(name, shortName(f.Function))
		in, inside = append(in, f), inside+1
	}
	s := profile.Sample{Stack: outer}
	n := len(span.At)
	switch calling, known := j.calling[name]; {
	case len(in) == 0:
		return s
	case own, n > 0 && span.At[n-1].Callee == name:
	case known:
		s.Stack = calling
	case inside < len(in) && len(outer) > 0: // the lines of compiled functions are known
		s.Stack = outer[:len(outer)-1]
	default:
		return s
	}
	s.Stack, s.Inside = slices.Concat(s.Stack, in), inside
	return s
}

// linesOf drops the functions of libraries.
func linesOf(list []profile.Frame) []profile.Frame {
	return slices.DeleteFunc(slices.Clone(list), func(f profile.Frame) bool { _, ok := cell.Number(f.File); return !ok })
}

// ofCells reports whether a function on a stack is what runs cells, or calls compiled
// functions for them.
func ofCells(function string) bool {
	return vm.IsCode(function) || strings.HasPrefix(function, "reflect.Value.") || strings.HasPrefix(function, "reflect.call") ||
		strings.HasPrefix(function, buildinfo.Path("kernel/gocell/internal/")) || strings.HasPrefix(function, buildinfo.Path("kernel/gocell/rtype."))
}

func ofRuntime(function string) bool {
	return strings.HasPrefix(function, "runtime.") || strings.HasPrefix(function, "internal/") || strings.HasPrefix(function, "reflect.")
}

// shortName returns the name of a function without its package and receiver.
func shortName(function string) string {
	function = function[strings.LastIndexByte(function, '/')+1:]
	_, function, _ = strings.Cut(function, ".")
	function, _, _ = strings.Cut(function, ".func")
	return function[strings.LastIndexByte(function, '.')+1:]
}
