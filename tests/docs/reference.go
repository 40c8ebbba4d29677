package docs

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/ptx"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/dsl/fast"
)

// function is a function that kernels may call.
type function struct {
	pkg, recv, name string
	decl            *ast.FuncDecl
	file            string
}

// key is the name as the table of intrinsics has it.
func (f function) key() string {
	if f.recv != "" {
		return f.pkg + "." + f.recv + "." + f.name
	}
	return f.pkg + "." + f.name
}

// title is the name as a reader looks for it.
func (f function) title() string {
	switch {
	case f.recv == "Thread":
		return "t." + f.name
	case f.recv != "":
		return f.recv + "." + f.name
	}
	return f.pkg + "." + f.name
}

// hostOnly are the exported functions of package dsl that kernels do not call.
var hostOnly = []string{"API", "SourceOf", "Sources", "SourcesAt", "Source", "Path", "NewThread", "D1", "D2", "D3"}

// groups orders the files of package dsl and names them; files that are not
// listed come last under their own name.
var groups = []struct{ file, title string }{
	{"thread", "Threads and barriers"}, {"shared", "Shared and local memory"}, {"vec", "Vector loads and stores"},
	{"async", "Asynchronous copies"}, {"mbarrier", "Barriers that count arrivals"}, {"convert", "Conversions"},
	{"exact", "Exact math"}, {"math", "Math"}, {"fast", "Approximate math"}, {"warp", "Warps"}, {"reduce", "Reductions"}, {"scan", "Scans"}, {"atomic", "Atomics"},
}

// Reference returns the text of docs/reference.md; root is the module's folder.
func Reference(root string) (string, error) {
	r := &reference{fset: token.NewFileSet(), intrinsics: front.Intrinsics()}
	r.head()
	if err := r.ownLibrary(); err != nil {
		return "", err
	}
	if err := r.standIns(); err != nil {
		return "", err
	}
	if err := r.operations(filepath.Join(root, "compiler", "ir", "op.go")); err != nil {
		return "", err
	}
	r.elsewhere()
	return r.b.String(), nil
}

type reference struct {
	b          strings.Builder
	fset       *token.FileSet
	intrinsics []string
}

func (r *reference) printf(format string, args ...any) { fmt.Fprintf(&r.b, format, args...) }

func (r *reference) head() {
	r.b.WriteString(`# Reference

Every function that a kernel may call, and every operation that the compiler has. The page is made from the tables of the compiler;
` + "run `go test ./tests/docs -update` after a change." + ` How the pieces are used is in the [tutorial](tutorial.md), what they mean to the last bit in
[semantics](semantics.md).

**In the IR** names the operations that a call becomes (` + "`kiln emit -target ir -after front`" + `); a function without one is ordinary
kernel Go, compiled from its body. **In PTX** are the instructions for ` + "`" + probeTarget[4:] + "`" + `, for the types in the probe: float32 where the function
takes floats, 32-bit integers where it does not. They are counted in a kernel that does nothing else, without the loads of the arguments and
the store of the result; constants among the arguments make many of them fewer. What the operations are on other targets is in the
[last table](#operations-on-other-targets). **Largest error** is in units in the last place, for
float32 and float64; everything else is exact or rounds once, but for the functions of package fast, which state their own.

The cost classes:

| class | meaning |
|---|---|
`)
	for _, c := range classes {
		r.printf("| %s | %s |\n", c.name, c.doc)
	}
}

// ownLibrary writes the functions of packages dsl and fast.
func (r *reference) ownLibrary() error {
	list, err := r.ownFunctions()
	if err != nil {
		return err
	}
	last := ""
	for _, f := range list {
		if g := groupOf(f.file); g != last {
			last = g
			r.printf("\n## %s\n", g)
		}
		if err := r.entry(f); err != nil {
			return err
		}
	}
	return nil
}

func groupOf(file string) string {
	base, _, _ := strings.Cut(strings.TrimSuffix(file, ".go"), "_")
	for _, g := range groups {
		if g.file == base {
			return g.title
		}
	}
	return strings.ToUpper(base[:1]) + base[1:]
}

func groupRank(file string) int {
	i := slices.IndexFunc(groups, func(g struct{ file, title string }) bool { return g.title == groupOf(file) })
	if i < 0 {
		return len(groups)
	}
	return i
}

