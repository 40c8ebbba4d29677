package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/examples/swiglu/kernels"
	"github.com/gokiln/kiln/runtime"
)

func main() {
	device := flag.String("device", "auto", "device: auto, cpu, or one that kiln devices lists")
	n := flag.Int("n", 1_000_003, "number of elements")
	flag.Parse()
	if err := run(os.Stdout, *device, *n); err != nil {
		fmt.Fprintln(os.Stderr, "swiglu:", err)
		os.Exit(1)
	}
}

// run checks the kernel for each element type.
func run(w io.Writer, device string, n int) error {
	dev, err := runtime.Open(device)
	if err != nil {
		return err
	}
	defer dev.Close()
	fmt.Fprintf(w, "%d elements on %s (%s)\n", n, dev.Name(), dev.Info().Model)
	if err := check[float32](w, dev, "float32", n, bound{u: 0x1p-24, times: 6}); err != nil {
		return err
	}
	if err := check[dsl.F16](w, dev, "F16", n, bound{u: 0x1p-11, times: 1.01, floor: 0x1p-25}); err != nil {
		return err
	}
	return check[dsl.BF16](w, dev, "BF16", n, bound{u: 0x1p-8, times: 1.01})
}

// bound is the allowed error of a result: times·u relative, or floor absolute
// where that is more.
type bound struct{ u, times, floor float64 }

// excess is the error of got in units of what is allowed: right if at most 1.
func (b bound) excess(got, want float64) float64 {
	allowed := math.Max(b.times*b.u*math.Abs(want), b.floor)
	if diff := math.Abs(got - want); diff != 0 {
		return diff / allowed
	}
	return 0
}

// check launches the kernel once and compares every element.
func check[T dsl.Float](w io.Writer, dev *runtime.Device, name string, n int, b bound) error {
	gate, up := normal[T](n, 1), normal[T](n, 2)
	got, err := launch(dev, gate, up)
	if err != nil {
		return err
	}
	worst := 0.0
	for i := range got {
		g, u := float64(dsl.F32(gate[i])), float64(dsl.F32(up[i]))
		want := g / (1 + math.Exp(-g)) * u
		e := b.excess(float64(dsl.F32(got[i])), want)
		if !(e <= 1) { // a NaN is not right either
			return fmt.Errorf("%s: element %d: silu(%g)·%g is %g, got %v: %.2f times the allowed error", name, i, g, u, want, dsl.F32(got[i]), e)
		}
		worst = max(worst, e)
	}
	fmt.Fprintf(w, "%-8s largest error %.2f u, allowed %g u\n", name, worst*b.times, b.times)
	return nil
}

// launch copies the operands to the device, runs the kernel and copies the
// result back.
func launch[T dsl.Float](dev *runtime.Device, gate, up []T) ([]T, error) {
	g, err := runtime.From(dev, gate)
	if err != nil {
		return nil, err
	}
	defer g.Free()
	u, err := runtime.From(dev, up)
	if err != nil {
		return nil, err
	}
	defer u.Free()
	out, err := runtime.Alloc[T](dev, len(gate))
	if err != nil {
		return nil, err
	}
	defer out.Free()
	if err := kernels.LaunchSwiGLU(dev.DefaultStream(), runtime.Cover(out.Len(), 256), out, g, u); err != nil {
		return nil, err
	}
	return out.Host()
}

// normal returns n reproducible numbers of a normal distribution.
func normal[T dsl.Float](n int, seed uint64) []T {
	r := rand.New(rand.NewPCG(seed, seed))
	xs := make([]T, n)
	for i := range xs {
		xs[i] = dsl.To[T](float32(2 * r.NormFloat64()))
	}
	return xs
}
