package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"log"
)

// parseFiles parses the files of a package with their comments.
func parseFiles(names []string) (*token.FileSet, []*ast.File) {
	fset := token.NewFileSet()
	var files []*ast.File
	for _, n := range names {
		f, err := parser.ParseFile(fset, n, nil, parser.ParseComments)
		if err != nil {
			log.Fatal(err)
		}
		files = append(files, f)
	}
	return fset, files
}
