package module

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestSweep(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	live, lock, err := scratch()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	killed, gone, err := scratch()
	if err != nil {
		t.Fatal(err)
	}
	gone.Close() // as the system does when a process ends
	made := func(name string, age time.Duration) string {
		dir := filepath.Join(os.TempDir(), name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(dir, time.Time{}, time.Now().Add(-age)); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	old, begun, other := made(scratchPrefix+"old", 25*time.Hour), made(scratchPrefix+"begun", time.Hour), made("mine", 25*time.Hour)
	elsewhere := made("elsewhere", 25*time.Hour)
	link := filepath.Join(os.TempDir(), scratchPrefix+"link")
	if err := os.Symlink(elsewhere, link); err != nil {
		t.Fatal(err)
	}
	next, lock, err := scratch()
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	for dir, want := range map[string]bool{live: true, killed: false, old: false, begun: true, other: true, elsewhere: true, link: true, next: true} {
		if _, err := os.Lstat(dir); (err == nil) != want {
			t.Errorf("%s: %v, want there: %v", dir, err, want)
		}
	}
}
