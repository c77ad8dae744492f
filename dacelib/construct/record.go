package construct

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dace.local/dacelib/portfolio"
	"dace.local/dacelib/smac"
	"dace.local/dacelib/solver"
)

// A Record holds the contents of a construction's folder as tables: slices of
// structs with numbers and short texts, which display.Records shows. [Read]
// returns it.
type Record struct {
	// Setup holds everything that determines the construction.
	Setup Setup
	// Status is "budget spent" if the construction is finished, otherwise the
	// status of the last interruption; empty while it runs.
	Status string
	// Sessions are the processes that worked on the construction.
	Sessions []Session
	// Steps lists all steps in the order in which they ended.
	Steps []StepRow
	// Rounds are the finished rounds, the initial portfolio first; an
	// unfinished round is not included.
	Rounds []Round
	// Missing lists what is missing from the folder.
	Missing []string

	dir     string
	entries []entry
}

// A StepRow is a step of a construction.
type StepRow struct {
	// Round, Stage and Index identify the step: Index counts the steps of a
	// stage in a round.
	Round int
	Stage string
	Index int
	// Runs of the solver and evaluations of authentic instances.
	Runs, Evaluations int
	// Seconds of wall-clock time and CPU, processor time, since the previous
	// step; steps that run concurrently share the time.
	Seconds, CPU float64
	// TrialBytes is the number of bytes that the step's trials take in the
	// record; 0 if it has none.
	TrialBytes int64
}

// Read reads the record in a folder, even while the construction runs. An
// incomplete last line is ignored. [Record.LeftOut] says which trials the record
// has no room for.
func Read(dir string) (Record, error) {
	r := Record{dir: dir}
	path := filepath.Join(dir, JournalName)
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r, fmt.Errorf("construct: there is no construction in %s: it has no %s", dir, JournalName)
	}
	if err != nil {
		return r, err
	}
	defer f.Close()
	if r.entries, _, err = readEntries(f); err != nil {
		return r, fmt.Errorf("construct: %s, %w", path, err)
	}
	if len(r.entries) == 0 || r.entries[0].Stage != setupStage {
		return r, fmt.Errorf("construct: %s does not begin with a setup", path)
	}
	var trials int64
	genomes := map[string]Genome{}
	for i, e := range r.entries {
		var into any
		switch e.Stage {
		case setupStage:
			into = &r.Setup
		case sessionStage:
			r.Sessions = append(r.Sessions, Session{})
			into = &r.Sessions[len(r.Sessions)-1]
		case roundStage:
			r.Rounds = append(r.Rounds, Round{})
			into = &r.Rounds[len(r.Rounds)-1]
		case endStage, interruptStage:
			into = &r.Status
		}
		if into != nil {
			if err := json.Unmarshal(e.Value, into); err != nil {
				return r, fmt.Errorf("construct: %s, line %d: %w", path, i+1, err)
			}
		}
		switch e.Stage {
		case mutationStage:
			var m Mutation
			if err := json.Unmarshal(e.Value, &m); err != nil {
				return r, fmt.Errorf("construct: %s, line %d: %w", path, i+1, err)
			}
			genomes[m.Instance.Name] = m.Instance.Genome
		case roundStage:
			for k, m := range r.Rounds[len(r.Rounds)-1].Mutations {
				r.Rounds[len(r.Rounds)-1].Mutations[k].Instance.Genome = genomes[m.Instance.Name]
			}
		}
		if i == len(r.entries)-1 && e.Stage != endStage && e.Stage != interruptStage {
			r.Status = ""
		}
		row := StepRow{
			Round: e.Round, Stage: e.Stage, Index: e.Index,
			Runs: e.Cost.Runs, Evaluations: e.Cost.Evaluations, Seconds: e.Cost.Seconds, CPU: e.Cost.CPU,
		}
		if e.Trials != nil {
			row.TrialBytes = e.Trials.Length
			trials = max(trials, e.Trials.Offset+e.Trials.Length)
		}
		r.Steps = append(r.Steps, row)
	}
	info, err := os.Stat(filepath.Join(dir, trialsName))
	if trials > 0 && (err != nil || info.Size() < trials) {
		r.Missing = append(r.Missing, fmt.Sprintf("%s should have %d bytes: trials are missing, results are not", trialsName, trials))
	}
	return r, nil
}

