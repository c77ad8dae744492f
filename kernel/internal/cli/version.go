package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"golang.org/x/sys/cpu"

	dacerun "dace.local/dacelib/run"
)

var versionVerb = verb{
	name:  "version",
	short: "versions of the command and of what it is built from",
	usage: `
Usage: dace version [-json]

Prints the version, the commit where the build knows it, the versions of Go
and of the main libraries, and the CPU features that the numerics use.

Exit code: 0; 2 for wrong arguments.

Examples:
  dace version
  dace version -json
`,
	run: runVersion,
}

func runVersion(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	asJSON := fs.Bool("json", false, "print JSON")
	if _, code, ok := v.parse(env, fs, args, true, 0, 0); !ok {
		return code
	}
	rows := versions()
	if *asJSON {
		object := map[string]string{}
		for _, r := range rows {
			object[r[0]] = r[1]
		}
		return v.printJSON(env, object)
	}
	fmt.Fprintln(env.Stdout, rows[0][0], rows[0][1])
	for _, r := range rows[1:] {
		fmt.Fprintf(env.Stdout, "%-8s %s\n", r[0], r[1])
	}
	return exitOK
}

// versions returns what the verb prints: names and their versions.
func versions() (rows [][2]string) {
	add := func(name, format string, args ...any) {
		rows = append(rows, [2]string{name, fmt.Sprintf(format, args...)})
	}
	add("dace", "%s", dacerun.Version)
	if rev, t := dacerun.Revision(); rev != "" {
		line, changed := strings.CutSuffix(rev, "+")
		if t != "" {
			line += " of " + t
		}
		if changed {
			line += ", with changes"
		}
		add("commit", "%s", line)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		add("go", "%s %s/%s", info.GoVersion, runtime.GOOS, runtime.GOARCH)
		for _, d := range info.Deps {
			for _, l := range []struct{ path, name string }{
				{"github.com/traefik/yaegi", "yaegi"}, {"github.com/go-zeromq/zmq4", "zmq4"},
				{"gonum.org/v1/gonum", "gonum"}, {"gonum.org/v1/plot", "plot"}, {"gorgonia.org/gorgonia", "gorgonia"},
			} {
				if d.Path == l.path {
					if d.Replace != nil {
						d = d.Replace
					}
					add(l.name, "%s", d.Version)
				}
			}
		}
	}
	add("cpu", "%d x %s", runtime.NumCPU(), cpuFeatures())
	return rows
}

// cpuFeatures lists the CPU features that decide which implementations are
// used.
func cpuFeatures() string {
	if runtime.GOARCH != "amd64" {
		if runtime.GOARCH == "arm64" {
			return "arm64 with neon"
		}
		return runtime.GOARCH + " (portable code)"
	}
	var have []string
	for _, f := range []struct {
		name string
		on   bool
	}{
		{"avx2", cpu.X86.HasAVX2}, {"fma", cpu.X86.HasFMA}, {"avx512f", cpu.X86.HasAVX512F},
		{"avx512bw", cpu.X86.HasAVX512BW}, {"avx512vnni", cpu.X86.HasAVX512VNNI}, {"avx512bf16", cpu.X86.HasAVX512BF16},
	} {
		if f.on {
			have = append(have, f.name)
		}
	}
	if have == nil {
		return "amd64 (portable code)"
	}
	return "amd64 with " + strings.Join(have, " ")
}
