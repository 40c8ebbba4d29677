package reduce

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"github.com/gokiln/kiln/tests/fuzz/gen"
	"github.com/gokiln/kiln/tests/fuzz/harness"
)

// ErrAgree says that there is nothing to reduce.
var ErrAgree = errors.New("machine code and the interpreter agree on the kernel")

// Kernel returns the smallest source found on which the engine, avx512 or avx2, and the
// interpreter disagree.
func Kernel(k gen.Kernel, engine string) (string, error) {
	p, err := open(k, engine)
	if err != nil {
		return "", err
	}
	defer p.close()
	source := k.Source
	switch bad, err := p.differs(source); {
	case err != nil:
		return "", fmt.Errorf("%s: %w", k.Name, err)
	case !bad:
		return "", ErrAgree
	}
	for small := false; ; {
		smaller, changed := p.pass(source, small)
		if !changed && small {
			return source, nil
		}
		source, small = smaller, !changed
	}
}

// pass tries every change of statements once, or the small ones, of expressions.
func (p *pair) pass(source string, small bool) (string, bool) {
	changed := false
	for i := 0; ; {
		text, more := change(source, small, i)
		if !more {
			return source, changed
		}
		if text != "" && len(text) < len(source) {
			if bad, err := p.differs(text); err == nil && bad {
				source, changed = text, true
				continue // what is number i now is another
			}
		}
		i++
	}
}

// change returns source with change n of all that there are made; more is false if
// there are fewer.
func change(source string, small bool, n int) (text string, more bool) {
	const clause = "package k\n"
	files := token.NewFileSet()
	tree, err := parser.ParseFile(files, "k.go", clause+source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return "", false
	}
	c := &changer{left: n}
	for _, d := range tree.Decls {
		if c.done {
			break
		}
		if small {
			c.expressions(reflect.ValueOf(d))
		} else {
			c.tree(d)
		}
	}
	if !c.done {
		return "", false
	}
	var b bytes.Buffer
	if err := format.Node(&b, files, tree); err != nil {
		return "", true
	}
	return strings.TrimPrefix(b.String(), clause), true
}

// changer counts down to the change that it makes.
type changer struct {
	left int
	done bool
}

// turn reports whether it is the turn of a change.
func (c *changer) turn() bool {
	if c.done {
		return false
	}
	c.left--
	c.done = c.left < 0
	return c.done
}

// tree makes a change somewhere in n. It keeps what makes loops end: nothing stops a
// kernel that runs forever.
func (c *changer) tree(n ast.Node) {
	if c.done {
		return
	}
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ForStmt:
			if n.Cond == nil && len(n.Body.List) > 0 { // the first statement leaves the loop
				n.Body.List = append(n.Body.List[:1:1], c.statements(n.Body.List[1:])...)
				for _, s := range n.Body.List[1:] {
					c.tree(s)
				}
				return false
			}
		case *ast.BlockStmt:
			n.List = c.statements(n.List)
		case *ast.CaseClause:
			n.Body = c.statements(n.Body)
		case *ast.IfStmt:
			if n.Else != nil && c.turn() {
				n.Else = nil
			}
		}
		return !c.done
	})
}

// statements drops one of a list, or puts what it contains in its place.
func (c *changer) statements(list []ast.Stmt) []ast.Stmt {
	for size := len(list); size >= 1; size /= 2 {
		for i := 0; i+size <= len(list); i += size {
			if !slices.ContainsFunc(list[i:i+size], fills) && c.turn() {
				return append(list[:i:i], list[i+size:]...)
			}
		}
	}
	for i, s := range list {
		for _, body := range bodies(s) {
			if c.turn() {
				return append(append(list[:i:i], body...), list[i+1:]...)
			}
		}
	}
	return list
}

