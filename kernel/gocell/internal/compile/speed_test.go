package compile

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

// BenchmarkPython compiles and runs each program of testdata/speed here, and its
// like by python3, and reports the processor time of both and their ratio; the
// log has the geometric mean of the ratios.
//
//	go test ./kernel/gocell/internal/compile -run xxx -bench Python -benchtime 3x
func BenchmarkPython(b *testing.B) {
	python, err := exec.LookPath("python3")
	if err != nil {
		b.Skip(err)
	}
	files, err := filepath.Glob("testdata/speed/*.go")
	if err != nil || len(files) == 0 {
		b.Fatal("no programs: ", err)
	}
	ratios := map[string]float64{}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".go")
		b.Run(name, func(b *testing.B) {
			text, err := os.ReadFile(file)
			if err != nil {
				b.Fatal(err)
			}
			var ours, theirs []float64
			for b.Loop() {
				start := process.TotalTime()
				got, panicked, err := run(file, string(text))
				took := process.TotalTime() - start
				if err != nil || panicked != nil {
					b.Fatal(err, panicked)
				}
				want, py := timePython(b, python, strings.TrimSuffix(file, ".go")+".py")
				if got != want {
					b.Fatalf("it prints %q, Python %q", got, want)
				}
				ours, theirs = append(ours, took.Seconds()), append(theirs, py)
			}
			ratio := slices.Min(ours) / slices.Min(theirs)
			ratios[name] = ratio
			b.ReportMetric(slices.Min(ours)*1000, "here-ms")
			b.ReportMetric(slices.Min(theirs)*1000, "python-ms")
			b.ReportMetric(ratio, "ratio")
		})
	}
	sum, most := 0.0, 0.0
	for _, r := range ratios {
		sum += math.Log(r)
		most = max(most, r)
	}
	b.Logf("geometric mean of %d: %.2f of Python's time, at most %.2f", len(ratios), math.Exp(sum/float64(len(ratios))), most)
}

func timePython(b *testing.B, python, file string) (printed string, seconds float64) {
	cmd := exec.CommandContext(b.Context(), python, "-c", timed, file)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		b.Fatalf("%v\n%s", err, &errs)
	}
	s, err := strconv.ParseFloat(strings.TrimSpace(errs.String()), 64)
	if err != nil {
		b.Fatal(err)
	}
	return out.String(), s
}