// Cost returns the cost of the construction so far.
func (r Record) Cost() Cost {
	var c Cost
	for _, e := range r.entries {
		c.add(e.Cost)
	}
	return c
}

// A TimeRow is the cost of a stage: a row of the paper's table of times.
type TimeRow struct {
	// Stage is the kind of step, as in [StepRow].
	Stage string
	// Steps is the number of finished steps of the stage.
	Steps int
	// Runs of the solver, Evaluations of authentic instances, Seconds of wall-
	// clock time and CPU, seconds of processor time, are totals of the stage.
	Runs, Evaluations int
	Seconds, CPU      float64
}

// Time returns the cost of each stage, in order, with the total in the last
// row. The time of work that was lost in a kill is in the row "interrupted".
func (r Record) Time() []TimeRow {
	var rows []TimeRow
	at := map[string]int{}
	total := TimeRow{Stage: "total"}
	for _, e := range r.entries {
		name := e.stage()
		switch e.Stage {
		case interruptStage:
			name = interruptStage
		case setupStage, sessionStage, endStage, roundStage:
			name = "record"
		}
		k, ok := at[name]
		if !ok {
			k = len(rows)
			at[name] = k
			rows = append(rows, TimeRow{Stage: name})
		}
		for _, row := range []*TimeRow{&rows[k], &total} {
			row.Steps++
			row.Runs += e.Cost.Runs
			row.Evaluations += e.Cost.Evaluations
			row.Seconds += e.Cost.Seconds
			row.CPU += e.Cost.CPU
		}
	}
	return append(rows, total)
}

// A TrialRow is a trial of a run of SMAC.
type TrialRow struct {
	// Stage of the construction, and Run, the number of the run in it.
	Stage string
	Run   int
	// Number of the trial in the run, from 0.
	Number int
	// Configs tried, one for each member searched for; nil if the record has
	// too many trials to keep them.
	Configs []solver.Config
	// Instance is the index of the training instance if configurations race, or
	// with several seeds the index of its column; otherwise it is 0 and the
	// trial covers all instances.
	Instance int
	// Cost is the value that SMAC was given; Origin is why it tried the
	// configuration.
	Cost   float64
	Origin smac.Origin
}

// Trials returns all trials of the finished runs of SMAC. A round of the
// paper's scale has 32,000; the races of GLOBAL and PARHYDRA have millions,
// some hundred bytes each: see [Record.EachRun].
func (r Record) Trials() ([]TrialRow, error) {
	var rows []TrialRow
	err := r.EachRun(func(run []TrialRow) error {
		rows = append(rows, run...)
		return nil
	})
	return rows, err
}

// EachRun calls f with the trials of each run of SMAC, one run at a time, and
// stops at the first error.
func (r Record) EachRun(f func(run []TrialRow) error) error {
	file, err := os.Open(filepath.Join(r.dir, trialsName))
	if errors.Is(err, fs.ErrNotExist) && len(r.Missing) == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	for _, e := range r.entries {
		if e.Trials == nil {
			continue
		}
		if e.Trials.Length < 0 || e.Trials.Length > maxTrialBytes {
			return fmt.Errorf("construct: the journal's %v: its trials cannot have %d bytes", e.step, e.Trials.Length)
		}
		packed := make([]byte, e.Trials.Length)
		if _, err := file.ReadAt(packed, e.Trials.Offset); err != nil {
			return fmt.Errorf("construct: the trials of %v: %s is too short; they are lost, results are not", e.step, file.Name())
		}
		trials, err := unpackTrials(packed)
		if err != nil {
			return fmt.Errorf("construct: the trials of %v: %w", e.step, err)
		}
		space := theta{Solvers: r.Setup.Solvers, Evaluations: r.Setup.Settings.Evaluations}
		for _, i := range r.Setup.Training {
			space.D = max(space.D, i.Dim)
		}
		rows := make([]TrialRow, len(trials))
		for i, t := range trials {
			configs, err := space.configs(context.Background(), t.Config)
			if err != nil {
				return fmt.Errorf("construct: the trials of %v: %w", e.step, err)
			}
			rows[i] = TrialRow{
				Stage: e.stage(), Run: e.Index, Number: i,
				Configs: configs, Instance: t.Instance, Cost: t.Cost, Origin: t.Origin,
			}
		}
		if err := f(rows); err != nil {
			return err
		}
	}
	return nil
}

