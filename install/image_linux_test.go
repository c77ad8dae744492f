package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"dace.local/dacelib/files"
)

// TestContainerfile runs the steps of Containerfile without an engine of containers: a
// folder with a shell and what the steps call is the base, COPY copies, RUN runs in the
// folder as its root. Somebody without privileges then uses the kernel.
func TestContainerfile(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	dace, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	base := dirForAll(t)
	for _, dir := range []string{"proc", "dev", "tmp", "usr/local", "home"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"tmp", "home"} {
		if err := os.Chmod(filepath.Join(base, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	for _, program := range []string{"sh", "tar", "gzip", "rm"} {
		file, err := exec.LookPath(program)
		if err != nil {
			t.Fatal(err)
		}
		intoBase(t, base, file, "/bin/"+program)
	}
	libraries(t, base, dace)

	// The archive of a release, beside the Containerfile.
	folder := t.TempDir()
	const name = "dace-1.0.0-linux-amd64"
	inside := filepath.Join(folder, name)
	copyFile(t, dace, filepath.Join(inside, "dace"))
	archive := exec.Command("tar", "-C", folder, "-cf", inside+".tar.gz", "-I", "gzip -1", name)
	if out, err := archive.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	text, err := os.ReadFile("Containerfile")
	if err != nil {
		t.Fatal(err)
	}
	arguments := map[string]string{}
	steps := 0
	for line := range strings.Lines(strings.ReplaceAll(string(text), "\\\n", " ")) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = os.Expand(rest, func(name string) string { return arguments[name] })
		switch word {
		case "", "#", "FROM", "USER":
		case "ARG":
			key, value, _ := strings.Cut(rest, "=")
			arguments[key] = value
		case "COPY":
			f := strings.Fields(rest)
			from, _ := filepath.Glob(filepath.Join(folder, f[0]))
			if len(from) != 1 {
				t.Fatalf("COPY %s finds %q", rest, from)
			}
			copyFile(t, from[0], filepath.Join(base, f[1]))
			steps++
		case "RUN":
			inBase(t, base, rest, "")
			steps++
		default:
			if !strings.HasPrefix(word, "#") {
				t.Fatalf("an instruction that this test does not know: %s", line)
			}
		}
	}
	if steps != 2 {
		t.Errorf("%d steps were run", steps)
	}
	if left := paths(t, filepath.Join(base, "tmp")); len(left) > 0 {
		t.Errorf("left in /tmp: %q", left)
	}
	if _, err := os.Stat(filepath.Join(base, "usr/local/share/jupyter/kernels/dace/kernel.json")); err != nil {
		t.Error(err)
	}
	out := inBase(t, base, `echo 'fmt.Println(6 * 7)' | HOME=/home /usr/local/bin/dace script -`, "52001:52001")
	if out != "42\n" {
		t.Errorf("a cell prints %q", out)
	}
}

// inBase runs a line of shell with base as the root of the file system. If the test runs
// as root, it runs as another user if one is given.
func inBase(t *testing.T, base, line string, as string) string {
	t.Helper()
	user := ""
	flags := uintptr(syscall.CLONE_NEWNS)
	attr := &syscall.SysProcAttr{}
	if os.Getuid() == 0 {
		attr.Unshareflags = flags // what is mounted is so for this process alone
		if as != "" {
			user = "--userspec=" + as
		}
	} else {
		attr.Cloneflags = syscall.CLONE_NEWUSER | flags
		attr.UidMappings = []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}}
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `mount --rbind /proc "$1/proc" && mount --rbind /dev "$1/dev" && exec chroot $2 "$1" /bin/sh -c "$3"`, "sh", base, user, line)
	cmd.Env = []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
	cmd.SysProcAttr = attr
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// intoBase copies a program and its libraries.
func intoBase(t *testing.T, base, file, as string) {
	t.Helper()
	copyFile(t, file, filepath.Join(base, as))
	libraries(t, base, file)
}

// libraries copies the libraries that a program is linked with.
func libraries(t *testing.T, base, file string) {
	t.Helper()
	out, _ := exec.Command("ldd", file).Output() // fails for a static program
	for _, m := range regexp.MustCompile(`(?m)(/\S+) \(0x`).FindAllSubmatch(out, -1) {
		library := string(m[1])
		for _, to := range slices.Compact([]string{library, "/lib/" + filepath.Base(library)}) {
			if _, err := os.Stat(filepath.Join(base, to)); err != nil {
				copyFile(t, library, filepath.Join(base, to))
			}
		}
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.WriteProgram(to, text); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(to, 0o755); err != nil { // others run it, too
		t.Fatal(err)
	}
}
