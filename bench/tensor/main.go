package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/runtime"
	"github.com/gokiln/kiln/tensor"
)

// work is one operation to measure.
type work struct {
	name   string
	bytes  float64 // moved, or
	flops  float64 // done, or
	elems  float64 // made
	beside string  // the name of a row of the same group, of whose rate this is a share
	run    func() *tensor.Tensor
	op     func() error // what is measured instead, into memory that is there
	graph  bool         // it takes the host longer than a GPU, and is measured as part of a graph there
	held   func() int64 // bytes of the device that are not its own, where the peak of its memory is to be printed
}

// group makes the operations of a family; small is for the CPU.
type group struct {
	name string
	make func(d *tensor.Device, small bool) []work
}

// groups are the families; the first one has the copy that others are compared with.
var groups = []group{
	{"elementwise", elementwise}, {"matmul", matmul}, {"layers", layers}, {"grouped", grouped}, {"conv", conv}, {"index", index},
	{"reductions", reductions}, {"rows", rows}, {"sorts", sorts}, {"picks", picks}, {"networks", networks}, {"quantized", quantizeds},
}

// copyRow is the row that rates of memory are compared with.
const copyRow = "copy f32"

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

	processor  bool
	capability int    // that kernels are compiled for, 0 for that of the device
	group      string // the one to measure, or not to after a -; "" for all
	groups     []group
}

func run(args []string, stdout, stderr io.Writer) error {
	c := config{groups: groups}
	flags := flag.NewFlagSet("tensor", flag.ContinueOnError)
	flags.SetOutput(stderr)
	only := flags.String("only", ".", "regular expression of the names to measure")
	flags.StringVar(&c.group, "group", "", "measure one family, or with a - in front all others: "+groupNames())
	flags.StringVar(&c.device, "device", "cpu", "device to measure")
	flags.IntVar(&c.samples, "samples", 30, "timed repetitions")
	flags.DurationVar(&c.warm, "warm", 200*time.Millisecond, "time of untimed repetitions")
	flags.BoolVar(&c.processor, "processor", false, "time by what the process uses of processors, on a CPU that others use too")
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
		list, err := strategies(*product)
		if err != nil {
			return err
		}
		c.groups = []group{{"product", list}}
	}
	name := strings.TrimPrefix(c.group, "-")
	if c.group != "" && !slices.ContainsFunc(c.groups, func(g group) bool { return g.name == name }) {
		return fmt.Errorf("-group %s: there are %s", c.group, groupNames())
	}
	if c.processor && figure.ProcessorTime() == 0 {
		return errors.New("-processor: this system does not say what a process uses of processors")
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

func groupNames() string {
	var names []string
	for _, g := range groups {
		names = append(names, g.name)
	}
	return strings.Join(names, ", ")
}

// takes reports whether a group is to be measured.
func (c *config) takes(group string) bool {
	name, others := strings.CutPrefix(c.group, "-")
	return c.group == "" || (group == name) != others
}

// measure times all operations and prints them.
func (c *config) measure(d *tensor.Device, w io.Writer) error {
	var rows []figure.Row
	var errs []error
	rates := map[string]float64{} // by name
	for i, g := range c.groups {
		if !c.takes(g.name) && i > 0 {
			continue
		}
		debug.FreeOSMemory() // collects, and that frees the memory of the group before
		for _, k := range c.chosen(g.name, g.make(d, small(d))) {
			r, err := c.time(d, k)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", k.name, err))
				continue
			}
			rates[k.name] = r.Median
			r.Note = cmp.Or(k.note(&r, rates), r.Note)
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

// chosen are the operations of a group to measure, and those whose rates they are shares of.
func (c *config) chosen(group string, list []work) []work {
	for i := range list {
		if k := &list[i]; c.capability > 0 {
			suffix := fmt.Sprintf(" by sm_%d code", c.capability)
			if k.name += suffix; k.beside != "" {
				k.beside += suffix
			}
		}
	}
	wanted := map[string]bool{copyRow: true}
	for _, k := range list {
		if c.only.MatchString(k.name) && c.takes(group) {
			wanted[k.name], wanted[k.beside] = true, true
		}
	}
	return slices.DeleteFunc(list, func(k work) bool { return !wanted[k.name] })
}

// note says what share of another rate that of an operation is.
func (k *work) note(r *figure.Row, rates map[string]float64) string {
	of, name := rates[copyRow], "the copy"
	if k.beside != "" {
		of, name = rates[k.beside], k.beside
	}
	if of == 0 || k.beside == "" && r.Unit != "GB/s" {
		return ""
	}
	return fmt.Sprintf("%.0f %% of %s", 100*r.Median/of, name)
}

// time measures one operation.
func (c *config) time(d *tensor.Device, k work) (r figure.Row, err error) {
	unit, amount := "GB/s", k.bytes/1e9
	switch {
	case k.flops > 0:
		unit, amount = "TFLOP/s", k.flops/1e12
	case k.elems > 0:
		unit, amount = "Gelem/s", k.elems/1e9
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
	if k.graph && !small(d) {
		each := once
		g, err := d.Capture(func() (err error) {
			for range inGraph {
				err = errors.Join(err, each())
			}
			return err
		})
		if err != nil {
			return r, err
		}
		once, amount = g.Launch, amount*inGraph
	}
	clock, err := c.clock(d)
	if err != nil {
		return r, err
	}
	var samples []float64
	for range c.samples {
		took, err := clock(func() (err error) {
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
	peak, err := k.peak(d, once)
	return figure.Of("tensor", k.name, "kiln", unit, peak, samples), err
}

// peak is the most memory of the device that an operation has at one time, with its operands: "" for
// one that does not say what is held beside it. As Go collects what a step has left, it is of one step
// behind a collection. peers/tensor.py prints torch.cuda.max_memory_allocated so.
func (k *work) peak(d *tensor.Device, once func() error) (string, error) {
	if k.held == nil {
		return "", nil
	}
	debug.FreeOSMemory()
	if err := d.Synchronize(); err != nil {
		return "", err
	}
	d.ResetPeak()
	if err := errors.Join(once(), d.Synchronize()); err != nil {
		return "", err
	}
	return fmt.Sprintf("peak of memory %.3f GB", float64(d.PeakBytes()-k.held())/1e9), nil
}

// inGraph is how many operations a graph has.
const inGraph = 16

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

// clock returns what times that which a function submits.
func (c *config) clock(d *tensor.Device) (func(f func() error) (time.Duration, error), error) {
	if c.processor {
		return func(f func() error) (time.Duration, error) {
			begin := figure.ProcessorTime()
			err := errors.Join(f(), d.Synchronize())
			return figure.ProcessorTime() - begin, err
		}, nil
	}
	from, err := d.Runtime().NewEvent()
	if err != nil {
		return nil, err
	}
	to, err := d.Runtime().NewEvent()
	return func(f func() error) (time.Duration, error) { return between(d.Stream(), from, to, f) }, err
}

// between is the device's time for what f submits.
func between(s *runtime.Stream, from, to *runtime.Event, f func() error) (time.Duration, error) {
	if err := errors.Join(s.Record(from), f(), s.Record(to), to.Sync()); err != nil {
		return 0, err
	}
	return to.Elapsed(from)
}
