package check

import (
	"go/types"
	"regexp"
	"strings"

	"dace.local/kernel/gocell/internal/cell"
)

// An errorKind is the kind of an error of the type checker, of those that the kernel
// treats in their own way. go/types gives errors no code, so the kind is read from the
// text, here alone; TestErrorKind compares the texts with the checker's.
type errorKind int

const (
	otherError      errorKind = iota
	unusedImport              // "fmt" imported and not used
	failedImport              // could not import x
	unusedVariable            // declared and not used: x
	unusedValue               // x + 1 is not used
	missingBody               // func f without a body
	unexportedField           // T{1} sets a field of another package's struct by its place
	undefinedName             // undefined: x, undefined: fmt.X
	unknownMember             // x.f undefined (type T has no field or method f)
	missingMethod             // T does not implement I (missing method f)
	importConflict            // a file imports a name that the package declares
	ofConstant                // a constant has no value of its type; or the message only names one
)

// addError adds an error of the checker. The lines of a cycle, which it reports one by one,
// are of one error.
func addError(errs []types.Error, e types.Error) []types.Error {
	if last := len(errs) - 1; last >= 0 && strings.HasPrefix(e.Msg, "\t") && strings.Contains(e.Msg, " refers to ") {
		errs[last].Msg += "\n" + e.Msg
		return errs
	}
	return append(errs, e)
}

// shownMessage returns a message of the type checker as cells show it: with the places of
// cells, and the types of compiled cells by the names that cells know.
func (p *Program) shownMessage(msg string) string {
	return p.unqualified(cell.Places(msg), func(pkg string, o types.Object) bool { return pkg == "cell" && OfNative(o) })
}

// shownInNative does the same for a message about a compiled cell, for which the session's
// types are another package's, too.
func (p *Program) shownInNative(msg string) string {
	return p.unqualified(p.shownMessage(msg), func(_ string, o types.Object) bool { _, is := o.(*types.TypeName); return is })
}

var qualifiedRE = regexp.MustCompile(`\b(main|cell)\.(\pL\w*)`)

// unqualified writes a name of a message without its package where the session has that name,
// and own tells that it is meant.
func (p *Program) unqualified(msg string, own func(pkg string, o types.Object) bool) string {
	return qualifiedRE.ReplaceAllStringFunc(msg, func(name string) string {
		pkg, short, _ := strings.Cut(name, ".")
		if e := p.Names[short]; e != nil && p.Names[pkg] == nil && own(pkg, e.Object) {
			return short
		}
		return name
	})
}

var lackingRE = regexp.MustCompile(`(\w+)(?:\[.*\])? (?:has no field or method|does not implement) `)

// typeOfError returns the name of the type that lacks a method by an error of the kind
// unknownMember or missingMethod, or "".
func typeOfError(msg string) string {
	if m := lackingRE.FindStringSubmatch(msg); m != nil {
		return m[1]
	}
	return ""
}

// kindOfError returns the kind of an error by its message, and the name that it
// is about, of those kinds that have one at the end.
func kindOfError(msg string) (kind errorKind, name string) {
	if name, ok := strings.CutPrefix(msg, "declared and not used: "); ok {
		return unusedVariable, name
	}
	if name, ok := strings.CutPrefix(msg, "undefined: "); ok {
		return undefinedName, name
	}
	if before, after, ok := strings.Cut(msg, "has no field or method "); ok && strings.Contains(before, " undefined (type ") {
		// Where letter case is all that differs, the checker says so itself.
		if name, more, _ := strings.Cut(after, ")"); more == "" && !strings.Contains(name, ",") {
			return unknownMember, name
		}
	}
	if _, after, ok := strings.Cut(msg, "(missing method "); ok {
		if name, more, _ := strings.Cut(after, ")"); more == "" {
			return missingMethod, name
		}
	}
	if rest, ok := strings.CutPrefix(msg, "unknown field "); ok {
		if name, of, ok := strings.Cut(rest, " in struct literal of type "); ok && !strings.Contains(of, ", but does have") {
			return unknownMember, name
		}
	}
	if name, _, ok := strings.Cut(msg, " already declared through "); ok {
		return importConflict, name
	}
	switch {
	case strings.HasSuffix(msg, "imported and not used"),
		strings.Contains(msg, " imported as ") && strings.HasSuffix(msg, "and not used"):
		return unusedImport, ""
	case strings.HasPrefix(msg, "could not import"):
		return failedImport, ""
	case strings.HasSuffix(msg, "is not used"):
		return unusedValue, ""
	case strings.HasSuffix(msg, "missing function body"), msg == "func init must have a body":
		return missingBody, ""
	case strings.HasPrefix(msg, "implicit assignment to unexported field"):
		return unexportedField, ""
	}
	for _, s := range []string{"overflows", "division by zero", "truncated", "cannot represent", "constant", "shift"} {
		if strings.Contains(msg, s) {
			return ofConstant, ""
		}
	}
	return otherError, ""
}
