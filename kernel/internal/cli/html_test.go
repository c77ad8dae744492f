package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHTML(t *testing.T) {
	path := nb(t, "%print <b>hello", "value")
	dace(t, "", "run", path, "-o", path).want(t, 0, "", "wrote ")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "a", "pages")
	c := dace(t, "", "html", path, "-o", dir)
	c.want(t, 0, filepath.Join(dir, "nb.html")+": 2 cells", "")
	for name, want := range map[string]string{"nb.html": "&lt;b&gt;hello", "index.html": `<a href="./nb.html">nb</a>`} {
		if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%s: %v, no %q in\n%s", name, err, want, b)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Error("the notebook has changed")
	}
	dace(t, "", "html", path, nb(t, "1"), "-o", dir).want(t, 2, "", "would replace that of "+path+": nb.html")
	dace(t, "", "html", filepath.Join(dir, "none.ipynb")).want(t, 1, "", "none.ipynb: no such file")
	dace(t, "", "html", path, "-o", path).want(t, 1, "", "cannot make the folder")
	dace(t, "", "html").want(t, 2, "", "an argument is missing")
}
