// Command measure measures what the guides say of speed, and writes their tables.
//
//	go run ./kernel/docs/measure            measures all: some minutes, better with nothing else to do
//	go run ./kernel/docs/measure kernels    measures one of python, constructs and kernels
//	go run ./kernel/docs/measure -tables    measures nothing
//
// What a measurement printed is in kernel/docs/measured, with its machine, date and
// load. A guide has a table between the lines "<!-- measured: NAME -->" and
// "<!-- end -->".
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"maps"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

//go:generate go run . -root ../../.. -tables

// A measurement is a command whose output is kept.
type measurement struct {
	name    string
	env     []string
	command []string
}

var measurements = []measurement{
	{"python", []string{"GOMAXPROCS=1"}, strings.Fields("go test ./kernel/gocell -run xxx -bench Python -benchtime 2x")},
	{"constructs", nil, strings.Fields("go test ./kernel/gocell -run xxx -bench Constructs -benchtime 8x")},
	{"longcells", nil, strings.Fields("go test ./kernel/gocell -run xxx -bench LongCell -benchtime 20x")},
	{"kernels", nil, strings.Fields("/usr/bin/python3 kernel/internal/jupyter/server/testdata/floors.py dace python3")},
	{"paper", nil, []string{"bash", "-ec", paperCommands}},
	{"profile", nil, strings.Fields("go test ./kernel/gocell -run xxx -bench Profile -benchtime 4x")},
	{"compiled", nil, strings.Fields("go test ./kernel/internal/toolchain/native -run xxx -bench Cell|Call -benchtime 5x")},
	{"tiers", nil, strings.Fields("go test ./kernel/internal/toolchain/native -run xxx -bench Tiers/cell -benchtime 1x")},
	{"library", nil, strings.Fields("go test ./dacelib/brkga ./dacelib/problem/cimp -run xxx -bench Run$|Evaluate/.*/.*/n=1000$|Prepare/R=1000$ -benchtime 100x")},
	{"rows", nil, strings.Fields("go test ./dacelib/frame -run xxx -bench MillionRows/read|MillionRows/group -benchtime 5x")},
	{"farm", nil, strings.Fields("go test ./dacelib/farm/natsfarm -run xxx -bench RoundTrip|Idle|Restart|WorkerStart|Share")},
	{"users", nil, strings.Fields("go test ./install -run xxx -bench Twenty -benchtime 1x")},
}

// paperCommands test the paper's portfolios on eight draws of instances, and sum what the
// stored constructions took.
const paperCommands = `dace=$(mktemp); trap 'rm $dace' EXIT; go build -o $dace ./kernel
for seed in 1 2 3 4 5 6 7 8; do
	$dace test dace ceps brkga-pap parhydra global -class ccp -instances 50 -reading published -shared-seed -seed $seed
done 2>/dev/null
grep '{"ccp", [0-9]*, "[A-Z-]*", [0-9.]*,' dacelib/experiment/paper.go
$dace reproduce II -class ccp; $dace reproduce II -class cimp
kept=$(echo notebooks/results/{ccp,cimp}-{dace,ceps,global,parhydra}-paper/portfolio.json)
echo "constructed on $(grep -ho '"cpu":"[^"]*"' $kept | cut -d '"' -f 4 | sort -u | paste -sd ,), and kept since $(git log -1 --format=%as -- $kept)"`

// guides are the pages with tables.
var guides = []string{"README.md", "dacelib/docs/farms.md", "dacelib/docs/paper.md", "dacelib/docs/frame.md", "kernel/docs/installing.md",
	"kernel/docs/cells.md", "kernel/docs/speed.md", notebooks}

// notebooks is the list of notebooks, which says how long each took.
const notebooks = "notebooks/README.md"

func main() {
	log.SetFlags(0)
	root := flag.String("root", ".", "`folder` of the clone")
	only := flag.Bool("tables", false, "write the tables of what was measured before")
	flag.Parse()
	if err := run(*root, *only, flag.Args()); err != nil {
		log.Fatal("measure: ", err)
	}
}

