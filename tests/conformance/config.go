package conformance

import (
	"fmt"
	"math"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/tests/conformance/kernels"
)

// config adds the cases of compile-time parameters and of arguments passed by
// value.
func (b *builder) config() {
	odd := func(i int) kernels.Odd {
		o := kernels.Odd{A: int8(-i), B: math.MinInt64 + int64(i), C: i&1 == 0, D: dsl.F16(0x3C00 + i), E: [3]uint8{250, uint8(i), 252},
			F: float32(i) / 3, L: -1 << 31, M: 1 << 63, Q: int16(-300 * i)}
		o.H.I, o.H.J, o.H.K = 65535, -1/float64(i), dsl.BF16(0xBF80+i)
		o.N[0].P, o.N[1].O, o.N[1].P = uint32(i), true, 1<<32-1
		return o
	}
	b.add("Fields", kernels.Fields, 1, 32, make([]uint64, 52), uint8(200), odd(1), kernels.Plain{}, true, [2]kernels.Odd{odd(2), odd(3)}, int16(-5), float32(1.5))

	layouts := []kernels.Layout{
		{Rank: 1, Dims: [4]int{60}, Strides: [4]int{1}, Offset: 7},
		{Rank: 3, Dims: [4]int{3, 4, 5}, Strides: [4]int{1, 15, 3}},
		{Rank: 4, Dims: [4]int{2, 5, 3, 2}, Strides: [4]int{0, 3, 1, 30}, Offset: 1},
	}
	for _, l := range layouts {
		name := fmt.Sprint(l.Rank)
		b.add("Strided/float32/"+name, kernels.Strided[float32], 1, 32, make([]float32, 60), ranged[float32](b, 70, 10), l, [3]int{1, -2, 3})
		b.add("Strided/int8/"+name, kernels.Strided[int8], 3, 32, make([]int8, 60), ints[int8](b, 70), l, [3]int{100, 200, -300})
	}

	for _, c := range []kernels.Tiling{
		{Tile: 16, Each: 1, Alpha: 1}, {Tile: 16, Each: 4, Padded: true, Alpha: -0.5}, {Tile: 8, Each: 2, Padded: true, Alpha: 2}, {Tile: 8, Each: 8, Alpha: 0.25},
	} {
		tile := int(c.Tile)
		blocks := dsl.D2((29+tile-1)/tile, (35+tile-1)/tile)
		b.add3(fmt.Sprintf("Tiled/%d/%d/%t", c.Tile, c.Each, c.Padded), kernels.Tiled, blocks, dsl.D2(tile, tile/int(c.Each)),
			make([]float32, 35*29), ranged[float32](b, 35*19, 1), ranged[float32](b, 19*29, 1), 35, 29, 19, c)
	}

	weights := [9]float32{0.5, 0.25, -1, 3, 0.125}
	for _, radius := range []dsl.ConstInt{0, 1, 2, 4} {
		for _, around := range []dsl.ConstBool{false, true} {
			name := fmt.Sprintf("/%d/%t", radius, around)
			b.add("Stencil/float32"+name, kernels.Stencil[float32], 3, 32, make([]float32, 200), ranged[float32](b, 200, 10), radius, around, weights)
			b.add("Stencil/int32"+name, kernels.Stencil[int32], 3, 32, make([]int32, 50), ints[int32](b, 50), radius, around, [9]int32{1, -2, 3, -4, 5})
		}
	}
	for _, n := range []dsl.ConstInt{1, 2, 7, 32} {
		b.add(fmt.Sprintf("Slices/%d", n), kernels.Slices, 2, 96, make([]int32, 192), ints[int32](b, 192), n)
	}
}
