package gocell

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/internal/check"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/internal/toolchain/module"
)

// get implements the magic %get: it fetches modules and makes their packages
// importable.
func (g *fetched) get(ctx context.Context, args []string, out engine.Outputs) error {
	if len(args) == 0 {
		return errors.New("%get wants a module, with a version or without: %get github.com/google/uuid@v1.6.0")
	}
	var errs []error
	for _, spec := range args {
		err := g.getOne(ctx, spec, out)
		if ctx.Err() != nil {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (g *fetched) getOne(ctx context.Context, spec string, out engine.Outputs) error {
	f, onDisk, err := g.getFolder(ctx, spec, out)
	path, _, _ := strings.Cut(spec, "@")
	if onDisk {
		return g.add(ctx, f, err, out)
	}
	if _, ok := symbols.Name(path); ok {
		out.Stdout(path + " is compiled into this kernel: import it, there is nothing to fetch\n")
		return nil
	}
	if n := compiledBelow(path); n > 0 {
		out.Stdout(fmt.Sprintf("%s: %d packages of it are compiled into this kernel: import them, there is nothing to fetch\n", path, n))
		return nil
	}
	f, err = g.modules.Get(ctx, spec)
	return g.add(ctx, f, err, out)
}

// add makes the packages of a fetch importable, and reports them; err is the error of
// the fetch.
func (g *fetched) add(ctx context.Context, f *module.Fetch, err error, out engine.Outputs) error {
	before := ""
	var release func()
	if err == nil {
		if release, err = g.compiling.take(ctx); err == nil {
			defer release()
		}
	}
	if err == nil {
		g.mu.Lock()
		before = g.prog.Importer.Version(f.Module.Path)
		err = g.prog.Importer.Add(ctx, g.files, f)
		g.onDisk.modules = g.modules.Own()
		g.mu.Unlock()
	}
	if err != nil {
		if ctx.Err() != nil {
			return &engine.Error{Name: engine.Interrupted, Message: "%get was interrupted; the session is as it was", Traceback: []string{bold + engine.Interrupted + plain + ": %get was interrupted; the session is as it was"}}
		}
		return err
	}
	g.conflicts(f, out)
	return g.report(f, before, out)
}

// compiledBelow returns the number of packages below the path of a module that
// are compiled into the kernel.
func compiledBelow(path string) int {
	n := 0
	for _, p := range symbols.Paths() {
		if strings.HasPrefix(p, path+"/") {
			n++
		}
	}
	return n
}

// report lists the fetched packages. It returns an error if no package of the
// module can be used, or if the package that was asked for cannot.
func (g *fetched) report(f *module.Fetch, before string, out engine.Outputs) error {
	var can, compiled, broken []string
	var asked *check.FetchedPackage // the package at the path that was asked for
	for _, p := range f.Packages {
		sp := g.prog.Importer.Source(p.ImportPath)
		if p.ImportPath == f.Path {
			asked = sp
		}
		switch {
		case sp == nil || sp.Why == "": // compiled in, or interpreted
			can = append(can, p.ImportPath)
		case sp.Broken:
			broken = append(broken, p.ImportPath+": "+sp.Why)
		default:
			compiled = append(compiled, p.ImportPath+": "+sp.Why)
		}
	}
	head := f.Module.String()
	if f.Module.Folder != "" {
		head = f.Module.Path + " is used from " + shown(f.Module.Folder)
	}
	if before != "" && before != f.Module.Version && f.Module.Folder == "" {
		head += " takes the place of " + before + "; values and functions made before keep the old one"
	}
	switch {
	case len(f.Packages) == 0:
		return fmt.Errorf("%s holds no package that can be imported (programs and internal packages cannot)", f.Module)
	case asked != nil && asked.Broken || len(can)+len(compiled) == 0:
		return errors.New(strings.TrimSuffix(listed(f.Module.String()+" was fetched, but it cannot be built:", broken), "\n"))
	}
	var b strings.Builder
	switch {
	case asked != nil && asked.Why != "":
		b.WriteString(head + ": import " + strconv.Quote(f.Path) + " in a cell that begins with %%compile\n\t(it cannot be interpreted: " + asked.Why + ")\n")
		b.WriteString(listed("these can also be interpreted:", can))
		compiled = slices.DeleteFunc(compiled, func(p string) bool { return strings.HasPrefix(p, f.Path+": ") })
	case len(can) == 1:
		b.WriteString(head + ": import " + strconv.Quote(can[0]) + "\n")
	case len(can) > 1:
		b.WriteString(listed(head+": import any of", can))
	default:
		b.WriteString(listed(head+": import any of these in a cell that begins with %%compile (they cannot be interpreted)", compiled))
		compiled = nil
	}
	b.WriteString(listed("these cannot be interpreted ("+check.InsteadCompile+"):", compiled))
	b.WriteString(listed("these cannot be built:", broken))
	if err := g.ready(); err != nil && len(can) < len(f.Packages)-len(broken) {
		b.WriteString("%%compile does not work here: " + err.Error() + "\n")
	}
	out.Stdout(b.String())
	return nil
}

// listed returns a headline and the first items of a list, a line each; "" if
// the list is empty.
func listed(head string, list []string) string {
	const most = 12
	if len(list) == 0 {
		return ""
	}
	var b strings.Builder
	b.WriteString(head)
	for i, item := range list {
		if i == most && len(list) > most+1 {
			fmt.Fprintf(&b, "\n\t... and %d more", len(list)-most)
			break
		}
		b.WriteString("\n\t" + item)
	}
	return b.String() + "\n"
}
