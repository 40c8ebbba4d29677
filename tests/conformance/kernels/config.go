package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
)

// Plain does nothing to values.
type Plain struct{}

// Odd has fields in an order that needs padding everywhere.
type Odd struct {
	A int8
	B int64
	C bool
	D dsl.F16
	E [3]uint8
	F float32
	G Plain
	H struct {
		I uint16
		J float64
		K dsl.BF16
	}
	L int32
	M uint
	N [2]struct {
		O bool
		P uint32
	}
	Q int16
	R Plain
}

// Fields writes what a kernel sees of structs and arrays passed by value.
//
//kiln:kernel
func Fields(t dsl.Thread, out []uint64, x uint8, a Odd, p Plain, y bool, b [2]Odd, z int16, w float32) {
	if t.Global() != 0 {
		return
	}
	n := a.write(out)
	for i := range b {
		n += b[i].write(out[n:])
	}
	//lint:ignore SA4000 false if the field holds NaN
	if p == (Plain{}) && a.E != b[0].E && b[1].N == b[1].N {
		out[n] = uint64(x)
	}
	if y {
		out[n+1] = uint64(z)
	}
	out[n+2] = uint64(math.Float32bits(w))
}

func (o *Odd) write(out []uint64) int {
	out[0], out[1], out[2] = uint64(o.A), uint64(o.B), bit(o.C)
	out[3], out[4] = uint64(math.Float32bits(dsl.F32(o.D))), uint64(o.E[0])<<16|uint64(o.E[1])<<8|uint64(o.E[2])
	out[5], out[6], out[7] = uint64(math.Float32bits(o.F)), uint64(o.H.I), math.Float64bits(o.H.J)
	out[8], out[9], out[10] = uint64(o.H.K.Bits()), uint64(o.L), uint64(o.M)
	for i, n := range o.N {
		out[11+2*i], out[12+2*i] = bit(n.O), uint64(n.P)
	}
	out[15] = uint64(o.Q)
	return 16
}

func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// Layout is a strided view, as tensors pass it to their kernels.
type Layout struct {
	Rank    dsl.ConstInt
	Dims    [4]int
	Strides [4]int
	Offset  int
}

// At is the place of element i.
func (l Layout) At(i int) int {
	at := l.Offset
	for d := int(l.Rank) - 1; d >= 0; d-- {
		at += i % l.Dims[d] * l.Strides[d]
		i /= l.Dims[d]
	}
	return at
}

// Strided gathers a strided view; the loops over its dimensions unroll.
//
//kiln:kernel
//kiln:const l.Rank=1,3
func Strided[T float32 | int8](t dsl.Thread, out, in []T, l Layout, turn [3]int) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		out[i] = in[l.At(i)] + T(turn[i%3])
	}
}

// Tiling is the configuration of Tiled.
type Tiling struct {
	Tile   dsl.ConstInt // of a block, in each direction
	Each   dsl.ConstInt // rows of a thread
	Padded dsl.ConstBool
	Alpha  float32
}

func (c Tiling) pitch() dsl.ConstInt {
	if c.Padded {
		return c.Tile + 1
	}
	return c.Tile
}

// Tiled multiplies matrices with tiles in shared memory and sums in registers,
// both sized by the configuration. A block has Tile by Tile/Each threads.
//
//kiln:kernel
func Tiled(t dsl.Thread, c, a, b []float32, m, n, k int, cfg Tiling) {
	dsl.LaunchBounds(t, cfg.Tile*(cfg.Tile/cfg.Each), 2)
	as := dsl.SharedSlice[float32](t, cfg.Tile*cfg.pitch())
	bs := dsl.SharedSlice[float32](t, cfg.Tile*cfg.pitch())
	acc := dsl.LocalSlice[float32](cfg.Each)
	tile, pitch := int(cfg.Tile), int(cfg.pitch())
	x, col := t.ThreadX(), t.BlockX()*tile+t.ThreadX()
	for k0 := 0; k0 < k; k0 += tile {
		for e := range cfg.Each {
			y := t.ThreadY()*int(cfg.Each) + int(e)
			row := t.BlockY()*tile + y
			as[y*pitch+x], bs[y*pitch+x] = 0, 0
			if row < m && k0+x < k {
				as[y*pitch+x] = a[row*k+k0+x]
			}
			if k0+y < k && col < n {
				bs[y*pitch+x] = b[(k0+y)*n+col]
			}
		}
		t.Sync()
		for i := range cfg.Tile {
			for e := range cfg.Each {
				acc[e] = dsl.FMA(as[(t.ThreadY()*int(cfg.Each)+int(e))*pitch+int(i)], bs[int(i)*pitch+x], acc[e])
			}
		}
		t.Sync()
	}
	for e := range cfg.Each {
		if row := t.BlockY()*tile + t.ThreadY()*int(cfg.Each) + int(e); row < m && col < n {
			c[row*n+col] = cfg.Alpha * acc[e]
		}
	}
}

// Stencil sums the neighbours of each element, around the ends or clamped.
//
//kiln:kernel
//kiln:const radius=1,4 around=true,false
func Stencil[T float32 | int32](t dsl.Thread, out, in []T, radius dsl.ConstInt, around dsl.ConstBool, weights [9]T) {
	for i := t.Global(); i < len(out); i += t.GlobalSize() {
		var s T
		for d := -radius; d <= radius; d++ {
			j := i + int(d)
			if around {
				j = (j + len(in)) % len(in)
			} else {
				j = min(max(j, 0), len(in)-1)
			}
			s += weights[d+radius] * in[j]
		}
		out[i] = s
	}
}

// rotate passes values around the block through as many slots as it is told.
func rotate(t dsl.Thread, v int32, slots, by dsl.ConstInt) int32 {
	ring := dsl.SharedSlice[int32](t, slots)
	t.Sync()
	if t.ThreadX() < int(slots) {
		ring[t.ThreadX()] = v
	}
	t.Sync()
	return ring[(t.ThreadX()+int(by))%len(ring)]
}

// Slices uses sized arrays in helpers, in loops, sliced, and of structs.
//
//kiln:kernel
func Slices(t dsl.Thread, out, in []int32, n dsl.ConstInt) {
	v := in[t.Global()]
	r := rotate(t, v, n, 1)
	r += rotate(t, r, n, 2)     // the same object
	r += rotate(t, v, 2*n+1, 3) // another one
	for i := range 3 {
		seen := dsl.LocalSlice[[2]int32](n) // zeros each time
		seen[uint32(v)%uint32(n)][i&1] += v
		for _, s := range seen[:n/2] {
			r = r*3 + s[0] - s[1]
		}
		tail := seen[n/2:]
		r += tail[len(tail)-1][0]
	}
	out[t.Global()] = r
}
