package shapes

import (
	"embed"

	"github.com/gokiln/kiln/dsl"
	inner "github.com/gokiln/kiln/tests/gen/internal/real"
	"github.com/gokiln/kiln/tests/gen/other/real"
)

//go:generate go run ../../../cmd/kiln gen

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// Config has compile-time fields among others.
type Config[T dsl.Real] struct {
	Tile  dsl.ConstInt
	Taps  [2]struct{ On dsl.ConstBool }
	Scale T
}

// Op is a type of functions.
type Op func(a, b int32) int32

// Vec is a type of slices.
type Vec []float32

// Activation is a constraint with methods.
type Activation[T dsl.Real] interface {
	Apply(T) T
}

// Half is an activation.
type Half[T dsl.Real] struct{ By T }

// Apply divides by two, or by h.By.
func (h Half[T]) Apply(x T) T { return x / h.By }

// Taps is the length of an array.
const Taps = 3

// Axpy adds a*x to y, element by element.
//
// The sum is rounded once for the product and once for the sum:
//
//	y[i] = y[i] + a*x[i]
//
//kiln:instances T=float32,float64
//kiln:kernel
func Axpy[T dsl.Real](t dsl.Thread, y, x []T, a T) {
	for i := t.Global(); i < len(y); i += t.GlobalSize() {
		y[i] += a * x[i]
	}
}

// Scalars are passed as they are.
//
//kiln:kernel
func Scalars(t dsl.Thread, out []float64, a bool, b int8, c uint16, d float32, e int, f dsl.F16, g uint64) {
	if i := t.Global(); i < len(out) && a {
		out[i] = float64(b) + float64(c) + float64(d) + float64(e) + float64(dsl.F32(f)) + float64(g)
	}
}

//kiln:kernel
func undocumented(t dsl.Thread, x []byte) {
	if i := t.Global(); i < len(x) {
		x[i]++
	}
}

// Fill writes a value that is known when it is compiled.
//
//kiln:instances value=7 negative=true
//kiln:kernel
func Fill(t dsl.Thread, out []int32, value dsl.ConstInt, negative dsl.ConstBool) {
	if negative {
		value = -value
	}
	if i := t.Global(); i < len(out) {
		out[i] = int32(value)
	}
}

// Filter takes a struct with compile-time fields, an array, and a struct without a name.
//
//kiln:instances T=float64 cfg.Tile=4 cfg.Taps[0].On=false cfg.Taps[1].On=true
//kiln:kernel
func Filter[T dsl.Real](t dsl.Thread, out, in []T, cfg Config[T], weights [Taps]T, at struct{ From, To int }) {
	i := t.Global()
	if i < at.From || i >= at.To {
		return
	}
	s := in[i] * weights[int(cfg.Tile)%Taps]
	if cfg.Taps[1].On {
		s = -s
	}
	out[i] = s * cfg.Scale
}

// Fold combines neighbours by a function.
//
//kiln:instances T=float32 f=github.com/gokiln/kiln/tests/gen/other/real.Add
//kiln:kernel
func Fold[T dsl.Number](t dsl.Thread, out, in []T, f func(a, b T) T) {
	if i := t.Global(); i < len(out) {
		out[i] = f(in[2*i], in[2*i+1])
	}
}

// Twice takes functions of a declared type.
//
//kiln:kernel
func Twice(t dsl.Thread, x []int32, f, g Op) {
	if i := t.Global(); i < len(x) {
		x[i] = g(f(x[i], 3), 2)
	}
}

// Convert has two type parameters, of which one constraint serves.
//
//kiln:instances D=int32 S=float32
//kiln:kernel
func Convert[D, S dsl.Number](t dsl.Thread, dst []D, src []S) {
	if i := t.Global(); i < len(dst) {
		dst[i] = dsl.Convert[D](src[i])
	}
}

// Activate has a type parameter that depends on another.
//
//kiln:instances T=float64 F=Half[T]
//kiln:kernel
func Activate[T dsl.Real, F Activation[T]](t dsl.Thread, x []T, f F) {
	if i := t.Global(); i < len(x) {
		x[i] = f.Apply(x[i])
	}
}

// Named takes a slice of a declared type.
//
//kiln:kernel
func Named(t dsl.Thread, v Vec, by float32) {
	if i := t.Global(); i < len(v) {
		v[i] *= by
	}
}

// Core takes any slices of its type.
//
//kiln:instances S=Vec E=float32
//kiln:kernel
func Core[S ~[]E, E dsl.Real](t dsl.Thread, x S, y []E) {
	if i := t.Global(); i < len(x) {
		x[i] += y[i]
	}
}

// Listed has its constraint in place.
//
//kiln:instances T=float64
//kiln:kernel
func Listed[T ~float32 | ~float64](t dsl.Thread, x []T, r inner.Range) {
	if i := t.Global(); i >= r.From && i < r.To {
		x[i] = -x[i]
	}
}

// Foreign uses packages of one name.
//
//kiln:instances T=int32 W=int64
//kiln:kernel
func Foreign[T real.Small, W inner.Wide](t dsl.Thread, x []T, w []W, p real.Pair[T], q []real.Pair[W]) {
	if i := t.Global(); i < len(x) {
		x[i] = min(max(x[i], p.Low), p.High)
		w[i] = min(max(w[i], q[0].Low), q[0].High)
	}
}

// The doc of this kernel begins with another word. It has parameters with the names that
// its launcher would give to its own, and some without names.
//
//kiln:kernel
func Names(t dsl.Thread, s []int32, g, dev, jit, runtime int32, _ int32, kernelNames, KernelNames int32) {
	if i := t.Global(); i < len(s) {
		s[i] = g + dev + jit + runtime + kernelNames + KernelNames
	}
}

//kiln:kernel
func Unnamed(dsl.Thread, []int32, int32) {}

// LaunchOne is a kernel whose name is that of a launcher.
//
//kiln:kernel
func LaunchOne(t dsl.Thread, x []int32) {
	if i := t.Global(); i < len(x) {
		x[i] = 1
	}
}

// One has launchers with longer names for it.
//
//kiln:kernel
func One(t dsl.Thread, x []int32) {
	if i := t.Global(); i < len(x) {
		x[i] = 11
	}
}

// Strip is a part of a line with weights.
type Strip[T dsl.Real] struct {
	Line    []T
	Weights struct {
		Of   []float32
		Last int
	}
	Taps [2]T
}

// Weigh scales a strip.
//
//kiln:kernel
func Weigh[T dsl.Real](t dsl.Thread, to Strip[T], n dsl.ConstInt) {
	if i := t.Global(); i < int(n) {
		to.Line[i] *= T(to.Weights.Of[min(i, to.Weights.Last)]) + to.Taps[1]
	}
}
