package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// A terminal is the master side of a pseudo-terminal, with the text that it
// has shown.
type terminal struct {
	*os.File
	mu   sync.Mutex // guards seen
	seen strings.Builder
}

func openTerminal(t *testing.T) (master *terminal, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	slave, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo-terminals: %v", err)
	}
	_ = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 100})
	master = &terminal{File: os.NewFile(uintptr(fd), "ptmx")}
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := master.Read(buf)
			if err != nil {
				return
			}
			master.mu.Lock()
			master.seen.Write(buf[:n])
			master.mu.Unlock()
		}
	}()
	return master, slave
}

var escape = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]")

// expect waits until the terminal has shown text, and then forgets the text
// shown so far.
func (m *terminal) expect(t *testing.T, text string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		m.mu.Lock()
		seen := escape.ReplaceAllString(m.seen.String(), "")
		if at := strings.Index(seen, text); at >= 0 {
			m.seen.Reset()
			m.seen.WriteString(seen[at+len(text):])
			m.mu.Unlock()
			return
		}
		m.mu.Unlock()
		if time.Now().After(deadline) {
			t.Fatalf("no %q in %q", text, seen)
		}
	}
}

func (m *terminal) typeText(t *testing.T, keys string) {
	t.Helper()
	if _, err := m.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

func TestReplTerminal(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds")
	}
	master, slave := openTerminal(t)
	defer master.Close()
	dir := t.TempDir()
	cmd := command(t, dir, "repl")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	master.expect(t, "exit ends.")
	for _, step := range []struct{ keys, shows string }{
		{"", "In[1]: "},
		{"x := 4\r", "In[2]: "},
		{"x * 5\r", "20\r\nIn[3]: "},
		{"for i := range 2 {\r", "  ...: "},                                // an incomplete cell is continued
		{"\tfmt.Printl\t(i)\r", "    fmt.Println(i)"},                      // Tab indents and completes
		{"}\r", "0\r\n1\r\nIn[4]: "},                                       // the complete cell runs
		{"half a line\x03", "^C\r\nIn[4]: "},                               // Ctrl-C discards the line
		{"fmt.Println(`o` + `n`); for {}\r", "on\r\n"},                     // the cell runs without end
		{"\x03", "interrupted at In[4]:1"},                                 // Ctrl-C interrupts it
		{"", "In[5]: "},                                                    // the session continues
		{"x\r", "4\r\nIn[6]: "},                                            // and has kept its variables
		{"\x1b[A\r", "x\r\n4\r\nIn[7]: "},                                  // the Up key recalls a line
		{"var s string\rfmt.Print(`na` + `me`); fmt.Scanln(&s)\r", "name"}, // two cells are typed ahead
	} {
		master.typeText(t, step.keys)
		master.expect(t, step.shows)
	}
	master.typeText(t, "Ada\r")
	master.expect(t, "In[9]: ")
	master.typeText(t, "s\r")
	master.expect(t, "\"Ada\"\r\nIn[10]: ")
	// Ctrl-D ends the input that a cell reads.
	master.typeText(t, "fmt.Print(`a` + `ll`); b, err := io.ReadAll(os.Stdin)\r")
	master.expect(t, "all")
	master.typeText(t, "one\r\x04")
	master.expect(t, "In[11]: ")
	master.typeText(t, "len(b)\r")
	master.expect(t, "4\r\nIn[12]: ")
	// An interrupted input request does not consume a later line.
	master.typeText(t, "fmt.Print(`ag` + `ain`); fmt.Scanln(&s)\r")
	master.expect(t, "again")
	master.typeText(t, "\x03")
	master.expect(t, "In[13]: ")
	master.typeText(t, "x + 1\r")
	master.expect(t, "5\r\nIn[14]: ")
	master.typeText(t, "?fmt.Println\r")
	master.expect(t, "Println(a ...any) (n int, err error)")
	master.expect(t, "In[15]: ")
	master.typeText(t, "help fmt.Print\r")
	master.expect(t, "Print(a ...any) (n int, err error)")
	for _, step := range []struct{ keys, shows string }{
		{"", "In[16]: "},
		{"help\r", "its last expression is shown"},
		{"", "In[17]: "},
		{"help %time\r", "%time STATEMENT"},
		{"", "In[18]: "},
		{"for {\r", "  ...: "},
		{"\tx++\x03", "^C\r\nIn[18]: "}, // Ctrl-C discards all lines of a cell
		{"x\r", "4\r\nIn[19]: "},
		{"!echo o''n; sleep 100\r", "on\r\n"},
		{"\x03", "interrupted"}, // and ends a command
		{"", "In[20]: "},
		// What it prints comes out of the call, so that this cannot be interrupted before it.
		{"r, w := io.Pipe(); go fmt.Fprintln(w, `o` + `n`); io.Copy(os.Stdout, r)\r", "on\r\n"},
		{"\x03", "inside a compiled call that cannot be stopped"},
		{"", "In[21]: "},
		{"exit := 3\r", "In[22]: "}, // names of cells come first
		{"exit\r", "3\r\nIn[23]: "},
	} {
		master.typeText(t, step.keys)
		master.expect(t, step.shows)
	}
	master.typeText(t, "quit()\r")
	if code := exitCode(cmd.Wait()); code != 0 {
		t.Errorf("exit code %d", code)
	}
	b, err := os.ReadFile(filepath.Join(dir, "dace", "history"))
	if err != nil || !strings.Contains(string(b), "x * 5\n") {
		t.Errorf("history %q %v", b, err)
	}
}

// TestHelpPaged checks that a guide goes through the pager where it does not fit the
// terminal, and only there.
func TestHelpPaged(t *testing.T) {
	for _, c := range []struct{ topic, pager, shows string }{
		{"cells", "PAGER=sed s/^/paged:/", "paged:# Cells"},
		{"cells", "PAGER=no-such-pager", "# Cells"},
		{"cells", "PAGER=", "# Cells"},
		{"version", "PAGER=sed s/^/paged:/", "\nUsage: dace version"},
	} {
		master, slave := openTerminal(t)
		defer master.Close()
		cmd := command(t, t.TempDir(), "help", c.topic)
		cmd.Env = append(cmd.Env, c.pager)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
		if c.topic == "version" {
			fmt.Fprintln(slave)
		}
		if err := cmd.Run(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		slave.Close()
		master.expect(t, c.shows)
	}
}
