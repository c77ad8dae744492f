//go:build ignore

// Command functions makes functions.csv, the data of your-problem.ipynb: 500
// functions of Go's standard library, with 40 counts of what stands in their
// source and the bytes of machine code that the compiler made of them.
//
//	go run notebooks/data/functions.go > notebooks/data/functions.csv
//
// The sources are those of GOROOT, the sizes those in GOROOT/bin/go, so that
// another version of Go gives other numbers; the file is of go1.26 on amd64.
package main

import (
	"encoding/csv"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"hash/fnv"
	"io/fs"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

var columns = []string{
	"lines", "params", "results", "locals", "assigns", "defines", "ifs", "elses", "fors", "ranges",
	"switches", "typeswitches", "cases", "selects", "gos", "defers", "returns", "branches", "incs", "sends",
	"calls", "methods", "builtins", "appends", "makes", "panics", "closures", "literals", "indexes", "slices",
	"derefs", "addresses", "asserts", "arithmetic", "comparisons", "logic", "bitops", "strings", "numbers", "depth",
}

const functions = 500

func main() {
	log.SetFlags(0)
	root, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		log.Fatal(err)
	}
	goroot := strings.TrimSpace(string(root))
	sizes := map[string]int{}
	out, err := exec.Command("go", "tool", "nm", "-size", filepath.Join(goroot, "bin", "go")).Output()
	if err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if f := strings.Fields(line); len(f) >= 4 && (f[2] == "T" || f[2] == "t") {
			sizes[strings.Join(f[3:], " ")], _ = strconv.Atoi(f[1])
		}
	}
	var rows [][]string
	src := filepath.Join(goroot, "src")
	err = filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "vendor" || d.Name() == "cmd" || d.Name() == "internal") {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		pkg, err := filepath.Rel(src, filepath.Dir(path))
		if err != nil {
			return err
		}
		for _, decl := range f.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			name := symbol(filepath.ToSlash(pkg), fn)
			if size := sizes[name]; size > 0 {
				rows = append(rows, append(append([]string{name}, count(files, fn)...), fmt.Sprint(size)))
			}
		}
		return nil
	})
	if err != nil {
		log.Fatal(err)
	}
	// A sample that does not depend on the order of the files.
	slices.SortFunc(rows, func(a, b []string) int {
		if x, y := hash(a[0]), hash(b[0]); x != y {
			return int(x>>1) - int(y>>1)
		}
		return strings.Compare(a[0], b[0])
	})
	w := csv.NewWriter(os.Stdout)
	w.Write(append(append([]string{"function"}, columns...), "bytes"))
	w.WriteAll(rows[:functions])
	if err := w.Error(); err != nil {
		log.Fatal(err)
	}
}

func hash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32()
}

// symbol returns the function's name in a symbol table.
func symbol(pkg string, fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return pkg + "." + fn.Name.Name
	}
	switch t := fn.Recv.List[0].Type.(type) {
	case *ast.StarExpr:
		if id, ok := t.X.(*ast.Ident); ok {
			return pkg + ".(*" + id.Name + ")." + fn.Name.Name
		}
	case *ast.Ident:
		return pkg + "." + t.Name + "." + fn.Name.Name
	}
	return ""
}

// count returns the columns of a function.
func count(files *token.FileSet, fn *ast.FuncDecl) []string {
	n := map[string]int{
		"lines":  files.Position(fn.End()).Line - files.Position(fn.Pos()).Line + 1,
		"params": fn.Type.Params.NumFields(), "results": fn.Type.Results.NumFields(),
	}
	depth := 0
	var stack []ast.Node
	ast.Inspect(fn.Body, func(node ast.Node) bool {
		if node == nil {
			if _, ok := stack[len(stack)-1].(*ast.BlockStmt); ok {
				depth--
			}
			stack = stack[:len(stack)-1]
			return true
		}
		stack = append(stack, node)
		switch x := node.(type) {
		case *ast.BlockStmt:
			depth++
			n["depth"] = max(n["depth"], depth)
		case *ast.DeclStmt:
			n["locals"]++
		case *ast.AssignStmt:
			n[map[bool]string{true: "defines", false: "assigns"}[x.Tok == token.DEFINE]]++
		case *ast.IfStmt:
			n["ifs"]++
			if x.Else != nil {
				n["elses"]++
			}
		case *ast.CallExpr:
			switch f := x.Fun.(type) {
			case *ast.SelectorExpr:
				n["methods"]++
			case *ast.Ident:
				switch f.Name {
				case "append", "make", "panic":
					n[f.Name+"s"]++
				case "len", "cap", "copy", "delete", "new", "min", "max", "clear", "close", "recover":
					n["builtins"]++
				default:
					n["calls"]++
				}
			default:
				n["calls"]++
			}
		case *ast.UnaryExpr:
			if x.Op == token.AND {
				n["addresses"]++
			}
		case *ast.BinaryExpr:
			switch x.Op {
			case token.ADD, token.SUB, token.MUL, token.QUO, token.REM:
				n["arithmetic"]++
			case token.LAND, token.LOR:
				n["logic"]++
			case token.AND, token.OR, token.XOR, token.SHL, token.SHR, token.AND_NOT:
				n["bitops"]++
			default:
				n["comparisons"]++
			}
		case *ast.BasicLit:
			n[map[bool]string{true: "strings", false: "numbers"}[x.Kind == token.STRING]]++
		default:
			n[kinds[reflect.TypeOf(node).Elem().Name()]]++
		}
		return true
	})
	var row []string
	for _, c := range columns {
		row = append(row, fmt.Sprint(n[c]))
	}
	return row
}

// kinds names the column of syntax nodes that are counted as they are.
var kinds = map[string]string{
	"ForStmt": "fors", "RangeStmt": "ranges", "SwitchStmt": "switches", "TypeSwitchStmt": "typeswitches",
	"CaseClause": "cases", "SelectStmt": "selects", "GoStmt": "gos", "DeferStmt": "defers", "ReturnStmt": "returns",
	"BranchStmt": "branches", "IncDecStmt": "incs", "SendStmt": "sends", "FuncLit": "closures", "CompositeLit": "literals",
	"IndexExpr": "indexes", "SliceExpr": "slices", "StarExpr": "derefs", "TypeAssertExpr": "asserts",
}