// A LeftOutRow is a run of SMAC of which the record does not hold every trial
// with its configuration, because it stays below 20 MB.
type LeftOutRow struct {
	// Stage of the construction, and Run, the number of the run in it.
	Stage string
	Run   int
	// Trials is the number of trials in the record, 0 if none of the run's is;
	// Without is how many of them have no configuration: those of
	// configurations that ran on fewer instances than the best.
	Trials, Without int
}

// isSearch reports whether the steps of a stage are runs of SMAC.
func isSearch(stage string) bool {
	return stage == miningStage || stage == allMembersStage || strings.HasPrefix(stage, "member ")
}

// LeftOut returns which trials of the finished runs of SMAC the record leaves
// out, one row for each run that is not complete. Results do not depend on them.
func (r Record) LeftOut() ([]LeftOutRow, error) {
	var rows []LeftOutRow
	for _, e := range r.entries {
		if e.Trials == nil && isSearch(e.Stage) {
			rows = append(rows, LeftOutRow{Stage: e.stage(), Run: e.Index})
		}
	}
	err := r.EachRun(func(run []TrialRow) error {
		without := 0
		for _, t := range run {
			if t.Configs == nil {
				without++
			}
		}
		if without > 0 {
			rows = append(rows, LeftOutRow{run[0].Stage, run[0].Run, len(run), without})
		}
		return nil
	})
	return rows, err
}

// An InstanceRow describes an instance of the population in a round.
type InstanceRow struct {
	// Round is the round in which the instance was in the training set.
	Round int
	// Name of the instance; Parent and Made are, for a generated instance, the
	// name of its parent and the round in which it was generated.
	Name, Parent string
	Made         int
	// Before and After are the performance on this instance of the portfolio
	// before and after the round.
	Before, After float64
}

// Populations returns one row per instance and round.
func (r Record) Populations() []InstanceRow {
	var rows []InstanceRow
	made := map[string]Instance{}
	for i, round := range r.Rounds {
		for k, name := range round.Instances {
			row := InstanceRow{Round: i, Name: name, Parent: made[name].Parent, Made: made[name].Round, After: round.After[k]}
			if round.Before != nil {
				row.Before = round.Before[k]
			}
			rows = append(rows, row)
		}
		for _, m := range round.Mutations {
			made[m.Instance.Name] = m.Instance
		}
	}
	return rows
}

// A RoundRow summarises a round.
type RoundRow struct {
	// Round is the number of the round, 0 for the initial portfolio; Instances
	// is the number of instances.
	Round, Instances int
	// Before and After are the mean performance over the instances of the
	// portfolio before and after the round.
	Before, After float64
	// Mutations is the number of mutations tried, Made the number that gave a
	// harder instance.
	Mutations, Made int
	// Portfolio lists the members after the round.
	Portfolio string
}

// RoundTable returns one summary row per round.
func (r Record) RoundTable() []RoundRow {
	var rows []RoundRow
	for i, round := range r.Rounds {
		row := RoundRow{Round: i, Instances: len(round.After), After: mean(round.After), Mutations: len(round.Mutations)}
		if len(round.Before) > 0 {
			row.Before = mean(round.Before)
		}
		for _, m := range round.Mutations {
			if m.Accepted {
				row.Made++
			}
		}
		var members []string
		for _, c := range round.Portfolio.Members {
			members = append(members, c.String())
		}
		row.Portfolio = strings.Join(members, " ")
		rows = append(rows, row)
	}
	return rows
}

// Portfolio returns the portfolio of the last finished round.
func (r Record) Portfolio() portfolio.Portfolio {
	if len(r.Rounds) == 0 {
		return portfolio.Portfolio{Name: r.Setup.Method}
	}
	p := r.Rounds[len(r.Rounds)-1].Portfolio
	p.Members = slices.Clone(p.Members)
	return p
}
