package experiment

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"

	"dace.local/dacelib/files"
	"dace.local/dacelib/problem"
	"dace.local/dacelib/problem/classic"
	"dace.local/dacelib/solver"
)

// An IOHRun is one run of an algorithm for IOHanalyzer.
type IOHRun struct {
	// Function and Name are the number and the name of the function, Instance the
	// number of the instance.
	Function int
	Name     string
	Instance int
	// Dim is the dimension d.
	Dim int
	// Evaluations is the number of evaluations, History holds the improvements.
	Evaluations int
	History     []solver.Point
	// Raw, if not nil, returns the value before the instance's transformation of
	// values.
	Raw func(v float64) float64
}

// IOHRuns returns the runs of results[i], which belongs to problems[i], for
// [WriteIOH]. Functions of classic.PBO have their own numbers and names. For other
// problems a function is what stands before the first "-" or "/" of a problem's
// name, with numbers from 101 in the order in which they appear, and instances are
// numbered from 1 in each dimension.
func IOHRuns(problems []problem.Problem, results []solver.Result) ([]IOHRun, error) {
	if len(problems) != len(results) {
		return nil, fmt.Errorf("experiment: %d problems and %d results", len(problems), len(results))
	}
	functions, instances, counts := map[string]int{}, map[string]int{}, map[string]int{}
	var runs []IOHRun
	for i, p := range problems {
		r := IOHRun{Dim: p.Dim(), Evaluations: results[i].Evaluations, History: results[i].History}
		own, _ := p.(*classic.Instance)
		if function, instance, ok := own.PBO(); ok {
			r.Function, r.Instance, r.Name, r.Raw = function, instance, classic.PBOName(function), own.Raw
		} else {
			r.Name = p.Name()
			if at := strings.IndexAny(r.Name, "-/"); at > 0 {
				r.Name = r.Name[:at]
			}
			if functions[r.Name] == 0 {
				functions[r.Name] = 101 + len(functions)
			}
			r.Function = functions[r.Name]
			group := fmt.Sprint(r.Name, " ", r.Dim)
			key := group + " " + p.Name()
			if instances[key] == 0 {
				counts[group]++
				instances[key] = counts[group]
			}
			r.Instance = instances[key]
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// iohHeader is the first line of every run of a data file.
const iohHeader = `"function evaluation" "current f(x)" "best-so-far f(x)" "current af(x)+b" "best af(x)+b"`

// WriteIOH writes runs of an algorithm as files that IOHanalyzer reads, in the
// format that IOHexperimenter's first Analyzer logger writes: for each function an
// .info file, and in a folder a .dat file for each dimension. It has a line for
// every improvement and one for the last evaluation, whose current value, which runs
// do not keep, is given as the best. dir must not hold such files yet.
func WriteIOH(dir, algorithm, info string, runs []IOHRun) error {
	type group struct{ function, dim int }
	var order []int
	dims := map[int][]int{}
	of := map[group][]IOHRun{}
	names := map[int]string{}
	for _, r := range runs {
		g := group{r.Function, r.Dim}
		switch {
		case len(r.History) == 0:
			return fmt.Errorf("experiment: a run on %s in dimension %d has no history", r.Name, r.Dim)
		case strings.ContainsAny(r.Name, "/\\\"\n,") || r.Name == "":
			return fmt.Errorf("experiment: %q cannot be the name of a function in IOHanalyzer's files", r.Name)
		case names[r.Function] == "":
			names[r.Function] = r.Name
			order = append(order, r.Function)
		case names[r.Function] != r.Name:
			return fmt.Errorf("experiment: function %d is %s and %s", r.Function, names[r.Function], r.Name)
		}
		if of[g] == nil {
			dims[r.Function] = append(dims[r.Function], r.Dim)
		}
		of[g] = append(of[g], r)
	}
	if strings.ContainsAny(algorithm+info, "\"\n") {
		return errors.New("experiment: the algorithm's name and info must not hold quotes or line ends")
	}
	for _, f := range order {
		file := filepath.Join(dir, fmt.Sprintf("IOHprofiler_f%d_%s.info", f, names[f]))
		if _, err := os.Stat(file); err == nil {
			return fmt.Errorf("experiment: %s is there already: name a new folder", file)
		}
		var text bytes.Buffer
		for i, d := range dims[f] {
			if i > 0 {
				text.WriteByte('\n')
			}
			data := fmt.Sprintf("data_f%d_%s/IOHprofiler_f%d_DIM%d.dat", f, names[f], f, d)
			fmt.Fprintf(&text, "suite = \"PBO\", funcId = %d, funcName = \"%s\", DIM = %d, maximization = \"T\", algId = \"%s\", algInfo = \"%s\"\n%%\n%s", f, names[f], d, algorithm, info, data)
			var table bytes.Buffer
			for _, r := range of[group{f, d}] {
				best := r.History[len(r.History)-1]
				fmt.Fprintf(&text, ", %d:%d|%.6g", r.Instance, best.Evaluations, r.raw(best.Best))
				r.write(&table)
			}
			path := filepath.Join(dir, filepath.FromSlash(data))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				return err
			}
			if err := writeWhole(path, table.Bytes()); err != nil {
				return err
			}
		}
		if err := writeWhole(file, text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

func (r IOHRun) raw(v float64) float64 {
	if r.Raw == nil || math.IsInf(v, 0) {
		return v
	}
	return r.Raw(v)
}

// write writes the lines of a run.
func (r IOHRun) write(b *bytes.Buffer) {
	fmt.Fprintln(b, iohHeader)
	line := func(evaluations int, v float64) {
		raw := r.raw(v)
		fmt.Fprintf(b, "%d %.10f %.10f %.10f %.10f\n", evaluations, raw, raw, v, v)
	}
	for _, p := range r.History {
		line(p.Evaluations, p.Best)
	}
	if best := r.History[len(r.History)-1]; best.Evaluations < r.Evaluations {
		line(r.Evaluations, best.Best)
	}
}

func writeWhole(path string, b []byte) error {
	return files.Write(path, func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	})
}
