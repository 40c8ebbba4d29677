package front

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
)

const mapping = `package maps

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func Map[A, R any](t dsl.Thread, out []R, a []A, f func(A) R) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		out[i] = f(a[i])
	}
}

type Op func(a, b float32) float32

//kiln:kernel
func Fold(t dsl.Thread, out, in []float32, first, rest Op) {
	s := in[0]
	for _, x := range in[1:] {
		s = apply(rest, s, x)
	}
	combine := func(x float32) float32 { return first(x, s) }
	out[0] = combine(1)
}

func apply(f Op, a, b float32) float32 { return f(a, b) }

//kiln:kernel
func Plain(t dsl.Thread, x []float32, n int) {}
`

const hosting = `package host

import (
	"net/http"

	"github.com/gokiln/kiln/dsl"
)

type Celsius float32

var client http.Client

func Square(x float32) float32 { return x * x }

func Sub(a, b float32) float32 { return a - b }

func Cube[T dsl.Real](x T) T { return x * x * x }

type server struct{}

func (s *server) run() any {
	const k = 3
	return func(a, b float32) float32 { return a*k - Square(b) }
}

func generic[T dsl.Real](n T) any {
	type pair struct{ a, b T }
	return func(a T) T { p := pair{a, a}; return p.a + p.b + dsl.Sqrt(a) }
}

type number[A ~[]B, B dsl.Real] struct{ a A }

func (n *number[X, Y]) method(s string) any {
	return func(y Y, x float32) Y { return y + Y(x) }
}

func between[T any, U dsl.Real](n T) any {
	return func(x float32) float32 { return x + 3 }
}

func warm() any { return func(c Celsius) float32 { return float32(c) + 1 } }

func again() any { return func(a float32) any { return again() } }

func nested() any {
	return func(a, b float32) float32 {
		g := func(a, b float32) float32 { return a }
		return g(a, b)
	}
}
`

var bindSources = packages(map[string]string{"x/maps": mapping, "x/host": hosting})

// at is the literal that begins with text in the source of x/host.
func at(t *testing.T, text string) Func {
	t.Helper()
	i := strings.Index(hosting, text)
	require.GreaterOrEqual(t, i, 0)
	line := 1 + strings.Count(hosting[:i], "\n")
	f, err := input.FindLiteral(must(bindSources("x/host")), input.Literal{File: "k.go", Line: line, Params: params(text), Results: []string{""}})
	require.NoError(t, err)
	require.Equal(t, i-strings.LastIndexByte(hosting[:i], '\n'), f.Col)
	return f
}

func params(text string) []string {
	return make([]string, 1+strings.Count(text[:strings.IndexByte(text, ')')], ","))
}

func must[T any](x T, err error) T {
	if err != nil {
		panic(err)
	}
	return x
}

func TestBind(t *testing.T) {
	const f32 = "func(dsl.Thread, []float32, []float32, func(float32) float32)"
	for _, c := range []struct {
		name string
		req  Request
		want string // name of the module
	}{
		{"named", Request{Func: "Map", Sig: f32, Funcs: map[string]Func{"3": {Pkg: "x/host", Name: "Square"}}}, "x/maps.Map[float32,float32]{f:host.Square}"},
		{"by name", Request{Func: "Map", Sig: f32, Funcs: map[string]Func{"f": {Pkg: "x/host", Name: "Square"}}}, "x/maps.Map[float32,float32]{f:host.Square}"},
		{"generic", Request{Func: "Map", Sig: f32, Funcs: map[string]Func{"3": {Pkg: "x/host", Name: "Cube", Sig: "func(float32) float32"}}}, "x/maps.Map[float32,float32]{f:host.Cube}"},
		{"other package", Request{
			Func: "Map", Sig: `func(dsl.Thread, []float32, []"x/host".Celsius, func("x/host".Celsius) float32)`,
			Funcs: map[string]Func{"3": at(t, "func(c Celsius)")},
		}, "x/maps.Map[host.Celsius,float32]{f:host.warm.func1}"},
		{"in a generic function", Request{Func: "Map", Sig: f32, Funcs: map[string]Func{"3": withSig(at(t, "func(a T) T"), "func(float32) float32")}}, "x/maps.Map[float32,float32]{f:host.generic.func1}"},
		{"without its types", Request{Func: "Map", Sig: f32, Funcs: map[string]Func{"3": at(t, "func(x float32) float32 { return x + 3")}}, "x/maps.Map[float32,float32]{f:host.between.func1}"},
		{"in a generic method", Request{Func: "Fold", Funcs: map[string]Func{"3": withSig(at(t, "func(y Y, x float32)"), "func(float32, float32) float32"), "4": {Pkg: "x/host", Name: "Sub"}}}, "x/maps.Fold{first:host.number.method.func1,rest:host.Sub}"},
		{"two", Request{Func: "Fold", Funcs: map[string]Func{"3": at(t, "func(a, b float32) float32 { return a*k"), "rest": at(t, "func(a, b float32) float32 {\n")}}, "x/maps.Fold{first:host.server.run.func1,rest:host.nested.func1}"},
		{"one twice", Request{Func: "Fold", Funcs: map[string]Func{"3": at(t, "func(a, b float32) float32 { return a*k"), "4": at(t, "func(a, b float32) float32 { return a*k")}}, "x/maps.Fold{first:host.server.run.func1,rest:host.server.run.func1}"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.req.Pkg = "x/maps"
			m, err := Build(c.req, bindSources)
			require.NoError(t, err)
			require.NoError(t, ir.Verify(m), m.String())
			assert.Equal(t, c.want, m.Name)
			back, err := ir.Parse(m.Text())
			require.NoError(t, err)
			assert.Equal(t, m.Text(), back.Text())
		})
	}
}

