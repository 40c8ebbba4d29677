package matmul

import (
	"reflect"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/tile"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// Precision is how exact products of float32 have to be. Other types are multiplied as they are,
// with sums in float32, but those of 8-bit floating-point numbers in [High] and below may have as
// few bits as the device's matrix instruction keeps. It is a permission: a device that has no
// faster way, and products that are too small for one, are as exact as in float32.
type Precision int

// The precisions, from the most exact one on.
const (
	Highest Precision = iota // each product and sum in one rounding, as by FMA
	Split                    // factors are sums of three bfloat16, each product is off by less than 2⁻²⁵ of it; those of infinities are NaN
	High                     // factors have 10 bits of fraction (TF32), or are sums of two bfloat16 as above
	Medium                   // factors are rounded to bfloat16
)

// Options are what a product may be asked for.
type Options struct {
	Precision Precision
	Strategy  string // one of [MatmulStrategies], "" for the best
	Epilogue

	scales *scales
}

// findUnit finds out what matrix instruction there is for the factors.
func (p *Problem) findUnit(dev *runtime.Device) {
	t := p.A.DType.Type()
	if p.TF32 {
		t = reflect.TypeFor[dsl.TF32]()
	}
	p.MatrixRows = jit.MatrixShape(dev, t, dsl.MatrixM)
	p.loads = jit.MatrixShape(dev, t, dsl.MatrixLoads) > 0
	p.PackedMMA = jit.MatrixShape(dev, t, dsl.MatrixPacked) > 0
	p.Warpgroups = jit.MatrixShape(dev, t, dsl.MatrixWarpgroup) > 0
	p.transposes = jit.MatrixShape(dev, t, dsl.MatrixTransposes) > 0
	p.KMajor = p.Warpgroups && !p.transposes
}

// needsKMajor reports whether factor i would have to be contiguous along k for warpgroups, and is
// not.
func (p *Problem) needsKMajor(i int) bool {
	if !p.KMajor {
		return false
	}
	order, _ := p.order(i, largestTile)
	return order == tile.AcrossK
}
