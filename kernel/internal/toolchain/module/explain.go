package module

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"time"
)

// gently interrupts a cancelled command instead of killing it, on systems that
// have interrupts: an interrupted go command also ends its child processes.
func gently(cmd *exec.Cmd) {
	cmd.Cancel = func() error {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			return cmd.Process.Kill()
		}
		return nil
	}
	cmd.WaitDelay = 500 * time.Millisecond
}

// reasons explain error messages of the go command to the user. The first that
// matches is used, so the most specific come first.
var reasons = []struct {
	text *regexp.Regexp
	say  func(path, spec string) string
}{
	{regexp.MustCompile(`SECURITY ERROR|checksum mismatch|verifying (module|go\.mod)`), func(path, spec string) string {
		return "the checksum of " + spec + " is not what the checksum database or go.sum knows: what was downloaded may have been tampered with, and was not taken"
	}},
	{regexp.MustCompile(`terminal prompts disabled|could not read (Username|Password)|Permission denied \(|Authentication failed|Host key verification failed|Repository not found|access denied|401 |403 `), func(path, spec string) string {
		return spec + " cannot be fetched without rights that the go command does not have: of a private module, %env GOPRIVATE=" + parent(path) + " and a token in ~/.netrc, or ssh by git config --global url.git@HOST:.insteadOf https://HOST/"
	}},
	{regexp.MustCompile(`missing go\.sum entry|inconsistent vendoring`), func(path, spec string) string {
		return "the go.mod of " + spec + " is not up to date: go mod tidy, and go mod vendor where there is a vendor folder, mend it"
	}},
	{regexp.MustCompile(`module lookup disabled by GOPROXY=off`), func(path, spec string) string {
		return spec + " is not in the module cache, and GOPROXY=off forbids to fetch it"
	}},
	{regexp.MustCompile(`dial tcp|no such host|connection refused|i/o timeout|network is unreachable|proxyconnect|TLS handshake|x509:|unexpected EOF`), func(path, spec string) string {
		return "the module proxy (GOPROXY) cannot be reached to fetch " + spec + ": is this machine offline?"
	}},
	{regexp.MustCompile(`requires go >= |requires newer|invalid go version|module requires Go`), func(path, spec string) string {
		return spec + " is written for a newer Go than this machine's"
	}},
	{regexp.MustCompile(`(?m) imports$`), func(path, spec string) string {
		return "a package that " + spec + " imports cannot be fetched"
	}},
	{regexp.MustCompile(`module declares its path as`), func(path, spec string) string {
		return path + " is not the path that the module gives itself"
	}},
	{regexp.MustCompile(`does not contain package|no matching versions for query|unknown revision|invalid version|40[0-9] |410 Gone|not found|no such file or directory|unrecognized import path|invalid github.com import path|malformed`), func(path, spec string) string {
		if p, v, ok := strings.Cut(spec, "@"); ok {
			return "there is no module or package " + p + " at version " + v
		}
		return "there is no module or package " + path
	}},
}

// explain returns an error that says why a module could not be fetched,
// followed by the go command's own message.
func explain(path, spec string, err error) error {
	if err == nil {
		return nil
	}
	var ce *commandError
	if !errors.As(err, &ce) {
		return err
	}
	var lines []string
	for l := range strings.Lines(ce.Error()) {
		l = strings.TrimSpace(l)
		if l == "" || strings.HasPrefix(l, "go: downloading ") || strings.HasPrefix(l, "go: added ") || strings.HasPrefix(l, "go: finding ") {
			continue
		}
		lines = append(lines, strings.TrimPrefix(l, "go: "))
	}
	text := strings.Join(lines, "\n\t")
	for _, r := range reasons {
		if r.text.MatchString(text) {
			return fmt.Errorf("%s\n\t%s", r.say(path, spec), text)
		}
	}
	return fmt.Errorf("the go command cannot fetch %s\n\t%s", spec, text)
}
