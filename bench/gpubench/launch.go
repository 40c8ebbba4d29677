package main

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/bench/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// batch is how many launches one sample holds: few enough that the device's
// queue never fills, which would make the host wait for the device.
const batch = 128

// launchSuite compares the host time of a launch through jit, by a handle and by a
// generated launcher, with that of a bare cuLaunchKernel of the same kernel with the same
// arguments.
func launchSuite(c config) ([]figure.Row, error) {
	dev, err := openGPU(c.device)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	direct, err := newBareLaunch(dev)
	if err != nil {
		return nil, err
	}
	x, y, err := twoArrays(dev, 256)
	if err != nil {
		return nil, err
	}
	direct.arguments(saxpyArgs{y: y.Addr(), ny: int64(y.Len()), x: x.Addr(), nx: int64(x.Len()), a: 2})
	kernel, stream, grid := jit.Of(kernels.Saxpy), dev.DefaultStream(), runtime.Blocks(1, 256)
	on := func(s *runtime.Stream) error { return kernel.Launch(s, grid, y, x, float32(2)) }
	ours := func() error { return on(stream) }
	typed := func() error { return kernels.LaunchSaxpy(stream, grid, y, x, 2) }
	ns, err := alternateHost(dev, c, batch, ours, direct.launchBlock, direct.launchPointers, typed)
	if err != nil {
		return nil, err
	}
	wait, err := roundTrip(stream, c, ours)
	if err != nil {
		return nil, err
	}
	allocs := testing.AllocsPerRun(batch, func() { err = errors.Join(ours(), typed()) })
	if err != nil {
		return nil, err
	}
	const what = "launch, 3 arguments"
	const generated = "by a generated launcher"
	own := differences(ns[0], ns[1])
	rows := []figure.Row{
		figure.Of("launch", what, "kiln", "ns", "", ns[0]),
		figure.Of("launch", what, "driver", "ns", "bare cuLaunchKernel from Go, argument block", ns[1]),
		figure.Of("launch", what, "driver", "ns", "bare cuLaunchKernel from Go, argument pointers", ns[2]),
		figure.Of("launch", "own time of a launch", "kiln", "ns", "over the bare call with a block, round by round", own),
		figure.Of("launch", generated, "kiln", "ns", "", ns[3]),
		figure.Of("launch", generated+", difference", "kiln", "ns", "over a launch by the handle, round by round", differences(ns[3], ns[0])),
		figure.Of("launch", "launch and wait", "kiln", "ns", "", wait),
	}
	rows[0].Note = fmt.Sprintf("%g allocations", allocs)
	graphs, err := graphRows(dev, c, on)
	if err != nil {
		return rows, err
	}
	return append(rows, graphs...), dev.Sync()
}

func twoArrays(dev *runtime.Device, n int) (x, y runtime.Slice[float32], err error) {
	if x, err = runtime.From(dev, normal(n, 1)); err != nil {
		return x, y, err
	}
	y, err = runtime.From(dev, normal(n, 2))
	return x, y, err
}

// differences subtracts round by round: what slows the machine down for a while
// slows both calls of a round.
func differences(a, b []float64) []float64 {
	d := make([]float64, len(a))
	for i := range a {
		d[i] = a[i] - b[i]
	}
	return d
}

// alternateHost times batches of n of the calls in turn, each first in its share of
// the rounds, and returns ns for one call by round. The device is drained
// between batches, outside the timed part.
func alternateHost(dev *runtime.Device, c config, n int, calls ...func() error) ([][]float64, error) {
	samples := make([][]float64, len(calls))
	warmUntil := time.Now().Add(c.warm)
	for round := 0; len(samples[0]) < c.samples; round++ {
		warm := time.Now().Before(warmUntil)
		for j := range calls {
			i := (round + j) % len(calls)
			call := calls[i]
			begin := time.Now()
			for range n {
				if err := call(); err != nil {
					return nil, err
				}
			}
			took := time.Since(begin)
			if err := dev.Sync(); err != nil {
				return nil, err
			}
			if !warm {
				samples[i] = append(samples[i], float64(took.Nanoseconds())/float64(n))
			}
		}
	}
	return samples, nil
}

// roundTrip times a launch and the wait for it.
func roundTrip(s *runtime.Stream, c config, call func() error) ([]float64, error) {
	var samples []float64
	for range c.samples {
		begin := time.Now()
		if err := call(); err != nil {
			return nil, err
		}
		if err := s.Sync(); err != nil {
			return nil, err
		}
		samples = append(samples, float64(time.Since(begin).Nanoseconds()))
	}
	return samples, nil
}
