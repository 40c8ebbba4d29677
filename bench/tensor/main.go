package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"text/tabwriter"
	"time"

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
var groups = []func(d *tensor.Device, small bool) []work{elementwise, matmul, conv, index, reductions, rows, sorts}

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
}

func run(args []string, stdout, stderr io.Writer) error {
	var c config
	flags := flag.NewFlagSet("tensor", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", ".", "regular expression of the names to measure")
	flags.StringVar(&c.device, "device", "cpu", "device to measure")
	flags.IntVar(&c.samples, "samples", 30, "timed repetitions")
	flags.DurationVar(&c.warm, "warm", 200*time.Millisecond, "time of untimed repetitions")
	flags.BoolVar(&c.json, "json", false, "print rows as lines of JSON, as gpubench does")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var err error
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

// row is one figure, as bench/gpubench has it.
type row struct {
	Suite  string  `json:"suite"`
	What   string  `json:"what"`
	Who    string  `json:"who"`
	Median float64 `json:"median"`
	Low    float64 `json:"p10"`
	High   float64 `json:"p90"`
	Unit   string  `json:"unit"`
	Note   string  `json:"note,omitempty"`
}

// measure times all operations and prints them.
func (c *config) measure(d *tensor.Device, w io.Writer) error {
	small := d.Runtime().Info().Kind == "cpu"
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var errs []error
	copied := 0.0
	for _, group := range groups {
		for _, k := range group(d, small) {
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
				errs = append(errs, json.NewEncoder(w).Encode(r))
				continue
			}
			fmt.Fprintf(table, "%s\t%.4g\t%s\t%s\n", r.What, r.Median, r.Unit, r.Note)
		}
	}
	return errors.Join(append(errs, table.Flush())...)
}

// time measures one operation.
func (c *config) time(d *tensor.Device, k work) (row, error) {
	r := row{Suite: "tensor", What: k.name, Who: "kiln", Unit: "GB/s"}
	amount := k.bytes / 1e9
	if k.flops > 0 {
		r.Unit, amount = "TFLOP/s", k.flops/1e12
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
	for begin := time.Now(); time.Since(begin) < c.warm; {
		if err := once(); err != nil {
			return r, err
		}
		if err := d.Synchronize(); err != nil {
			return r, err
		}
	}
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
		took, err := between(d.Stream(), from, to, once)
		if err != nil {
			return r, err
		}
		samples = append(samples, amount/took.Seconds())
	}
	slices.Sort(samples)
	at := func(q float64) float64 { return samples[int(q*float64(len(samples)-1)+0.5)] }
	r.Median, r.Low, r.High = at(0.5), at(0.1), at(0.9)
	return r, nil
}

// between is the device's time for what f submits.
func between(s *runtime.Stream, from, to *runtime.Event, f func() error) (time.Duration, error) {
	if err := errors.Join(s.Record(from), f(), s.Record(to), to.Sync()); err != nil {
		return 0, err
	}
	return to.Elapsed(from)
}
