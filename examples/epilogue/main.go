package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/gokiln/kiln/tensor"
)

func main() {
	device := flag.String("device", "auto", "device: auto, cpu, or one that kiln devices lists")
	n := flag.Int("n", 512, "rows, columns and length of the sums")
	flag.Parse()
	if err := run(os.Stdout, *device, *n); err != nil {
		fmt.Fprintln(os.Stderr, "epilogue:", err)
		os.Exit(1)
	}
}

// run compares the layer with its steps, each of which rounds to BF16.
func run(out io.Writer, device string, n int) error {
	dev, err := tensor.Open(device)
	if err != nil {
		return err
	}
	defer dev.Close()
	x, w, bias := draw(dev, n, n), draw(dev, n, n), draw(dev, n)
	const limit = 30
	layer := func() *tensor.Tensor { return tensor.Apply3(logits{limit}, x, w, bias) }
	steps := func() *tensor.Tensor {
		return x.Linear(w, bias).DivScalar(limit).Tanh().MulScalar(limit)
	}
	worst, err := layer().Cast(tensor.F32).Sub(steps().Cast(tensor.F32)).Abs().Max().Float64s()
	if err != nil {
		return err
	}
	if !(worst[0] < 0.5) { // two units in the last place of BF16 numbers near 30
		return fmt.Errorf("an element is off by %g", worst[0])
	}
	one, err := measure(dev, layer)
	if err != nil {
		return err
	}
	many, err := measure(dev, steps)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "one kernel %v, steps %v, largest difference %g\n", one, many, worst[0])
	return err
}

func draw(dev *tensor.Device, shape ...int) *tensor.Tensor {
	return tensor.Randn(dev, tensor.BF16, 0, 1, shape...)
}

// measure returns the time of one of ten calls.
func measure(dev *tensor.Device, f func() *tensor.Tensor) (time.Duration, error) {
	const times = 10
	start := time.Now()
	for range times {
		y := f()
		if err := y.Err(); err != nil {
			return 0, err
		}
		if err := y.Free(); err != nil {
			return 0, err
		}
	}
	err := dev.Stream().Sync()
	return (time.Since(start) / times).Round(time.Microsecond), err
}
