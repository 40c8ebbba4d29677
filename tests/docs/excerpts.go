package docs

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
)

// excerpt is a block of a page that shows a function of a file.
var excerpt = regexp.MustCompile("(?s)<!-- (\\S+\\.go): (\\w+) -->\n```go\n.*?```\n")

// Excerpts returns a page with the functions that it shows as their files have them, and how many
// there are. Files are named from a folder on:
//
//	<!-- examples/gemm/kernels/gemm.go: Naive -->
func Excerpts(root, page string) (text string, n int, err error) {
	text = excerpt.ReplaceAllStringFunc(page, func(block string) string {
		m := excerpt.FindStringSubmatch(block)
		n++
		source, e := declaration(filepath.Join(root, filepath.FromSlash(m[1])), m[2])
		if e != nil {
			err = e
			return block
		}
		return fmt.Sprintf("<!-- %s: %s -->\n```go\n%s\n```\n", m[1], m[2], source)
	})
	return text, n, err
}

// declaration returns the text of a function or method, with its comment.
func declaration(file, name string) (string, error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("reading an excerpt: %w", err)
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.ParseComments)
	if err != nil {
		return "", fmt.Errorf("reading an excerpt: %w", err)
	}
	for _, d := range parsed.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Name.Name != name {
			continue
		}
		begin := f.Pos()
		if f.Doc != nil {
			begin = f.Doc.Pos()
		}
		return string(source[set.Position(begin).Offset:set.Position(f.End()).Offset]), nil
	}
	return "", fmt.Errorf("reading an excerpt: %s has no function %s", file, name)
}
