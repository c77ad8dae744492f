package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"dace.local/kernel/notebook"
)

var htmlVerb = verb{
	name:  "html",
	short: "pages of executed notebooks, and an index of them",
	usage: `
Usage: dace html NOTEBOOK.ipynb... [-o DIR]

Writes each notebook, with the outputs that it has, as a self-contained page
DIR/NOTEBOOK.html, and DIR/index.html, which lists them. Nothing is run: for
new outputs see dace run. DIR is made where there is none; without -o it is the
current folder.

The pages run no script: a notebook's HTML may be somebody else's.
-scripts allows it.

Exit code: 0; 1 when a file could not be read or written; 2 for wrong arguments.

Examples:
  dace html notebooks/*.ipynb -o pages
`,
	run: runHTML,
}

func runHTML(env *Env, v *verb, args []string) int {
	fs := v.flags(env)
	dir := fs.String("o", ".", "write the pages to this `folder`")
	scripts := fs.Bool("scripts", false, "let the pages run scripts that are in the notebooks: for notebooks that you trust")
	rest, code, ok := v.parse(env, fs, args, true, 1, -1)
	if !ok {
		return code
	}
	var entries []notebook.IndexEntry
	taken := map[string]string{"index.html": "the index"}
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		return v.fail(env, fmt.Errorf("cannot make the folder %s: %w", *dir, reason(err)))
	}
	for _, in := range rest {
		nb, folder, err := readNotebook(env, in)
		if err != nil {
			return v.fail(env, err)
		}
		name := strings.TrimSuffix(filepath.Base(in), filepath.Ext(in))
		if in == "-" {
			name = "notebook"
		}
		file := name + ".html"
		if of, ok := taken[file]; ok {
			return v.misuse(env, "the page of %s would replace that of %s: %s", in, of, file)
		}
		taken[file] = in
		err = notebook.Replace(filepath.Join(*dir, file), func(w io.Writer) error {
			return notebook.WriteHTML(w, nb, notebook.HTMLSettings{Title: name, Dir: folder, Scripts: *scripts})
		})
		if err != nil {
			return v.fail(env, err)
		}
		entry := nb.IndexEntry(file)
		entries = append(entries, entry)
		fmt.Fprintf(env.Stdout, "%s: %s\n", filepath.Join(*dir, file), entry.State())
	}
	index := filepath.Join(*dir, "index.html")
	if err := notebook.Replace(index, func(w io.Writer) error { return notebook.WriteIndex(w, entries) }); err != nil {
		return v.fail(env, err)
	}
	fmt.Fprintln(env.Stdout, index)
	return exitOK
}
