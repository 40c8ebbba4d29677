package front

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front/internal/gotype"
	"github.com/gokiln/kiln/compiler/front/internal/source"
	"github.com/gokiln/kiln/compiler/input"
	"github.com/gokiln/kiln/compiler/ir"
)

// head begins the text of a test package.
const head = "package k\n\nimport \"github.com/gokiln/kiln/dsl\"\n\n"

func TestRequests(t *testing.T) {
	const text = head + `
type Real = float32

type mine float32

//kiln:kernel
func Copy[T any](t dsl.Thread, out, in []T) { out[0] = in[0] }

//kiln:kernel
func Scale[T dsl.Real](t dsl.Thread, x []T, by T) { x[0] *= by }

//kiln:kernel
func Plain(t dsl.Thread, x []mine, _ int) {}

func Helper(t dsl.Thread) {}
`
	load := one("example.com/k", text)
	tests := []struct {
		name string
		req  Request
		err  string // "" for none
		args string
	}{
		{"from signature", Request{Func: "Copy", Sig: "func(dsl.Thread, []int32, []int32)"}, "", "[]int32 []int32"},
		{"reflect spells F16 so", Request{Func: "Copy", Sig: "func(dsl.Thread, []float16.Float16, []float16.Float16)"}, "", "[]dsl.F16 []dsl.F16"},
		{"own package", Request{Func: "Copy", Sig: "func(dsl.Thread, []k.mine, []k.mine)"}, "", "[]k.mine []k.mine"},
		{"from type arguments", Request{Func: "Scale", TypeArgs: []string{"float64"}}, "", "[]float64 float64"},
		{"alias", Request{Func: "Scale", TypeArgs: []string{"k.Real"}}, "", "[]float32 float32"},
		{"not generic", Request{Func: "Plain", Sig: "func(dsl.Thread, []k.mine, int)"}, "", "[]k.mine int"},
		{"too few types", Request{Func: "Copy"}, "K0205: Copy is generic: the request names no types for it", ""},
		{"constraint", Request{Func: "Scale", TypeArgs: []string{"int"}}, "14:6: K0008: Scale cannot be instantiated: int does not satisfy dsl.Real", ""},
		{"mismatch", Request{Func: "Scale", Sig: "func(dsl.Thread, []float32)"}, "14:6: K0008: Scale cannot be instantiated: type func(dsl.Thread, []float32) does not match func(t dsl.Thread, x []T, by T)", ""},
		{"not types", Request{Func: "Scale", Sig: "func(dsl.Thread, "}, "K0006: \"func(dsl.Thread, \" is not a list of types for Scale", ""},
		{"more than types", Request{Func: "Scale", TypeArgs: []string{"int]; var _ = x[int"}}, "K0006", ""},
		{"struct elements", Request{Func: "Copy", TypeArgs: []string{"struct{ a int }"}}, "", "[]struct{a int} []struct{a int}"},
		{"pointer elements", Request{Func: "Copy", TypeArgs: []string{"*int"}}, "11:40: K0203: parameter of kernel Copy is []*int, a slice of what is not a number", ""},
		{"absent", Request{Func: "Absent"}, "K0004: package example.com/k has no kernel Absent", ""},
		{"not marked", Request{Func: "Helper"}, "k.go:19:1: K0005: Helper is not marked //kiln:kernel", ""},
	}
	for _, c := range tests {
		t.Run(c.name, func(t *testing.T) {
			c.req.Pkg = "example.com/k"
			m, err := Build(c.req, load)
			if c.err != "" {
				require.ErrorContains(t, err, c.err)
				require.IsType(t, diag.List{}, err)
				return
			}
			require.NoError(t, err)
			require.NoError(t, ir.Verify(m))
			var args []string
			for _, a := range m.Kernel().Args {
				args = append(args, a.Go)
			}
			require.Equal(t, c.args, strings.Join(args, " "))
		})
	}
}

