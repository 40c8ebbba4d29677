package dsl_test

import (
	"fmt"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
)

// Config is what the kernel of the example is compiled for, and a number that
// it is given.
type Config struct {
	Tile  dsl.ConstInt
	Shift dsl.ConstBool
	Scale float32
}

// smooth adds up radius neighbours on each side, in tiles.
func smooth(t dsl.Thread, out, in []float32, radius dsl.ConstInt, cfg Config) {
	tile := dsl.SharedSlice[float32](t, cfg.Tile+2*radius)
	first := t.BlockX()*int(cfg.Tile) - int(radius)
	for i := t.ThreadX(); i < len(tile); i += t.BlockDimX() {
		tile[i] = 0
		if j := first + i; j >= 0 && j < len(in) {
			tile[i] = in[j]
		}
	}
	t.Sync()
	if i := t.Global(); i < len(out) {
		var sum float32
		for d := range 2*radius + 1 { // unrolls
			sum += tile[t.ThreadX()+int(d)]
		}
		if cfg.Shift { // decided when the kernel is compiled
			sum++
		}
		out[i] = sum * cfg.Scale
	}
}

func ExampleConstInt() {
	in, out := []float32{1, 2, 3, 4, 5, 6}, make([]float32, 6)
	cfg := Config{Tile: 4, Scale: 0.5}
	err := dsltest.Run(dsl.D1(2), dsl.D1(4), func(t dsl.Thread) { smooth(t, out, in, dsl.ConstInt(1), cfg) })
	fmt.Println(out, err)
	// Output: [1.5 3 4.5 6 7.5 5.5] <nil>
}
