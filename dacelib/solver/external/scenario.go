package external

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"dace.local/dacelib/problem"
)

// A Scenario is what a scenario file of irace or SMAC describes: a program, its
// parameters, instances and a budget.
type Scenario struct {
	// Runner is the program with its parameters.
	Runner Runner
	// Training and Test are the instances, as texts for [Instance].
	Training, Test []string
	// Runs is the number of runs that may be made, 0 without a limit; Seconds is the
	// time: that of all runs together for irace, by the clock for SMAC.
	Runs    int
	Seconds float64
	// Seed is irace's; 0 if there is none.
	Seed uint64
	// Unused are settings of the file that have no meaning here, such as those of
	// irace's own race.
	Unused []string
}

// Instances returns the training instances as problems.
func (s *Scenario) Instances() []problem.Problem { return instances(s.Training) }

// Tests returns the test instances as problems.
func (s *Scenario) Tests() []problem.Problem { return instances(s.Test) }

func instances(texts []string) []problem.Problem {
	var out []problem.Problem
	for _, t := range texts {
		out = append(out, Instance(t))
	}
	return out
}

// LoadScenario reads a scenario file of irace (a file of R assignments; paths are
// relative to its folder) or of SMAC (lines of key = value; paths are relative to
// execdir if they are there, else to the file's folder). The settings tell which it
// is.
func LoadScenario(path string) (*Scenario, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	read := readSMAC
	if iraceKey.Match(b) || !smacKey.Match(b) {
		read = readIrace
	}
	s, err := read(string(b), dir)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if len(s.Training) == 0 {
		return nil, fmt.Errorf("%s: there are no training instances: name a folder or a file of them", path)
	}
	slices.Sort(s.Unused)
	return s, nil
}

// Keys that only one of the two has.
var (
	iraceKey = regexp.MustCompile(`(?m)^[ \t]*(parameterFile|execDir|trainInstances(Dir|File)|instanceDir|instanceFile|targetRunner\w*|maxExperiments|maxTime|testInstances(Dir|File)|configurationsFile|forbiddenFile|logFile)[ \t]*(=|<-)`)
	smacKey  = regexp.MustCompile(`(?mi)^[ \t]*(algo|algo[-_]?exec|exec[-_]?dir|param[-_]?file|pcs[-_]?(file|fn)|instance[-_]?(seed[-_]?)?file|instances|train[-_]?inst[-_]?fn|run[-_]?obj|run[-_]?count[-_]?limit)[ \t]*=`)
)

// iraceOwn are settings of irace that concern its race alone, its output or R.
var iraceOwn = strings.Fields(`logFile recoveryFile sampleInstances testNbElites testIterationElites testType firstTest
blockSize eachTest minExperiments budgetEstimation minMeasurableTime parallel loadBalancing mpi quiet debugLevel
softRestart softRestartThreshold elitist elitistNewInstances elitistLimit repairConfiguration capping
cappingAfterFirstTest cappingType boundType boundDigits boundPar boundAsTimeout postselection nbIterations
nbExperimentsPerIteration minNbSurvival nbConfigurations mu confidence scenarioFile targetRunnerData`)

// iraceKeys are the settings that are read.
var iraceKeys = strings.Fields(`parameterFile execDir trainInstancesDir trainInstancesFile instanceDir instanceFile
testInstancesDir testInstancesFile testInstances instances configurationsFile forbiddenFile targetRunner
targetRunnerLauncher targetRunnerLauncherArgs targetCmdline targetRunnerRetries targetRunnerTimeout deterministic
maxExperiments maxTime digits seed boundMax aclib`)

