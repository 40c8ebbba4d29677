package main

import (
	"embed"
	"fmt"
	"os"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tests/gen/other/real"
	"github.com/gokiln/kiln/tests/gen/shapes"
)

//go:generate go run ../../../cmd/kiln gen

//go:embed *.go
var source embed.FS

var _ = dsl.Source(source)

// scale multiplies all of x.
//
//kiln:kernel
func scale[T dsl.Real](t dsl.Thread, x []T, by T) {
	if i := t.Global(); i < len(x) {
		x[i] *= by
	}
}

// negate changes the sign.
//
//kiln:kernel
func negate(t dsl.Thread, x []float64) {
	if i := t.Global(); i < len(x) {
		x[i] = -x[i]
	}
}

// shift adds what is known when it is compiled.
//
//kiln:kernel
func shift[T dsl.Real](t dsl.Thread, x []T, by dsl.ConstInt, up dsl.ConstBool) {
	if i := t.Global(); i < len(x) {
		if up {
			x[i] += T(by)
		} else {
			x[i] -= T(by)
		}
	}
}

// pipe is a generic type that launches kernels.
type pipe[T dsl.Real] struct {
	s *runtime.Stream
	g runtime.Grid
	x runtime.Slice[T]
}

const step = 2

func (p pipe[T]) run() error {
	if err := launchScale(p.s, p.g, p.x, 1.5); err != nil {
		return err
	}
	return launchShift(p.s, p.g, p.x, step+1, true)
}

// start is a generic function that uses it.
func start[T dsl.Real](dev *runtime.Device, in ...T) (x runtime.Slice[T], err error) {
	if x, err = runtime.From(dev, in); err != nil {
		return x, err
	}
	p := pipe[T]{dev.DefaultStream(), runtime.Cover(len(in), 64), x}
	return x, p.run()
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "program:", err)
		os.Exit(1)
	}
}

func run() error {
	dev, err := runtime.Open("cpu")
	if err != nil {
		return err
	}
	defer dev.Close()
	x, err := start(dev, 1.0, 2, 3)
	if err != nil {
		return err
	}
	y, err := start[float32](dev, 1, 2, 3, 4, 5, 6)
	if err != nil {
		return err
	}
	half, err := runtime.Alloc[float32](dev, y.Len()/2)
	if err != nil {
		return err
	}
	s, g := dev.DefaultStream(), runtime.Cover(y.Len(), 64)
	for _, err := range []error{
		launchNegate(s, g, x),
		shapes.LaunchFold(s, g, half, y, func(a, b float32) float32 { return a*b + 1 }),
		shapes.LaunchFold(s, g, half, y, real.Add),
		shapes.PrepareFilter(dev, shapes.Config[float32]{Tile: 4, Taps: [2]struct{ On dsl.ConstBool }{{}, {true}}}),
		shapes.PrepareFill(dev, 7, false),
		jit.Of(shapes.Named).Prepare(dev),
		jit.Of(shapes.Listed[float32]).Prepare(dev),
	} {
		if err != nil {
			return err
		}
	}
	a, err := x.Host()
	if err != nil {
		return err
	}
	b, err := half.Host()
	fmt.Println(a, b)
	return err
}
