// Package moduletest serves modules from a file to the go command in tests,
// without a network.
package moduletest

import (
	"archive/zip"
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"
)

//go:embed modules.txtar
var modules []byte

// Proxy makes the go command of this test fetch only the modules of
// modules.txtar, into an empty module cache. It returns the folder that serves
// as module proxy.
func Proxy(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	zips := map[string]*zip.Writer{}
	for _, f := range txtar.Parse(modules).Files {
		at := strings.Index(f.Name, "@")
		if at < 0 {
			t.Fatalf("%s names no version", f.Name)
		}
		path := f.Name[:at]
		version, name, _ := strings.Cut(f.Name[at+1:], "/")
		base := filepath.Join(dir, filepath.FromSlash(path), "@v")
		w := zips[path+"@"+version]
		if w == nil {
			if err := os.MkdirAll(base, 0o777); err != nil {
				t.Fatal(err)
			}
			out, err := os.Create(filepath.Join(base, version+".zip"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { out.Close() })
			w = zip.NewWriter(out)
			zips[path+"@"+version] = w
			list, err := os.OpenFile(filepath.Join(base, "list"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o666)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(list, version)
			if err := list.Close(); err != nil {
				t.Fatal(err)
			}
			write(t, filepath.Join(base, version+".info"), fmt.Appendf(nil, `{"Version":%q,"Time":"2026-01-02T03:04:05Z"}`, version))
		}
		if name == "go.mod" {
			write(t, filepath.Join(base, version+".mod"), f.Data)
		}
		e, err := w.Create(path + "@" + version + "/" + name)
		if err == nil {
			_, err = e.Write(f.Data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, w := range zips {
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOPROXY", "file://"+filepath.ToSlash(dir))
	t.Setenv("GOMODCACHE", t.TempDir())
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GONOSUMDB", "*")
	t.Setenv("GOSUMDB", "off")
	t.Setenv("GOENV", "off")
	return dir
}

func write(t testing.TB, name string, b []byte) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o666); err != nil {
		t.Fatal(err)
	}
}
