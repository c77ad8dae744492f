package gocell

import (
	"context"
	"errors"
	"fmt"
	"go/types"
	"strings"

	"dace.local/kernel/engine"
	"dace.local/kernel/gocell/symbols"
	"dace.local/kernel/module"
)

// get does %get: it fetches modules and makes their packages importable.
func (s *Session) get(ctx context.Context, args []string, out engine.Outputs) error {
	if len(args) == 0 {
		return errors.New("%get wants a module, with a version or without: %get github.com/google/uuid@v1.6.0")
	}
	var errs []error
	for _, spec := range args {
		err := s.getOne(ctx, spec, out)
		if ctx.Err() != nil {
			return err
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (s *Session) getOne(ctx context.Context, spec string, out engine.Outputs) error {
	path, _, _ := strings.Cut(spec, "@")
	if _, ok := symbols.Name(path); ok {
		out.Stdout(path + " is compiled into this kernel: import it, there is nothing to fetch\n")
		return nil
	}
	if n := compiledBelow(path); n > 0 {
		out.Stdout(fmt.Sprintf("%s: %d packages of it are compiled into this kernel: import them, there is nothing to fetch\n", path, n))
		return nil
	}
	f, err := s.modules.Get(ctx, spec)
	before := ""
	if err == nil {
		s.mu.Lock()
		before = s.prog.imp.version(f.Module.Path)
		err = s.prog.imp.add(ctx, s.fset, f)
		s.mu.Unlock()
	}
	if err != nil {
		if ctx.Err() != nil {
			return &engine.Error{Name: engine.Interrupted, Message: "%get was interrupted; the session is as it was", Traceback: []string{red + engine.Interrupted + plain + ": %get was interrupted; the session is as it was"}}
		}
		return err
	}
	return s.report(f, before, out)
}

// compiledBelow counts the compiled packages of a module.
func compiledBelow(path string) int {
	n := 0
	for _, p := range symbols.Paths() {
		if strings.HasPrefix(p, path+"/") {
			n++
		}
	}
	return n
}

// report shows what was fetched. It is an error where nothing of it can be
// interpreted, or not the package that was asked for.
func (s *Session) report(f *module.Fetch, before string, out engine.Outputs) error {
	var can, cannot []string
	refused := ""
	for _, p := range f.Packages {
		sp := s.prog.imp.source(p.ImportPath)
		switch {
		case sp == nil: // compiled in
			can = append(can, p.ImportPath)
		case sp.why == "":
			can = append(can, p.ImportPath)
		default:
			cannot = append(cannot, p.ImportPath+": "+sp.why)
			if p.ImportPath == f.Path {
				refused = sp.why
			}
		}
	}
	var b strings.Builder
	list := func(head string, l []string) {
		const most = 12
		if len(l) == 0 {
			return
		}
		b.WriteString(head)
		for i, p := range l {
			if i == most && len(l) > most+1 {
				fmt.Fprintf(&b, "\n\t... and %d more", len(l)-most)
				break
			}
			b.WriteString("\n\t" + p)
		}
		b.WriteString("\n")
	}
	head := f.Module.String()
	if before != "" && before != f.Module.Version {
		head += " takes the place of " + before + "; values and functions made before keep the old one"
	}
	switch {
	case refused != "" || len(can) == 0 && len(cannot) > 0:
		list(f.Module.String()+" was fetched, but it cannot be interpreted:", cannot)
		return errors.New(strings.TrimSuffix(b.String(), "\n") + "\n" + insteadCompile)
	case len(can) == 0:
		return fmt.Errorf("%s holds no package that can be imported (programs and internal packages cannot)", f.Module)
	case len(can) == 1:
		b.WriteString(head + ": import " + quote(can[0]) + "\n")
	default:
		list(head+": import any of", can)
	}
	list("these cannot be interpreted ("+insteadCompile+"):", cannot)
	out.Stdout(b.String())
	return nil
}

// version returns the version of a module that packages were fetched from, or
// "".
func (m *importer) version(path string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, sp := range m.fetched {
		if sp.Module.Path == path {
			return sp.Module.Version
		}
	}
	return ""
}

// forget drops what all sessions share of the fetched packages.
func (m *importer) forget() {
	sources.Range(func(p, sp any) bool {
		if sp.(*sourcePackage).by == m {
			sources.Delete(p.(*types.Package))
		}
		return true
	})
}
