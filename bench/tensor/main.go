package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"time"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// work is one operation to measure.
type work struct {
	name  string
	bytes float64 // moved, or
	flops float64 // done
	run   func() *tensor.Tensor
	op    func() error // what is measured instead, into memory that is there
}

// groups make the operations of each family; small is for the CPU.
var groups = []func(d *tensor.Device, small bool) []work{elementwise, matmul, layers, grouped, conv, index, reductions, rows, sorts, picks, networks}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "tensor:", err)
		}
		os.Exit(1)
	}
}

// config is what the flags say.
type config struct {
	device  string
	only    *regexp.Regexp
	samples int
	warm    time.Duration
	json    bool

	capability int // that kernels are compiled for, 0 for that of the device
	groups     []func(d *tensor.Device, small bool) []work
}

func run(args []string, stdout, stderr io.Writer) error {
	c := config{groups: groups}
	flags := flag.NewFlagSet("tensor", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", ".", "regular expression of the names to measure")
	flags.StringVar(&c.device, "device", "cpu", "device to measure")
	flags.IntVar(&c.samples, "samples", 30, "timed repetitions")
	flags.DurationVar(&c.warm, "warm", 200*time.Millisecond, "time of untimed repetitions")
	flags.BoolVar(&c.json, "json", false, "print rows as lines of JSON, as gpubench does")
	product := flags.String("product", "", "measure one product of matrices in all strategies, such as bf16:16x14336x4096 for m, n and k, with t behind it for transposed weights")
	flags.IntVar(&c.capability, "cc", 0, "compile for NVIDIA GPUs of this compute capability, such as 80, in place of the device's own")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if c.capability > 0 {
		back, err := compileFor(c.capability)
		if err != nil {
			return err
		}
		defer back()
	}
	var err error
	if *product != "" {
		group, err := strategies(*product)
		if err != nil {
			return err
		}
		c.groups = []func(d *tensor.Device, small bool) []work{group}
	}
	if c.only, err = regexp.Compile(*only); err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	d, err := tensor.Open(c.device)
	if err != nil {
		return err
	}
	defer d.Close()
	return c.measure(d, stdout)
}

// measure times all operations and prints them.
func (c *config) measure(d *tensor.Device, w io.Writer) error {
	var rows []figure.Row
	var errs []error
	copied := 0.0
	for _, group := range c.groups {
		debug.FreeOSMemory() // collects, and that frees the memory of the group before
		for _, k := range group(d, small(d)) {
			if c.capability > 0 {
				k.name += fmt.Sprintf(" by sm_%d code", c.capability)
			}
			if !c.only.MatchString(k.name) && k.name != "copy f32" {
				continue
			}
			r, err := c.time(d, k)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", k.name, err))
				continue
			}
			if k.name == "copy f32" {
				copied = r.Median
			}
			if r.Unit == "GB/s" && copied > 0 {
				r.Note = fmt.Sprintf("%.0f %% of the copy", 100*r.Median/copied)
			}
			if c.json {
				// Now, for a run may be cut short.
				errs = append(errs, figure.WriteJSON(w, []figure.Row{r}))
				continue
			}
			rows = append(rows, r)
		}
	}
	return errors.Join(append(errs, figure.WriteList(w, rows))...)
}

// time measures one operation.
func (c *config) time(d *tensor.Device, k work) (r figure.Row, err error) {
	unit, amount := "GB/s", k.bytes/1e9
	if k.flops > 0 {
		unit, amount = "TFLOP/s", k.flops/1e12
	}
	once := func() error {
		if k.op != nil {
			return k.op()
		}
		t := k.run()
		if err := t.Err(); err != nil {
			return err
		}
		return t.Free()
	}
	calls, begin := 0, time.Now()
	for ; calls < 2 || time.Since(begin) < c.warm; calls++ {
		if err := errors.Join(once(), d.Synchronize()); err != nil {
			return r, err
		}
		if calls == 0 {
			begin = time.Now() // the first one compiles
		}
	}
	inRow := inRow(d, time.Since(begin)/time.Duration(calls-1))
	rt := d.Runtime()
	from, err := rt.NewEvent()
	if err != nil {
		return r, err
	}
	to, err := rt.NewEvent()
	if err != nil {
		return r, err
	}
	var samples []float64
	for range c.samples {
		took, err := between(d.Stream(), from, to, func() (err error) {
			for range inRow {
				err = errors.Join(err, once())
			}
			return err
		})
		if err != nil {
			return r, err
		}
		samples = append(samples, float64(inRow)*amount/took.Seconds())
	}
	return figure.Of("tensor", k.name, "kiln", unit, "", samples), nil
}

// inRow is how many operations a sample times, one behind the other as in a program: on
// a GPU as many as fit 2 ms, 10 at most, so that what the host does before the first one
// begins counts little. peers/common.py does the same.
func inRow(d *tensor.Device, one time.Duration) int {
	if small(d) {
		return 1
	}
	return min(10, max(1, int(2*time.Millisecond/max(one, 1))))
}

// small tells whether operations are to be of the size for a CPU.
func small(d *tensor.Device) bool { return d.Runtime().Info().Kind == "cpu" }

// between is the device's time for what f submits.
func between(s *runtime.Stream, from, to *runtime.Event, f func() error) (time.Duration, error) {
	if err := errors.Join(s.Record(from), f(), s.Record(to), to.Sync()); err != nil {
		return 0, err
	}
	return to.Elapsed(from)
}
