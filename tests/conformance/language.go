package conformance

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/conformance/kernels"
	"github.com/gokiln/kiln/tests/conformance/language"
	"github.com/gokiln/kiln/tests/conformance/language/vec3"
)

// language adds the cases of package language.
func (b *builder) language() {
	b.structs()
	b.functors()
	b.warps()
	b.vectors()
	b.add("Flow", language.Flow, 2, 64, make([]int32, 100), tiny(b, 100, 20))
	b.add("Assign", language.Assign, 1, 32, make([]int, 32))
	b.add("Generic", language.Generic, 1, 32, make([]float32, 32), ranged[float32](b, 32, 10))
	near := func() []language.Metres {
		out := make([]language.Metres, 64)
		for i, x := range ranged[float32](b, 64, 3) {
			out[i] = language.Metres(x)
		}
		return out
	}
	b.add("Measures/named", language.Measures[language.Metres, language.Count], 1, 64, make([]language.Metres, 64), make([]language.Count, 2), near(), near())
	b.add("Measures/basic", language.Measures[float32, int32], 1, 64, make([]float32, 64), make([]int32, 2), ranged[float32](b, 64, 3), near())
	b.add("Lits", language.Lits, 1, 32, make([]int, 32), few(b, 32))
	b.add("Ptrs", language.Ptrs, 1, 64, make([]int32, 64), tiny(b, 64, 20))
	b.add("SlicesFrom", language.SlicesFrom, 2, 64, make([]int32, 117), tiny(b, 117, 9))
	b.add("Reslices", language.Reslices, 1, 64, make([]int32, 64), tiny(b, 80, 20))
	b.add("Consts", language.Consts, 1, 64, make([]int64, 64))
	b.add("Ops", language.Ops, 2, 64, make([]int64, 128), ints[int64](b, 128), ranged[float64](b, 128, 100))
	b.add("Embed", language.Embed, 1, 64, make([]int32, 64), tiny(b, 64, 20))
	b.add("Ranges", language.Ranges, 1, 64, make([]int, 64), few(b, 64))
	b.add3("Geo3", language.Geo3, dsl.D3(2, 3, 2), dsl.D3(4, 2, 4), make([]int, 12*32))
	b.add("Meth", language.Meth, 1, 16, make([]float32, 16), ranged[float32](b, 16, 10))
	b.add("MethodValues", language.MethodValues, 2, 64, make([]int32, 100), tiny(b, 100, 20))
	b.add("MethodSync", language.MethodSync, 1, 64, make([]int32, 64), tiny(b, 64, 20))
	for _, n := range []int{0, 1, 2, 3, 7, 16} {
		b.add(fmt.Sprintf("Unrolled/%d", n), language.Unrolled, 2, 64, make([]int32, 100), tiny(b, 100, 20), n, dsl.ConstInt(n%5))
		b.add(fmt.Sprintf("UnrolledSync/%d", n), language.UnrolledSync, 1, 64, make([]int32, 64), tiny(b, 64, 20), n)
	}
	b.add("Funcs", language.Funcs, 1, 32, make([]int, 32), few(b, 32))
	b.add("Order", language.Order, 1, 32, make([]int, 32), few(b, 32))
	b.add("Arr2", language.Arr2, 1, 64, make([]int32, 64), tiny(b, 100, 20))
	b.add("Bits2", language.Bits2, 2, 64, make([]uint64, 128), ints[uint64](b, 128))
	b.add("Shadow", language.Shadow, 1, 64, make([]int, 64), few(b, 64), int32(1), 2, 3)
	b.add("CRC32", language.CRC32, 2, 64, make([]uint32, 150), ints[uint8](b, 1200))
	b.add("Tables", language.Tables, 2, 64, make([]int64, 100), make([]float32, 100), ranged[float32](b, 100, 9), ints[int32](b, 100), 2)
	b.add("Doubles", language.Doubles, 1, 64, make([]float64, 100), ints[int32](b, 100))
	b.add("Early", language.Early, 1, 32, make([]int32, 64), tiny(b, 64, 20))
	b.add("Atoms", language.Atoms, 1, 64, make([]int32, 4), make([]uint64, 4))
	for _, on := range []bool{false, true} {
		b.add(fmt.Sprintf("JoinedVariables/%t", on), language.JoinedVariables, 1, 1, make([]int32, 1), on)
		b.add(fmt.Sprintf("JoinedFields/%t", on), language.JoinedFields, 1, 1, make([]int32, 1), on)
		b.add(fmt.Sprintf("JoinedElements/%t", on), language.JoinedElements, 1, 1, []int32{3}, on)
		b.add(fmt.Sprintf("JoinedResults/%t", on), language.JoinedResults, 1, 1, []int32{3, 4}, on)
	}
}

