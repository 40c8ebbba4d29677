package source

import (
	"fmt"
	"go/ast"
	"go/token"
)

// Load makes Node, Refs and what belongs to them available.
func (d *Decl) Load() {
	if d.lazy != nil {
		d.once.Do(d.parseLazy)
	}
}

func (t *lazyText) parse() {
	t.tree, t.tok = parseDecl(t.file, t.pkg, t.text, t.line)
}

// parseLazy parses the text of d; it runs once.
func (d *Decl) parseLazy() {
	d.lazy.once.Do(d.lazy.parse)
	d.Tok = d.lazy.tok
	d.extract(d.lazy.tree)
}

// extract takes the part of the parsed text that declares d.
func (d *Decl) extract(tree *ast.File) {
	scratch := &Unit{Decls: map[string]*Decl{}, Methods: map[string]map[string]*Decl{}}
	for _, n := range tree.Decls {
		scratch.addDecl(d.File, tree, n)
	}
	from := scratch.Decls[d.Name]
	if d.Recv != "" {
		from = scratch.Methods[d.Recv][d.Name]
	}
	if from == nil {
		panic(fmt.Sprintf("%s: declaration of %s is not where the splitter saw it", d.File.Name, d.Name))
	}
	d.Node, d.Refs, d.IsVar = from.Node, from.Refs, from.IsVar
}

// parseDecl parses one declaration with the positions it has in its file.
func parseDecl(name, pkg, text string, line int) (*ast.File, *token.File) {
	head := "package " + pkg + ";"
	tree, tok, err := ParseFile(name, []byte(head+text), 0)
	if err != nil {
		panic(fmt.Sprintf("%s:%d: %v", name, line, err))
	}
	tok.AddLineColumnInfo(len(head), name, line, 1)
	return tree, tok
}