const configured = head + `
type Config[T any] struct {
	Tile  dsl.ConstInt
	_     dsl.ConstBool
	Limit T
	Steps [2]dsl.ConstInt
	Fast  dsl.ConstBool
}

//kiln:kernel
func K[T dsl.Real](t dsl.Thread, x []T, n dsl.ConstInt, c Config[T], _ dsl.ConstInt, on bool) {
	if c.Fast && int(n) < len(x) {
		x[n] = c.Limit * T(c.Tile+c.Steps[1])
	}
}

//kiln:kernel
func None(t dsl.Thread, x []int) {}
`

func TestConstants(t *testing.T) {
	all := map[string]int64{"n": -3, "c.Tile": 4, "c.Steps[0]": 1, "3.Steps[1]": 7, "3.Fast": 1, "4": 5}
	with := func(name string, v int64) map[string]int64 {
		m := maps.Clone(all)
		m[name] = v
		return m
	}
	without := func(name string) map[string]int64 {
		m := maps.Clone(all)
		delete(m, name)
		return m
	}
	for _, c := range []struct {
		name string
		req  Request
		want string // name of the module, or error
	}{
		{"given", Request{Func: "K", Consts: all}, "k.K[float32]{n:-3,c.Tile:4,c.Steps[0]:1,c.Steps[1]:7,c.Fast:true,arg4:5}"},
		{"small", Request{Func: "K", Fill: FillSmall}, "k.K[float32]{n:1,c.Tile:1,c.Steps[0]:1,c.Steps[1]:1,c.Fast:false,arg4:1}"},
		{"large", Request{Func: "K", Fill: FillLarge, Consts: map[string]int64{"c.Fast": 0}}, "k.K[float32]{n:8,c.Tile:8,c.Steps[0]:8,c.Steps[1]:8,c.Fast:false,arg4:8}"},
		{"missing", Request{Func: "K", Consts: without("c.Tile")}, "15:59: K0009: compile-time parameter c.Tile of kernel K has no value"},
		{"missing parameter", Request{Func: "K", Consts: without("n")}, "15:43: K0009: compile-time parameter n of kernel K has no value"},
		{"unknown", Request{Func: "K", Consts: with("c.Tiel", 4)}, "K0009: kernel K has no compile-time parameter c.Tiel"},
		{"no bool", Request{Func: "K", Consts: with("3.Fast", 2)}, "K0009: 2 is no value for the compile-time parameter c.Fast, a bool"},
		{"not compile-time", Request{Func: "K", Consts: with("on", 1)}, "K0009: kernel K has no compile-time parameter on"},
		{"has none", Request{Func: "None", Consts: with("on", 1)}, "K0009: kernel None has no compile-time parameter "},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.req.Pkg = "k"
			if c.req.Func == "K" {
				c.req.TypeArgs = []string{"float32"}
			}
			m, err := Build(c.req, one("k", configured))
			if strings.Contains(c.want, "K0009") {
				require.ErrorContains(t, err, c.want)
				return
			}
			require.NoError(t, err)
			require.NoError(t, ir.Verify(m))
			require.Equal(t, c.want, m.Name)
			require.Equal(t, "{i64,bool,f32,[2]i64,bool}", m.Kernel().Args[2].Elem.String())
		})
	}
	_, err := Build(Request{Pkg: "k", Func: "K", Sig: "func(dsl.Thread, []float64, dsl.ConstInt, Config[float64], dsl.ConstInt, bool)", Consts: all}, one("k", configured))
	require.NoError(t, err)
	d := mistake(t, with("x", 1))
	require.Equal(t, "it has n, c.Tile, c.Steps[0], c.Steps[1], c.Fast, arg4", d.Note)
}

// mistake returns the first mistake in a request for K with these constants.
func mistake(t *testing.T, consts map[string]int64) diag.Diagnostic {
	_, err := Build(Request{Pkg: "k", Func: "K", TypeArgs: []string{"float32"}, Consts: consts}, one("k", configured))
	require.IsType(t, diag.List{}, err)
	return err.(diag.List)[0]
}

