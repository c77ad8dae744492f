package native_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"dace.local/kernel/gocell"
	"dace.local/kernel/internal/system/process"
)

// speedDir has programs that package compile compares with Python, and longer what makes
// of some of them work that compiled code, too, has a while to do: texts, each with another
// that takes its place.
const speedDir = "../../../gocell/internal/compile/testdata/speed/"

var longer = map[string][]string{
	"builder":  {"500000", "1000000"},
	"channels": {"range 20000", "range 100000"},
	"errors":   {"150000", "1000000"},
	"generic":  {"200000", "3000000"},
	"literal":  {"150000", "20000000"},
	"memo":     {"60000", "300000"},
	"shapes":   {"range 500", "range 10000"},
	"sorting":  {"20000", "100000", "9999", "49999", "19999", "99999"},
	"split":    {"range 40", "range 800"},
	"state":    {"range 1000000", "range 10000000"},
	"structs":  {"range 50", "range 5000"},
	"table":    {"range 400", "range 1500"},
}

// BenchmarkTiers runs the usual shapes of hot loops, these and testdata/hot, as cells: their functions
// and types in an earlier one, and main called by the cell (function), or its statements in
// the cell itself (cell), which is how a user types them. It reports the processor time of
// the first call, the median of those after what runs long has been built, and that of Go,
// built and run before and after; and the log says how many are within twice of Go's time,
// and what bars the others.
//
//	go test ./kernel/internal/toolchain/native -run NONE -bench Tiers -benchtime 1x
func BenchmarkTiers(b *testing.B) {
	l := ready(b)
	var files []string
	for _, dir := range []string{"testdata/hot/", speedDir} {
		list, err := filepath.Glob(dir + "*.go")
		if err != nil || len(list) == 0 {
			b.Fatal("no programs in ", dir, ": ", err)
		}
		files = append(files, list...)
	}
	slices.SortFunc(files, func(x, y string) int { return strings.Compare(filepath.Base(x), filepath.Base(y)) })
	ratios := map[string]float64{} // by form and name
	for _, form := range []string{"function", "cell"} {
		for _, file := range files {
			name := strings.TrimSuffix(filepath.Base(file), ".go")
			b.Run(form+"/"+name, func(b *testing.B) {
				raw, err := os.ReadFile(file)
				if err != nil {
					b.Fatal(err)
				}
				text := strings.NewReplacer(longer[name]...).Replace(string(raw))
				if text == string(raw) && longer[name] != nil {
					b.Fatalf("%s has no %s", file, longer[name][0])
				}
				var first, second, plain float64
				list := ""
				for b.Loop() {
					goTimes := timeGo(b, text)
					first, second, list = timeCells(b, l, form, text)
					plain = median(append(goTimes, timeGo(b, text)...))
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(first*1000, "first-ms")
				b.ReportMetric(second*1000, "second-ms")
				b.ReportMetric(plain*1000, "go-ms")
				ratio := second / plain
				b.ReportMetric(ratio, "ratio")
				if ratios[form+"/"+name] = ratio; ratio > 2 {
					b.Logf("%.1f times Go's:\n%s", ratio, list)
				}
			})
		}
	}
	for _, form := range []string{"function", "cell"} {
		within, ran := 0, 0
		for name, r := range ratios {
			if strings.HasPrefix(name, form+"/") {
				if ran++; r <= 2 {
					within++
				}
			}
		}
		b.Logf("%s: %d of %d within 2x of Go", form, within, ran)
	}
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

var mainRE = regexp.MustCompile(`(?ms)^func main\(\) \{(.*)\}$`)

// timeCells runs a program as cells, and returns the seconds of the first call and the
// median of five calls later, and what %compile list says.
func timeCells(b *testing.B, l gocell.Compiler, form, text string) (first, second float64, list string) {
	s, err := gocell.New(gocell.Options{Compiler: l, KeepStdio: true, CompileAfter: time.Millisecond})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	text = strings.TrimPrefix(text, "package main\n")
	call := "bench()"
	declared := strings.Replace(text, "func main()", "func bench()", 1)
	if form == "cell" {
		m := mainRE.FindStringSubmatch(text)
		declared, call = strings.Replace(text, m[0], "", 1), m[1]
		if i := strings.Index(declared, "\ntype"); i < 0 && !strings.Contains(declared, "\nfunc") && !strings.Contains(declared, "\nvar") {
			declared, call = "", text[:strings.Index(text, m[0])]+call // imports alone
		}
	}
	if got := run(b.Context(), s, 1, declared); got != "" {
		b.Fatal(got)
	}
	n, shows := 1, ""
	timed := func() float64 {
		n++
		start := process.TotalTime()
		got := run(b.Context(), s, n, call)
		took := (process.TotalTime() - start).Seconds()
		if n > 2 && got != shows || got == "" || strings.Contains(got, "error") {
			b.Fatalf("it shows %s, then %s", shows, got)
		}
		shows = got
		return took
	}
	first = timed()
	built := func() {
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(20 * time.Millisecond) {
			if list = run(b.Context(), s, n, "%compile list"); !strings.Contains(list, "is being built") {
				break
			}
		}
	}
	var took []float64
	for range 5 {
		built()
		took = append(took, timed())
	}
	return first, median(took), run(b.Context(), s, n, "%compile list")
}

// timeGo returns the seconds that a program takes, built by Go: those of five runs in one
// process.
func timeGo(b *testing.B, text string) []float64 {
	dir := b.TempDir()
	clock := `
func used() int64 { var u syscall.Rusage; syscall.Getrusage(syscall.RUSAGE_SELF, &u); return u.Utime.Nano() + u.Stime.Nano() }
func main() {
	for range 5 {
		start := used()
		bench()
		os.Stderr.WriteString(strconv.FormatInt(used()-start, 10) + "\n")
	}
}
`
	text = strings.Replace(strings.Replace(text, "func main()", "func bench()", 1), "package main\n", "package main\nimport (\"os\"; \"syscall\")\n", 1)
	if !strings.Contains(text, `"strconv"`) {
		text = strings.Replace(text, `"syscall"`, `"syscall"; "strconv"`, 1)
	}
	file := filepath.Join(dir, "main.go")
	if err := os.WriteFile(file, []byte(text+clock), 0o600); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.CommandContext(b.Context(), "go", "build", "-o", filepath.Join(dir, "p"), file).CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(b.Context(), filepath.Join(dir, "p"))
	var errs strings.Builder
	cmd.Stderr = &errs
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
	var took []float64
	for line := range strings.FieldsSeq(errs.String()) {
		n, err := strconv.ParseInt(line, 10, 64)
		if err != nil {
			b.Fatalf("%q", errs.String())
		}
		took = append(took, float64(n)/1e9)
	}
	return took
}
