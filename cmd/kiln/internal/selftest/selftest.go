package selftest

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/gokiln/kiln/compiler"
	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/dsl/dsltest"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

const (
	blocks  = 4
	threads = 128
	n       = blocks * threads
)

// Run runs the kernels on dev and compares their results with those of plain Go.
func Run(dev *runtime.Device) error {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)/17 - 12
	}
	errs := []error{probe(dev, x)}
	has, err := features(dev)
	if err != nil {
		return errors.Join(errs[0], err)
	}
	if has(compiler.Float64) {
		errs = append(errs, double(dev, x))
	}
	if has(compiler.Atomics64) {
		errs = append(errs, wide(dev))
	}
	if has(compiler.DeviceLog) {
		errs = append(errs, log(dev))
	}
	return errors.Join(errs...)
}

// features returns what tells which features a device has.
func features(dev *runtime.Device) (func(compiler.Feature) bool, error) {
	info := dev.Info()
	t, err := compiler.TargetFor(info.Formats, info.Arch)
	return func(f compiler.Feature) bool { return compiler.Supports(t, f) == nil }, err
}

func probe(dev *runtime.Device, x []float32) error {
	out, squares := made[dsl.BF16](dev, n), made[dsl.F16](dev, n)
	words, sums, total := made[uint64](dev, n), made[int32](dev, blocks), made[uint32](dev, 2)
	err := plain(dev, func(t dsl.Thread) {
		Probe(t, out.want, squares.want, words.want, sums.want, total.want, x)
	})
	in, inErr := runtime.From(dev, x)
	if err := errors.Join(err, inErr, out.err, squares.err, words.err, sums.err, total.err); err != nil {
		return err
	}
	defer in.Free()
	if err := launch(dev, Probe, out.on, squares.on, words.on, sums.on, total.on, in); err != nil {
		return err
	}
	return errors.Join(out.check("bfloat16 of silu"), squares.check("float16 of squares"),
		words.check("words of warps"), sums.check("sums of blocks"), total.check("total"))
}

func double(dev *runtime.Device, x []float32) error {
	out := made[float64](dev, n)
	err := plain(dev, func(t dsl.Thread) { Double(t, out.want, x) })
	in, inErr := runtime.From(dev, x)
	if err := errors.Join(err, inErr, out.err); err != nil {
		return err
	}
	defer in.Free()
	if err := launch(dev, Double, out.on, in); err != nil {
		return err
	}
	for i, v := range out.want {
		if math.IsNaN(v) {
			return fmt.Errorf("float64: element %d is not a number as plain Go", i)
		}
	}
	return out.check("float64")
}

func wide(dev *runtime.Device) error {
	total := made[uint64](dev, 1)
	err := plain(dev, func(t dsl.Thread) { Wide(t, total.want) })
	if err := errors.Join(err, total.err); err != nil {
		return err
	}
	return cmp.Or(launch(dev, Wide, total.on), total.check("total of 64 bits"))
}

func log(dev *runtime.Device) error {
	var want, got strings.Builder
	if err := plain(dev, Log, dsltest.Output(&want)); err != nil {
		return err
	}
	dev.SetOutput(&got)
	defer dev.SetOutput(os.Stderr)
	if err := errors.Join(launch(dev, Log), dev.Sync()); err != nil {
		return err
	}
	if got.String() != want.String() {
		return fmt.Errorf("the device log is %q, want %q", got.String(), want.String())
	}
	return nil
}

// plain runs a kernel as plain Go, with warps as the device has them.
func plain(dev *runtime.Device, kernel func(dsl.Thread), opts ...dsltest.Option) error {
	if err := dsltest.Run(dsl.D1(blocks), dsl.D1(threads), kernel, append(opts, dsltest.WarpSize(dev.WarpSize()))...); err != nil {
		return fmt.Errorf("as plain Go: %w", err)
	}
	return nil
}

func launch(dev *runtime.Device, kernel any, args ...any) error {
	return jit.Of(kernel).Launch(dev.DefaultStream(), runtime.Blocks(blocks, threads), args...)
}

// result is an output of a kernel: as plain Go writes it, and on the device.
type result[T comparable] struct {
	want []T
	on   runtime.Slice[T]
	err  error
}

func made[T comparable](dev *runtime.Device, n int) result[T] {
	r := result[T]{want: make([]T, n)}
	r.on, r.err = runtime.From(dev, r.want)
	return r
}

// check compares and frees the device's part.
func (r result[T]) check(what string) error {
	got, err := r.on.Host()
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for i, v := range r.want {
		if got[i] != v {
			return fmt.Errorf("%s: element %d is %v, want %v", what, i, got[i], v)
		}
	}
	return r.on.Free()
}
