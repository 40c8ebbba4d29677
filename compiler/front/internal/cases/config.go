package cases

import "github.com/gokiln/kiln/dsl"

type place struct {
	On     dsl.ConstBool
	Offset int16
	Weight dsl.F16
}

// TileConfig has fields that are fixed at compile time and others.
type TileConfig struct {
	Tile  dsl.ConstInt
	Scale float32
	Edges [3]int8
	Inner [2]place
	_     int32
	Last  bool
}

func (c TileConfig) halo(radius dsl.ConstInt) dsl.ConstInt {
	if c.Inner[1].On {
		return c.Tile + 2*radius
	}
	return c.Tile
}

// Config has compile-time parameters and a struct, and arrays sized by them.
//
//kiln:kernel
func Config(t dsl.Thread, out, in []float32, cfg TileConfig, radius dsl.ConstInt) {
	n := cfg.halo(radius)
	if cfg.Inner[0].On {
		n *= 2
	}
	tile := dsl.SharedSlice[float32](t, n)
	for i := t.ThreadX(); i < len(tile); i += t.BlockDimX() {
		tile[i] = 0
		if i < len(in) {
			tile[i] = in[i] * cfg.Scale
		}
	}
	t.Sync()
	sums := dsl.LocalSlice[float32](radius)
	for k := range radius {
		for i := 0; i < int(cfg.Tile); i++ {
			sums[k] += tile[i+int(k)] * dsl.F32(cfg.Inner[k&1].Weight)
		}
	}
	s := float32(cfg.Edges[t.ThreadX()%3])
	for _, v := range sums[1:] {
		s += v
	}
	if g := t.Global(); g < len(out) && cfg.Last {
		out[g] = s + sums[0]*float32(cfg.Inner[1].Offset)
	}
}

// ByValue has an array as parameter, changes its copy of a struct, and compares
// structs.
//
//kiln:kernel
func ByValue[T dsl.Real](t dsl.Thread, out []T, rows [2][3]T, at Point[T], none struct{}) {
	if none == (struct{}{}) && at != (Point[T]{}) {
		at.X += rows[1][2]
	}
	rows[t.ThreadX()&1][1] = at.X
	for i := range out {
		out[i] = rows[i&1][i%3] + at.Y
	}
}

// Point is a generic struct.
type Point[T dsl.Real] struct{ X, Y T }