// fills reports whether a statement fills shared memory, which holds anything before, or
// waits until that is done.
func fills(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		x, is := s.Lhs[0].(*ast.IndexExpr)
		for is {
			if name, is := x.X.(*ast.Ident); is {
				return strings.HasPrefix(name.Name, "sh")
			}
			x, is = x.X.(*ast.IndexExpr)
		}
	case *ast.ExprStmt:
		if call, is := s.X.(*ast.CallExpr); is {
			method, is := call.Fun.(*ast.SelectorExpr)
			return is && method.Sel.Name == "Sync"
		}
	}
	return false
}

func bodies(s ast.Stmt) (out [][]ast.Stmt) {
	switch s := s.(type) {
	case *ast.BlockStmt:
		return [][]ast.Stmt{s.List}
	case *ast.IfStmt:
		out = append(out, s.Body.List)
		if s.Else != nil {
			out = append(out, []ast.Stmt{s.Else})
		}
	case *ast.ForStmt:
		if s.Cond == nil && len(s.Body.List) > 0 {
			return append(out, s.Body.List[1:])
		}
		out = append(out, s.Body.List)
	case *ast.RangeStmt:
		out = append(out, s.Body.List)
	case *ast.SwitchStmt:
		for _, clause := range s.Body.List {
			out = append(out, clause.(*ast.CaseClause).Body)
		}
	}
	return out
}

var exprType = reflect.TypeFor[ast.Expr]()

// expressions puts in place of an expression one of its operands.
func (c *changer) expressions(v reflect.Value) {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return
		}
		if v.Type() == exprType && v.CanSet() {
			for _, x := range operands(v.Interface().(ast.Expr)) {
				if c.turn() {
					v.Set(reflect.ValueOf(x))
					return
				}
			}
		}
		c.expressions(v.Elem())
	case reflect.Pointer:
		if loop, is := v.Interface().(*ast.ForStmt); is {
			for _, s := range loop.Body.List[min(1, len(loop.Body.List)):] {
				c.expressions(reflect.ValueOf(s))
			}
			return
		}
		if !v.IsNil() {
			c.expressions(v.Elem())
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && !c.done; i++ {
			if v.Type().Field(i).IsExported() {
				c.expressions(v.Field(i))
			}
		}
	case reflect.Slice:
		for i := 0; i < v.Len() && !c.done; i++ {
			c.expressions(v.Index(i))
		}
	}
}

func operands(x ast.Expr) []ast.Expr {
	switch x := x.(type) {
	case *ast.BinaryExpr:
		return []ast.Expr{x.X, x.Y}
	case *ast.UnaryExpr:
		return []ast.Expr{x.X}
	case *ast.ParenExpr:
		return []ast.Expr{x.X}
	case *ast.CallExpr:
		return append([]ast.Expr{&ast.BasicLit{Kind: token.INT, Value: "1"}}, x.Args...)
	case *ast.IndexExpr:
		return []ast.Expr{&ast.BasicLit{Kind: token.INT, Value: "1"}, x.Index}
	}
	return nil
}

var types = func() map[string]reflect.Type {
	m := map[string]reflect.Type{}
	for _, x := range []any{false, int(0), int8(0), int16(0), int32(0), int64(0), uint(0), uint8(0), uint16(0), uint32(0), uint64(0), float32(0), float64(0)} {
		m[reflect.TypeOf(x).String()] = reflect.TypeOf(x)
	}
	return m
}()

// draw returns the bytes of an argument as the programs of [harness] draw it, if its type
// is a plain one.
func draw(r *rand.Rand, name string, size int) []byte {
	if t, ok := types[name]; ok {
		v := reflect.New(t)
		harness.Draw(r, v.Elem())
		x := v.Elem().Interface()
		switch n := x.(type) {
		case int:
			x = int64(n)
		case uint:
			x = uint64(n)
		}
		out, _ := binary.Append(nil, binary.LittleEndian, x) // fails for none of types
		return out
	}
	out := make([]byte, size)
	for i := range out {
		out[i] = byte(r.Uint32())
	}
	return out
}

func put64(b []byte, x uint64) { binary.LittleEndian.PutUint64(b, x) }
