package main

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/bench/kernels"
	"github.com/gokiln/kiln/jit"
	"github.com/gokiln/kiln/runtime"
)

// variant is one way to do the work of the suite.
type variant struct {
	what, who string
	bytes     float64 // moved: every operand read once, every result written once
	note      string
	submit    func() error
}

// pattern is how many numbers are drawn; arrays repeat them.
const pattern = 1 << 20

// saxpySuite compares the bandwidth of two forms of saxpy with that of the
// driver's copy.
func saxpySuite(c config) ([]figure.Row, error) {
	dev, err := openGPU(c.device)
	if err != nil {
		return nil, err
	}
	defer dev.Close()
	n := max(c.bytes/4/pattern, 1) * pattern
	values := [2][]float32{normal(pattern, 1), normal(pattern, 2)}
	var arrays [2]runtime.Slice[float32]
	for i := range arrays {
		if arrays[i], err = repeated(dev, values[i], n); err != nil {
			return nil, err
		}
		defer arrays[i].Free()
	}
	x, y := arrays[0], arrays[1]
	variants := saxpyVariants(dev, y, x)
	for _, v := range variants[1:] {
		if err := checkSaxpy(v, y, values); err != nil {
			return nil, err
		}
	}
	samples, err := alternate(dev, c, variants)
	if err != nil {
		return nil, err
	}
	var rows []figure.Row
	for i, v := range variants {
		r := figure.Of("saxpy", v.what, v.who, "GB/s", v.note, samples[i])
		if i > 0 {
			r.Note = fmt.Sprintf("%.1f %% of the copy; %s", 100*r.Median/rows[0].Median, v.note)
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// factor is a of a·x+y; small, so that hundreds of repetitions stay finite.
const factor = float32(1.0 / 1024)

// saxpyVariants returns the copy and then the kernels, at several grids.
func saxpyVariants(dev *runtime.Device, y, x runtime.Slice[float32]) []variant {
	s, n := dev.DefaultStream(), y.Len()
	size := float64(4 * n)
	list := []variant{{
		what: "copy", who: "driver", bytes: 2 * size, note: fmt.Sprintf("device to device, %d MiB", 4*n>>20),
		submit: func() error { return runtime.CopyAsync(s, y, x) },
	}}
	for _, threads := range []int{256, 512} {
		list = append(list, variant{
			what: "saxpy tile", who: "kiln", bytes: 3 * size, note: fmt.Sprintf("4 elements a thread, blocks of %d", threads),
			submit: func() error {
				return jit.Of(kernels.SaxpyTile).Launch(s, runtime.Cover((n+3)/4, threads), y, x, factor)
			},
		})
	}
	for _, blocks := range []int{8, 32} {
		list = append(list, variant{
			what: "saxpy grid", who: "kiln", bytes: 3 * size, note: fmt.Sprintf("grid stride, %d blocks of 256 a unit", blocks),
			submit: func() error {
				return jit.Of(kernels.Saxpy).Launch(s, runtime.Blocks(blocks*dev.Info().Units, 256), y, x, factor)
			},
		})
	}
	return list
}

// alternate times the variants in turn, after a warm-up, and returns their
// rates in GB/s.
func alternate(dev *runtime.Device, c config, variants []variant) ([][]float64, error) {
	for begin := time.Now(); time.Since(begin) < c.warm; {
		for _, v := range variants {
			if err := v.submit(); err != nil {
				return nil, fmt.Errorf("%s: %w", v.what, err)
			}
		}
		if err := dev.Sync(); err != nil {
			return nil, err
		}
	}
	clock, err := newStopwatch(dev)
	if err != nil {
		return nil, err
	}
	samples := make([][]float64, len(variants))
	for range c.samples {
		for i, v := range variants {
			took, err := clock.time(v.submit)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", v.what, err)
			}
			samples[i] = append(samples[i], v.bytes/took.Seconds()/1e9)
		}
	}
	return samples, nil
}

// stopwatch measures device time between two events.
type stopwatch struct {
	stream     *runtime.Stream
	begin, end *runtime.Event
}

func newStopwatch(dev *runtime.Device) (*stopwatch, error) {
	w := &stopwatch{stream: dev.DefaultStream()}
	var err error
	if w.begin, err = dev.NewEvent(); err != nil {
		return nil, err
	}
	w.end, err = dev.NewEvent()
	return w, err
}

func (w *stopwatch) time(submit func() error) (time.Duration, error) {
	if err := w.stream.Record(w.begin); err != nil {
		return 0, err
	}
	if err := submit(); err != nil {
		return 0, err
	}
	if err := w.stream.Record(w.end); err != nil {
		return 0, err
	}
	if err := w.end.Sync(); err != nil {
		return 0, err
	}
	return w.end.Elapsed(w.begin)
}

// normal returns n reproducible numbers of a normal distribution.
func normal(n int, seed uint64) []float32 {
	r := rand.New(rand.NewPCG(seed, seed))
	xs := make([]float32, n)
	for i := range xs {
		xs[i] = float32(r.NormFloat64())
	}
	return xs
}

// repeated returns an array of n elements on the device that repeats values.
// It is filled by copying what is there already, in doubling lengths.
func repeated(dev *runtime.Device, values []float32, n int) (runtime.Slice[float32], error) {
	a, err := runtime.Alloc[float32](dev, n)
	if err != nil {
		return a, err
	}
	return a, refill(a, values)
}

func refill(a runtime.Slice[float32], values []float32) error {
	if err := a.Slice(0, len(values)).CopyFrom(values); err != nil {
		return err
	}
	for have := len(values); have < a.Len(); {
		more := min(have, a.Len()-have)
		if err := runtime.Copy(a.Slice(have, have+more), a.Slice(0, more)); err != nil {
			return err
		}
		have += more
	}
	return nil
}

// checkSaxpy runs the variant once on fresh data and compares every element:
// the result repeats as the operands do.
func checkSaxpy(v variant, y runtime.Slice[float32], values [2][]float32) error {
	if err := refill(y, values[1]); err != nil {
		return err
	}
	if err := v.submit(); err != nil {
		return fmt.Errorf("%s: %w", v.what, err)
	}
	got := make([]float32, pattern)
	for at := 0; at < y.Len(); at += pattern {
		if err := y.Slice(at, at+pattern).CopyTo(got); err != nil {
			return err
		}
		for i, have := range got {
			if want := float32(factor*values[0][i]) + values[1][i]; have != want {
				return fmt.Errorf("%s, %s: element %d is %g, want %g", v.what, v.note, at+i, have, want)
			}
		}
	}
	return nil
}
