package kernels

import (
	"github.com/gokiln/kiln/dsl"
	elementwisekernels "github.com/gokiln/kiln/ops/elementwise/kernels"
)

// Never is -Inf, which [elementwisekernels.LogAddExp] of changes nothing.
func Never[C dsl.Real](C) C {
	var zero C
	return dsl.Log(zero)
}

// FromNever is -Inf.
func FromNever[C dsl.Real](x C) Acc[C] { return Acc[C]{V: Never(x)} }

// LogAddStep is [elementwisekernels.LogAddExp] of all.
func LogAddStep[C dsl.Real](a Acc[C], v *[MaxInFlight]C, from, by, n, has int) Acc[C] {
	return Acc[C]{V: elementwisekernels.LogAddExp(a.V, tree(v, from, by, n, has, Never(a.V), itself[C], elementwisekernels.LogAddExp[C]))}
}

// LogAdd is [elementwisekernels.LogAddExp] of the accumulators of two parts.
func LogAdd[C dsl.Real](a, b Acc[C]) Acc[C] { return Acc[C]{V: elementwisekernels.LogAddExp(a.V, b.V)} }