func (b *builder) structs() {
	p := language.Particle{Alive: true, Kind: 1, Tags: [3]int16{1: 5}}
	p.Pos.X, p.Vel.Y = 1, 2
	b.add("StructArrays", language.StructArrays, 2, 64, make([]float32, 128), p, [2]language.Particle{p, {}})
	const n = 40
	elems := func() []language.P {
		out := make([]language.P, n)
		for i, x := range ranged[float32](b, n, 10) {
			out[i] = language.P{Kind: int8(i - 5), H: dsl.To[dsl.F16](x), N: -3, A: [2]uint16{1: uint16(i * i)}, E: dsl.To[dsl.F8E5M2](x)}
			out[i].V.X, out[i].V.Z = x, 2
		}
		return out
	}
	rows := make([][3]float32, n)
	for i := range rows {
		rows[i] = [3]float32(ranged[float32](b, 3, 10))
	}
	b.add("SliceOfStruct", language.SliceOfStruct, 1, 32, elems(), make([]float32, n), rows)
	b.add("SliceOfT/struct", language.SliceOfT[language.P], 1, 32, make([]language.P, n), elems())
	b.add("SliceOfT/array", language.SliceOfT[[3]float32], 1, 32, make([][3]float32, n), rows)
	b.add("SliceOfT/bool", language.SliceOfT[bool], 1, 32, make([]bool, n), alternating(n))

	c := language.Cfg{Tile: 8, Scale: 2}
	c.Deep.K, c.Deep.On = 4, true
	scene := language.Scene{Shift: [2]int16{9, 1}, Step: 3, By: dsl.To[dsl.F16](float32(0.5))}
	scene.In = language.Grid2[float32]{Cells: ranged[float32](b, 35, 10), Cols: 5}
	scene.Work.Marks, scene.Work.On = make([]int8, 7), true
	scene.Work.Deep = language.Grid2[int32]{Cells: tiny(b, 35, 20), Cols: 5}
	b.add("Views", language.Views, 1, 32, make([]float32, 35), scene, language.Grid2[float32]{Cells: ranged[float32](b, 5, 10), Cols: 1})
	b.add("Sized/on", language.Sized, 1, 64, make([]float32, 64), c, dsl.ConstInt(3), dsl.ConstBool(true))
	b.add("Sized/off", language.Sized, 1, 64, make([]float32, 64), c, dsl.ConstInt(5), dsl.ConstBool(false))
}

// functors adds kernels that have types with a method as arguments.
func (b *builder) functors() {
	const n = 100
	in := ranged[float32](b, n, 10)
	type (
		gelu   = language.Gelu[float32]
		affine = language.Affine[float32]
	)
	first := affine{A: 2, B: 3}
	b.add("Map/Gelu", language.Map[float32, gelu], 1, 32, make([]float32, n), in, gelu{})
	b.add("Map/Affine", language.Map[float64, language.Affine[float64]], 1, 32, make([]float64, n), ranged[float64](b, n, 10), language.Affine[float64]{A: 2, B: 3})
	b.add("Map/Then", language.Map[float32, language.Then[float32, affine, gelu]], 1, 32, make([]float32, n), in, language.Then[float32, affine, gelu]{First: first})
	fade := vec3.Fade[float32]{By: vec3.V3[float32]{X: 3, Z: 0.5}}
	b.add("Map/Fade", language.Map[float32, vec3.Fade[float32]], 1, 32, make([]float32, n), in, fade)
	b.add("Map/Then/Fade", language.Map[float32, language.Then[float32, vec3.Fade[float32], affine]], 1, 32, make([]float32, n), in,
		language.Then[float32, vec3.Fade[float32], affine]{First: fade, Second: first})
	b.add("SliceOfT/other", language.SliceOfT[vec3.V3[float64]], 1, 32, make([]vec3.V3[float64], n), make([]vec3.V3[float64], n))
	b.add("MapTo/bf16", language.MapTo[dsl.BF16, gelu], 1, 32, make([]dsl.BF16, n), halves[dsl.BF16](b, n), gelu{})
	b.add("Fixed", language.Fixed, 1, 32, make([]float32, n), in)
}

