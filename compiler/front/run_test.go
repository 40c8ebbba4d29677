package front

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gokiln/kiln/compiler/front/internal/cases"
	"github.com/gokiln/kiln/compiler/interp"
	"github.com/gokiln/kiln/compiler/pass"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
)

// run is a kernel with a launch and the arguments of it.
type run struct {
	name        string
	kernel      any // the Go function
	grid, block int
	args        func(r *rand.Rand) []any
}

func floats[T float32 | float64](n int) func(*rand.Rand) []T {
	return func(r *rand.Rand) []T {
		out := make([]T, n)
		for i := range out {
			out[i] = T(math.Round(r.NormFloat64()*64) / 8)
		}
		return out
	}
}

func ints[T dsl.Int | dsl.Uint](r *rand.Rand, n int) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(r.Uint64())
		if i%3 == 0 {
			out[i] %= 7
		}
	}
	return out
}

func halves[T ~uint16](r *rand.Rand, n int, mask uint16) []T {
	out := make([]T, n)
	for i := range out {
		out[i] = T(uint16(r.Uint32()) & mask)
	}
	return out
}

func f32(r *rand.Rand, n int) []float32 { return floats[float32](n)(r) }
func f64(r *rand.Rand, n int) []float64 { return floats[float64](n)(r) }

func intArgs[T dsl.Int | dsl.Uint](r *rand.Rand) []any {
	return []any{make([]T, 100), ints[T](r, 100), r.IntN(80), uint8(r.IntN(90))}
}

// functionArgs are numbers of all magnitudes, with the special ones among them.
func functionArgs[T float32 | float64](r *rand.Rand) []any {
	const n = 128
	x, y := make([]T, n), make([]T, n)
	special := []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0.5, 1e-40, 1e30, -0x1p-149}
	for i := range x {
		x[i] = T(r.NormFloat64() * math.Exp2(r.NormFloat64()*8))
		y[i] = T(r.NormFloat64() * 4)
		if i < len(special)*len(special) {
			x[i], y[i] = T(special[i%len(special)]), T(special[i/len(special)])
		}
		if i%2 == 1 && r.IntN(4) != 0 {
			x[i] = T(r.Float64()*2 - 1)
		}
	}
	return []any{make([]T, n*24), x, y}
}

func byValueArgs[T float32 | float64](r *rand.Rand) []any {
	x := floats[T](8)(r)
	return []any{make([]T, 6), [2][3]T{{x[0], x[1], x[2]}, {x[3], x[4], x[5]}}, cases.Point[T]{X: x[6], Y: x[7]}, struct{}{}}
}

var inOut = func(r *rand.Rand) []any { return []any{f32(r, 12), f32(r, 12)} }