// readIrace reads a scenario of irace, whose paths are relative to dir.
func readIrace(content, dir string) (*Scenario, error) {
	values, err := assignments(content)
	if err != nil {
		return nil, err
	}
	s := &Scenario{}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		v := values[key]
		switch {
		case strings.HasPrefix(key, "."): // a variable of the user's
		case v.empty():
		case key == "targetEvaluator" || key == "targetRunnerParallel" || key == "batchmode" && v.text != "0":
			return nil, fmt.Errorf("line %d: %s is not supported: the target-runner must print the cost itself", v.line, key)
		case slices.Contains(iraceOwn, key) || key == "batchmode":
			s.Unused = append(s.Unused, key)
		case !slices.Contains(iraceKeys, key):
			return nil, fmt.Errorf("line %d: irace has no setting %s", v.line, key)
		}
	}
	get := func(keys ...string) string {
		for _, k := range keys {
			if v, ok := values[k]; ok && !v.empty() {
				return v.text
			}
		}
		return ""
	}
	number := func(key string) (float64, error) {
		v, ok := values[key]
		if !ok || v.empty() {
			return 0, nil
		}
		f, err := strconv.ParseFloat(v.text, 64)
		if err != nil || !(f >= 0) || f > 1<<52 {
			return 0, fmt.Errorf("line %d: %s = %q; it must be a number that is not negative", v.line, key, v.text)
		}
		return f, nil
	}
	at := func(path string) string {
		if path == "" || filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	r := &s.Runner
	r.Dir = at(cmp.Or(get("execDir"), "."))
	nums := map[string]float64{}
	for _, key := range []string{"maxExperiments", "maxTime", "digits", "seed", "boundMax", "targetRunnerRetries", "targetRunnerTimeout", "deterministic", "aclib"} {
		if nums[key], err = number(key); err != nil {
			return nil, err
		}
	}
	s.Runs, s.Seconds, s.Seed = int(nums["maxExperiments"]), nums["maxTime"], uint64(nums["seed"])
	r.Retries, r.Deterministic, r.Cutoff = int(nums["targetRunnerRetries"]), nums["deterministic"] != 0, nums["boundMax"]
	if r.Timeout = time.Duration(min(nums["targetRunnerTimeout"], 1e9) * float64(time.Second)); nums["aclib"] != 0 {
		r.Convention = AClib
	}
	params := at(cmp.Or(get("parameterFile"), "parameters.txt"))
	if r.Params, err = LoadParams(params); err != nil {
		return nil, err
	}
	if d := int(nums["digits"]); d > 0 && r.Params.Digits == 4 {
		r.Params.Digits = d
	}
	if f := get("forbiddenFile"); f != "" {
		if err := r.Params.forbid(at(f)); err != nil {
			return nil, err
		}
	}
	if f := get("configurationsFile"); f != "" {
		b, err := os.ReadFile(at(f))
		if err != nil {
			return nil, err
		}
		all, err := r.Params.configurations(string(b))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		if len(all) > 0 {
			if err := r.Params.Default(all[0]); err != nil {
				return nil, fmt.Errorf("%s: %w", f, err)
			}
			r.Starts = all[1:]
		}
	}
	target := at(cmp.Or(get("targetRunner"), "target-runner"))
	r.Args = []string{target}
	if _, err := os.Stat(target); err != nil && get("targetRunnerLauncher") == "" {
		return nil, fmt.Errorf("the target-runner: %w", err)
	}
	r.Cmdline = get("targetCmdline")
	if l := get("targetRunnerLauncher"); l != "" {
		if strings.ContainsRune(l, '/') {
			l = at(l)
		}
		r.Args, r.Target = []string{l}, target
		if extra := get("targetRunnerLauncherArgs"); extra != "" && r.Cmdline == "" { // irace 3
			r.Cmdline = strings.ReplaceAll(extra, "{targetRunnerArgs}", defaultCmdline)
		}
		if r.Cmdline == "" {
			r.Cmdline = "{targetRunner} " + defaultCmdline
		}
	}
	if s.Training, err = iraceInstances(at(get("trainInstancesDir", "instanceDir")), at(get("trainInstancesFile", "instanceFile"))); err != nil {
		return nil, err
	}
	if v, ok := values["instances"]; ok && len(s.Training) == 0 {
		s.Training = v.list
	}
	s.Test, err = iraceInstances(at(get("testInstancesDir")), at(get("testInstancesFile")))
	if v, ok := values["testInstances"]; ok && len(s.Test) == 0 {
		s.Test = v.list
	}
	return s, err
}

