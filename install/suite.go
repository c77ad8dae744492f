package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// checks are the commands of the test run, in their order. All run with cgo,
// like the kernel if there is a C compiler. The last one's report ends the
// output.
var checks = []struct{ name, command string }{
	{"go vet", "go vet ./..."},
	{"staticcheck", "go tool -modfile=.ci/tools/go.mod staticcheck ./..."},
	{"go test -race of the kernel", "go test -count=1 -timeout=20m -race ./kernel/..."},
	{"go test of everything", "go test -count=1 -timeout=20m ./..."},
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
	var failed []string
	for _, c := range checks {
		in.say("\n== %s (%s since the start)", c.name, time.Since(start).Round(time.Second))
		argv := strings.Fields(c.command)
		cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = root, append(env, "CGO_ENABLED=1"), in.out, in.err
		gentle(cmd)
		if err := cmd.Run(); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			failed = append(failed, c.name)
		}
	}
	if failed != nil {
		return fmt.Errorf("failed: %s", strings.Join(failed, ", "))
	}
	return nil
}
