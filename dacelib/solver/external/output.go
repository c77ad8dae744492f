package external

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// answer matches the line that a wrapper of SMAC or AClib answers with.
var answer = regexp.MustCompile(`(?im)^[ \t]*result (?:for (?:smac|paramils|this algorithm run)|of (?:this )?algorithm run):[ \t]*(.*?)[ \t\r]*$`)

// parse returns the value in a program's output: the cost with the other sign. took
// is the time of the run in seconds.
func (r *Runner) parse(out string, took float64) (float64, error) {
	if r.Convention == Irace {
		return parseCost(out)
	}
	m := answer.FindAllStringSubmatch(out, -1)
	if len(m) == 0 {
		return 0, fmt.Errorf("printed no line %q", map[Convention]string{SMAC: "Result for SMAC: SUCCESS, runtime, length, quality, seed", AClib: `Result of this algorithm run: {"status": "SUCCESS", "cost": ...}`}[r.Convention])
	}
	text := m[len(m)-1][1]
	if strings.HasPrefix(text, "{") {
		return r.parseJSON(text)
	}
	f := strings.SplitN(text, ",", 6)
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	if len(f) < 4 {
		return 0, fmt.Errorf("printed the result %q; it must have a status, the runtime, the length, the quality and the seed, with commas between", text)
	}
	runtime, err := cost(f[1], "runtime")
	if err != nil {
		return 0, err
	}
	quality, err := cost(f[3], "quality")
	if err != nil && (!r.Runtime || strings.EqualFold(f[0], "SUCCESS")) && !bad(f[0]) {
		return 0, err
	}
	if runtime < 0 && r.Runtime { // wrappers that do not measure print 0 or -1
		runtime = took
	}
	return r.judge(f[0], runtime, quality)
}

// bad reports whether a status says that there is no quality.
func bad(status string) bool {
	s := strings.ToUpper(status)
	return s == "CRASHED" || s == "ABORT"
}

// parseJSON returns the value in AClib's result.
func (r *Runner) parseJSON(text string) (float64, error) {
	var v struct {
		Status  string          `json:"status"`
		Cost    json.RawMessage `json:"cost"`
		Quality json.RawMessage `json:"quality"`
		Runtime json.RawMessage `json:"runtime"`
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return 0, fmt.Errorf("printed the result %q, which is no JSON: %w", text, err)
	}
	if v.Cost == nil {
		v.Cost = v.Quality
	}
	number := func(b json.RawMessage, what string) (float64, error) {
		if b == nil || string(b) == "null" {
			return math.NaN(), nil
		}
		return cost(strings.Trim(string(b), `"`), what)
	}
	runtime, err := number(v.Runtime, "runtime")
	if err != nil {
		return 0, err
	}
	quality, err := number(v.Cost, "cost")
	if err != nil {
		return 0, err
	}
	if !bad(v.Status) && (r.Runtime && runtime != runtime || !r.Runtime && quality != quality) {
		return 0, fmt.Errorf("printed a result without a %s", map[bool]string{true: "runtime", false: "cost"}[r.Runtime])
	}
	return r.judge(v.Status, runtime, quality)
}

// judge returns the value of a run that has ended with a status.
func (r *Runner) judge(status string, runtime, quality float64) (float64, error) {
	penalty := r.Penalty
	if penalty == 0 {
		penalty = 10
	}
	c := quality
	if r.Runtime {
		c = runtime
	}
	switch strings.ToUpper(status) {
	case "SUCCESS", "SAT", "UNSAT", "SATISFIABLE", "UNSATISFIABLE":
		if r.Runtime && r.Cutoff > 0 && c >= r.Cutoff {
			c = penalty * r.Cutoff
		}
	case "TIMEOUT", "MEMOUT":
		if r.Runtime {
			c = penalty * max(r.Cutoff, runtime)
		}
	case "CRASHED":
		c = math.Inf(1)
		if r.Runtime && r.Cutoff > 0 {
			c = penalty * r.Cutoff
		}
	case "ABORT":
		return 0, &abortError{errors.New("asked for an end of all runs (status ABORT)")}
	default:
		return 0, fmt.Errorf("printed the status %q; it must be SUCCESS, SAT, UNSAT, TIMEOUT, CRASHED or ABORT", status)
	}
	return negative(c)
}

// parseCost returns the value in the output of a target-runner of irace.
func parseCost(out string) (float64, error) {
	f := strings.Fields(out)
	switch len(f) {
	case 0:
		return 0, errors.New("printed nothing; it must print the cost of the run")
	case 1, 2:
	default:
		return 0, fmt.Errorf("printed %d words; it must print one number, the cost, or two, the cost and the time, and nothing else on standard output", len(f))
	}
	c, err := cost(f[0], "cost")
	if err != nil {
		return 0, err
	}
	if len(f) == 2 {
		if t, err := cost(f[1], "time"); err != nil || !(t >= 0) || math.IsInf(t, 0) {
			return 0, fmt.Errorf("printed the time %q; it must be a number of seconds", f[1])
		}
	}
	return negative(c)
}

// cost returns the number in a text.
func cost(text, what string) (float64, error) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(v) {
		return 0, fmt.Errorf("printed the %s %q, which is no number", what, shortened(text))
	}
	return v, nil
}

// negative returns the value of a cost.
func negative(c float64) (float64, error) {
	if math.IsInf(c, -1) || c != c {
		return 0, fmt.Errorf("printed the cost %v; it must be a finite number, or Inf for a configuration that must not be chosen", c)
	}
	return 0 - c, nil
}