// forbid adds the forbidden combinations of a file, an expression of R on each line.
func (p *Params) forbid(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	for k, line := range strings.Split(string(b), "\n") {
		line, _, _ = strings.Cut(line, "#")
		if strings.TrimSpace(line) == "" {
			continue
		}
		n, err := parseExpr(line, k+1)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		e, err := n.resolve(p.Space)
		if err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		p.Space.Excluded = append(p.Space.Excluded, e)
	}
	return p.allow()
}

// iraceInstances returns the instances of a folder, or those that the lines of a
// file name, in the folder if there is one.
func iraceInstances(dir, file string) ([]string, error) {
	var out []string
	if file == "" {
		if dir == "" {
			return nil, nil
		}
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case strings.HasPrefix(e.Name(), ".") && path != dir:
				if e.IsDir() {
					return fs.SkipDir
				}
			case !e.IsDir():
				out = append(out, quoted(path))
			}
			return nil
		})
		if err == nil && len(out) == 0 {
			err = fmt.Errorf("the folder %s has no instances", dir)
		}
		return out, err
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for _, line := range strings.Split(string(b), "\n") {
		line, _, _ = strings.Cut(line, "#")
		w, err := words(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		if len(w) == 0 {
			continue
		}
		if dir != "" && !filepath.IsAbs(w[0]) {
			w[0] = filepath.Join(dir, w[0])
		}
		for i := range w {
			w[i] = quoted(w[i])
		}
		out = append(out, strings.Join(w, " "))
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("%s names no instances", file)
	}
	return out, nil
}

// quoted returns a word as it stands in an instance's text.
func quoted(w string) string {
	switch {
	case !strings.ContainsAny(w, " \t\n\r'\"") && w != "":
		return w
	case !strings.Contains(w, "'"):
		return "'" + w + "'"
	}
	return `"` + strings.ReplaceAll(w, `"`, "") + `"`
}

// A setting is the value of an assignment.
type setting struct {
	text string
	list []string // of c("a", "b")
	line int
}

func (s setting) empty() bool { return s.text == "" && len(s.list) == 0 }

// assignments reads a file of R that assigns values to names. A value may be a
// number, a text, TRUE or FALSE, NULL, arithmetic of numbers, c(...), file.path(...)
// and paste0(...), or a name that was assigned before.
func assignments(text string) (map[string]setting, error) {
	tokens, err := lex(text, 1)
	if err != nil {
		return nil, err
	}
	p := &exprParser{tokens: tokens}
	out := map[string]setting{}
	for {
		t := p.next()
		switch {
		case t.kind == 'l' || t.kind == 'o' && t.text == ";":
			continue
		case t.kind == 'e':
			return out, nil
		case t.kind != 'i':
			return nil, fmt.Errorf("line %d: %q where a setting is expected: name = value", t.line, t.text)
		}
		if !p.is("=") && !p.is("<-") {
			return nil, fmt.Errorf("line %d: %q behind %s where = is expected", t.line, p.peek().text, t.text)
		}
		for p.peek().kind == 'l' {
			p.at++
		}
		n, err := p.expression(0)
		if err != nil {
			return nil, err
		}
		if end := p.peek(); end.kind != 'l' && end.kind != 'e' && end.text != ";" {
			return nil, fmt.Errorf("line %d: %q behind the value of %s", end.line, end.text, t.text)
		}
		list, isList, err := n.texts(out)
		if err != nil {
			return nil, fmt.Errorf("line %d: %s: %w", t.line, t.text, err)
		}
		s := setting{line: t.line}
		if isList {
			s.list = list
		}
		if len(list) == 1 {
			s.text, s.list = list[0], list
		}
		out[t.text] = s
	}
}

