package testkernels

import "github.com/gokiln/kiln/dsl"

// Tap is a part of a configuration.
type Tap struct {
	On     dsl.ConstBool
	Offset int16
}

// Config mixes compile-time fields with others.
type Config[T dsl.Real] struct {
	Tile  dsl.ConstInt
	Last  bool
	Taps  [2]Tap
	_     dsl.ConstInt
	Scale T
}

// Filter sums n neighbours and scales them.
//
//kiln:kernel
func Filter[T dsl.Real](t dsl.Thread, out, in []T, n dsl.ConstInt, cfg Config[T]) {
	tile := dsl.SharedSlice[T](t, cfg.Tile)
	for i := t.ThreadX(); i < int(cfg.Tile); i += t.BlockDimX() {
		tile[i] = 0
		if i < len(in) {
			tile[i] = in[i]
		}
	}
	t.Sync()
	i := t.Global()
	if i >= len(out) {
		return
	}
	var s T
	for k := range n {
		s += tile[(i+int(k))%int(cfg.Tile)]
	}
	if cfg.Taps[1].On {
		s += T(cfg.Taps[1].Offset)
	}
	if cfg.Last {
		s = -s
	}
	out[i] = s * cfg.Scale
}

// Fill has compile-time parameters only.
//
//kiln:kernel
func Fill(t dsl.Thread, out []int32, value dsl.ConstInt, negative dsl.ConstBool) {
	if negative {
		value = -value
	}
	out[t.Global()] = int32(value)
}

// Bounded runs in blocks of 32·n threads.
//
//kiln:kernel
func Bounded(t dsl.Thread, out []int32, n dsl.ConstInt) {
	dsl.LaunchBounds(t, 32*n, 0)
	out[t.Global()] = int32(t.BlockDimX())
}

// Crowd has more compile-time values than a kernel may have.
//
//kiln:kernel
func Crowd(t dsl.Thread, out []int32, a [40]dsl.ConstInt) {}

// Large has an argument of most of the size that a launch takes.
//
//kiln:kernel
func Large(t dsl.Thread, out []int64, a, b [240]int64) {
	if i := t.Global(); i < len(out) {
		out[i] = a[i] - b[i]
	}
}

// Pair is a generic type with two type parameters.
type Pair[A, B any] struct {
	First  A
	Second B
}
