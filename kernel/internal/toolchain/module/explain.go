package module

import (
	"context"
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
	{regexp.MustCompile(`Permission denied \(|Host key verification failed`), func(path, spec string) string {
		return "the host of " + spec + " does not know this machine's ssh key, or this machine not the host's: ssh -T git@" + host(path) + " in a terminal shows and mends it"
	}},
	{regexp.MustCompile(`terminal prompts disabled|could not read (Username|Password)|Authentication failed|Repository not found|access denied|401 |403 `), func(path, spec string) string {
		return spec + " cannot be fetched without rights that the go command does not have: the line machine " + host(path) + " login USER password TOKEN in ~/.netrc gives them"
	}},
	{regexp.MustCompile(`ssh: connect to host|ssh: Could not resolve|Could not resolve host|Failed to connect to`), func(path, spec string) string {
		return "the host of " + spec + " cannot be reached: is this machine offline, or outside the host's network?"
	}},
	{regexp.MustCompile(`missing go\.sum entry|inconsistent vendoring`), func(path, spec string) string {
		return "the go.mod of " + spec + " is not up to date: go mod tidy, and go mod vendor where there is a vendor folder, mend it"
	}},
	{regexp.MustCompile(`module lookup disabled by GOPROXY=off`), func(path, spec string) string {
		return spec + " is not in the module cache, and GOPROXY=off forbids to fetch it: %env GOPROXY=direct allows it"
	}},
	{regexp.MustCompile(`dial tcp|no such host|connection refused|i/o timeout|network is unreachable|proxyconnect|TLS handshake|x509:|unexpected EOF`), func(path, spec string) string {
		return "the module proxy (GOPROXY) cannot be reached to fetch " + spec + ": is this machine offline?"
	}},
	{regexp.MustCompile(`requires go >= |requires newer|invalid go version|module requires Go`), func(path, spec string) string {
		return spec + " is written for a newer Go than this machine's: %get " + path + "@VERSION takes an older one"
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

// host returns the host's name in a module path.
func host(path string) string {
	name, _, _ := strings.Cut(path, "/")
	return name
}

// askGit adds to an error of the go command that says only that no protocol works what
// git says of the repository.
func askGit(ctx context.Context, path string, err error) error {
	ce := (*commandError)(nil)
	if !errors.As(err, &ce) || !strings.Contains(ce.stderr, "no secure protocol found for repository") {
		return err
	}
	root, _, _ := strings.Cut(path, ".git/")
	cmd := exec.CommandContext(ctx, "git", "ls-remote", "https://"+strings.TrimSuffix(root, ".git")+".git")
	cmd.Env = append(os.Environ(), "GIT_TERMINAL_PROMPT=0")
	gently(cmd)
	out, gitErr := cmd.CombinedOutput()
	if gitErr == nil {
		return err
	}
	return &commandError{ce.stderr + "\ngit ls-remote: " + string(out), err}
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
			say := r.say(path, spec)
			if strings.HasPrefix(say, "there is no module") && os.Getenv("GOPRIVATE") == "" && !strings.Contains(text, "ls-remote") {
				text += "\n\tof a private one the proxy knows nothing: %env GOPRIVATE=" + parent(path) + " has git asked"
			}
			return fmt.Errorf("%s\n\t%s", say, text)
		}
	}
	return fmt.Errorf("the go command cannot fetch %s\n\t%s", spec, text)
}
