package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/gokiln/kiln/runtime"
)

// config is what the flags say.
type config struct {
	device  string
	cubins  string
	only    string
	samples int
	batch   time.Duration // of one sample
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "compiler:", err)
		}
		os.Exit(1)
	}
}

// run is main without the process around it.
func run(args []string, stdout, stderr io.Writer) error {
	c := config{}
	flags := flag.NewFlagSet("compiler", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&c.device, "device", "cuda", "device to measure")
	flags.StringVar(&c.cubins, "cubins", "", "folder with the twins, compiled by nvcc")
	flags.StringVar(&c.only, "only", "", "cases, comma-separated; all if empty")
	flags.IntVar(&c.samples, "samples", 21, "samples of each version")
	flags.DurationVar(&c.batch, "batch", 8*time.Millisecond, "device time of one sample")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dev, err := runtime.Open(c.device)
	if err != nil {
		return fmt.Errorf("opening %s: %w", c.device, err)
	}
	defer dev.Close()
	var results []result
	var errs []error
	for _, k := range cases {
		if c.only != "" && !slices.Contains(strings.Split(c.only, ","), k.name) {
			continue
		}
		r, err := measure(dev, c, k)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", k.name, err))
			continue
		}
		results = append(results, r)
	}
	return errors.Join(append(errs, writeTable(stdout, results))...)
}
