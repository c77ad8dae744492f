package gocell

import (
	"bytes"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dace.local/kernel/engine"
	"dace.local/kernel/engine/enginetest"
	"dace.local/kernel/internal/system/process"
)

// timed runs a Python program, and tells on stderr the processor time that the
// program took without the interpreter's start.
const timed = `
import sys, time
code = compile(open(sys.argv[1]).read(), sys.argv[1], "exec")
start = time.process_time()
exec(code, {"__name__": "__main__"})
print(time.process_time() - start, file=sys.stderr)`

// BenchmarkPython runs each program of testdata/python as a cell and by python3,
// and reports the processor time of both and their ratio; the log has the
// geometric mean of the ratios.
//
//	go test ./kernel/gocell -run xxx -bench Python -benchtime 3x
func BenchmarkPython(b *testing.B) {
	python, err := exec.LookPath("python3")
	if err != nil {
		b.Skip(err)
	}
	programs, err := filepath.Glob("testdata/python/*.cell")
	if err != nil || len(programs) == 0 {
		b.Fatal("no programs: ", err)
	}
	ratios := map[string]float64{}
	for _, p := range programs {
		name := strings.TrimSuffix(filepath.Base(p), ".cell")
		b.Run(name, func(b *testing.B) {
			code, err := os.ReadFile(p)
			if err != nil {
				b.Fatal(err)
			}
			var cells, pythons []float64
			for b.Loop() {
				printed, cell := timeCell(b, string(code))
				want, py := timePython(b, python, strings.TrimSuffix(p, ".cell")+".py")
				if printed != want {
					b.Fatalf("the cell prints %q, Python %q", printed, want)
				}
				cells, pythons = append(cells, cell), append(pythons, py)
			}
			ratio := slices.Min(cells) / slices.Min(pythons)
			ratios[name] = ratio
			b.ReportMetric(1000*slices.Min(cells), "cell-ms")
			b.ReportMetric(1000*slices.Min(pythons), "python-ms")
			b.ReportMetric(ratio, "cell/python")
			b.ReportMetric(0, "ns/op")
		})
	}
	mean, worst := 0.0, 0.0
	for _, r := range ratios {
		mean, worst = mean+math.Log(r)/float64(len(ratios)), max(worst, r)
	}
	b.Logf("of %d programs: geometric mean %.2f, largest %.2f", len(ratios), math.Exp(mean), worst)
}

// timeCell runs a cell in a session of its own, and returns what it prints and
// the seconds of processor time that it took.
func timeCell(b *testing.B, code string) (printed string, seconds float64) {
	s := benchSession(b)
	defer s.Close()
	var out enginetest.Recorder
	before := process.TotalTime()
	if _, err := s.Execute(b.Context(), engine.Cell{Number: 1, Code: code}, &out); err != nil {
		b.Fatal(err)
	}
	return out.Text(enginetest.Stdout), (process.TotalTime() - before).Seconds()
}

// timePython runs a program, and returns what it prints and the seconds of
// processor time.
func timePython(b *testing.B, python, file string) (printed string, seconds float64) {
	var out, said bytes.Buffer
	cmd := exec.CommandContext(b.Context(), python, "-c", timed, file)
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		b.Fatalf("%s: %v\n%s", file, err, &said)
	}
	seconds, err := strconv.ParseFloat(strings.TrimSpace(said.String()), 64)
	if err != nil {
		b.Fatal(err)
	}
	return out.String(), seconds
}