func withSig(f Func, sig string) Func { f.Sig = sig; return f }

func TestBindMistakes(t *testing.T) {
	sig := "func(dsl.Thread, []float32, []float32, func(float32) float32)"
	one := func(f Func) Request { return Request{Func: "Map", Sig: sig, Funcs: map[string]Func{"3": f}} }
	for _, c := range []struct {
		name string
		req  Request
		want string
	}{
		{"none", Request{Func: "Map", Sig: sig}, "x/maps/k.go:6:52: K0009: parameter f of kernel Map, a function, has no value"},
		{"wrong type", one(at(t, "func(c Celsius)")), "x/host/k.go:41:26: K0009: function literal has type func(c host.Celsius) float32, parameter f of kernel Map is func(float32) float32"},
		{"no package", one(Func{Pkg: "x/none", Name: "F"}), "K0003: package x/none has no kernel source"},
		{"no function", one(Func{Pkg: "x/host", Name: "F"}), "K0004: package x/host has no function F"},
		{"type", one(Func{Pkg: "x/host", Name: "Celsius"}), "Celsius is not a function"},
		{"no types", one(Func{Pkg: "x/host", Name: "Cube"}), `function host.Cube is generic`},
		{"wrong types", one(Func{Pkg: "x/host", Name: "Cube[string]"}), `string does not satisfy`},
		{"no brackets", one(Func{Pkg: "x/host", Name: "Cube[float32"}), `"Cube[float32" is no instance of function host.Cube`},
		{"smuggled", one(Func{Pkg: "x/host", Name: "Cube", Sig: "int; var x func(float32) float32"}), "is no instance of function"},
		{"wrong types", one(Func{Pkg: "x/host", Name: "Cube", Sig: "func(bool) bool"}), "x/host/k.go:17:6: K0008: function host.Cube cannot be instantiated"},
		{"no literal", one(Func{Pkg: "x/host", File: "k.go", Line: 3, Col: 1}), "x/host/k.go:3:1: K0006: no function literal begins here"},
		{"around itself", one(at(t, "func(a float32) any")), "K0106: function literal uses again, which it is part of"},
		{"inside", Request{Func: "Fold", Funcs: map[string]Func{"3": at(t, "func(a, b float32) float32 {\n"), "4": at(t, "func(a, b float32) float32 { return a }")}}, "K0131: function literal stands inside of another"},
		{"unknown", Request{Func: "Plain", Funcs: map[string]Func{"2": {Pkg: "x/host", Name: "Square"}}}, "K0009: kernel Plain has no parameter 2 of a function type"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.req.Pkg = "x/maps"
			_, err := Build(c.req, bindSources)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestFindLiteral(t *testing.T) {
	const text = `package k

var a, b = func(x int) {}, func(x, y int) {}

func f() { g(func(x byte, r rune) (a, b T) { return }, func(float32, rune) (T, T) { return }) }

func h[T any]() {
	g(k.F[T], func(x T) {})
	g(k.F[T](1), func(x T) {})
	g(func(x T) {}, func(x int) {}, func(x uint) {})
}
`
	p := &Package{Path: "x/k", Files: []File{{Name: "k.go", Text: []byte(text)}, {Name: "linux.go", Text: []byte("//go:build linux\n\npackage k\n")}, {Name: "bad.go", Text: []byte("package")}}}
	for _, c := range []struct {
		file            string
		line            int
		params, results []string
		col             int
		err             string
	}{
		{"k.go", 3, []string{"int"}, nil, 12, ""},
		{"k.go", 3, []string{"int", "int"}, nil, 28, ""},
		{"k.go", 3, []string{"bool"}, nil, 0, "x/k/k.go:3: no function literal of this type begins on this line"},
		{"k.go", 5, []string{"uint8", "int32"}, []string{"", ""}, 14, ""},
		{"k.go", 5, []string{"float32", "int32"}, []string{"", ""}, 56, ""},
		{"k.go", 8, []string{""}, nil, 0, "an instance of a generic function stands on the line of a function literal"},
		{"k.go", 9, []string{"float32"}, nil, 15, ""},
		{"k.go", 10, []string{"int"}, nil, 0, "x/k/k.go:10: 2 function literals of the same type"},
		{"k.go", 10, []string{"float32"}, nil, 4, ""},
		{"l.go", 1, nil, nil, 0, "file l.go is not among the source files that package x/k embeds"},
		{"linux.go", 1, nil, nil, 0, "file linux.go of package x/k has a build constraint"},
		{"bad.go", 1, nil, nil, 0, "reading source of x/k: bad.go:1:8"},
	} {
		f, err := input.FindLiteral(p, input.Literal{File: c.file, Line: c.line, Params: c.params, Results: c.results})
		if c.err != "" {
			require.ErrorContains(t, err, c.err)
			continue
		}
		require.NoError(t, err, "%v", c)
		assert.Equal(t, Func{Pkg: "x/k", File: c.file, Line: c.line, Col: c.col}, f)
	}
}

// A kernel is checked for all functions that it may be given.
func TestCheckFuncParam(t *testing.T) {
	p := must(bindSources("x/maps"))
	n := 0
	assert.Empty(t, Check(p, nil, func(m *ir.Module) diag.List { n++; return nil }))
	assert.Equal(t, 4, n)
}