func (r *reference) ownFunctions() ([]function, error) {
	list, err := r.packageFunctions("dsl", "", dsl.API())
	if err != nil {
		return nil, err
	}
	more, err := r.packageFunctions("fast", "fast_", fast.API())
	if err != nil {
		return nil, err
	}
	list = append(list, more...)
	list = slices.DeleteFunc(list, func(f function) bool { return slices.Contains(hostOnly, f.name) })
	slices.SortStableFunc(list, func(a, b function) int {
		return cmp.Or(groupRank(a.file)-groupRank(b.file), cmp.Compare(groupOf(a.file), groupOf(b.file)))
	})
	return list, nil
}

// packageFunctions returns the functions of a package; prefix goes before the
// names of its files, which tell the group.
func (r *reference) packageFunctions(pkg, prefix string, source fs.FS) (list []function, err error) {
	names, err := fs.Glob(source, "*.go")
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		text, err := fs.ReadFile(source, name)
		if err != nil {
			return nil, err
		}
		fns, err := r.functions(pkg, prefix+name, text)
		if err != nil {
			return nil, err
		}
		list = append(list, fns...)
	}
	return list, nil
}

// functions returns the exported functions of a file.
func (r *reference) functions(pkg, name string, text []byte) ([]function, error) {
	f, err := parser.ParseFile(r.fset, name, text, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	var list []function
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if !ok || !fn.Name.IsExported() {
			continue
		}
		out := function{pkg: pkg, name: fn.Name.Name, decl: fn, file: name}
		if fn.Recv != nil {
			out.recv = strings.TrimPrefix(exprText(fn.Recv.List[0].Type), "*")
			if !ast.IsExported(out.recv) {
				continue
			}
		}
		list = append(list, out)
	}
	return list, nil
}

// entry writes one function.
func (r *reference) entry(f function) error {
	what, err := runProbe(f)
	if err != nil {
		return err
	}
	price, err := cost(what.opcodes)
	if err != nil {
		return fmt.Errorf("%s: %w", f.key(), err)
	}
	r.printf("\n### %s\n\n```go\n%s\n```\n\n", f.title(), r.signature(f.decl))
	if doc := comment(f.decl); doc != "" {
		r.printf("%s\n\n", doc)
	}
	r.printf("- In the IR: %s\n", r.irWords(f, what))
	if what.lack != "" {
		r.printf("- In PTX: refused: %s\n", what.lack)
	} else {
		r.printf("- In PTX: %s\n", ptxWords(what.opcodes))
		r.printf("- Cost: %s\n", price)
	}
	for _, b := range dsltest.MathBounds() {
		if f.pkg == "dsl" && b.Name == f.name {
			r.printf("- Largest error: %g and %g ulp\n", b.F32, b.F64)
		}
	}
	return nil
}

func (r *reference) irWords(f function, what found) string {
	names := make([]string, len(what.ops))
	for i, n := range what.ops {
		names[i] = "`" + n + "`"
	}
	list := strings.Join(names, ", ")
	switch {
	case what.call || !slices.Contains(r.intrinsics, f.key()) && list == "":
		return "compiled from its body"
	case !slices.Contains(r.intrinsics, f.key()):
		return "compiled from its body: " + list
	case list == "":
		return "nothing: the value itself"
	}
	return list
}

func ptxWords(opcodes []string) string {
	switch n := len(opcodes); {
	case n == 0:
		return "nothing"
	case n > 6:
		return instructions(n)
	}
	return "`" + strings.Join(opcodes, "`, `") + "`"
}

var kilnMark = regexp.MustCompile(`(?m)^(kiln:\S*|//kiln:\S*)\n?`)
var docLink = regexp.MustCompile(`\[([A-Z]\w*(?:\.\w+)?)\]`)

// comment is the function's comment, as Markdown.
func comment(d *ast.FuncDecl) string {
	doc := strings.TrimSpace(kilnMark.ReplaceAllString(d.Doc.Text(), ""))
	return docLink.ReplaceAllString(doc, "`$1`")
}

// signature is the declaration without comment and body.
func (r *reference) signature(d *ast.FuncDecl) string {
	var b bytes.Buffer
	short := *d
	short.Doc, short.Body = nil, nil
	if err := printer.Fprint(&b, r.fset, &short); err != nil {
		return d.Name.Name
	}
	return b.String()
}

