package front

import (
	"fmt"
	"go/ast"
	"go/token"
)

// load makes d.node and d.refs available.
func (d *decl) load() {
	if d.lazy != nil {
		d.once.Do(d.parseLazy)
	}
}

func (t *lazyText) parse() {
	t.tree, t.tok = parseDecl(t.file, t.pkg, t.text, t.line)
}

// parseLazy parses the text of d; it runs once.
func (d *decl) parseLazy() {
	d.lazy.once.Do(d.lazy.parse)
	d.tok = d.lazy.tok
	d.extract(d.lazy.tree)
}

// extract takes the part of the parsed text that declares d.
func (d *decl) extract(tree *ast.File) {
	scratch := &unit{decls: map[string]*decl{}, methods: map[string]map[string]*decl{}}
	for _, n := range tree.Decls {
		scratch.addDecl(d.file, tree, n)
	}
	from := scratch.decls[d.name]
	if d.recv != "" {
		from = scratch.methods[d.recv][d.name]
	}
	if from == nil {
		panic(fmt.Sprintf("%s: declaration of %s is not where the splitter saw it", d.file.name, d.name))
	}
	d.node, d.refs, d.isVar = from.node, from.refs, from.isVar
}

// parseDecl parses one declaration with the positions it has in its file.
func parseDecl(name, pkg, text string, line int) (*ast.File, *token.File) {
	head := "package " + pkg + ";"
	tree, tok, err := parseFile(name, []byte(head+text), 0)
	if err != nil {
		panic(fmt.Sprintf("%s:%d: %v", name, line, err))
	}
	tok.AddLineColumnInfo(len(head), name, line, 1)
	return tree, tok
}
