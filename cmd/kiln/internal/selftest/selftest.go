package selftest

import (
	"fmt"

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

// results are the outputs of Probe.
type results struct {
	out   []dsl.BF16
	sums  []int32
	total []uint32
}

// Run runs Probe on dev and compares its results with those of plain Go.
func Run(dev *runtime.Device) error {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(i)/17 - 12
	}
	want := results{make([]dsl.BF16, n), make([]int32, blocks), make([]uint32, 1)}
	err := dsltest.Run(dsl.D1(blocks), dsl.D1(threads), func(t dsl.Thread) {
		Probe(t, want.out, want.sums, want.total, x)
	})
	if err != nil {
		return fmt.Errorf("as plain Go: %w", err)
	}
	got, err := onDevice(dev, x)
	if err != nil {
		return err
	}
	for i := range want.out {
		if got.out[i] != want.out[i] {
			return fmt.Errorf("out[%d] is %#x, want %#x", i, got.out[i], want.out[i])
		}
	}
	for i := range want.sums {
		if got.sums[i] != want.sums[i] {
			return fmt.Errorf("sums[%d] is %d, want %d", i, got.sums[i], want.sums[i])
		}
	}
	if got.total[0] != want.total[0] {
		return fmt.Errorf("%d threads ran, want %d", got.total[0], want.total[0])
	}
	return nil
}

func onDevice(dev *runtime.Device, x []float32) (r results, err error) {
	in, err := runtime.From(dev, x)
	if err != nil {
		return r, err
	}
	defer in.Free()
	out, err := runtime.From(dev, make([]dsl.BF16, n))
	if err != nil {
		return r, err
	}
	defer out.Free()
	sums, err := runtime.From(dev, make([]int32, blocks))
	if err != nil {
		return r, err
	}
	defer sums.Free()
	total, err := runtime.From(dev, make([]uint32, 1))
	if err != nil {
		return r, err
	}
	defer total.Free()
	if err := jit.Of(Probe).Launch(dev.DefaultStream(), runtime.Blocks(blocks, threads), out, sums, total, in); err != nil {
		return r, err
	}
	if r.out, err = out.Host(); err != nil {
		return r, err
	}
	if r.sums, err = sums.Host(); err != nil {
		return r, err
	}
	r.total, err = total.Host()
	return r, err
}