// Check compiles for both sets of representative values.
func TestCheckFillsConstants(t *testing.T) {
	names := map[string]bool{}
	list := Check(&Package{Path: "k", Files: []File{{Name: "k.go", Text: []byte(configured)}}}, nil, func(m *ir.Module) diag.List {
		names[m.Name] = true
		return nil
	})
	require.Empty(t, list)
	require.Len(t, names, 5)
	require.True(t, names["k.K[float64]{n:8,c.Tile:8,c.Steps[0]:8,c.Steps[1]:8,c.Fast:true,arg4:8}"], names)
	require.True(t, names["k.K[float64]{n:1,c.Tile:1,c.Steps[0]:1,c.Steps[1]:1,c.Fast:false,arg4:1}"], names)
	require.True(t, names["k.None"])
}

// A comment names values that make sense for a kernel.
func TestMarkedConstants(t *testing.T) {
	kernel := func(mark string) string {
		return head + "//kiln:kernel\n//kiln:const " + mark + "\nfunc K(t dsl.Thread, x []int, tile, radius dsl.ConstInt, on dsl.ConstBool) { x[0] = int(tile) }\n"
	}
	for _, c := range []struct {
		mark string
		want []string // names of instances, or the mistake
	}{
		{"tile=16,32 on=true", []string{"k.K{tile:16,radius:1,on:true}", "k.K{tile:32,radius:8,on:true}"}},
		{"tile=-0x4 radius=2,3\n//kiln:const on=true,false", []string{"k.K{tile:-4,radius:2,on:true}", "k.K{tile:-4,radius:3,on:false}"}},
		{"tiles=16", []string{"K0009: kernel K has no compile-time parameter tiles"}},
		{"tile", []string{"K0009: values of compile-time parameters of kernel K cannot be read: tile"}},
		{"tile=a", []string{"K0009: values of compile-time parameters of kernel K cannot be read: tile=a"}},
		{"tile=1,2,3", []string{"K0009: values of compile-time parameters of kernel K cannot be read: tile=1,2,3"}},
		{"on=2", []string{"K0009: 2 is no value for the compile-time parameter on, a bool"}},
	} {
		var got []string
		list := Check(&Package{Path: "k", Files: []File{{Name: "k.go", Text: []byte(kernel(c.mark))}}}, nil, func(m *ir.Module) diag.List {
			got = append(got, m.Name)
			return nil
		})
		for _, d := range list {
			got = append(got, string(d.Code)+": "+d.Msg)
		}
		require.Equal(t, c.want, got, c.mark)
	}
	m, err := Build(Request{Pkg: "k", Func: "K", Consts: map[string]int64{"tile": 5}, Fill: FillLarge}, one("k", kernel("tile=16 radius=2")))
	require.NoError(t, err)
	require.Equal(t, "k.K{tile:5,radius:2,on:true}", m.Name)
}

func TestLoadErrors(t *testing.T) {
	_, err := Build(Request{Pkg: "example.com/other", Func: "K"}, one("example.com/k", head))
	require.EqualError(t, err, "loading kernel package example.com/other: package example.com/other has no kernel source")
	_, err = Build(Request{Pkg: "example.com/other", Func: "K"}, nil)
	require.ErrorContains(t, err, "is not a kernel package")
	_, err = Build(Request{Pkg: "k", Func: "K"}, func(string) (*Package, error) { return nil, nil })
	require.ErrorContains(t, err, "is not a kernel package")
	_, err = Build(Request{Pkg: "k", Func: "K"}, one("k", "package"))
	require.ErrorContains(t, err, "k/k.go:1:8: K0001: expected 'IDENT', found 'EOF'")
}

