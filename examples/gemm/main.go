package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"text/tabwriter"
	"time"

	"github.com/gokiln/kiln/dsl"
	"github.com/gokiln/kiln/runtime"
)

func main() {
	device := flag.String("device", "auto", "device: auto, cpu, or one that kiln devices lists")
	n := flag.Int("n", 512, "rows and columns of all matrices")
	flag.Parse()
	if err := run(os.Stdout, *device, *n); err != nil {
		fmt.Fprintln(os.Stderr, "gemm:", err)
		os.Exit(1)
	}
}

// row is a line of the table.
type row struct {
	step, note string
	rate       float64 // TFLOP/s
}

func run(w io.Writer, device string, n int) error {
	dev, err := runtime.Open(device)
	if err != nil {
		return err
	}
	defer dev.Close()
	m, err := newMatrices(dev, n)
	if err != nil {
		return err
	}
	var rows []row
	var first, layer []dsl.BF16
	for _, s := range m.steps() {
		if s.missing != "" {
			rows = append(rows, row{step: s.name, note: s.missing})
			continue
		}
		took, got, err := m.measure(s.launch)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		if first == nil {
			first, layer = got, finished(got, m.numbers, n)
		}
		want := first
		if s.layer {
			want = layer
		}
		if err := same(got, want, n); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
		rows = append(rows, row{s.name, s.note, 2 * math.Pow(float64(n), 3) / took.Seconds() / 1e12})
	}
	return print(w, rows, n, dev.Info().Model)
}

// print prints the table, with the share of the best step.
func print(w io.Writer, rows []row, n int, model string) error {
	best := 0.0
	for _, r := range rows {
		best = max(best, r.rate)
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "%d×%d×%d of BF16\tTFLOP/s\tof the best\ton %s\n", n, n, n, model)
	for _, r := range rows {
		if r.rate == 0 {
			fmt.Fprintf(table, "%s\t–\t–\t%s\n", r.step, r.note)
			continue
		}
		fmt.Fprintf(table, "%s\t%.4g\t%.1f %%\t%s\n", r.step, r.rate, 100*r.rate/best, r.note)
	}
	return table.Flush()
}

// measure returns the time of a launch, of as many as take a tenth of a second, and its result.
func (m *matrices) measure(launch func() error) (time.Duration, []dsl.BF16, error) {
	if err := errors.Join(m.c.Zero(), launch(), m.stream.Sync()); err != nil { // compiles
		return 0, nil, err
	}
	got, err := m.c.Host()
	for times := 1; err == nil; times *= 4 {
		start := time.Now()
		for range times {
			err = errors.Join(err, launch())
		}
		err = errors.Join(err, m.stream.Sync())
		if took := time.Since(start); took > 100*time.Millisecond {
			return took / time.Duration(times), got, err
		}
	}
	return 0, nil, err
}

// finished is what a layer makes of sums.
func finished(sums []dsl.BF16, bias []float32, n int) []dsl.BF16 {
	out := make([]dsl.BF16, len(sums))
	for i, x := range sums {
		out[i] = dsl.To[dsl.BF16](max(dsl.F32(x)+bias[i%n], 0))
	}
	return out
}

// same compares sums of n products of numbers around one, which are added in different orders and then
// rounded to eight bits, in a layer a second time.
func same(got, want []dsl.BF16, n int) error {
	for i, x := range got {
		g, w := float64(dsl.F32(x)), float64(dsl.F32(want[i]))
		if bound := math.Ldexp(math.Sqrt(float64(n)), -6) + math.Ldexp(math.Abs(w), -6); math.Abs(g-w) > bound {
			return fmt.Errorf("row %d, column %d is %g, want %g", i/n, i%n, g, w)
		}
	}
	return nil
}
