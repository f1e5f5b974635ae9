// The calls, imports and definitions of Go, by its own parser.
// Reads names of files, one a line, and writes one JSON object a line.
package main

import (
	"bufio"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
)

type found struct {
	Calls       [][2]int `json:"calls"`
	Imports     [][2]int `json:"imports"`
	Definitions [][2]int `json:"definitions"`
	Lines       [][2]int `json:"lines"`
}

// The name that stands for an expression: c of a.b.c.
func last(node ast.Expr) *ast.Ident {
	switch node := node.(type) {
	case *ast.Ident:
		return node
	case *ast.SelectorExpr:
		return node.Sel
	case *ast.ParenExpr:
		return last(node.X)
	case *ast.IndexExpr:
		return last(node.X)
	case *ast.IndexListExpr:
		return last(node.X)
	}
	return nil
}

func of(path string) found {
	files := token.NewFileSet()
	var told found
	file, err := parser.ParseFile(files, path, nil, 0)
	if err != nil {
		return told
	}
	add := func(into *[][2]int, node ast.Node) {
		place := files.Position(node.Pos())
		*into = append(*into, [2]int{place.Line, place.Column})
	}
	names := func(several []*ast.Ident) {
		for _, name := range several {
			add(&told.Definitions, name)
		}
	}
	expressions := func(several ...ast.Expr) {
		for _, one := range several {
			if name, ok := one.(*ast.Ident); ok {
				add(&told.Definitions, name)
			}
		}
	}
	ast.Inspect(file, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.GenDecl:
			if node.Tok == token.IMPORT {
				first, last := files.Position(node.Pos()).Line, files.Position(node.End()).Line
				told.Lines = append(told.Lines, [2]int{first, last})
			}
		case *ast.ImportSpec:
			if node.Name != nil {
				add(&told.Imports, node.Name)
			}
		case *ast.CallExpr:
			if name := last(node.Fun); name != nil {
				add(&told.Calls, name)
			}
		case *ast.FuncDecl:
			add(&told.Definitions, node.Name)
		case *ast.TypeSpec:
			add(&told.Definitions, node.Name)
		case *ast.ValueSpec:
			names(node.Names)
		case *ast.Field:
			names(node.Names)
		case *ast.AssignStmt:
			if node.Tok == token.DEFINE {
				expressions(node.Lhs...)
			}
		case *ast.RangeStmt:
			if node.Tok == token.DEFINE {
				expressions(node.Key, node.Value)
			}
		}
		return true
	})
	return told
}

func main() {
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		out.Encode(of(lines.Text()))
	}
}
