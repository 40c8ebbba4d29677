package compiler_test

import (
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/diag"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/ir"
	_ "github.com/gokiln/kiln/compiler/llvm" // makes itself known
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/internal/devlog"
	_ "github.com/gokiln/kiln/tests/conformance/kernels"
)

var update = flag.Bool("update", false, "rewrite testdata")

const kernels = "github.com/gokiln/kiln/tests/conformance/kernels"

// instances are kernels that use every part of the language.
var instances = []front.Request{
	{Pkg: kernels, Func: "SwiGLU", TypeArgs: []string{"float32"}},
	{Pkg: kernels, Func: "SwiGLU", TypeArgs: []string{"dsl.BF16"}},
	{Pkg: kernels, Func: "Ints", TypeArgs: []string{"int8"}},
	{Pkg: kernels, Func: "Floats", TypeArgs: []string{"float64"}},
	{Pkg: kernels, Func: "Bits"},
	{Pkg: kernels, Func: "Labels"},
	{Pkg: kernels, Func: "Structs"},
	{Pkg: kernels, Func: "Arrays"},
	{Pkg: kernels, Func: "Literals"},
	{Pkg: kernels, Func: "Reslice"},
	{Pkg: kernels, Func: "Reductions", TypeArgs: []string{"int32"}},
	{Pkg: kernels, Func: "Shuffles", TypeArgs: []string{"int64"}},
	{Pkg: kernels, Func: "Votes"},
	{Pkg: kernels, Func: "Histogram"},
	{Pkg: kernels, Func: "Atomics", TypeArgs: []string{"uint32"}},
	{Pkg: kernels, Func: "MatMul"},
	{Pkg: kernels, Func: "AtomicHalves", TypeArgs: []string{"dsl.BF16"}},
	{Pkg: kernels, Func: "LastBlock"},
	{Pkg: kernels, Func: "Scans", TypeArgs: []string{"float32"}},
	{Pkg: kernels, Func: "Strips", TypeArgs: []string{"float32"}, Consts: map[string]int64{"first": 0}},
	{Pkg: kernels, Func: "Words"},
	{Pkg: kernels, Func: "Reversed"},
	{Pkg: kernels, Func: "Carries"},
	{Pkg: kernels, Func: "Narrow", TypeArgs: []string{"dsl.F8E4M3"}},
	{Pkg: kernels, Func: "Narrow", TypeArgs: []string{"dsl.F8E5M2"}},
	{Pkg: kernels, Func: "Print"},
	{Pkg: kernels, Func: "Check"},
	{Pkg: kernels, Func: "Fields"},
	{Pkg: kernels, Func: "Strided", TypeArgs: []string{"int8"}, Consts: map[string]int64{"l.Rank": 3}},
	{Pkg: kernels, Func: "Tiled", Consts: map[string]int64{"cfg.Tile": 16, "cfg.Each": 4, "cfg.Padded": 1}},
	{Pkg: kernels, Func: "Slices", Fill: front.FillLarge},
}

func program(t testing.TB, req front.Request) *compiler.Program {
	t.Helper()
	p, err := compiler.Front(req, compiler.Registered)
	require.NoError(t, err)
	return p
}

// The log follows the arguments. The interpreter checks assertions itself, so that
// its log has the prints only.
func TestLog(t *testing.T) {
	p := program(t, front.Request{Pkg: kernels, Func: "Check"})
	for name, want := range map[string][]devlog.Site{
		"cpu":       {{Text: "%d passed\n", Values: []string{"i64"}}},
		"ptx:sm_80": {{Text: "elements are not negative", Fails: true, Check: devlog.Assert, Values: []string{"u64", "u64"}}, {Text: "%d passed\n", Values: []string{"i64"}}},
	} {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		art, err := p.Emit(tgt, compiler.Options{})
		require.NoError(t, err)
		require.NotNil(t, art.Log, name)
		assert.Equal(t, "Check", art.Log.Kernel)
		assert.Equal(t, 32, art.Log.Offset)
		assert.Equal(t, 32, art.ArgBytes())
		assert.Len(t, art.Args, 2)
		for i, s := range art.Log.Sites {
			assert.Contains(t, p.Positions[s.Pos-1].File, "kernels/log.go")
			s.Pos = 0
			assert.Equal(t, want[i], s)
		}
	}
	art, err := program(t, front.Request{Pkg: kernels, Func: "Votes"}).Emit(target.CPU, compiler.Options{})
	require.NoError(t, err)
	assert.Nil(t, art.Log)
}

