package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"dace.local/kernel/buildinfo"
	"dace.local/kernel/internal/site"
)

var docsVerb = verb{
	name:  "docs",
	short: "guides, notebooks and packages as a static site",
	usage: `
Usage: dace docs -o DIR [-clone CLONE]

Writes the documentation of a clone as pages into DIR: the guides, the notebooks
as they were run, the packages of dacelib and display with their examples, and a
page that searches all. They need no network; open DIR/index.html in a browser.
Only the page of the search has a script, its own.

-clone is the clone's folder; by default it is the current one or one above it.

Exit code: 0; 1 when the site could not be written; 2 for wrong arguments.

Examples:
  dace docs -o site
`,
	run: runDocs,
}

func runDocs(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	dir := fs.String("o", "", "write the pages to this `folder`")
	clone := fs.String("clone", "", "`folder` of the clone")
	if _, code, ok := v.parse(env, fs, args, true, 0, 0); !ok {
		return code
	}
	if *dir == "" {
		return v.misuse(env, "where to? -o DIR")
	}
	if *clone == "" {
		var err error
		if *clone, err = findClone("."); err != nil {
			return v.fail(env, err)
		}
	}
	pages, err := site.Write(*clone, *dir)
	if err != nil {
		return v.fail(env, err)
	}
	fmt.Fprintf(env.Stdout, "%s: %d pages\n", filepath.Join(*dir, "index.html"), pages)
	return exitOK
}

// findClone returns the folder of the clone that a folder is in.
func findClone(dir string) (string, error) {
	at, err := filepath.Abs(dir)
	for ; err == nil; at = filepath.Dir(at) {
		if text, err := os.ReadFile(filepath.Join(at, "go.mod")); err == nil && strings.HasPrefix(string(text), "module "+buildinfo.Module()+"\n") {
			return at, nil
		}
		if at == filepath.Dir(at) {
			return "", errors.New("the documentation is that of a clone, and this is none: go to one, or name it by -clone")
		}
	}
	return "", err
}