// warps has the operations of warps and blocks for every type of 4 and 8 bytes.
func (b *builder) warps() {
	const n, each = 128, 12
	b.add("Warps/int", language.Warps[int], 2, 64, make([]int, n*each), ints[int](b, n))
	b.add("Warps/uint", language.Warps[uint], 2, 64, make([]uint, n*each), ints[uint](b, n))
	b.add("Warps/int32", language.Warps[int32], 2, 64, make([]int32, n*each), ints[int32](b, n))
	b.add("Warps/uint32", language.Warps[uint32], 2, 64, make([]uint32, n*each), ints[uint32](b, n))
	b.add("Warps/int64", language.Warps[int64], 2, 64, make([]int64, n*each), ints[int64](b, n))
	b.add("Warps/uint64", language.Warps[uint64], 2, 64, make([]uint64, n*each), ints[uint64](b, n))
	b.add("Warps/float32", language.Warps[float32], 2, 64, make([]float32, n*each), ranged[float32](b, n, 10))
	b.add("Warps/float64", language.Warps[float64], 2, 64, make([]float64, n*each), ranged[float64](b, n, 10))
	for _, d := range []dsl.Dim3{dsl.D3(64, 1, 1), dsl.D3(128, 2, 2)} {
		b.add3(fmt.Sprintf("WholeRows/%dx%dx%d", d.X, d.Y, d.Z), language.WholeRows, dsl.D1(2), d, make([]int32, 2*d.X*d.Y*d.Z), ints[int32](b, 2*d.X*d.Y*d.Z))
	}
	// Kernels that only ask for their lane and warp take blocks of any size.
	for _, d := range []dsl.Dim3{dsl.D3(45, 1, 1), dsl.D3(5, 3, 3), dsl.D3(40, 1, 2), dsl.D3(3, 1, 1)} {
		b.add3(fmt.Sprintf("PartWarps/%dx%dx%d", d.X, d.Y, d.Z), kernels.Geometry, dsl.D3(2, 3, 1), d, make([]int, 6*d.X*d.Y*d.Z))
	}
}

// vectors has accesses of several elements for every size of an element.
func (b *builder) vectors() {
	const n = 128
	b.add("Vecs/int8", language.Vecs[int8], 1, 32, make([]int8, n), ints[int8](b, n))
	b.add("Vecs/uint16", language.Vecs[uint16], 1, 32, make([]uint16, n), ints[uint16](b, n))
	b.add("Vecs/float32", language.Vecs[float32], 1, 32, make([]float32, n), floats[float32](b, n))
	b.add("Vecs/float64", language.Vecs[float64], 1, 32, make([]float64, n), floats[float64](b, n))
	b.add("Vecs/f16", language.Vecs[dsl.F16], 1, 32, make([]dsl.F16, n), halves[dsl.F16](b, n))
	b.add("Vecs/bf16", language.Vecs[dsl.BF16], 1, 32, make([]dsl.BF16, n), halves[dsl.BF16](b, n))
	a, c := make([]dsl.F8E4M3, 64), make([]dsl.F8E5M2, 64)
	for i := range a {
		a[i], c[i] = dsl.F8E4M3(i), dsl.F8E5M2(i+20)
	}
	b.add("Vecs/e4m3", language.Vecs[dsl.F8E4M3], 1, 16, make([]dsl.F8E4M3, 64), a)
	b.add("F8s", language.F8s, 1, 64, a, c, halves[dsl.F16](b, 64), halves[dsl.BF16](b, 64), make([]float32, 64))
	flags, temps := make([]language.Flags, 64), make([]language.Temp, 64)
	for i := range flags {
		flags[i], temps[i] = language.Flags(i), language.Temp(i)/3
	}
	b.add("Named", language.Named, 1, 64, make([]float64, 64), ints[int32](b, 64), flags, temps)
}

// few draws small numbers.
func few(b *builder, n int) []int {
	out := make([]int, n)
	for i, x := range tiny(b, n, 20) {
		out[i] = int(x)
	}
	return out
}

func alternating(n int) []bool {
	out := make([]bool, n)
	for i := range out {
		out[i] = i%3 == 0
	}
	return out
}
