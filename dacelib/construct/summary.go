package construct

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"dace.local/dacelib/files"
	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/run"
	"dace.local/dacelib/solver"
)

// SummaryName is the name of a construction's summary in its folder.
const SummaryName = "portfolio.json"

// A Summary is a short description of a construction's outcome. `dace
// construct` writes it to portfolio.json, and portfolio.Load reads that file as
// a portfolio.
type Summary struct {
	// Method, Class and Scale are names; Dim is the training instances'
	// dimension.
	Method string `json:"method"`
	Class  string `json:"class"`
	Dim    int    `json:"dim"`
	Scale  string `json:"scale,omitempty"`
	// Reading and Seed of the construction.
	Reading run.Reading `json:"reading"`
	Seed    uint64      `json:"seed"`
	// Members of the portfolio; of the best so far if it is not finished.
	Members portfolio.Members `json:"members"`
	// Single is the configuration found to be best alone, if the method says so.
	Single *solver.Config `json:"single,omitempty"`
	// Runs of the solver, Evaluations of authentic instances, Seconds of
	// wall-clock time and CPUSeconds of processor time.
	Runs        int     `json:"runs"`
	Evaluations int     `json:"evaluations"`
	Seconds     float64 `json:"seconds"`
	CPUSeconds  float64 `json:"cpu_seconds"`
	// Status is "budget spent" if the construction is finished. Round is the
	// last round that the portfolio has gone through, 0 for the initial
	// portfolio.
	Status string `json:"status"`
	Round  int    `json:"round"`
	// Performance is the mean of f over the Instances of that round.
	Performance float64 `json:"performance"`
	Instances   int     `json:"instances"`
	// Version is the library's version, CPU the processor's name.
	Version string `json:"version"`
	CPU     string `json:"cpu"`
}

// Summary returns a summary of the result. class and scale are names.
func (r Result) Summary(class, scale string) Summary {
	s := Summary{
		Method: r.Method, Class: class, Scale: scale, Reading: r.Setup.Settings.Reading, Seed: r.Setup.Settings.Seed,
		Members: portfolio.Members(r.Portfolio.Members), Single: r.Portfolio.Single,
		Runs: r.Cost.Runs, Evaluations: r.Cost.Evaluations, Seconds: r.Cost.Seconds, CPUSeconds: r.Cost.CPU,
		Status: r.Status.String(), Version: r.Version, CPU: r.CPU,
	}
	if len(r.Setup.Training) > 0 {
		s.Dim = r.Setup.Training[0].Dim
	}
	if n := len(r.Rounds); n > 0 {
		last := r.Rounds[n-1]
		s.Round, s.Performance, s.Instances = n-1, mean(last.After), len(last.After)
	}
	return s
}

// Save writes the summary to portfolio.json in a folder, atomically.
func (s Summary) Save(dir string) error {
	b, err := json.Marshal(s)
	if err != nil {
		return err
	}
	return files.WriteBytes(filepath.Join(dir, SummaryName), append(b, '\n'))
}

// LoadSummary reads the summary of the construction in a folder.
func LoadSummary(dir string) (Summary, error) {
	path := filepath.Join(dir, SummaryName)
	b, err := files.ReadFile(path)
	if err != nil {
		return Summary{}, err
	}
	var s Summary
	if err := json.Unmarshal(b, &s); err != nil {
		return s, fmt.Errorf("%s is no summary of a construction: %w", path, err)
	}
	if len(s.Members) == 0 {
		return s, fmt.Errorf("%s has no portfolio yet; the construction is %s", path, s.Status)
	}
	return s, portfolio.Portfolio{Name: s.Method, Members: s.Members}.Check()
}