func TestPackagesThatUseEachOther(t *testing.T) {
	texts := map[string]string{
		"example.com/a": `package a

import (
	"example.com/go-b"
	"example.com/odd"
	"github.com/gokiln/kiln/dsl"
)

//kiln:kernel
func K(t dsl.Thread, x []int) { x[0] = b.F(x[1]) + strange.N; b.V = 1 }
`,
		"example.com/go-b": "package b\n\nvar V int\n\nfunc F(x int) int { return x + " + "\"s\" }\n",
		"example.com/odd":  "package strange\n\nconst N = 3\n",
	}
	_, err := Build(Request{Pkg: "example.com/a", Func: "K"}, packages(texts))
	require.EqualError(t, err, "example.com/a/k.go:10:63: K0111: package variable b.V in a kernel (make it a constant, or pass it as a parameter)\n"+
		"example.com/go-b/k.go:5:28: K0002: invalid operation: x + \"s\" (mismatched types int and untyped string) (correct the code; go vet shows the same error)")

	texts = map[string]string{
		"a": "package a\n\nimport (\n\t\"b\"\n\n\t\"github.com/gokiln/kiln/dsl\"\n)\n\nfunc F() int { return 1 }\n\n//kiln:kernel\nfunc K(t dsl.Thread, x []int) { x[0] = b.G() }\n",
		"b": "package b\n\nimport \"a\"\n\nfunc G() int { return a.F() }\n",
	}
	_, err = Build(Request{Pkg: "a", Func: "K"}, packages(texts))
	require.ErrorContains(t, err, "K0007: kernel packages import each other")
}

func TestDuplicateDeclaration(t *testing.T) {
	list := Check(&Package{Path: "k", Files: []File{{Name: "k.go", Text: []byte(head + "func f() int { return 1 }\nfunc f() int { return 2 }\n\n//kiln:kernel\nfunc K(t dsl.Thread, x []int) { x[0] = f() }\n")}}}, nil, nil)
	require.ErrorContains(t, list, "K0002: f redeclared in this block")
}

func TestDisplayDirAndFileSelection(t *testing.T) {
	p := &Package{Path: "example.com/k", DisplayDir: "./k", Files: []File{
		{Name: "a.go", Text: []byte(head + "//kiln:kernel\nfunc K(t dsl.Thread, x []int) { x[0] = f(\"\") }\n")},
		{Name: "b.go", Text: []byte("//go:build !nosource\n\npackage k\n\nfunc f(x int) int { return x }\n")},
		{Name: "c.go", Text: []byte("//go:build ignore\n\npackage main\n\nfunc f() {}\n")},
		{Name: "d_test.go", Text: []byte("package k\n\nfunc f() {}\n")},
	}}
	require.Equal(t, []string{"K"}, Kernels(p))
	list := Check(p, nil, nil)
	require.EqualError(t, list, "k/a.go:6:42: K0002: cannot use \"\" (untyped string constant) as int value in argument to f (correct the code; go vet shows the same error)")
}

// TestForeignTypes checks that a kernel can be instantiated with types of packages
// that its own does not import, of the same name even.
func TestForeignTypes(t *testing.T) {
	texts := map[string]string{
		"a": head + "type apply interface{ Apply(float32) float32 }\n//kiln:kernel\nfunc Map[F apply](t dsl.Thread, x []float32, f F) { x[0] = f.Apply(x[0]) }\n",
		"b": "package k\n\ntype Op[T any] struct{ By T }\n\nfunc (o Op[T]) Apply(x float32) float32 { return x * 2 }\n",
		"c": "package k\n\ntype Op[T any] struct{ By T }\n\nfunc (o Op[T]) Apply(x float32) float32 { return x * 3 }\n",
		"d": "package d\n\nfunc Host() {}\n",
	}
	load := packages(texts)
	build := func(sig string) (*ir.Module, error) {
		return Build(Request{Pkg: "a", Func: "Map", Sig: "func(dsl.Thread, []float32, " + sig + ")"}, load)
	}
	b, err := build(`"b".Op["c".Op[int8]]`)
	require.NoError(t, err)
	c, err := build(`"c".Op["c".Op[int8]]`)
	require.NoError(t, err)
	require.NotEqual(t, b.Text(), c.Text())
	require.Equal(t, []string{"b", "c"}, input.Packages(`func("b".Op["c".Op[int8]], "b".X)`))
	_, err = build(`"d".None`)
	require.ErrorContains(t, err, "K0008: Map cannot be instantiated: undefined: ")
	_, err = build(`"e".Op`)
	require.ErrorContains(t, err, "K0008: Map cannot be instantiated: package e of type Op registers no kernel source")
	for path, other := range map[string]string{"a.b": "a_2eb", "a/b": "a_b"} {
		require.NotEqual(t, importName(path), importName(other))
	}

	sum, err := input.SourceHash("a", load)
	require.NoError(t, err)
	more, err := input.SourceHash("a", load, "b")
	require.NoError(t, err)
	require.NotEqual(t, sum, more)
}

