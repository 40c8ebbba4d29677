package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	goruntime "runtime"
	"slices"
	"strings"
	"time"

	"github.com/gokiln/kiln/runtime"
)

// config is what the flags say.
type config struct {
	isa    string
	only   []string
	list   bool
	small  bool
	wall   bool
	plain  bool
	cores  int // for the kernels beside plain Go
	rounds int
	batch  time.Duration // of one sample
	clang  string
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "cpu:", err)
		}
		os.Exit(1)
	}
}

// run is main without the process around it.
func run(args []string, stdout, stderr io.Writer) error {
	c, err := parse(args, stderr)
	if err != nil {
		return err
	}
	os.Setenv("KILN_JIT", "off") // what is measured is what this compiler makes
	goruntime.GOMAXPROCS(1)      // the launches of a stream are then run by one thread
	if c.list {
		return list(stdout, c)
	}
	if c.plain {
		return plainOnly(stdout, c)
	}
	dir, err := os.MkdirTemp("", "kiln-bench-cpu")
	if err != nil {
		return fmt.Errorf("directory for the twins: %w", err)
	}
	defer os.RemoveAll(dir)
	libs, err := compileTwins(c, dir)
	if err != nil {
		return err
	}
	dev, err := runtime.Open(c.device())
	if err != nil {
		return fmt.Errorf("opening %s: %w", c.device(), err)
	}
	defer dev.Close()
	info := dev.Info()
	fmt.Fprintf(stdout, "%s: %s, formats %s, warps of %d\n", info.Model, info.Arch, strings.Join(info.Formats, " "), info.WarpSize)
	peak, err := measurePeak(c, libs[0], dev)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "multiply-add peak of a core: %.1f Gflop/s\n", peak/1e9)
	errs := []error{compileTimes(stdout, dev, c)} // before anything is compiled
	var results []result
	for _, k := range cases {
		if len(c.only) > 0 && !slices.Contains(c.only, k.name) {
			continue
		}
		r, err := measure(dev, c, libs, k)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", k.name, err))
			continue
		}
		results = append(results, r)
	}
	errs = append(errs, writeTable(stdout, results, peak), besidePlain(stdout, dev, c))
	if len(c.only) == 0 {
		errs = append(errs, edges(stdout, c, dir))
	}
	return errors.Join(errs...)
}

// plainOnly measures what needs no C compiler.
func plainOnly(stdout io.Writer, c config) error {
	dev, err := runtime.Open(c.device())
	if err != nil {
		return fmt.Errorf("opening %s: %w", c.device(), err)
	}
	defer dev.Close()
	return besidePlain(stdout, dev, c)
}

// device is the name of the device to measure.
func (c config) device() string {
	if c.isa == "" {
		return "cpu"
	}
	return "cpu:" + c.isa
}

func parse(args []string, stderr io.Writer) (config, error) {
	c := config{}
	flags := flag.NewFlagSet("cpu", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.isa, "isa", "", "engine for the kernels: avx512, avx2 or interp; what KILN_CPU says, or the best of the machine, if empty")
	only := flags.String("only", "", "cases, comma-separated; all and edges if empty")
	flags.BoolVar(&c.list, "list", false, "print the code of the kernels, as they are launched, and measure nothing")
	flags.BoolVar(&c.small, "small", false, "sizes for the interpreter")
	flags.BoolVar(&c.wall, "wall", false, "measure time by the clock, not the processor's")
	flags.BoolVar(&c.plain, "plain", false, "measure only the kernels beside plain Go on one thread")
	flags.IntVar(&c.cores, "cores", goruntime.NumCPU(), "how many processors run the kernels beside plain Go")
	flags.IntVar(&c.rounds, "rounds", 25, "samples of each version")
	flags.DurationVar(&c.batch, "batch", 4*time.Millisecond, "time of one sample")
	flags.StringVar(&c.clang, "clang", "clang-19", "compiler for the twins")
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if *only != "" {
		c.only = strings.Split(*only, ",")
		for _, name := range c.only {
			if !slices.Contains(names(), name) {
				return c, fmt.Errorf("-only %s: no such case; there are %s", name, strings.Join(names(), ", "))
			}
		}
	}
	if c.rounds < 1 || flags.NArg() > 0 {
		return c, fmt.Errorf("want at least one round, and flags only: got %d rounds and %q", c.rounds, flags.Args())
	}
	return c, nil
}

func names() []string {
	var list []string
	for _, k := range cases {
		list = append(list, k.name)
	}
	for _, k := range plainCases {
		list = append(list, k.name)
	}
	return list
}