// texts returns the value of an expression as texts; list says that it is a c(...).
func (n node) texts(known map[string]setting) (values []string, list bool, err error) {
	switch n.kind {
	case 's':
		return []string{n.text}, false, nil
	case 'i':
		switch {
		case n.text == "NULL" || n.text == "NA":
			return nil, false, nil
		case n.text == "TRUE" || n.text == "T":
			return []string{"1"}, false, nil
		case n.text == "FALSE" || n.text == "F":
			return []string{"0"}, false, nil
		}
		if s, ok := known[n.text]; ok {
			return s.list, len(s.list) != 1, nil
		}
		return nil, false, fmt.Errorf("%s has no value here; a text stands in quotes", n.text)
	}
	if v, ok := n.constant(); ok {
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}, false, nil
	}
	var all []string
	for _, a := range n.args {
		v, _, err := a.texts(known)
		if err != nil {
			return nil, false, err
		}
		all = append(all, v...)
	}
	switch n.text {
	case "c":
		return all, true, nil
	case "file.path":
		return []string{strings.Join(all, "/")}, false, nil
	case "paste0":
		return []string{strings.Join(all, "")}, false, nil
	}
	return nil, false, fmt.Errorf("%s(...) is not read here: write the value itself", n.text)
}

// smacNames are the settings of SMAC that are read, by their names without dashes,
// underscores and capitals.
var smacNames = map[string]string{
	"algo": "algo", "algoexec": "algo", "algoexecutable": "algo",
	"execdir": "execdir", "algoexecdir": "execdir", "execdirectory": "execdir",
	"deterministic": "deterministic", "algodeterministic": "deterministic",
	"runobj": "runobj", "runobjective": "runobj",
	"overallobj": "overallobj", "overallobjective": "overallobj", "intraobj": "overallobj", "intrainstanceobj": "overallobj", "interobj": "overallobj",
	"targetruncputimelimit": "cutoff", "cutofftime": "cutoff", "algocutofftime": "cutoff", "cutoff": "cutoff",
	"cutofflength": "length", "algocutofflength": "length",
	"wallclocklimit": "seconds", "runtimelimit": "seconds", "tunertimeout": "seconds", "cputimelimit": "seconds",
	"runcountlimit": "runs", "totalnumrunslimit": "runs", "numrunslimit": "runs", "numruns": "runs",
	"paramfile": "params", "pcsfile": "params", "pcsfn": "params", "p": "params",
	"instancefile": "training", "instances": "training", "i": "training", "traininstfn": "training", "instanceseedfile": "seeded",
	"testinstancefile": "test", "testinstances": "test", "testinstfn": "test", "testinstanceseedfile": "testseeded",
	"costforcrash": "ignored", "outdir": "ignored", "outputdir": "ignored", "featurefile": "ignored", "features": "ignored",
	"featurefn": "ignored", "instancefeaturefile": "ignored", "validation": "ignored", "abortonfirstruncrash": "ignored",
	"checkinstancesexist": "ignored", "memorylimit": "ignored", "algorunlimit": "ignored", "initialincumbent": "ignored",
	"sharedmodelmode": "ignored", "rungroup": "ignored", "maxincumbentruns": "ignored", "alwaysracedefault": "ignored",
}