// TestIntrinsicsComplete compares the table with the marks in package dsl and
// with the stand-ins.
func TestIntrinsicsComplete(t *testing.T) {
	want := map[string]bool{}
	for _, lib := range source.Libraries {
		u := lib()
		for name, d := range u.Decls {
			if d.Load(); d.Marks.Intrinsic && !isConst(d) && name != "Float16" {
				want[u.Name+"."+name] = true
			}
		}
		for recv, ms := range u.Methods {
			for name, d := range ms {
				if d.Load(); d.Marks.Intrinsic {
					want[u.Name+"."+recv+"."+name] = true
				}
			}
		}
	}
	for name := range want {
		require.Contains(t, Intrinsics(), name)
	}
	for _, name := range Intrinsics() {
		require.True(t, want[name], "%s has a row and no mark", name)
	}
}

// TestDispatchComplete compiles every dispatch function of package dsl at both
// widths, conversions for both 8-bit formats.
func TestDispatchComplete(t *testing.T) {
	u := source.Libraries[input.DSL]()
	n := 0
	for name, d := range u.Decls {
		if !d.Marks.Dispatch {
			continue
		}
		n++
		for _, w := range dispatchSuffixes(name) {
			impl := u.Decls[gotype.DispatchName(name, w)]
			require.NotNil(t, impl, "dsl.%s has no function for float%s", name, w)
			call := "x[0] = dsl." + name + "(x[1], x[2])"
			typ := "float" + w
			if w[0] == 'E' {
				typ = "dsl.F8" + w
				call = "x[0] = dsl.To[dsl.F8" + w + "](float32(dsl." + strings.Replace(name, "To", "F64", 1) + "(x[1])))"
			} else if strings.HasPrefix(name, "Atomic") {
				call = "dsl." + name + "(&x[0], x[1])"
			} else if strings.Contains(signatureOf(t, impl), "(x float"+w+")") {
				call = "x[0] = dsl." + name + "(x[1])"
			}
			text := fmt.Sprintf("%s//kiln:kernel\nfunc K(t dsl.Thread, x []%s) { %s }\n", head, typ, call)
			m, err := Build(Request{Pkg: "k", Func: "K"}, one("k", text))
			require.NoError(t, err)
			require.NoError(t, ir.Verify(m))
		}
	}
	require.Greater(t, n, 20)
}

func dispatchSuffixes(name string) []string {
	if name == "F32" || name == "F64" || name == "To" {
		return []string{"E4M3", "E5M2"}
	}
	return []string{"32", "64"}
}

func signatureOf(t *testing.T, d *source.Decl) string {
	d.Load()
	files, err := filepath.Glob("../../dsl/*.go")
	require.NoError(t, err)
	for _, f := range files {
		text, err := os.ReadFile(f)
		require.NoError(t, err)
		if _, rest, ok := strings.Cut(string(text), "\nfunc "+d.Name+"("); ok {
			line, _, _ := strings.Cut(rest, "\n")
			return "(" + line
		}
	}
	t.Fatalf("%s is not in package dsl", d.Name)
	return ""
}

// TestParallel compiles from many goroutines at once; run with -race.
func TestParallel(t *testing.T) {
	load := one("example.com/k", swiglu)
	want, err := Build(swigluRequest, load)
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 5 {
				m, err := Build(swigluRequest, load)
				if err != nil || m.String() != want.String() {
					t.Errorf("%v", err)
				}
			}
		})
	}
	wg.Wait()
}

