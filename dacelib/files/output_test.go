//go:build unix

package files_test

import (
	"os/exec"
	"strings"
	"testing"
	"time"

	"dace.local/dacelib/files"
)

// What a command leaves running is not waited for, and nothing of what the command
// has written is missing.
func TestOutput(t *testing.T) {
	begun := time.Now()
	out, errs, err := files.Output(exec.Command("sh", "-c", `sleep 60 & echo $!; echo why >&2; exit 3`))
	id := strings.TrimSpace(string(out))
	defer exec.Command("kill", id).Run()
	if err == nil || err.Error() != "exit status 3" || string(errs) != "why\n" || exec.Command("kill", "-0", id).Run() != nil {
		t.Errorf("%q, %q, %v, after %v", out, errs, err, time.Since(begun))
	}
	if _, _, err := files.Output(exec.Command("/nowhere/command")); err == nil || !strings.Contains(err.Error(), "/nowhere/command") {
		t.Error(err)
	}
}