func exprText(x ast.Expr) string {
	var b bytes.Buffer
	if err := printer.Fprint(&b, token.NewFileSet(), x); err != nil {
		return ""
	}
	return b.String()
}

// standIns writes the functions of other packages as a table.
func (r *reference) standIns() error {
	r.printf("\n## Other packages\n\nOf packages that are not Kiln's, kernels may call these functions, and use the constants of `math`.\n\n| function | in the IR | in PTX | cost |\n|---|---|---|---|\n")
	texts := front.StandIns()
	for _, path := range slices.Sorted(func(yield func(string) bool) {
		for p := range texts {
			if !yield(p) {
				return
			}
		}
	}) {
		fns, err := r.functions(path[strings.LastIndexByte(path, '/')+1:], path, []byte(texts[path]))
		if err != nil {
			return err
		}
		for _, f := range fns {
			what, err := runProbe(f)
			if err != nil {
				return err
			}
			price, err := cost(what.opcodes)
			if err != nil {
				return fmt.Errorf("%s: %w", f.key(), err)
			}
			r.printf("| `%s` | %s | %s | %s |\n", f.key(), r.irWords(f, what), ptxWords(what.opcodes), price)
		}
	}
	return nil
}

var opComment = regexp.MustCompile(`(?m)^\t(Op\w+)(?: Op = iota)?\s*// (.+)$`)

// operations writes the table of the IR's operations.
func (r *reference) operations(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading the operations: %w", err)
	}
	var meanings []string
	for _, m := range opComment.FindAllStringSubmatch(string(text), -1) {
		meanings = append(meanings, m[2])
	}
	r.printf("\n## Operations of the IR\n\nThe operands are x, y, z; T is the type of the result. A PTX template has `$d` for the result, `$a`, `$b`, `$c` for the operands and the\nother `$` names for temporaries; where types differ, the most usual is shown.\n\n| operation | meaning | effect | in PTX |\n|---|---|---|---|\n")
	i := 0
	for op := range ir.Ops {
		if i >= len(meanings) {
			return fmt.Errorf("operation %s has no comment in %s", op, file)
		}
		r.printf("| `%s` | %s | %s | %s |\n", op, cell(meanings[i]), effects(op), spellings(op))
		i++
	}
	if i != len(meanings) {
		return fmt.Errorf("%d operations and %d comments in %s", i, len(meanings), file)
	}
	return nil
}

func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", "*x", `\*x`).Replace(s)
}

func effects(op ir.Op) string {
	var out []string
	for _, e := range []struct {
		effect ir.Effect
		name   string
	}{{ir.Reads, "reads"}, {ir.Writes, "writes"}, {ir.Fails, "may fail"}, {ir.Convergent, "convergent"}} {
		if op.Has(e.effect) {
			out = append(out, e.name)
		}
	}
	if len(out) == 0 {
		return "pure"
	}
	return strings.Join(out, ", ")
}

// plainness prefers a rounding conversion in one instruction.
func plainness(s ptx.Spelling) int {
	switch one := !strings.Contains(s.Text, ";") && s.CC == 0; {
	case one && strings.HasPrefix(s.Text, "cvt.r"):
		return 2
	case one:
		return 1
	}
	return 0
}

// spellings shows at most two ways to write an operation.
func spellings(op ir.Op) string {
	list, why := ptx.Spellings(op)
	if why != "" {
		return why
	}
	if len(list) > 20 { // one for each pair of types: show plain ones
		slices.SortStableFunc(list, func(a, b ptx.Spelling) int { return plainness(b) - plainness(a) })
	}
	var out []string
	for _, s := range list[:min(len(list), 2)] {
		text := "`" + strings.Join(strings.Fields(strings.ReplaceAll(strings.ReplaceAll(s.Text, "|", "\\|"), ";", "; ")), " ") + "`"
		if s.CC > 0 {
			text += fmt.Sprintf(" (sm_%d up)", s.CC)
		}
		out = append(out, text)
	}
	if n := len(list) - 2; n > 0 {
		out = append(out, fmt.Sprintf("%d more", n))
	}
	return strings.Join(out, "<br>")
}
