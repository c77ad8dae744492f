package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// checks are the commands of the test run, in their order. All run with cgo,
// like the kernel if there is a C compiler. The last one's report ends the
// output.
var checks = []struct{ name, command string }{
	{"go vet", "go vet ./..."},
	{"staticcheck", "go tool -modfile=.ci/tools/go.mod staticcheck ./..."},
	{"go test -race of the kernel", "go test -count=1 -timeout=30m -race ./kernel/..."},
	{"go test of everything", "go test -count=1 -timeout=30m ./..."},
}

// testAll sets up what the tests need and runs them. Tests fail, instead of
// being skipped, if a client is missing.
func (in *installer) testAll(ctx context.Context, root string) error {
	start := time.Now()
	if err := in.installDebian(ctx, testPackages...); err != nil {
		return err
	}
	if err := in.setUpFrontEnd(ctx, root); err != nil {
		return err
	}
	if _, err := exec.LookPath("gcc"); err != nil && os.Getenv("CC") == "" {
		return errors.New("there is no gcc, which compiled cells and go test -race need: install it (on Debian: apt-get install gcc libc6-dev)")
	}
	env := append(os.Environ(), "DACE_REQUIRE_CLIENTS=1",
		// Without version stamping, the tests do not fail if git refuses to
		// read a clone that belongs to another user.
		"GOFLAGS="+strings.TrimSpace(os.Getenv("GOFLAGS")+" -buildvcs=false"))
	run := func(argv []string, out io.Writer) error {
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, append(env, "CGO_ENABLED=1"), out, in.err
		gentle(cmd)
		return cmd.Run()
	}
	var failed, unsteady []string
	for _, c := range checks {
		in.say("\n== %s (%s since the start)", c.name, time.Since(start).Round(time.Second))
		argv := strings.Fields(c.command)
		var printed bytes.Buffer
		err := run(argv, io.MultiWriter(in.out, &printed))
		if again := failedBesideOthers(argv, printed.String()); err != nil && ctx.Err() == nil && again != nil {
			in.say("\n== %s, again and alone: %s", c.name, strings.Join(again, " "))
			if err = run(slices.Concat(argv[:len(argv)-1], []string{"-p=1"}, again), in.out); err == nil {
				unsteady = append(unsteady, again...)
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, c.name)
		}
	}
	if unsteady != nil {
		in.say("\nunsteady: %s failed beside other tests and passed alone; the first failure is printed above, and is a fault of the test or of the code", strings.Join(unsteady, ", "))
	}
	if failed != nil {
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	in.say("\nAll tests pass.")
	return nil
}

// failedBesideOthers returns the packages that a go test of many has reported as
// failed and that are worth a second run without others beside them: tests that
// drive real clients, signals and processes can lose a race on a busy machine.
// A data race, and a package that does not compile, is final.
func failedBesideOthers(argv []string, printed string) []string {
	if !slices.Equal(argv[:2], []string{"go", "test"}) || strings.Contains(printed, "WARNING: DATA RACE") {
		return nil
	}
	var packages []string
	for line := range strings.Lines(printed) {
		// go test writes "FAIL\tPACKAGE\t0.1s" or "FAIL\tPACKAGE [build failed]". A
		// test's own words may begin with FAIL, too.
		result, found := strings.CutPrefix(line, "FAIL\t")
		fields := strings.Fields(result)
		if !found || len(fields) < 2 {
			continue
		}
		if strings.HasPrefix(fields[1], "[") { // [build failed], [setup failed]
			return nil
		}
		packages = append(packages, fields[0])
	}
	return packages
}
