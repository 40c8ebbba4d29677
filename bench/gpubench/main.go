package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gokiln/kiln/bench/figure"
	"github.com/gokiln/kiln/runtime"
)

// config is what the flags say.
type config struct {
	device  string
	bytes   int           // of one array in saxpy
	samples int           // timed repetitions
	warm    time.Duration // untimed repetitions before
}

// suites are the measurements by name.
var suites = []struct {
	name string
	run  func(config) ([]figure.Row, error)
}{
	{"saxpy", saxpySuite},
	{"launch", launchSuite},
	{"cold", coldSuite},
}

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "gpubench:", err)
		}
		os.Exit(1)
	}
}

// run is main without the process around it.
func run(args []string, stdout, stderr io.Writer) error {
	c := config{}
	flags := flag.NewFlagSet("gpubench", flag.ContinueOnError)
	flags.SetOutput(stderr)
	suite := flags.String("suite", "all", "saxpy, launch, cold or all")
	asJSON := flags.Bool("json", false, "print rows as lines of JSON")
	table := flags.Bool("table", false, "print the rows of the files named as one table")
	ratio := flags.String("ratio", "", "print the rows of the files named for two systems and the quotients, as in kiln/torch")
	child := flags.String(coldChild, "", "internal: be the measured process of the cold suite")
	flags.StringVar(&c.device, "device", "cuda", "device to measure")
	flags.IntVar(&c.bytes, "bytes", 1<<30, "size of one array in the saxpy suite")
	flags.IntVar(&c.samples, "samples", 200, "timed repetitions")
	flags.DurationVar(&c.warm, "warm", 2*time.Second, "time of untimed repetitions")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *child != "":
		return coldProcess(c, *child, stdout)
	case *table:
		return tableOf(flags.Args(), stdout)
	case *ratio != "":
		return ratiosOf(*ratio, flags.Args(), stdout)
	}
	rows, err := measure(c, *suite)
	if *asJSON {
		return errors.Join(err, figure.WriteJSON(stdout, rows))
	}
	return errors.Join(err, figure.WriteTable(stdout, rows))
}

// measure runs one suite or all; a suite that fails does not keep the others
// from their results.
func measure(c config, suite string) ([]figure.Row, error) {
	var rows []figure.Row
	var errs []error
	found := false
	for _, s := range suites {
		if suite != "all" && suite != s.name {
			continue
		}
		found = true
		got, err := s.run(c)
		rows = append(rows, got...)
		if err != nil {
			errs = append(errs, fmt.Errorf("suite %s: %w", s.name, err))
		}
	}
	if !found {
		return nil, fmt.Errorf("no suite %q; there are saxpy, launch, cold and all", suite)
	}
	return rows, errors.Join(errs...)
}

// tableOf prints the rows of files as one table.
func tableOf(names []string, w io.Writer) error {
	rows, err := figure.Read(names)
	if err != nil {
		return err
	}
	return figure.WriteTable(w, rows)
}

// ratiosOf compares two systems, a/b, by the rows of files.
func ratiosOf(systems string, names []string, w io.Writer) error {
	a, b, ok := strings.Cut(systems, "/")
	if !ok {
		return fmt.Errorf("-ratio %s: want two systems, as in kiln/torch", systems)
	}
	rows, err := figure.Read(names)
	if err != nil {
		return err
	}
	return figure.WriteRatios(w, rows, a, b)
}

// openGPU opens the device to measure.
func openGPU(name string) (*runtime.Device, error) {
	dev, err := runtime.Open(name)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", name, err)
	}
	return dev, nil
}
