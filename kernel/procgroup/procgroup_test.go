package procgroup

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain runs the tests. If DACE_TEST_PROCGROUP is set, it starts a process group
// that ends with this process, prints the group's number and waits.
func TestMain(m *testing.M) {
	mode := os.Getenv("DACE_TEST_PROCGROUP")
	if mode == "" {
		os.Exit(m.Run())
	}
	// The shell ignores SIGTERM and has a child of its own.
	child := exec.Command("/bin/sh", "-c", "trap '' TERM; sleep 10000 & echo $!; wait; sleep 10000")
	child.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := child.StdoutPipe()
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		panic(err)
	}
	grandchild, _ := bufio.NewReader(out).ReadString('\n')
	release, err := Group(child.Process.Pid)
	if err != nil {
		panic(err)
	}
	if mode == "release" {
		release()
		release()
	}
	runtime.GC() // must not close the pipe of a group that is not released
	runtime.GC()
	fmt.Println(child.Process.Pid, strings.TrimSpace(grandchild))
	os.Stdin.Read(make([]byte, 1))
	os.Exit(0)
}

func TestGroup(t *testing.T) {
	for _, c := range []struct {
		mode  string
		end   os.Signal
		lives bool
	}{
		{"hold", syscall.SIGKILL, false},
		{"hold", syscall.SIGTERM, false},
		{"hold", nil, false}, // the process ends by itself
		{"release", syscall.SIGKILL, true},
	} {
		t.Run(fmt.Sprint(c.mode, " ", c.end), func(t *testing.T) {
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), "DACE_TEST_PROCGROUP="+c.mode)
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			var group, grandchild int
			if _, err := fmt.Fscan(out, &group, &grandchild); err != nil {
				t.Fatal(err)
			}
			defer syscall.Kill(-group, syscall.SIGKILL)
			time.Sleep(200 * time.Millisecond)
			if !alive(group) || !alive(grandchild) {
				t.Error("the group has ended before the process")
			}
			if c.end == nil {
				stdin.Close()
			} else if err := cmd.Process.Signal(c.end); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if c.lives {
				time.Sleep(time.Second)
				if !alive(group) || !alive(grandchild) {
					t.Error("a group that was released ended")
				}
				return
			}
			for end := time.Now().Add(5 * time.Minute); alive(group) || alive(grandchild); time.Sleep(20 * time.Millisecond) {
				if time.Now().After(end) {
					t.Fatalf("the group lives on: child %v, grandchild %v", alive(group), alive(grandchild))
				}
			}
		})
	}
	if _, err := Group(0); err == nil {
		t.Error("this process's own group was taken")
	}
}

// alive reports whether a process runs; a zombie does not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if os.IsNotExist(err) {
		return !hasProc() && syscall.Kill(pid, 0) == nil
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return err == nil && !strings.HasPrefix(state, "Z")
}

func hasProc() bool {
	_, err := os.Stat("/proc/self/stat")
	return err == nil
}

// TestEnd checks that End ends the processes started since the mark, also
// grandchildren and processes that ignore signals, and no earlier ones.
func TestEnd(t *testing.T) {
	if !hasProc() {
		t.Skip("there is no /proc")
	}
	start := func(script string) (child, grandchild int) {
		t.Helper()
		cmd := exec.Command("/bin/sh", "-c", script)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fscan(out, &grandchild); err != nil {
			t.Fatal(err)
		}
		go cmd.Wait()
		t.Cleanup(func() {
			_ = syscall.Kill(cmd.Process.Pid, syscall.SIGKILL)
			_ = syscall.Kill(grandchild, syscall.SIGKILL)
		})
		return cmd.Process.Pid, grandchild
	}
	const polite, deaf = "sleep 10000 & echo $!; wait", "trap '' INT TERM; sleep 10000 & echo $!; wait; sleep 10000"
	a, b := start(polite)
	time.Sleep(50 * time.Millisecond) // ticks are 10 ms
	mark := Now()
	c, d := start(polite)
	e, f := start(deaf)
	mark.End()
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end) && (alive(c) || alive(d) || alive(e) || alive(f)); {
		time.Sleep(10 * time.Millisecond)
	}
	for pid, want := range map[int]bool{a: true, b: true, c: false, d: false, e: false, f: false} {
		if alive(pid) != want {
			t.Errorf("process %d lives: %v, want %v (%v)", pid, !want, want, []int{a, b, c, d, e, f})
		}
	}
	Mark(0).End() // the mark on a system without /proc
	if !alive(a) {
		t.Error("a mark that is none ends processes")
	}
}