var runs = []run{
	{name: "SwiGLU", kernel: cases.SwiGLU[float32], grid: 2, block: 32, args: func(r *rand.Rand) []any {
		return []any{make([]float32, 100), f32(r, 100), f32(r, 100)}
	}},
	{name: "SwiGLU/f16", kernel: cases.SwiGLU[dsl.F16], grid: 2, block: 32, args: func(r *rand.Rand) []any {
		return []any{make([]dsl.F16, 100), halves[dsl.F16](r, 100, 0xBFFF), halves[dsl.F16](r, 100, 0xBFFF)}
	}},
	{name: "SwiGLU/bf16", kernel: cases.SwiGLU[dsl.BF16], grid: 2, block: 32, args: func(r *rand.Rand) []any {
		return []any{make([]dsl.BF16, 100), halves[dsl.BF16](r, 100, 0xC0FF), halves[dsl.BF16](r, 100, 0xBFFF)}
	}},
	{name: "Control", kernel: cases.Control, grid: 1, block: 1, args: func(r *rand.Rand) []any {
		in := ints[int](r, 5)
		for i := range in {
			in[i] %= 20
		}
		return []any{make([]int, 4), in}
	}},
	{name: "Structs", kernel: cases.Structs, grid: 1, block: 1, args: inOut},
	{name: "Arrays", kernel: cases.Arrays, grid: 1, block: 1, args: inOut},
	{name: "Slices", kernel: cases.Slices, grid: 1, block: 1, args: inOut},
	{name: "Closures", kernel: cases.Closures, grid: 1, block: 1, args: inOut},
	{name: "LoopVars", kernel: cases.LoopVars, grid: 1, block: 1, args: func(r *rand.Rand) []any {
		return []any{ints[int](r, 12), ints[int](r, 12)}
	}},
	{name: "PointerFields", kernel: cases.PointerFields, grid: 1, block: 1, args: func(r *rand.Rand) []any {
		return []any{make([]int, 6), ints[int](r, 5)}
	}},
	{name: "Ints/int", kernel: cases.Ints[int], grid: 3, block: 16, args: intArgs[int]},
	{name: "Ints/int8", kernel: cases.Ints[int8], grid: 3, block: 16, args: intArgs[int8]},
	{name: "Ints/int16", kernel: cases.Ints[int16], grid: 3, block: 16, args: intArgs[int16]},
	{name: "Ints/int32", kernel: cases.Ints[int32], grid: 3, block: 16, args: intArgs[int32]},
	{name: "Ints/uint8", kernel: cases.Ints[uint8], grid: 3, block: 16, args: intArgs[uint8]},
	{name: "Ints/uint16", kernel: cases.Ints[uint16], grid: 3, block: 16, args: intArgs[uint16]},
	{name: "Ints/uint32", kernel: cases.Ints[uint32], grid: 3, block: 16, args: intArgs[uint32]},
	{name: "Ints/uint64", kernel: cases.Ints[uint64], grid: 3, block: 16, args: intArgs[uint64]},
	{name: "Floats/f32", kernel: cases.Floats[float32], grid: 1, block: 64, args: func(r *rand.Rand) []any {
		return []any{make([]float32, 100), f32(r, 100), make([]int, 100)}
	}},
	{name: "Floats/f64", kernel: cases.Floats[float64], grid: 1, block: 64, args: func(r *rand.Rand) []any {
		return []any{make([]float64, 100), f64(r, 100), make([]int, 100)}
	}},
	{name: "Functions/f32", kernel: cases.Functions[float32], grid: 2, block: 64, args: functionArgs[float32]},
	{name: "Functions/f64", kernel: cases.Functions[float64], grid: 2, block: 64, args: functionArgs[float64]},
	{name: "Math", kernel: cases.Math, grid: 2, block: 32, args: func(r *rand.Rand) []any {
		x := f64(r, 64)
		x[0], x[1], x[2], x[3] = math.Inf(1), math.Inf(-1), math.NaN(), math.Copysign(0, -1)
		return []any{make([]float64, 64), x, ints[uint64](r, 64)}
	}},
	{name: "Geom", kernel: cases.Geom, grid: 1, block: 1, args: func(r *rand.Rand) []any {
		return []any{make([]float32, 1), []uint8{0, uint8(r.IntN(3)), 0}}
	}},
	{name: "Block", kernel: cases.Block, grid: 2, block: 64, args: func(r *rand.Rand) []any {
		return []any{make([]float32, 128), f32(r, 128), make([]uint64, 128)}
	}},
	{name: "Atomics", kernel: cases.Atomics, grid: 1, block: 64, args: func(r *rand.Rand) []any {
		return []any{make([]float32, 2), make([]float64, 66), make([]int32, 8), make([]uint64, 3), make([]dsl.F16, 2), make([]dsl.BF16, 1)}
	}},
	{name: "Copies", kernel: cases.Copies, grid: 1, block: 64, args: func(r *rand.Rand) []any {
		return []any{make([]float32, 64), f32(r, 128), halves[dsl.BF16](r, 64, 0xBFFF)}
	}},
	{name: "CopiedVectors", kernel: cases.CopiedVectors, grid: 1, block: 64, args: func(r *rand.Rand) []any {
		return []any{make([]float32, 64), f32(r, 256), 50}
	}},
	{name: "Halves", kernel: cases.Halves, grid: 1, block: 32, args: func(r *rand.Rand) []any {
		return []any{halves[dsl.F16](r, 64, 0xBFFF), halves[dsl.BF16](r, 64, 0xBFFF), f32(r, 64)}
	}},
	{name: "Config", kernel: cases.Config, grid: 2, block: 32, args: func(r *rand.Rand) []any {
		c := cases.TileConfig{Tile: 8, Scale: 0.5, Edges: [3]int8{1, -2, int8(r.IntN(9))}, Last: true}
		c.Inner[0].On, c.Inner[0].Weight = true, 0x3C00
		c.Inner[1].On, c.Inner[1].Offset, c.Inner[1].Weight = true, int16(r.IntN(9)), 0xC200
		return []any{make([]float32, 50), f32(r, 40), c, dsl.ConstInt(8)}
	}},
	{name: "ByValue/f32", kernel: cases.ByValue[float32], grid: 1, block: 1, args: byValueArgs[float32]},
	{name: "ByValue/f64", kernel: cases.ByValue[float64], grid: 1, block: 1, args: byValueArgs[float64]},
	{name: "Eights", kernel: cases.Eights, grid: 1, block: 32, args: func(r *rand.Rand) []any {
		a, b := make([]dsl.F8E4M3, 64), make([]dsl.F8E5M2, 64)
		for i := range a {
			a[i], b[i] = dsl.F8E4M3(r.IntN(255)&^1), dsl.F8E5M2(r.IntN(0x7C))
		}
		return []any{a, b, f32(r, 64)}
	}},
	{name: "Results", kernel: cases.Results, grid: 1, block: 1, args: func(r *rand.Rand) []any {
		in := ints[int](r, 7)
		for i := range in {
			in[i] %= 20
		}
		return []any{make([]int, 8), in, r.IntN(2) == 0, 1.5}
	}},
}

