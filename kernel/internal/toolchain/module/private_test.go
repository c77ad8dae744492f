package module_test

import (
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dace.local/kernel/internal/toolchain/module"
	"dace.local/kernel/internal/toolchain/module/moduletest"
)

// TestPrivate fetches a module from a git server that wants a password, by a netrc
// file, and checks what is said where a right, a host or a network is missing: the go
// command's own reason, and one remedy.
func TestPrivate(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	core, err := exec.Command(git, "--exec-path").Output()
	backend := filepath.Join(strings.TrimSpace(string(core)), "git-http-backend")
	if _, e := os.Stat(backend); err != nil || e != nil {
		t.Skip("no git http-backend: ", err, e)
	}
	moduletest.Proxy(t)
	root := t.TempDir()
	run := func(dir string, args ...string) {
		t.Helper()
		cmd := exec.Command(git, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.test", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.test")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	work := filepath.Join(root, "work")
	if err := os.MkdirAll(work, 0o777); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"go.mod": "module git.example.test/team/lib.git\n\ngo 1.22\n", "lib.go": "package lib\n\nfunc One() int { return 1 }\n"} {
		if err := os.WriteFile(filepath.Join(work, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	run(work, "init", "-q", "-b", "main", ".")
	run(work, "add", "-A")
	run(work, "commit", "-qm", "all")
	run(work, "tag", "v1.2.3")
	run(root, "clone", "-q", "--bare", "work", "served/team/lib.git")
	handler := &cgi.Handler{Path: backend, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Join(root, "served"), "GIT_HTTP_EXPORT_ALL=1"}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, token, _ := r.BasicAuth(); user != "me" || token != "secret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	// The go command asks for the module by https; git takes that for the server here.
	config := map[string]string{"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "url." + server.URL + "/.insteadOf", "GIT_CONFIG_VALUE_0": "https://git.example.test/",
		"GIT_CONFIG_GLOBAL": os.DevNull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0", "GIT_ASKPASS": "", "SSH_ASKPASS": "", "HOME": root,
		"GOPRIVATE": "git.example.test", "GOFLAGS": "-modcacherw"}
	for name, value := range config {
		t.Setenv(name, value)
	}
	var s module.Store
	t.Cleanup(func() { s.Close() })
	const spec = "git.example.test/team/lib.git@v1.2.3"
	fails := func(what string, want ...string) {
		t.Helper()
		_, err := s.Get(t.Context(), spec)
		if err == nil {
			t.Fatalf("%s: it is fetched", what)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: no %q in %v", what, w, err)
			}
		}
	}
	fails("without a password", "rights that the go command does not have", "~/.netrc", "terminal prompts disabled")

	// ssh, to a host that is none.
	t.Setenv("GIT_CONFIG_KEY_0", "url.ssh://git@127.0.0.1:1/.insteadOf")
	t.Setenv("GIT_SSH_COMMAND", "ssh -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile="+os.DevNull)
	fails("ssh without a server", "cannot be reached", "git ls-remote", "Connection refused")
	t.Setenv("GIT_SSH_VARIANT", "ssh")
	t.Setenv("GIT_SSH_COMMAND", "sh -c 'echo \"git@host: Permission denied (publickey).\" >&2; exit 255'")
	fails("ssh without a key", "ssh -T", "Permission denied (publickey)")
	t.Setenv("GIT_CONFIG_KEY_0", config["GIT_CONFIG_KEY_0"])

	// Not private: the proxy is asked, which has it not.
	t.Setenv("GOPRIVATE", "")
	fails("by the proxy", "there is no module or package git.example.test/team/lib.git at version v1.2.3", "%env GOPRIVATE=git.example.test/team has git asked")
	t.Setenv("GOPRIVATE", "git.example.test")

	netrc := filepath.Join(root, ".netrc")
	if err := os.WriteFile(netrc, []byte("machine 127.0.0.1 login me password secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := s.Get(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if f.Module.Version != "v1.2.3" || len(f.Packages) != 1 || f.Packages[0].Name != "lib" {
		t.Errorf("fetched %v with %v", f.Module, f.Packages)
	}
}