// TestTextWithoutPositions checks that a comment moves positions only.
func TestTextWithoutPositions(t *testing.T) {
	a, err := Build(swigluRequest, one("example.com/k", swiglu))
	require.NoError(t, err)
	b, err := Build(swigluRequest, one("example.com/k", "// Comment.\n\n"+swiglu))
	require.NoError(t, err)
	require.Equal(t, a.Text(), b.Text())
	require.NotEqual(t, a.Pos, b.Pos)
}

func TestInternalErrorIsADiagnostic(t *testing.T) {
	m, err := Build(Request{Pkg: "k", Func: "K"}, func(string) (*Package, error) { panic("boom") })
	require.Nil(t, m)
	require.EqualError(t, err, "k.K: K0901: internal compiler error in k.K: boom (report it with the source of the kernel)")
	require.Contains(t, fmt.Sprintf("%+v", err), "api_test.go")
}

// liveHeap is what is in use after a collection.
func liveHeap() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// What the front end keeps is bounded in bytes, however many packages there are, and is given
// back when it is asked for.
func TestKeptIsBounded(t *testing.T) {
	defer func(p, s int) { source.Parsed.Most, shared.Most = p, s }(source.Parsed.Most, shared.Most)
	source.Parsed.Most, shared.Most = 2<<20, 4<<20
	build := func(i int) {
		path := fmt.Sprint("example.com/kept", i)
		body := fmt.Sprintf("//kiln:kernel\nfunc K(t dsl.Thread, x []float32) { x[0] = dsl.Exp(x[0]) + dsl.Sin(x[1]) + %d }\n//%s\n", i, strings.Repeat("x", 8<<10))
		_, err := Build(Request{Pkg: path, Func: "K"}, one(path, head+body))
		require.NoError(t, err)
	}
	Trim()
	build(-1)
	before := liveHeap()
	for i := range 200 {
		build(i)
	}
	require.LessOrEqual(t, source.Parsed.Bytes(), source.Parsed.Most)
	require.LessOrEqual(t, shared.Bytes(), shared.Most)
	require.Less(t, liveHeap(), before+12<<20)
	Trim()
	require.Zero(t, source.Parsed.Bytes())
	require.Zero(t, shared.Bytes())
	require.Less(t, liveHeap(), before+1<<20)
	build(3)
}

func TestCheckChoosesInstances(t *testing.T) {
	const text = head + `
type narrow interface {
	dsl.Number
	~int | ~float32 | ~string
}

type either interface{ dsl.Int | narrow }

//kiln:kernel
func A[T narrow](t dsl.Thread, x []T) { x[0]++ }

//kiln:kernel
func B[S ~[]T, T dsl.Real](t dsl.Thread, x S, y T) { x[0] = y }

//kiln:kernel
func C[K comparable, E either, F float32](t dsl.Thread, x []K, y []E, z []F) {
	if x[0] == x[1] {
		y[0]++
	}
}
`
	got := map[string]bool{}
	list := Check(&Package{Path: "k", Files: []File{{Name: "k.go", Text: []byte(text)}}}, nil, func(m *ir.Module) diag.List {
		got[m.Name] = true
		return nil
	})
	require.Empty(t, list)
	for _, name := range []string{
		"k.A[int]", "k.A[float32]", "k.B[[]float32,float32]", "k.B[[]float64,float64]", "k.C[float32,int,float32]", "k.C[int32,int8,float32]",
	} {
		require.Contains(t, got, name)
	}
	require.NotContains(t, got, "k.A[string]")
}

// Numbers as operands do not keep a kernel from being used with float32, where
// its arithmetic is right.
func TestConstantOperands(t *testing.T) {
	text := head + "//kiln:kernel\nfunc K[T dsl.Float](t dsl.Thread, x []T) {\n\tx[0] = max(x[1]*(2), 1)\n\tx[1] += 3\n}\n"
	_, err := Build(Request{Pkg: "k", Func: "K", TypeArgs: []string{"float32"}}, packages(map[string]string{"k": text}))
	require.NoError(t, err)
	_, err = Build(Request{Pkg: "k", Func: "K", TypeArgs: []string{"dsl.F16"}}, packages(map[string]string{"k": text}))
	require.ErrorContains(t, err, "K0125: * on dsl.F16")
}
