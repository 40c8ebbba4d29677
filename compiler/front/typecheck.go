package front

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/source"
)

// goVersion is the language version of kernel code: loop variables are per
// iteration, range over integers is known.
const goVersion = "go1.26"

// sizes are those of the devices, whatever the host is.
var sizes = types.SizesFor("gc", "amd64")

func newInfo() *types.Info {
	return &types.Info{
		Types:        map[ast.Expr]types.TypeAndValue{},
		Defs:         map[*ast.Ident]types.Object{},
		Uses:         map[*ast.Ident]types.Object{},
		Implicits:    map[ast.Node]types.Object{},
		Scopes:       map[ast.Node]*types.Scope{},
		Selections:   map[*ast.SelectorExpr]*types.Selection{},
		Instances:    map[*ast.Ident]types.Instance{},
		FileVersions: map[*ast.File]string{},
	}
}

// check type-checks what is newly reached of every unit, imports first.
func (b *build) check() {
	if b.info == nil {
		b.info = newInfo()
	}
	for i := 0; i < len(b.order); i++ {
		b.checkUnit(b.order[i])
	}
}

var errCycle = errors.New("import cycle")

func (b *build) checkUnit(u *source.Unit) error {
	p := b.part(u)
	if p.checking {
		return errCycle
	}
	if p.pkg == nil {
		p.pkg = types.NewPackage(u.Path, u.Name)
		conf := &types.Config{
			GoVersion: goVersion,
			Sizes:     sizes,
			Importer:  importer{b},
			Error:     b.typeError,
		}
		info := *b.info // shares the tables; the order of initialisation is the package's own
		p.info = &info
		p.checker = types.NewChecker(conf, b.Fset, p.pkg, p.info)
	} else if len(p.fresh) == 0 {
		return nil
	}
	p.checking = true
	defer func() { p.checking = false }()
	trees := p.files(p.takeFresh())
	p.trees = append(p.trees, trees...)
	_ = p.checker.Files(trees) // errors go to typeError
	return nil
}

// importer resolves imports to the reached parts of other units.
type importer struct{ b *build }

func (im importer) Import(path string) (*types.Package, error) {
	u, err := im.b.unit(path)
	if err != nil {
		return nil, err
	}
	if err := im.b.checkUnit(u); err != nil {
		return nil, err
	}
	return im.b.part(u).pkg, nil
}

// files makes syntax trees that hold only the given declarations and the
// imports these use. They share nodes with the parsed files.
func (p *part) files(decls []*source.Decl) []*ast.File {
	var files []*ast.File
	var last *source.File
	done := map[ast.Decl]bool{}
	for _, d := range decls {
		if d.File != last {
			last = d.File
			files = append(files, p.newFile(d.File, d.Node))
		}
		f := files[len(files)-1]
		if !done[d.Node] {
			done[d.Node] = true
			f.Decls = append(f.Decls, d.Node)
		}
	}
	return files
}

func (p *part) newFile(src *source.File, first ast.Decl) *ast.File {
	f := &ast.File{Package: src.Package.Pos(), Name: src.Package, FileStart: first.Pos(), FileEnd: first.End()}
	if !f.Package.IsValid() {
		f.Package = first.Pos()
	}
	imports := p.imports[src]
	names := make([]string, 0, len(imports))
	for name := range imports {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		spec := &ast.ImportSpec{
			Name: &ast.Ident{NamePos: f.Package, Name: name},
			Path: &ast.BasicLit{ValuePos: f.Package, Kind: token.STRING, Value: fmt.Sprintf("%q", imports[name])},
		}
		for _, im := range src.Imports {
			if im.Path == imports[name] {
				spec.Path.ValuePos = im.Spec.Path.Pos()
				spec.Name.NamePos = im.Spec.Pos()
			}
		}
		f.Imports = append(f.Imports, spec)
		f.Decls = append(f.Decls, &ast.GenDecl{TokPos: spec.Name.NamePos, Tok: token.IMPORT, Specs: []ast.Spec{spec}})
	}
	return f
}

// typeError turns an error of the Go type checker into a diagnostic.
func (b *build) typeError(err error) {
	e, ok := err.(types.Error)
	if !ok {
		b.Diags.Add(diag.New(diag.Position{}, diag.TypeError, err.Error(), ""))
		return
	}
	switch {
	case b.quiet[e.Pos]:
	case strings.Contains(e.Msg, "missing function body"): // intrinsics
	case strings.HasPrefix(e.Msg, "\t"): // continues the previous error
	case strings.Contains(e.Msg, "imported and not used"):
	case strings.Contains(e.Msg, errCycle.Error()) && strings.HasPrefix(e.Msg, "could not import"):
		b.Report(e.Pos, diag.ImportCycle, "", "kernel packages import each other")
	case b.synthetic(e.Pos):
		b.instanceError(e)
	case b.boundError(e):
	default:
		p := b.Position(e.Pos)
		p.Col = 0
		b.mistyped[p] = true
		b.Report(e.Pos, diag.TypeError, "", "%s", e.Msg)
	}
}