// readSMAC reads a scenario of SMAC, in a file in dir.
func readSMAC(content, dir string) (*Scenario, error) {
	values := map[string]string{}
	s := &Scenario{}
	for k, line := range strings.Split(content, "\n") {
		line, _, _ = strings.Cut(line, "#")
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("line %d: %q has no =; a setting is written as key = value", k+1, line)
		}
		key = strings.TrimSpace(key)
		name, known := smacNames[strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(key))]
		value = strings.Trim(strings.TrimSpace(value), `"`)
		if !known || name == "ignored" {
			s.Unused = append(s.Unused, key)
			continue
		}
		before, twice := values[name]
		if name == "seconds" && twice { // by the clock, of processors: the shorter
			a, _ := strconv.ParseFloat(before, 64)
			if b, err := strconv.ParseFloat(value, 64); err == nil && a < b {
				value = before
			}
		} else if twice && before != value {
			return nil, fmt.Errorf("line %d: %s has two values, %q and %q", k+1, key, before, value)
		}
		values[name] = value
	}
	r := &s.Runner
	r.Convention = SMAC
	r.Dir = dir
	if d := values["execdir"]; d != "" {
		if r.Dir = d; !filepath.IsAbs(d) {
			r.Dir = filepath.Join(dir, d)
		}
	}
	var err error
	if r.Args, err = words(values["algo"]); err != nil || len(r.Args) == 0 {
		return nil, errors.Join(errors.New("there is no program: algo = ./wrapper"), err)
	}
	number := func(name string) float64 {
		v := values[name]
		if v == "" || strings.EqualFold(v, "max") || strings.EqualFold(v, "inf") {
			return 0
		}
		f, bad := strconv.ParseFloat(v, 64)
		if bad != nil || !(f >= 0) || f > 1<<52 {
			err = errors.Join(err, fmt.Errorf("%s = %q; it must be a number that is not negative", name, v))
			return 0
		}
		return f
	}
	r.Cutoff, s.Seconds, s.Runs = number("cutoff"), number("seconds"), int(number("runs"))
	if n := number("length"); n < 1<<31 {
		r.Length = int(n)
	}
	if s.Runs == 1<<31-1 {
		s.Runs = 0 // SMAC's "no limit"
	}
	if s.Seconds >= 1<<31-1 {
		s.Seconds = 0
	}
	if err != nil {
		return nil, err
	}
	if r.Cutoff > 0 { // a wrapper has some time to end its program
		r.Timeout = time.Duration(min(2*r.Cutoff+60, 1e9) * float64(time.Second))
	}
	switch d := strings.ToLower(values["deterministic"]); d {
	case "1", "true", "yes":
		r.Deterministic = true
	case "", "0", "false", "no":
	default:
		return nil, fmt.Errorf("deterministic = %q; it must be 0 or 1", d)
	}
	switch o := strings.ToLower(values["runobj"]); o {
	case "runtime", "":
		r.Runtime = true
		if r.Cutoff == 0 {
			return nil, errors.New("the objective is the runtime (run_obj), and there is no cutoff_time: a run that does not end needs one")
		}
	case "quality", "qual", "answer_quality", "approx":
	default:
		return nil, fmt.Errorf("run_obj = %q; it must be runtime or quality", o)
	}
	if o := strings.ToLower(values["overallobj"]); strings.HasPrefix(o, "mean") && o != "mean" {
		if r.Penalty, err = strconv.ParseFloat(strings.TrimPrefix(o, "mean"), 64); err != nil || !(r.Penalty >= 1) {
			return nil, fmt.Errorf("overall_obj = %q; it must be mean, or mean and a number", o)
		}
	} else if o == "mean" {
		r.Penalty = 1
	} else if o != "" {
		return nil, fmt.Errorf("overall_obj = %q; it must be mean, or mean and a number", o)
	}
	r.Worst = true // a run that fails is a crash
	find := func(path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		for _, d := range []string{r.Dir, dir} {
			if p := filepath.Join(d, path); exists(p) {
				return p
			}
		}
		return filepath.Join(dir, path)
	}
	if values["params"] == "" {
		return nil, errors.New("there are no parameters: paramfile = params.pcs")
	}
	if r.Params, err = LoadParams(find(values["params"])); err != nil {
		return nil, err
	}
	for _, set := range []struct {
		into   *[]string
		name   string
		seeded bool
	}{{&s.Training, "training", false}, {&s.Training, "seeded", true}, {&s.Test, "test", false}, {&s.Test, "testseeded", true}} {
		if values[set.name] == "" {
			continue
		}
		b, err := os.ReadFile(find(values[set.name]))
		if err != nil {
			return nil, err
		}
		for k, line := range strings.Split(string(b), "\n") {
			w, err := words(line)
			if err != nil {
				return nil, fmt.Errorf("%s: line %d: %w", values[set.name], k+1, err)
			}
			if set.seeded && len(w) > 1 {
				w = w[1:] // the seed
			}
			if len(w) == 0 {
				continue
			}
			for i := range w {
				w[i] = quoted(w[i])
			}
			if one := strings.Join(w, " "); !slices.Contains(*set.into, one) {
				*set.into = append(*set.into, one)
			}
		}
	}
	return s, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