func run(root string, only bool, names []string) error {
	for _, m := range measurements {
		if only || len(names) > 0 && !slices.Contains(names, m.name) {
			continue
		}
		text, err := m.take(context.Background(), root)
		if err != nil {
			return err
		}
		if err := os.WriteFile(m.file(root), text, 0o644); err != nil {
			return err
		}
	}
	for _, guide := range guides {
		path := filepath.Join(root, filepath.FromSlash(guide))
		old, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		text, err := filled(root, string(old))
		if err == nil && guide == notebooks {
			text, err = timed(root, text)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", guide, err)
		}
		if text != string(old) {
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m measurement) file(root string) string {
	return filepath.Join(root, "kernel", "docs", "measured", m.name+".txt")
}

// take runs the command and returns what it printed, below what it ran on.
func (m measurement) take(ctx context.Context, root string) ([]byte, error) {
	if m.name == "kernels" { // the static build, registered for Jupyter
		dir, err := os.MkdirTemp("", "dace-measure-")
		if err != nil {
			return nil, err
		}
		defer os.RemoveAll(dir)
		build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, "dace"), "./kernel")
		build.Dir, build.Env = root, append(os.Environ(), "CGO_ENABLED=0")
		install := exec.CommandContext(ctx, filepath.Join(dir, "dace"), "install", "-quiet", "-prefix", dir)
		for _, cmd := range []*exec.Cmd{build, install} {
			if out, err := cmd.CombinedOutput(); err != nil {
				return nil, fmt.Errorf("%q: %w\n%s", cmd.Args, err, out)
			}
		}
		m.env = append(m.env, "JUPYTER_PATH="+filepath.Join(dir, "share", "jupyter"))
	}
	load := "unknown"
	if b, err := os.ReadFile("/proc/loadavg"); err == nil {
		load, _, _ = strings.Cut(string(b), " ")
	}
	cmd := exec.CommandContext(ctx, m.command[0], m.command[1:]...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, append(os.Environ(), m.env...), &out, &errs
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%q: %w\n%s%s", m.command, err, &out, &errs)
	}
	return fmt.Appendf(nil, "on %s, %s/%s, %d x %s, %s, load at the start %s\n\n%s", time.Now().Format(time.DateOnly),
		runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), processor(), runtime.Version(), load, &out), nil
}

// processor returns the processor's name.
func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	if m := regexp.MustCompile(`(?m)^model name\s*: (.*)$`).FindSubmatch(b); m != nil {
		return string(m[1])
	}
	return "a processor without a name"
}

var block = regexp.MustCompile(`(?s)(<!-- measured: (\w+) -->\n).*?(<!-- end -->)`)

// filled returns a guide with its tables as what was measured has them.
func filled(root, text string) (string, error) {
	var errs []error
	text = block.ReplaceAllStringFunc(text, func(s string) string {
		m := block.FindStringSubmatch(s)
		table, ok := tables[m[2]]
		if !ok {
			errs = append(errs, fmt.Errorf("there is no table %s; there are %q", m[2], slices.Sorted(maps.Keys(tables))))
			return s
		}
		rows, err := table(func(name string) (string, error) {
			b, err := os.ReadFile(measurement{name: name}.file(root))
			return string(b), err
		})
		errs = append(errs, err)
		return m[1] + rows + m[3]
	})
	return text, errors.Join(errs...)
}

// tables make the tables of guides, by their names; read returns what a measurement
// printed.
var tables = map[string]func(read func(name string) (string, error)) (string, error){
	"python": python, "constructs": constructs, "kernels": kernels, "peers": peers,
	"longcells": longcells, "profile": profile, "compiled": compiled, "tiers": tiers, "library": library, "rows": rows, "farm": farm, "users": users,
	"agreement": agreement, "costs": costs,
}

// results returns the metrics of benchmarks in the order in which they ran: "23.5
// cell-ms" of BenchmarkX/fib-2 is results["fib"]["cell-ms"].
func results(text string) (names []string, values map[string]map[string]float64) {
	values = map[string]map[string]float64{}
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name, ok := strings.CutPrefix(f[0], "Benchmark")
		if _, sub, below := strings.Cut(name, "/"); ok && below {
			name = sub
		}
		name = strings.ReplaceAll(regexp.MustCompile(`-\d+$`).ReplaceAllString(name, ""), "_", " ")
		names, values[name] = append(names, name), map[string]float64{}
		for i := 2; i+1 < len(f); i += 2 {
			values[name][f[i+1]], _ = strconv.ParseFloat(f[i], 64)
		}
	}
	return names, values
}

// made returns the sentence about where a measurement was made.
func made(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return "Measured " + strings.ReplaceAll(line, ", load at the start ", "; other work made a load of ") + ".\n"
}

// number returns a number with two digits behind the point below ten, and else none.
func number(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	s := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	if len(s) > 3 {
		s = s[:len(s)-3] + "," + s[len(s)-3:]
	}
	return s
}

// programs say what the programs of BenchmarkPython do.
var programs = map[string]string{
	"matrix": "matrix product, 200 x 200", "sieve": "sieve of 1e6", "nbody": "n-body, 20,000 steps",
	"strings": "a string built in 3e5 steps", "maps": "counting 1e6 keys in a map", "sort": "sort.Slice of 1e6 ints (`cmp_to_key` in Python)",
	"mandelbrot": "Mandelbrot set, 400 x 400", "fib": "fib(30)", "bits": "dynamic programming over 20 bits", "annealing": "annealing, 1e5 steps",
}

func python(read func(string) (string, error)) (string, error) {
	text, err := read("python")
	if err != nil {
		return "", err
	}
	names, values := results(text)
	if len(names) != len(programs) {
		return "", fmt.Errorf("%d programs were measured, and there are %d", len(names), len(programs))
	}
	var b strings.Builder
	b.WriteString("| program | cell, ms | CPython, ms | cell / CPython |\n|---|---|---|---|\n")
	sum := 0.0
	for _, name := range names {
		v := values[name]
		if programs[name] == "" {
			return "", fmt.Errorf("nothing says what the program %s does", name)
		}
		sum += math.Log(v["cell/python"])
		fmt.Fprintf(&b, "| %s | %s | %s | %.2f |\n", programs[name], number(v["cell-ms"]), number(v["python-ms"]), v["cell/python"])
	}
	fmt.Fprintf(&b, "\nThe geometric mean is %.2f. %s", math.Exp(sum/float64(len(names))), made(text))
	return b.String(), nil
}

