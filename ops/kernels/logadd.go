package kernels

import (
	"math"

	"github.com/gokiln/kiln/dsl"
)

// LogAddExp is log(exp(x) + exp(y)), without overflow.
func LogAddExp[C dsl.Real](x, y C) C {
	if x == y { // infinite ones, too
		return x + math.Ln2
	}
	return max(x, y) + dsl.Log1p(dsl.Exp(-dsl.Abs(x-y)))
}

// Never is -Inf, which [LogAddExp] of changes nothing.
func Never[C dsl.Real](C) C {
	var zero C
	return dsl.Log(zero)
}

// FromNever is -Inf.
func FromNever[C dsl.Real](x C) Acc[C] { return Acc[C]{V: Never(x)} }

// LogAddStep is [LogAddExp] of all.
func LogAddStep[C dsl.Real](a Acc[C], v *[MostAhead]C, from, by, n, has int) Acc[C] {
	return Acc[C]{V: LogAddExp(a.V, tree(v, from, by, n, has, Never(a.V), itself[C], LogAddExp[C]))}
}

// LogAdd is [LogAddExp] of what is known of two parts.
func LogAdd[C dsl.Real](a, b Acc[C]) Acc[C] { return Acc[C]{V: LogAddExp(a.V, b.V)} }
