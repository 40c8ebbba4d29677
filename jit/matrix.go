package jit

import (
	"reflect"
	"sync"

	"github.com/gokiln/kiln/compiler/ir"
	"github.com/gokiln/kiln/compiler/matrix"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
)

// matrixKinds are the kinds of products that [dsl.MMA] makes, by the type of the factors.
var matrixKinds = map[reflect.Type]ir.MatrixKind{
	reflect.TypeFor[dsl.F16](): ir.MatrixF16, reflect.TypeFor[dsl.BF16](): ir.MatrixBF16, reflect.TypeFor[float64](): ir.MatrixF64,
	reflect.TypeFor[dsl.TF32](): ir.MatrixTF32, reflect.TypeFor[dsl.F8E4M3](): ir.MatrixE4M3, reflect.TypeFor[dsl.F8E5M2](): ir.MatrixE5M2,
	reflect.TypeFor[int8](): ir.MatrixI8, reflect.TypeFor[uint8](): ir.MatrixU8,
}

type matrixKey struct {
	arch string
	way  *way // that leads to the device, whose target may have other instructions
	elem reflect.Type
}

var matrixUnits sync.Map // matrixKey -> *matrix.Unit

// MatrixShape returns what [dsl.MatrixShape] is in kernels for a device, for factors of a type: 0
// where it has no matrix instruction. It is for choosing among kernels, and costs a look-up.
func MatrixShape(dev *runtime.Device, elem reflect.Type, fact dsl.MatrixFact) int {
	info := dev.Info()
	if fact == dsl.MatrixPacked {
		return packedRows(dev, elem)
	}
	key := matrixKey{info.Arch, wayTo(info.Formats), elem}
	u, ok := matrixUnits.Load(key)
	if !ok {
		var unit *matrix.Unit
		if kind, ok := matrixKinds[elem]; ok {
			if t, err := targetOf(dev); err == nil {
				unit = matrix.For(t, kind)
			}
		}
		matrixUnits.Store(key, unit)
		u = unit
	}
	return u.(*matrix.Unit).Fact(ir.MatrixFact(fact))
}

// packedRows is how many rows dsl.PackedMMA multiplies on a device. That is in code for many
// processors, and the device says whether this one is of those that come to it.
func packedRows(dev *runtime.Device, elem reflect.Type) int {
	kind, ok := matrixKinds[elem]
	if t, err := targetOf(dev); ok && err == nil && dev.Info().PackedMMA && matrix.Packed(t, kind) {
		return dsl.PackedRows
	}
	return 0
}