func constructs(read func(string) (string, error)) (string, error) {
	text, err := read("constructs")
	if err != nil {
		return "", err
	}
	names, values := results(text)
	names = slices.DeleteFunc(names, func(n string) bool { return values[n]["yaegi-ns"] == 0 }) // min and max, beside an if
	if len(names) < 20 {
		return "", fmt.Errorf("%d constructs were measured", len(names))
	}
	var b strings.Builder
	b.WriteString("| construct | cell | yaegi | | construct | cell | yaegi |\n|---|---|---|---|---|---|---|\n")
	half := (len(names) + 1) / 2
	cell := func(i int) string {
		if i >= len(names) {
			return "| |"
		}
		return fmt.Sprintf("%s | %s | %s", names[i], number(math.Round(values[names[i]]["cell-ns"])), number(math.Round(values[names[i]]["yaegi-ns"])))
	}
	for i := range half {
		fmt.Fprintf(&b, "| %s | | %s |\n", cell(i), cell(half+i))
	}
	fmt.Fprintf(&b, "\n`min` and `max` cost %s and %s ns, an `if` with its assignments %s. %s", number(values["min"]["cell-ns"]), number(values["max"]["cell-ns"]),
		number(values["min"]["if-ns"]), made(text))
	return b.String(), nil
}

// tiers makes the table of usual loops that the kernel compiles by itself.
func tiers(read func(string) (string, error)) (string, error) {
	text, err := read("tiers")
	if err != nil {
		return "", err
	}
	names, values := results(text)
	var b strings.Builder
	b.WriteString("| | first, ms | later, ms | Go, ms | later / Go |\n|---|---|---|---|---|\n")
	within := 0
	for _, name := range names {
		v := values[name]
		if v["ratio"] <= 2 {
			within++
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %.1f |\n", strings.TrimPrefix(name, "cell/"), number(v["first-ms"]), number(v["second-ms"]), number(v["go-ms"]), v["ratio"])
	}
	fmt.Fprintf(&b, "\n%d of %d take at most twice Go's time. %s", within, len(names), made(text))
	return b.String(), nil
}

// floors returns the smallest values of a row that floors.py prints, of our kernel and of
// Python's.
func floors(text, row string) (ours, python float64, err error) {
	m := regexp.MustCompile(`(?m)^\| ` + regexp.QuoteMeta(row) + `[^|]*\| [\d.]+ \(best ([\d.]+)\) \| [\d.]+ \(best ([\d.]+)\) \|$`).FindStringSubmatch(text)
	if m == nil {
		return 0, 0, fmt.Errorf("there is no row %q", row)
	}
	ours, err = strconv.ParseFloat(m[1], 64)
	python, e := strconv.ParseFloat(m[2], 64)
	return ours, python, errors.Join(err, e)
}

func kernels(read func(string) (string, error)) (string, error) {
	text, err := read("kernels")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("| the smallest of five runs | here (static build) | ipykernel 6.17 |\n|---|---|---|\n")
	for _, row := range []string{"start to ready, ms", "trivial cell, ms", "ordinary cell, ms of processor time", "memory, MiB", "100,000 lines, ms", "interrupt, ms"} {
		ours, python, err := floors(text, row)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", row, number(ours), number(python))
	}
	return b.String() + "\n" + made(text), nil
}

// peers is the README's table. What others' kernels take is in elsewhere.txt.
func peers(read func(string) (string, error)) (string, error) {
	text, err := read("kernels")
	if err != nil {
		return "", err
	}
	cell, pythonCell, err := floors(text, "trivial cell, ms")
	if err != nil {
		return "", err
	}
	start, pythonStart, err := floors(text, "start to ready, ms")
	if err != nil {
		return "", err
	}
	elsewhere, err := read("elsewhere")
	if err != nil {
		return "", err
	}
	other := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^(gophernotes|gonb)(?: [\d.]+)?: a trivial cell (.*)$`).FindAllStringSubmatch(elsewhere, -1) {
		other[m[1]] = m[2]
	}
	if len(other) != 2 {
		return "", fmt.Errorf("elsewhere.txt has %d trivial cells, and gophernotes and gonb are wanted", len(other))
	}
	return fmt.Sprintf(`| | here | gophernotes | gonb | ipykernel |
|---|---|---|---|---|
| variables and types keep their values between cells | yes | yes | no: the source runs again | yes |
| generics; `+"`for {}`"+` interrupted; a panic in a goroutine | all three | none | | |
| a trivial cell, there and back | %.1f ms | %s | %s | %.1f ms |
| a kernel's start | %.2f s | | | %.2f s |
`, cell, other["gophernotes"], other["gonb"], pythonCell, start/1000, pythonStart/1000), nil
}