// plain leaves out all passes but the required ones, which shows mistakes that
// an optimisation would hide.
var plain = func() (opt pass.Options) {
	for _, p := range pass.Passes {
		if !p.Required {
			opt.Disable = append(opt.Disable, p.Name)
		}
	}
	return opt
}()

// TestRun runs kernels as plain Go and as IR, optimised and not, and compares
// every bit of the results.
func TestRun(t *testing.T) {
	for _, c := range runs {
		t.Run(c.name, func(t *testing.T) {
			for seed := range uint64(8) {
				want := c.args(rand.New(rand.NewPCG(seed, 1)))
				require.NoError(t, c.host(want))
				for _, opt := range []pass.Options{{}, plain} {
					got := c.args(rand.New(rand.NewPCG(seed, 1)))
					require.NoError(t, c.interpret(got, opt))
					for i := range want {
						equalBits(t, i, want[i], got[i])
					}
				}
			}
		})
	}
}

func (c run) host(args []any) error {
	in := make([]reflect.Value, len(args)+1)
	for i, a := range args {
		in[i+1] = reflect.ValueOf(a)
	}
	return dsltest.Run(dsl.D1(c.grid), dsl.D1(c.block), func(t dsl.Thread) {
		call := append([]reflect.Value{reflect.ValueOf(t)}, in[1:]...)
		reflect.ValueOf(c.kernel).Call(call)
	})
}

func (c run) interpret(args []any, opt pass.Options) error {
	fn := runtime.FuncForPC(reflect.ValueOf(c.kernel).Pointer()).Name()
	req := Request{Pkg: casesPath, Func: kernelName(fn), Sig: signatureText(c.kernel), Fill: FillLarge}
	m, err := Build(req, registered)
	if err != nil {
		return err
	}
	if err := pass.Run(m, opt); err != nil {
		return err
	}
	p, err := interp.New(m)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, m)
	}
	packed := pack(args)
	err = p.Run(interp.Launch{Grid: [3]int{c.grid, 1, 1}, Block: [3]int{c.block, 1, 1}, Args: packed})
	runtime.KeepAlive(args)
	return err
}

// signatureText spells the type of a kernel as a request does: types of its own
// package without their path.
func signatureText(kernel any) string {
	return strings.ReplaceAll(reflect.TypeOf(kernel).String(), "struct {}", "struct{}")
}

func kernelName(fn string) string {
	var name []byte
	for i := len(casesPath) + 1; i < len(fn) && fn[i] != '['; i++ {
		name = append(name, fn[i])
	}
	return string(name)
}

// pack lays arguments out as a launch does.
func pack(args []any) []byte {
	var b []byte
	align := func(n int) {
		for len(b)%n != 0 {
			b = append(b, 0)
		}
	}
	for _, a := range args {
		v := reflect.ValueOf(a)
		if v.Kind() == reflect.Slice {
			align(8)
			b = appendRaw(b, uint64(v.Pointer()))
			b = appendRaw(b, uint64(v.Len()))
			continue
		}
		switch a.(type) {
		case dsl.ConstInt, dsl.ConstBool:
			continue // not passed
		}
		align(v.Type().Align())
		p := reflect.New(v.Type())
		p.Elem().Set(v)
		b = append(b, unsafe.Slice((*byte)(p.UnsafePointer()), v.Type().Size())...)
	}
	return b
}

func appendRaw(b []byte, x uint64) []byte {
	return append(b, unsafe.Slice((*byte)(unsafe.Pointer(&x)), 8)...)
}

// equalBits compares slices by their bytes; any NaN equals any other.
func equalBits(t *testing.T, i int, want, got any) {
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	if w.Kind() != reflect.Slice {
		return
	}
	for j := range w.Len() {
		a, b := w.Index(j), g.Index(j)
		same := a.Interface() == b.Interface()
		if a.CanFloat() {
			same = math.Float64bits(a.Float()) == math.Float64bits(b.Float()) || a.Float() != a.Float() && b.Float() != b.Float()
		}
		if !same {
			t.Fatalf("argument %d, element %d: Go has %v, IR has %v", i, j, a, b)
		}
	}
}