// versionTargets are the first and the last target of each kind, and one between.
func versionTargets(t *testing.T) []target.Target {
	sm90, err := target.Parse("ptx:sm_90")
	require.NoError(t, err)
	list := []target.Target{sm90}
	all := target.All()
	for i, tgt := range all {
		if i == 0 || all[i-1].Kind != tgt.Kind || i == len(all)-1 || all[i+1].Kind != tgt.Kind {
			list = append(list, tgt)
		}
	}
	return list
}

// Cached artifacts are keyed by compiler.Version instead of by the compiler's
// code. So the version must change whenever the code that comes out does.
func TestVersion(t *testing.T) {
	h := sha256.New()
	for _, req := range instances {
		p := program(t, req)
		fmt.Fprintln(h, p.Hash)
		for _, tgt := range versionTargets(t) {
			for _, opt := range []compiler.Options{{}, {Assume: compiler.Small | compiler.Aligned | compiler.Disjoint}, {Checked: true}} {
				art, err := p.Emit(tgt, opt)
				if err != nil { // what a target lacks
					fmt.Fprintln(h, err)
					continue
				}
				meta, err := json.Marshal(art.Meta)
				require.NoError(t, err)
				fmt.Fprintf(h, "%s\n%s\n", meta, art.Code)
			}
		}
	}
	have := fmt.Sprintf("%s %x\n", compiler.Version, h.Sum(nil))
	const file = "testdata/version.txt"
	if *update {
		require.NoError(t, os.WriteFile(file, []byte(have), 0o666))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	if have == string(want) {
		return
	}
	if recorded, _, _ := strings.Cut(string(want), " "); recorded == compiler.Version {
		t.Fatalf("the compiler's output changed: increase compiler.Version, so that old cache entries are not taken for new ones, then run go test ./compiler -update")
	}
	t.Fatalf("compiler.Version changed: run go test ./compiler -update")
}

// Compiling twice gives the same bytes, and no pass leaves an invalid module.
func TestDeterministicAndValid(t *testing.T) {
	sm90, err := target.Parse("ptx:sm_90")
	require.NoError(t, err)
	for _, req := range instances {
		a, err := program(t, req).Emit(sm90, compiler.Options{After: func(pass string, m *ir.Module) {
			assert.NoError(t, ir.Verify(m), "%s after %s", req.Func, pass)
		}})
		require.NoError(t, err)
		b, err := program(t, req).Emit(sm90, compiler.Options{})
		require.NoError(t, err)
		assert.Equal(t, string(a.Code), string(b.Code))
		assert.NotContains(t, string(a.Code), "trap", "release code has no bounds checks")
	}
}

// The interpreter's code assumes nothing, and every property changes some code.
func TestAssume(t *testing.T) {
	emit := func(name string, a compiler.Assume) string {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		art, err := program(t, front.Request{Pkg: kernels, Func: "Transpose", TypeArgs: []string{"float32"}}).Emit(tgt, compiler.Options{Assume: a})
		require.NoError(t, err)
		return string(art.Code)
	}
	all := compiler.Small | compiler.Aligned | compiler.Disjoint
	assert.Equal(t, emit("cpu", 0), emit("cpu", all))
	assert.NotContains(t, emit("ptx:sm_90", 0), "ld.global.nc")
	assert.Contains(t, emit("ptx:sm_90", compiler.Disjoint), "ld.global.nc")
	wide := strings.Count(emit("ptx:sm_90", 0), "64 ")
	assert.Less(t, strings.Count(emit("ptx:sm_90", compiler.Small), "64 "), wide)
	assert.Equal(t, "small,aligned,disjoint", all.String())
	assert.NotEqual(t, compiler.Options{}.Key(), compiler.Options{Assume: compiler.Small}.Key())
}

func TestChecked(t *testing.T) {
	sm90, err := target.Parse("ptx:sm_90")
	require.NoError(t, err)
	art, err := program(t, instances[0]).Emit(sm90, compiler.Options{Checked: true})
	require.NoError(t, err)
	assert.Equal(t, []compiler.Arg{
		{Name: "out", Go: "[]float32", Slice: true, Written: true, Size: 4, Offset: 0},
		{Name: "gate", Go: "[]float32", Slice: true, Size: 4, Offset: 16},
		{Name: "up", Go: "[]float32", Slice: true, Size: 4, Offset: 32},
	}, art.Args)
	assert.Equal(t, 48, art.ArgBytes())
	assert.False(t, art.Warp)
}

func load(text string) front.Loader {
	return func(path string) (*front.Package, error) {
		if path != "k" {
			return nil, fmt.Errorf("no package %s", path)
		}
		return &front.Package{Path: path, Files: []front.File{{Name: "k.go", Text: []byte(text)}}}, nil
	}
}

const scale = `package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func Scale(t dsl.Thread, x []float32) {
	if i := t.Global(); i < len(x) {
		x[i] *= 2
	}
}
`

// A comment moves lines; the hash that artifacts are keyed by stays, the
// positions of errors follow.
func TestCommentKeepsHash(t *testing.T) {
	req := front.Request{Pkg: "k", Func: "Scale"}
	a, err := compiler.Front(req, load(scale))
	require.NoError(t, err)
	b, err := compiler.Front(req, load(strings.Replace(scale, "//kiln", "// Scale doubles.\n//\n//kiln", 1)))
	require.NoError(t, err)
	assert.Equal(t, a.Hash, b.Hash)
	assert.NotEqual(t, a.Positions, b.Positions)
	c, err := compiler.Front(req, load(strings.Replace(scale, "*= 2", "*= 3", 1)))
	require.NoError(t, err)
	assert.NotEqual(t, a.Hash, c.Hash)

	cpu, err := target.Parse("cpu")
	require.NoError(t, err)
	art, err := a.Emit(cpu, compiler.Options{})
	require.NoError(t, err)
	assert.NotContains(t, string(art.Code), "k.go")
	m, err := ir.Parse(string(art.WithPositions(func() []ir.Pos { return a.Positions })))
	require.NoError(t, err)
	require.NoError(t, ir.Verify(m))
	assert.Contains(t, m.String(), "k.go")
}

func TestErrors(t *testing.T) {
	half := strings.Replace(scale, "x[i] *= 2", "t.Sync()", 1)
	p, err := compiler.Front(front.Request{Pkg: "k", Func: "Scale"}, load(half))
	require.NoError(t, err)
	_, err = p.Emit(target.CPU, compiler.Options{})
	var list diag.List
	require.ErrorAs(t, err, &list)
	assert.Equal(t, diag.DivergentBarrier, list[0].Code)
	assert.Contains(t, list[0].Note, "k/k.go:7:")

	// The block sum is one mistake, at the kernel's call, not one for each
	// barrier inside of package dsl.
	sum := strings.Replace(scale, "x[i] *= 2", "x[i] = dsl.BlockSum(t, x[i])", 1)
	p, err = compiler.Front(front.Request{Pkg: "k", Func: "Scale"}, load(sum))
	require.NoError(t, err)
	_, err = p.Emit(target.CPU, compiler.Options{})
	require.ErrorAs(t, err, &list)
	require.Len(t, list, 1)
	assert.Equal(t, diag.DivergentBarrier, list[0].Code)
	assert.Contains(t, list[0].Pos.String(), "k/k.go:8:")

	_, err = compiler.Front(front.Request{Pkg: "k", Func: "None"}, load(scale))
	assert.ErrorContains(t, err, "None")
	_, err = compiler.Front(front.Request{Pkg: "other", Func: "Scale"}, compiler.Registered)
	assert.ErrorContains(t, err, "add `//go:embed *.go`")
	_, err = program(t, instances[0]).Emit(target.CPU, compiler.Options{Disable: []string{"nosuch"}})
	assert.ErrorContains(t, err, "nosuch")

	args := strings.Replace(scale, "x []float32", "x []float32, a, b, c, d [250]float64", 1)
	p, err = compiler.Front(front.Request{Pkg: "k", Func: "Scale"}, load(args))
	require.NoError(t, err)
	_, err = p.Emit(target.CPU, compiler.Options{})
	require.NoError(t, err)
	sm90, err := target.Parse("ptx:sm_90")
	require.NoError(t, err)
	_, err = p.Emit(sm90, compiler.Options{})
	assert.ErrorContains(t, err, "k.Scale: has 8016 bytes of arguments, a launch on ptx:sm_90 takes 4096; pass large arrays as slices")

	big := strings.Replace(scale, "if i", "s := dsl.Shared[[20000]float32](t)\n\ts[0] = 1\n\tif i", 1)
	p, err = compiler.Front(front.Request{Pkg: "k", Func: "Scale"}, load(big))
	require.NoError(t, err)
	for name, want := range map[string]string{
		"cpu":        "",
		"ptx:sm_70":  "",
		"ptx:sm_75":  "k.Scale: needs 80000 bytes of shared memory, ptx:sm_75 has 65536 for a block; use smaller dsl.Shared arrays",
		"hip:gfx90a": "k.Scale: needs 80000 bytes of shared memory, hip:gfx90a has 65536 for a block",
		"msl:3.0":    "k.Scale: needs 80000 bytes of shared memory, msl:3.0 has 32768 for a block",
	} {
		tgt, err := target.Parse(name)
		require.NoError(t, err)
		art, err := p.Emit(tgt, compiler.Options{})
		if want != "" {
			assert.ErrorContains(t, err, want)
			continue
		}
		require.NoError(t, err)
		assert.Equal(t, 80000, art.Shared)
		assert.Equal(t, map[string]int{"ptx:sm_70": 80000}[name], art.Dynamic, "CUDA has launches ask for it")
	}

	large := strings.Replace(scale, "x[i] *= 2", "var a [1<<18]float32\n\ta[i] = x[i]\n\tx[0] = a[i+1]", 1)
	p, err = compiler.Front(front.Request{Pkg: "k", Func: "Scale"}, load(large))
	require.NoError(t, err)
	for _, tgt := range target.All()[:2] {
		_, err = p.Emit(tgt, compiler.Options{})
		assert.ErrorContains(t, err, fmt.Sprintf("1048576 bytes of local variables, %s has 524288 for a thread", tgt))
	}
}

func TestInternalError(t *testing.T) {
	err := error(&compiler.InternalError{Kernel: "k.F", Cause: "boom", Stack: []byte("stack\n")})
	assert.Equal(t, "internal compiler error in k.F: boom (please report it with the kernel's source)", err.Error())
	assert.Contains(t, fmt.Sprintf("%+v", err), "stack")
}

func TestCheck(t *testing.T) {
	pkg := func(text string) *front.Package {
		p, err := load(text)("k")
		require.NoError(t, err)
		return p
	}
	list, n := compiler.Check(pkg(scale), nil)
	assert.Empty(t, list)
	assert.Equal(t, 1, n)
	list, _ = compiler.Check(pkg(strings.Replace(scale, "x[i] *= 2", "t.Sync()", 1)), nil)
	require.Len(t, list, 1)
	assert.Equal(t, diag.DivergentBarrier, list[0].Code)
}

func BenchmarkEmit(b *testing.B) {
	for _, name := range []string{"cpu", "ptx:sm_90"} {
		tgt, err := target.Parse(name)
		require.NoError(b, err)
		for _, req := range []front.Request{instances[0], instances[len(instances)-1]} {
			p := program(b, req)
			b.Run(req.Func+"/"+name, func(b *testing.B) {
				for b.Loop() {
					if _, err := p.Emit(tgt, compiler.Options{}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

// The stages of the PTX emitter can be left out like passes.
func TestStages(t *testing.T) {
	const text = "package k\n\nimport \"github.com/gokiln/kiln/dsl\"\n\n//kiln:kernel\nfunc Sum(t dsl.Thread, out, x []float32, n int) {\n" +
		"\ts := float32(0)\n\tfor i := range int(x[0]) {\n\t\tv := dsl.LoadVec[[4]float32](x, t.Global()+i)\n\t\ts += v[0] * v[1] * v[2] * v[3]\n\t\tif t.ThreadX() > i {\n\t\t\tout[i] = s\n\t\t}\n\t}\n\tout[n] = s\n}\n"
	p, err := compiler.Front(front.Request{Pkg: "k", Func: "Sum"}, load(text))
	require.NoError(t, err)
	sm90, err := target.Parse("ptx:sm_90")
	require.NoError(t, err)
	emit := func(disable ...string) string {
		a, err := p.Emit(sm90, compiler.Options{Assume: compiler.Aligned, Disable: disable})
		require.NoError(t, err)
		return string(a.Code)
	}
	text90 := emit()
	assert.Contains(t, text90, "ld.global.v4.b32")
	assert.Regexp(t, `setp\.[a-z]+\.[su]64 (%p\d+).*\n\t@!?%p\d+ bra\.uni`, text90, "the loop's test")
	assert.Regexp(t, `@!?%p\d+ bra \$`, text90, "the test of the thread")
	assert.NotContains(t, emit("vectorize"), ".v4.")
	assert.NotContains(t, emit("uniform"), ".uni")
	_, err = p.Emit(sm90, compiler.Options{Disable: []string{"nosuch"}})
	assert.ErrorContains(t, err, "the stages of emitters are vectorize, uniform")
}
