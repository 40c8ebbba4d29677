package main

import (
	"errors"
	"fmt"
	"io"
	goruntime "runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/gokiln/kiln/runtime"
)

// besidePlain prints how long the kernels take on all processors, beside the same
// algorithms in Go on one thread: the quotient by the clock, and that of two cores by
// the processor's time, which neighbours disturb less.
func besidePlain(w io.Writer, dev *runtime.Device, c config) error {
	var errs []error
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(t, "beside one thread of Go, ms\tkiln, %d cores\tGo\ttimes\tkiln, processor\tGo\ttimes on two\n", c.cores)
	for _, k := range plainCases {
		if len(c.only) > 0 && !slices.Contains(c.only, k.name) {
			continue
		}
		r, err := measurePlain(dev, c, k)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", k.name, err))
			continue
		}
		kiln, goes := slices.Min(r.wall[0]), slices.Min(r.wall[1])
		used, goUsed := slices.Min(r.cpu[0]), slices.Min(r.cpu[1])
		fmt.Fprintf(t, "%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\n", k.name, kiln, goes, goes/kiln, used, goUsed, 2*goUsed/used)
	}
	return errors.Join(append(errs, t.Flush())...)
}

// plainTimes are milliseconds of samples, ours first, by the clock and the processor.
type plainTimes struct{ wall, cpu [2][]float64 }

// measurePlain checks a case and times both sides in turns.
func measurePlain(dev *runtime.Device, c config, k plainCase) (plainTimes, error) {
	defer goruntime.GOMAXPROCS(goruntime.GOMAXPROCS(c.cores))
	var r plainTimes
	p := newProblem(dev)
	defer p.free()
	k.build(p, c.small)
	if err := errors.Join(p.errs...); err != nil {
		return r, err
	}
	us := ours(dev, p)
	if err := checkPlain(p, us); err != nil {
		return r, err
	}
	sides := [2]func() error{
		func() error { return errors.Join(us.launch(), us.finish()) },
		func() error { p.plain(); return nil },
	}
	for range c.rounds {
		for i, side := range sides {
			if p.again != nil {
				p.again()
			}
			wall, cpu := now(true), now(false)
			if err := side(); err != nil {
				return r, err
			}
			r.wall[i] = append(r.wall[i], millis(now(true)-wall))
			r.cpu[i] = append(r.cpu[i], millis(now(false)-cpu))
		}
	}
	return r, nil
}

func millis(d time.Duration) float64 { return d.Seconds() * 1e3 }

// checkPlain compares the results of both.
func checkPlain(p *problem, us *version) error {
	if err := errors.Join(p.reset(), us.launch(), us.finish()); err != nil {
		return err
	}
	got, err := p.results()
	if err != nil {
		return err
	}
	p.plain()
	var want [][]float64
	for _, a := range p.answers {
		want = append(want, a())
	}
	return p.compare(got, want)
}
