package dsl_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/compiler/front"
	"github.com/gokiln/kiln/compiler/interp"
	"github.com/gokiln/kiln/compiler/target"
	"github.com/gokiln/kiln/dsl"
)

// compiled is a kernel out[i] = Name(x[i], y[i]), compiled for the interpreter.
func compiled(t *testing.T, name, typ string, args int) *interp.Program {
	t.Helper()
	call := "dsl." + name + "(x[i])"
	if args == 2 {
		call = "dsl." + name + "(x[i], y[i])"
	}
	text := fmt.Sprintf(`package k

import "github.com/gokiln/kiln/dsl"

//kiln:kernel
func K(t dsl.Thread, out, x, y []%s) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		out[i] = %s
	}
}
`, typ, call)
	load := func(string) (*front.Package, error) {
		return &front.Package{Path: "example.com/k", Files: []front.File{{Name: "k.go", Text: []byte(text)}}}, nil
	}
	p, err := compiler.Front(front.Request{Pkg: "example.com/k", Func: "K"}, load)
	require.NoError(t, err)
	art, err := p.Emit(target.CPU, compiler.Options{})
	require.NoError(t, err)
	prog, err := interp.Load(name, art.Code)
	require.NoError(t, err)
	return prog
}

// launch runs the kernel on slices of one length.
func launch[T dsl.Real](t *testing.T, p *interp.Program, out, x, y []T) {
	t.Helper()
	type slice struct {
		data unsafe.Pointer
		n    int
	}
	args := [3]slice{{unsafe.Pointer(&out[0]), len(out)}, {unsafe.Pointer(&x[0]), len(x)}, {unsafe.Pointer(&y[0]), len(y)}}
	block := unsafe.Slice((*byte)(unsafe.Pointer(&args)), unsafe.Sizeof(args))
	require.Len(t, block, p.ArgSize())
	require.NoError(t, p.Run(interp.Launch{Grid: [3]int{4, 1, 1}, Block: [3]int{64, 1, 1}, Args: block}))
	runtime.KeepAlive(&args)
}

// sameBits compares a compiled function with plain Go.
func sameBits[T dsl.Real](t *testing.T, name string, args int, f func(x, y T) T, x, y []T) {
	t.Helper()
	out := make([]T, len(x))
	typ := fmt.Sprintf("%T", out[0])
	launch(t, compiled(t, name, typ, args), out, x, y)
	for i := range out {
		want := f(x[i], y[i])
		if !same(float64(out[i]), float64(want)) {
			t.Fatalf("%s[%s](%x, %x) is %x compiled, %x in plain Go", name, typ, x[i], y[i], out[i], want)
		}
	}
}

// The functions promise the same bits wherever they run. This compares plain Go
// with the intermediate form of the compiler, from which all targets start.
func TestSameBitsCompiled(t *testing.T) {
	var x32, y32 []float32
	var x64, y64 []float64
	r := rand.New(rand.NewPCG(11, 12))
	put := func(x, y float64) {
		x64, y64 = append(x64, x), append(y64, y)
		x32, y32 = append(x32, float32(x)), append(y32, float32(y))
	}
	for _, x := range awkward {
		for _, y := range awkward {
			put(x, y)
		}
	}
	for range 3000 {
		put(r.NormFloat64()*10, r.NormFloat64()*10)
		put(r.Float64()*2-1, r.NormFloat64())
		put(math.Float64frombits(r.Uint64()), math.Float64frombits(r.Uint64()))
		put(float64(math.Float32frombits(r.Uint32())), float64(math.Float32frombits(r.Uint32())))
	}
	for _, u := range unaries {
		t.Run(u.name, func(t *testing.T) {
			sameBits(t, u.name, 1, func(x, _ float32) float32 { return u.f32(x) }, x32, y32)
			sameBits(t, u.name, 1, func(x, _ float64) float64 { return u.f64(x) }, x64, y64)
		})
	}
	pairs := append(binaries, binary{"Mod", dsl.Mod[float32], dsl.Mod[float64], nil},
		binary{"Copysign", dsl.Copysign[float32], dsl.Copysign[float64], nil},
		binary{"Min", dsl.Min[float32], dsl.Min[float64], nil}, binary{"Max", dsl.Max[float32], dsl.Max[float64], nil})
	for _, b := range pairs {
		t.Run(b.name, func(t *testing.T) {
			sameBits(t, b.name, 2, b.f32, x32, y32)
			sameBits(t, b.name, 2, b.f64, x64, y64)
		})
	}
	exact := strings.Fields("Round RoundEven Floor Ceil Trunc Abs Sqrt")
	f32 := []func(float32) float32{dsl.Round[float32], dsl.RoundEven[float32], dsl.Floor[float32], dsl.Ceil[float32], dsl.Trunc[float32], dsl.Abs[float32], dsl.Sqrt[float32]}
	f64 := []func(float64) float64{dsl.Round[float64], dsl.RoundEven[float64], dsl.Floor[float64], dsl.Ceil[float64], dsl.Trunc[float64], dsl.Abs[float64], dsl.Sqrt[float64]}
	for i, name := range exact {
		t.Run(name, func(t *testing.T) {
			sameBits(t, name, 1, func(x, _ float32) float32 { return f32[i](x) }, x32, y32)
			sameBits(t, name, 1, func(x, _ float64) float64 { return f64[i](x) }, x64, y64)
		})
	}
}
